"""PyG: data sets of graphs, the data that they give, and the batches of its loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.values import (
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
    is_none,
)

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
