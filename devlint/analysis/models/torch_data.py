"""`torch.utils.data`: what a loader yields is decided by the dataset and the collate function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.access import item as item_of
from devlint.analysis.dispatch import Call, MethodModel, method_models, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.values import (
    NONE,
    NUMBER,
    POISON,
    SIZE,
    UNKNOWN,
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Host,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.events import CudaInWorker, PinAccelerator, Site
from devlint.analysis.pytorch.loads import take_for_data
from devlint.analysis.pytorch.meeting import operand, tensors_in
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.pytorch.ranks import one_more
from devlint.analysis.pytorch.results import derived, loaded_tensor
from devlint.analysis.pytorch.rows import check_generator
from devlint.analysis.signals import Crash
from devlint.analysis.state import Worker
from devlint.semantics import errors

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

LOADER: Final = "torch.utils.data.DataLoader"
PLACED: Final = "placed"
"""Under this key of its state, a loader keeps the device to which accelerate moves its batches."""


@models(LOADER)
def loader(machine: Machine, call: Call) -> Value:
    """`DataLoader(dataset, ...)`."""
    made = Instance(External(LOADER), machine.site(call.node, call.frame))
    return initialise_loader(machine, made, call)


@method_models(LOADER, "__init__")
def initialise_loader(machine: Machine, made: Instance, call: Call) -> Value:
    """What a loader keeps, also for classes of the user's own that derive from it. Most arguments become attributes,
    which programs read, and write again later."""
    dataset = call.argument(0, "dataset") or UNKNOWN
    take_for_data(machine, dataset)
    size = constant(call.argument(1, "batch_size") or NONE)
    if size.__class__ is int and size == 0 and not machine.device_count:
        text = "batch_size should be a positive integer value, but got batch_size=0"
        too_few(machine, 0, "ValueError", text, call.node, call.frame)  # so many for each GPU
    kept = {
        "dataset": dataset,
        "num_workers": call.argument(5, "num_workers"),
        "collate_fn": call.given(6, "collate_fn"),
        "pin_memory": call.argument(7, "pin_memory"),
        "generator": call.keywords.get("generator"),
    }
    for name, argument in kept.items():
        if argument is not None:
            machine.store.put(made.fields, name, argument)
        elif name in made.fields:
            machine.store.remove(made.fields, name)
    made.state.update(
        dataset=dataset,
        batched=constant(call.argument(1, "batch_size")) is not None or call.argument(1, "batch_size") is None,
        of_one=_gives_one(call),
        samplers=[call.given(3, "sampler"), call.given(4, "batch_sampler")],
        context=call.given(11, "multiprocessing_context"),
        frame=call.frame,
        node=call.node,
    )
    made.state["shuffle"] = constant(call.argument(2, "shuffle")) is True
    return made


def _kept(made: Instance, name: str) -> Value | None:
    """What an attribute of a loader is by now; None where it is none."""
    value = made.fields.get(name)
    return None if value.__class__ is Const and value.value is None else value


@method_models(LOADER, "__iter__")
def iterate_loader(machine: Machine, value: Instance, call: Call) -> Value:
    """`for batch in loader`."""
    if "dataset" not in value.state:
        return UNKNOWN
    _check_shuffle(machine, value, call)
    for sampler in value.state["samplers"]:
        if isinstance(sampler, Instance) and isinstance(sampler.cls, Class):
            iterate(machine, sampler, call.node, call.frame)  # the main process asks it, whoever brings the samples
    first = _batch(machine, value, call)
    if first is None:
        return UNKNOWN
    place = value.state.get(PLACED)
    if place is not None:
        from devlint.analysis.models.library import moved_value

        first = moved_value(machine, first, place, call)
    return Sequence("generator", [first, _copy(first)], True)


def _gives_one(call: Call) -> bool:
    """Whether the batches of a loader surely hold one sample each."""
    size = call.argument(1, "batch_size")
    own = call.open or call.argument(4, "batch_sampler") is not None
    return not own and (size is None or constant(size) == 1)


def _check_shuffle(machine: Machine, value: Instance, call: Call) -> None:
    """A shuffling loader draws a permutation, with its generator (the CPU's if it has none: one should be given)."""
    generator = _kept(value, "generator")
    made = machine.site(value.state["node"], value.state["frame"]) if generator is None else None
    _check_permutation(machine, generator, value.state["shuffle"], "DataLoader", call, made)


def _check_permutation(
    machine: Machine, generator: Value | None, draws: bool, operation: str, call: Call, root: Site | None = None
) -> None:
    """Permutations are drawn on the default device; where no generator is given, the CPU's is taken if one `draws`."""
    default = machine.state.default_device
    expected = "cpu" if default is None else str(default)
    if default is not None and (default.__class__ is not DeviceValue or default.type == "?"):
        return
    if generator is None and draws and expected != "cpu":
        generator = Instance(External("torch.Generator"))
        generator.state["device"] = "cpu"
    check_generator(machine, generator, expected, operation, call, root)


@method_models(LOADER, "__len__")
def loader_length(machine: Machine, value: Instance, call: Call) -> Value:
    """`len(loader)`."""
    return SIZE


def _batch(machine: Machine, value: Instance, call: Call) -> Value | None:
    dataset = value.state["dataset"]
    workers, collate = constant(_kept(value, "num_workers")), _kept(value, "collate_fn")
    site = machine.site(value.state["node"], value.state["frame"])
    forked = isinstance(workers, int) and not isinstance(workers, bool) and workers > 0 and _forks(machine, value)
    before = machine.run.worker
    if forked and machine.world.has_cuda:
        machine.run.worker = Worker(site, True)
    try:
        sample = _sample(machine, dataset, call)
        if sample is None:
            if collate is None:
                return None
            sample = UNKNOWN
        if machine.run.worker is not None and machine.run.worker.site is site:
            _check_held(machine, sample, site)
        if collate is not None:
            # A dataset out of sight may have `__getitems__`, and give samples in whatever form.
            kind = "list" if sample is not UNKNOWN else "batch"
            given = _samples(machine, dataset, call) or Sequence(kind, [sample, _copy(sample)], True)
            batch = call_value(machine, collate, call.with_arguments([given]))
        else:
            batch = collated(machine, sample, call) if value.state["batched"] else sample
            if value.state["of_one"]:
                for tensor in tensors_in(batch):
                    machine.store.set(tensor, "size", 1)
    finally:
        machine.run.worker = before
    if batch is UNKNOWN:
        return None
    pins = constant(_kept(value, "pin_memory")) is True and machine.has_cuda
    return _pinned(machine, value, batch, call) if pins else batch


def _samples(machine: Machine, dataset: Value, call: Call) -> Value | None:
    """What a dataset of the program gives for several indices at once; None if it does not say."""
    if not isinstance(dataset, Instance) or find(dataset.cls, "__getitems__") is None:
        return None
    return call_method(machine, dataset, "__getitems__", call.with_arguments([Sequence("list", [NUMBER], True)]))


def _check_held(machine: Machine, sample: Value, loader: Site) -> None:
    """Samples on CUDA that no code of the worker put there: the dataset holds them, and a forked process can't read."""
    for tensor in tensors_in(sample):
        if tensor.device is not None and tensor.device.startswith("cuda") and not tensor.assumed:
            if machine.run.trying:
                raise Crash
            machine.emit(CudaInWorker, loader, loader, error=errors.message("fork", form="kernel"), forked=loader)
            machine.store.set(tensor, "device", POISON)


def _forks(machine: Machine, value: Instance) -> bool:
    """Whether the workers of a loader are forked: unless it is told otherwise, as the program's processes are."""
    context = value.state.get("context")
    if context is None or is_none(context):
        return not machine.state.may_spawn
    return isinstance(context, Const) and context.value == "fork"


def _sample(machine: Machine, dataset: Value, call: Call) -> Value | None:
    if isinstance(dataset, (Instance, Sequence, Tensor, Mapping)):
        if isinstance(dataset, Instance) and isinstance(dataset.cls, Class):
            if find(dataset.cls, "__getitem__") is None:
                found = iterate(machine, dataset, call.node, call.frame)
                return found.items[0] if found is not None and found.items else None
        if isinstance(dataset, Sequence):
            return dataset.items[0] if dataset.items else None
        sample = item_of(machine, dataset, const(0), call.node, call.frame)
        return None if sample is UNKNOWN else sample
    return None


def collated(machine: Machine, value: Value, call: Call, known: dict[int, Instance] | None = None) -> Value:
    """What `default_collate` makes of samples like this one: tensors are stacked where they are, numbers on the CPU.

    `known`: what objects have become, for they may hold each other.
    """
    known = {} if known is None else known
    if isinstance(value, Tensor):
        origin = machine.origin("loader", call.node, call.frame, value.device, "", value.origin)
        return Tensor(value.device, one_more(value.rank), origin)
    if isinstance(value, Host):
        return Tensor("cpu", one_more(None), machine.origin("loader", call.node, call.frame, "cpu"))
    if isinstance(value, Array):
        return Tensor("cpu", one_more(value.rank), machine.origin("loader", call.node, call.frame, "cpu"))
    if (isinstance(value, Const) and isinstance(value.value, (int, float))) or (
        isinstance(value, Scalar) and value.kind == "number"
    ):
        return Tensor("cpu", 1, machine.origin("loader", call.node, call.frame, "cpu"))
    if isinstance(value, Const):
        return Sequence("list", [value, value], True)
    if isinstance(value, Sequence):
        return Sequence("list", [collated(machine, part, call, known) for part in value.items], value.open)
    if isinstance(value, Mapping):
        items = {key: collated(machine, part, call, known) for key, part in value.items.items()}
        if value.open:  # which fields were selected is not known: texts may not be among them
            items = {key: UNKNOWN if isinstance(part, Sequence) else part for key, part in items.items()}
        return Mapping(items, None, value.open)
    if isinstance(value, Instance) and isinstance(value.cls, Class) and value.cls.dataclass_fields is not None:
        if id(value) in known:
            return known[id(value)]
        made_instance = known[id(value)] = Instance(value.cls, value.site)
        made_instance.fields = {key: collated(machine, part, call, known) for key, part in value.fields.items()}
        return made_instance
    return UNKNOWN


models("torch.utils.data.default_collate", "torch.utils.data.dataloader.default_collate")(
    lambda machine, call: (
        collated(machine, call.positional[0].items[0], call)
        if call.positional and isinstance(call.positional[0], Sequence) and call.positional[0].items
        else UNKNOWN
    )
)


def _pinned(machine: Machine, value: Instance, batch: Value, call: Call) -> Value:
    for tensor in tensors_in(batch):
        if tensor.device not in (None, "cpu", POISON):
            if machine.run.trying:
                raise Crash
            site = machine.site(call.node, call.frame)
            machine.emit(
                PinAccelerator,
                site,
                error=errors.message("pin"),
                operand=operand(machine, tensor, None, site, call.frame),
                by_loader=True,
            )
            machine.store.set(tensor, "device", POISON)
    return batch


def _copy(value: Value, known: dict[int, Instance] | None = None) -> Value:
    known = {} if known is None else known
    if isinstance(value, Maybe):
        return Maybe(_copy(value.value, known), value.key, value.there)
    if isinstance(value, Tensor):
        made = derived(value)
        made.size = value.size
        return made
    if isinstance(value, Sequence):
        return Sequence(value.kind, [_copy(part, known) for part in value.items], value.open)
    if isinstance(value, Mapping):
        items = {key: _copy(part, known) for key, part in value.items.items()}
        return Mapping(items, value.rest, value.open, value.kind)
    if isinstance(value, Instance) and value.module is None:
        if id(value) in known:
            return known[id(value)]
        another = known[id(value)] = Instance(value.cls, value.site)
        another.fields = {key: _copy(part, known) for key, part in value.fields.items()}
        another.state = Kept(value.state)
        if isinstance(value.state.get("data"), Value):
            another.state["data"] = _copy(value.state["data"], known)
        return another
    return value


# -- datasets


@models("torch.utils.data.TensorDataset")
def tensor_dataset(machine: Machine, call: Call) -> Value:
    """`TensorDataset(x, y)`."""
    return initialise_tensors(
        machine, Instance(External("torch.utils.data.TensorDataset"), machine.site(call.node, call.frame)), call
    )


@method_models("torch.utils.data.TensorDataset", "__init__")
def initialise_tensors(machine: Machine, made: Instance, call: Call) -> Value:
    """What a tensor dataset keeps."""
    tensors = [loaded_tensor(part) or part for part in call.positional]
    made.state["tensors"] = tensors
    made.fields["tensors"] = Sequence("tuple", list(tensors))
    return made


@method_models("torch.utils.data.TensorDataset", "__getitem__")
def tensor_sample(machine: Machine, value: Instance, call: Call) -> Value:
    """One row of each tensor."""
    index = call.positional[0] if call.positional else const(0)
    return Sequence("tuple", [item_of(machine, part, index, call.node, call.frame) for part in value.state["tensors"]])


def samples_in_turn(sample: MethodModel) -> MethodModel:
    """Datasets have no `__iter__`: Python asks them for item 0, 1 and so on."""

    def iterated(machine: Machine, value: Instance, call: Call) -> Value | None:
        samples = [sample(machine, value, call.with_arguments([const(0)])) or UNKNOWN for _ in range(2)]
        return Sequence("generator", samples, True)

    return iterated


method_models("torch.utils.data.TensorDataset", "__iter__")(samples_in_turn(tensor_sample))


@models("torch.utils.data.Subset", "torch.utils.data.ConcatDataset", "torch.utils.data.ChainDataset")
def part_of_dataset(machine: Machine, call: Call) -> Value:
    """Parts and unions of datasets give samples of the first."""
    first = call.argument(0, "dataset") or call.argument(0, "datasets") or UNKNOWN
    if isinstance(first, Sequence):
        first = first.items[0] if first.items else UNKNOWN
    return _subset(first, machine, call)


@models("torch.utils.data.random_split", "torch.utils.data.dataset.random_split")
def random_split(machine: Machine, call: Call) -> Value:
    """`random_split(dataset, lengths)`: a list of parts, by a permutation that is drawn at once."""
    dataset, lengths = call.argument(0, "dataset") or UNKNOWN, call.argument(1, "lengths")
    _check_permutation(machine, call.given(2, "generator"), not call.open, "random_split", call)
    if isinstance(lengths, Sequence) and lengths.kind in ("list", "tuple"):
        return Sequence("list", [_subset(dataset, machine, call) for _ in lengths.items], lengths.open)
    return Sequence("list", [_subset(dataset, machine, call) for _ in range(2)], True)


def _subset(dataset: Value, machine: Machine, call: Call) -> Value:
    made = Instance(External("torch.utils.data.Subset"), machine.site(call.node, call.frame))
    made.state["dataset"] = made.fields["dataset"] = dataset
    return made


@method_models("torch.utils.data.Subset", "__init__")
def derive_subset(machine: Machine, value: Instance, call: Call) -> Value:
    """`super().__init__(dataset, indices)`."""
    dataset = call.argument(0, "dataset") or UNKNOWN
    machine.store.put(value.state, "dataset", dataset)
    machine.store.put(value.fields, "dataset", dataset)
    machine.store.put(value.fields, "indices", call.argument(1, "indices") or UNKNOWN)
    return NONE


@method_models("torch.utils.data.Subset", "__getitem__")
def subset_sample(machine: Machine, value: Instance, call: Call) -> Value:
    """A sample of the dataset behind."""
    sample = _sample(machine, value.state["dataset"], call)
    return UNKNOWN if sample is None else sample


method_models("torch.utils.data.Subset", "__iter__")(samples_in_turn(subset_sample))
