"""PyG: data sets of graphs, the data that they give, and the batches of its loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.values import (
    SLICE,
    SOME_RANK,
    UNKNOWN,
    Const,
    External,
    Instance,
    Scalar,
    Sequence,
    Tensor,
    Value,
    constant,
    is_none,
)
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.events import MarkKind, Site
    from devlint.analysis.machine import Machine

DATA: Final = "torch_geometric.data.Data"
BATCH: Final = "torch_geometric.data.Batch"
DATASET: Final = "torch_geometric.data.Dataset"
LOADER: Final = "torch_geometric.loader.DataLoader"

_TENSORS: Final = frozenset(
    "x edge_index edge_attr edge_weight edge_type y pos z batch ptr train_mask val_mask test_mask".split()
)


def _read(machine: Machine, call: Call, path: str, kind: MarkKind = "host") -> Instance:
    """Data as they were read: their tensors are on the CPU."""
    made = Instance(External(path), machine.site(call.node, call.frame))
    made.state["device"] = "cpu"
    made.state["read"] = machine.origin(kind, call.node, call.frame, "cpu", path)
    return made


_GIVEN: Final = "x edge_index edge_attr y pos".split()
"""What the constructor of `Data` takes, in this order; the rest by name."""


@models(DATA)
def data(machine: Machine, call: Call) -> Value:
    """`Data(x=x, edge_index=edge_index)`: what it is given are its attributes."""
    made = Instance(External(DATA), machine.site(call.node, call.frame))
    made.state["arguments"] = {}
    if not call.open:
        made.fields.update(zip(_GIVEN, call.positional, strict=False))
        made.fields.update(call.keywords)
    return made


def _copy(machine: Machine, first: Value, call: Call, path: str) -> Value:
    """Graph data like the first, of as many graphs as there may be, and where that is."""
    if not isinstance(first, Instance) or not isinstance(first.cls, External) or first.cls.path not in (DATA, BATCH):
        return UNKNOWN
    if "read" in first.state:
        return UNKNOWN
    made = Instance(External(path), machine.site(call.node, call.frame))
    made.state["arguments"] = {}
    parts = {name: derived(part) if isinstance(part, Tensor) else part for name, part in first.fields.items()}
    made.fields.update(parts)
    index = parts.get("edge_index") or parts.get("x")
    if path == BATCH and isinstance(index, Tensor):
        made.fields.update(batch=derived(index, 1), ptr=derived(index, 1))
    return made


@method_models(DATA, "clone", "contiguous", "coalesce")
@method_models(BATCH, "clone", "contiguous")
def cloned(machine: Machine, value: Instance, call: Call) -> Value:
    """`data.clone()`."""
    return _copy(machine, value, call, value.cls.path if isinstance(value.cls, External) else DATA)


@method_models(DATA, "__getitem__")
@method_models(BATCH, "__getitem__")
def item(machine: Machine, value: Instance, call: Call) -> Value:
    """`data["x"]`."""
    name = constant(call.positional[0]) if call.positional else None
    if not isinstance(name, str):
        return UNKNOWN
    return value.fields.get(name) or part(machine, value, name, machine.site(call.node, call.frame)) or UNKNOWN


@models("torch_geometric.data.Batch.from_data_list")
def batch_of(machine: Machine, call: Call) -> Value:
    """`Batch.from_data_list(graphs)`."""
    given = call.argument(0, "data_list")
    items = given.items if isinstance(given, Sequence) else []
    return _copy(machine, items[0], call, BATCH) if items else UNKNOWN


TOUCHED: Final = "touched"
"""Under this key of its state, a data set notes that a program may have put its data elsewhere."""


def _is_read(dataset: Value) -> bool:
    """Whether what a data set gives is what the library has read: nothing changes it, nobody has moved it."""
    if not isinstance(dataset, Instance) or not isinstance(dataset.cls, External) or TOUCHED in dataset.state:
        return False
    given = dataset.state["arguments"]
    changed = any(name in given and not is_none(given[name]) for name in ("transform", "pre_transform"))
    return not changed and dataset.fields.keys().isdisjoint(("transform", "data", "_data"))


@method_models(DATASET, "to", "cuda", "cpu")
def other_dataset(machine: Machine, value: Instance, call: Call) -> Value:
    """`dataset.to(device)`."""
    machine.store.put(value.state, TOUCHED, True)
    return UNKNOWN


@method_models(DATASET, "shuffle", "index_select", "copy")
def same_data(machine: Machine, value: Instance, call: Call) -> Value:
    """`dataset.shuffle()`: the same graphs, or some of them."""
    return value


@on(INSTANCE_ATTRIBUTES, DATASET)
def dataset_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`dataset.data`: what is done with it can't be followed."""
    if name in ("data", "_data"):
        machine.store.put(value.state, TOUCHED, True)
    return None


@method_models(DATA, "apply", "apply_", "update")
@method_models(BATCH, "apply", "apply_", "update")
def apply(machine: Machine, value: Instance, call: Call) -> Value:
    """`data.apply(f)`: in place; where its tensors are now is not known."""
    machine.store.put(value.state, "device", None)
    for name, field in list(value.fields.items()):
        if isinstance(field, Tensor):
            machine.store.put(value.fields, name, Tensor(None, field.rank))
    return value


@method_models(DATASET, "__getitem__")
def graph(machine: Machine, value: Instance, call: Call) -> Value:
    """`dataset[0]`: a graph; a mask or a slice gives another data set."""
    if not _is_read(value):
        return UNKNOWN
    index = call.positional[0] if call.positional else UNKNOWN
    is_one = isinstance(index, (Const, Scalar)) and index is not SLICE
    return _read(machine, call, DATA) if is_one else value


@models(LOADER, "torch_geometric.data.DataLoader")
def loader(machine: Machine, call: Call) -> Value:
    """`DataLoader(dataset)` of PyG: what it yields is on the CPU, for a data set whose graphs are."""
    made = Instance(External(LOADER), machine.site(call.node, call.frame))
    made.state["dataset"] = call.argument(0, "dataset") or UNKNOWN
    return made


@method_models(LOADER, "__iter__")
def batches(machine: Machine, value: Instance, call: Call) -> Value:
    """Batches of the graphs of a data set of the library."""
    dataset = value.state["dataset"]
    if isinstance(dataset, Sequence) and dataset.items:
        batch = _copy(machine, dataset.items[0], call, BATCH)
        return UNKNOWN if batch is UNKNOWN else Sequence("generator", [batch, _copy(machine, batch, call, BATCH)], True)
    if not _is_read(dataset):
        return UNKNOWN
    return Sequence("generator", [_read(machine, call, BATCH, "loader"), _read(machine, call, BATCH, "loader")], True)


@on(INSTANCE_ATTRIBUTES, DATA, BATCH)
def part(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`data.x`: where the data are, if nobody has put it elsewhere."""
    device = value.state.get("device")
    if "read" not in value.state or name not in _TENSORS:
        return None
    origin = value.state["read"] if device == "cpu" else None
    made = Tensor(device, SOME_RANK, origin)
    machine.store.put(value.fields, name, made)
    return made
