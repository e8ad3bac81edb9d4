"""DataParallel and DistributedDataParallel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.module_state import ModuleState
from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    UNKNOWN,
    Const,
    DeviceValue,
    External,
    Instance,
    Lost,
    Mapping,
    Maybe,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
    is_none,
    present,
)
from devlint.analysis.events import ParallelDevice, RankWithoutDevice
from devlint.analysis.flow.choices import cpu_is_asked_for
from devlint.analysis.pytorch.backward import gather_hooks
from devlint.analysis.pytorch.devices import resolve
from devlint.analysis.pytorch.gathering import gathered
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.missing import unavailable
from devlint.analysis.pytorch.module_moves import move_module
from devlint.analysis.pytorch.modules import forget_places, registered, submodules
from devlint.analysis.pytorch.moves import note_brought
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir
from devlint.syntax.walk import last_name

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

DATA_PARALLEL = "torch.nn.DataParallel"
DISTRIBUTED = "torch.nn.parallel.DistributedDataParallel"
FUNCTIONAL = "torch.nn.parallel.data_parallel"


@models(DATA_PARALLEL, DISTRIBUTED)
def wrap(machine: Machine, call: Call) -> Value:
    """`nn.DataParallel(module, device_ids)`, `DistributedDataParallel(module, device_ids)`."""
    distributed = _is_distributed(call)
    inner = call.argument(0, "module")
    if not isinstance(inner, Instance) or inner.module is None:
        return UNKNOWN
    made = Instance(External(DISTRIBUTED if distributed else DATA_PARALLEL), machine.site(call.node, call.frame))
    made.module = ModuleState()
    if _enclose(machine, made, inner, call, distributed):
        return made
    forget_places(machine, inner)  # who mends that may go on to move it
    return UNKNOWN


def initialise(machine: Machine, made: Instance, path: str, call: Call) -> bool:
    """What `__init__` of a wrapper does to an instance of a class of the program's own; False where it is none."""
    if path not in (DATA_PARALLEL, DISTRIBUTED):
        return False
    inner = call.argument(0, "module")
    if isinstance(inner, Instance) and inner.module is not None:
        _enclose(machine, made, inner, call, path == DISTRIBUTED)
    return True


@models(FUNCTIONAL)
def run_in_parallel(machine: Machine, call: Call) -> Value:
    """`data_parallel(module, inputs, device_ids, output_device)`: as the wrapper, which moves no module and needs a
    GPU."""
    inner, inputs = call.argument(0, "module"), call.argument(1, "inputs")
    if not isinstance(inner, Instance) or inner.module is None or inputs is None:
        return UNKNOWN
    if not machine.device_count:
        error = "RuntimeError: device type could not be determined"
        site = machine.site(call.node, call.frame)
        lacking = unavailable(machine, "cuda", None, site, FUNCTIONAL, None, error=error, node=call.node)
        return Tensor(lacking)
    wrapper = Instance(External(DATA_PARALLEL), machine.site(call.node, call.frame))
    wrapper.module = ModuleState()
    made_of = [inner, call.argument(2, "device_ids") or NONE, call.argument(3, "output_device") or NONE]
    if not _enclose(machine, wrapper, inner, call.with_arguments(made_of), False, moves=False):
        return Tensor(POISON)
    return call_wrapped(machine, wrapper, _passed_on(call, inputs, call.given(5, "module_kwargs")))


def _passed_on(call: Call, inputs: Value, keywords: Value | None) -> Call:
    """The call of the module in `data_parallel`: a tuple has its arguments, anything else is the only one."""
    is_open = call.open or isinstance(inputs, Unknown)
    positional = [] if is_none(inputs) or is_open else [inputs]
    if isinstance(inputs, Sequence) and inputs.kind == "tuple":
        positional, is_open = list(inputs.items), is_open or inputs.open
    named = {}
    if isinstance(keywords, Mapping):
        named = {key: part for key, part in keywords.items.items() if isinstance(key, str)}
    is_open = is_open or not (keywords is None or (isinstance(keywords, Mapping) and not keywords.open))
    return Call(positional, named, call.node, call.frame, is_open)


def _enclose(
    machine: Machine, made: Instance, inner: Instance, call: Call, distributed: bool, moves: bool = True
) -> bool:
    """Put a module into its wrapper, which knows the devices that it is for; for a single one it `moves` the module.

    Returns False where one of the devices is not there: that is told, and the program has raised.
    """
    store = machine.store
    assert made.module is not None
    store.put(made.module.kinds, "module", "module")
    store.put(made.fields, "module", inner)
    store.put(made.state, "inner", inner)
    store.put(made.state, "distributed", distributed)
    store.put(made.state, "since", tuple(machine.run.path))
    machine.entry.consulted.add("count")
    ids = call.given(1, "device_ids")
    devices = _devices(machine, call, ids, distributed)
    if POISON in devices:
        store.put(made.state, "first", None)
        return False
    first = _first_device(machine, ids, devices, distributed)
    store.put(made.state, "first", first)
    store.put(made.state, "scatters", first is not None or not distributed or (ids is not None and bool(devices)))
    indices = [device.partition(":")[2] for device in devices if device is not None]
    if len(indices) == len(devices) and all(indices) and not (distributed and ids is None):
        store.put(made.fields, "device_ids", Sequence("list", [const(int(index)) for index in indices]))
    count = machine.device_count
    target = call.given(2, "output_device")
    if target is not None and count and not distributed:
        on_host = constant(target) == -1  # the one place where torch takes -1 for the CPU
        output = "cpu" if on_host else resolve(machine, target, call.node, call.frame, DATA_PARALLEL)
        store.put(made.state, "output", output if output != POISON else None)
    several = count > 1 and (ids is None or not isinstance(ids, Sequence) or ids.open or len(ids.items) > 1)
    store.put(made.state, "several", several)
    if moves and count and first is not None and not distributed and not several:
        move_module(machine, inner, first, call.node, call.frame)
    if distributed:
        _check_devices(machine, call, inner, ids)
        _check_rank(machine, call, inner, first)
    return True


def _devices(machine: Machine, call: Call, ids: Value | None, distributed: bool) -> list[str | None]:
    """The devices that a wrapper is for; None where one is not known (or how many), POISON for one not there."""
    if not machine.device_count:
        return []
    if ids is None:
        return [f"cuda:{index}" for index in range(machine.device_count)]
    found = iterate(machine, ids, call.node, call.frame)
    devices: list[str | None] = []
    for one in found.items if found is not None else ():
        known = isinstance(one, (Const, DeviceValue))
        path = DISTRIBUTED if distributed else DATA_PARALLEL
        devices.append(resolve(machine, one, call.node, call.frame, path) if known else None)
        if devices[-1] == POISON:
            break
    return devices if found is not None and not found.open else [*devices, None]


def _first_device(machine: Machine, ids: Value | None, devices: list[str | None], distributed: bool) -> str | None:
    """The device on which a wrapper runs its module; without `device_ids`, DDP leaves it where it is."""
    if ids is None and (distributed or (machine.state.current_device is None and machine.device_count > 1)):
        return None
    if devices and devices[0] is None and machine.device_count == 1 and not distributed:
        return "cuda:0"  # there is no other
    return devices[0] if devices else None


def _is_distributed(call: Call) -> bool:
    function = call.node.function if isinstance(call.node, ir.Call) else None
    name = last_name(function)
    value = call.frame.names.get(name) or call.frame.namespace.names.get(name)
    path = value.path if isinstance(value, External) else name
    return "istributed" in path or path in ("DDP",)


def _check_devices(machine: Machine, call: Call, inner: Instance, ids: Value | None) -> None:
    """DDP with `device_ids` refuses a module that is on the CPU; who chose the CPU would not choose the GPUs for it."""
    given = isinstance(ids, Sequence) and bool(ids.items)
    devices = {tensor.device for tensor, _, _ in registered(inner)}
    if not given or devices != {"cpu"} or not machine.device_count or cpu_is_asked_for(machine):
        return
    machine.crash(
        ParallelDevice,
        machine.site(call.node, call.frame),
        error=(
            "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
            "single-device/multiple-device GPU modules or CPU modules"
        ),
        wrapper="DistributedDataParallel",
        expected="cuda",
        found="cpu",
    )


def _check_rank(machine: Machine, call: Call, inner: Instance, first: str | None) -> None:
    """DDP without a device of its own for each rank: all ranks use GPU 0."""
    if machine.state.collective not in ("nccl",) or not machine.has_several:
        return
    if "rank" in machine.entry.consulted or machine.state.current_device is None:
        return
    devices = {tensor.device for tensor, _, _ in registered(inner)}
    if devices == {"cuda:0"} and (first in (None, "cuda:0")):
        for tensor, _, _ in registered(inner):
            origin = tensor.origin
            site = (
                origin.site
                if origin is not None and origin.kind == "module-moved"
                else machine.site(call.node, call.frame)
            )
            machine.emit(
                RankWithoutDevice,
                machine.site(call.node, call.frame),
                site,
                error=errors.message("duplicate-gpu"),
                operation="DistributedDataParallel",
            )
            return


def call_wrapped(machine: Machine, value: Instance, call: Call) -> Value:
    """Call a wrapped module: inputs are scattered to the first device; the module must be there."""
    inner = value.state["inner"]
    first = value.state.get("first")
    if not machine.device_count or not value.state.get("scatters"):
        return call_value(machine, inner, call)
    if value.state["distributed"]:
        return call_value(machine, inner, _scatter(machine, call, first, DISTRIBUTED))
    if first is None:
        return call_value(machine, inner, _scatter(machine, call, None))
    if _is_elsewhere(machine, value, first, call):
        return Tensor(POISON)
    scatters = find(value.cls, "scatter") is None
    replicates = value.state.get("several") and scatters and find(value.cls, "replicate") is None
    replicates = replicates and not _fills_one(call)
    before = [(tensor, tensor.attributes) for tensor, _, _ in registered(inner)] if replicates else []
    fields = [(part, dict(part.fields)) for part in submodules(inner).values()] if replicates else []
    result = call_value(machine, inner, _scatter(machine, call, first if scatters else None))
    _forget_fields(machine, fields)
    output = value.state.get("output") or first
    if replicates and first == "cuda:0":
        _forget_attributes(machine, before)
        _run_replica(machine, inner, call, output)
    if find(value.cls, "gather") is not None or find(value.cls, "parallel_apply") is not None:
        return UNKNOWN if value.state.get("several") else result
    result = gathered(machine, result, call) if replicates else result
    return scattered(machine, result, output, call) if output != first else result


def _is_elsewhere(machine: Machine, value: Instance, first: str, call: Call) -> bool:
    """Tell that the module inside is not on the first device: where that is the only one, it was moved away again.

    A module that is entered by protocol was put on the last GPU by nobody in sight.
    """
    for tensor, _, _ in registered(value.state["inner"]):
        if tensor.device not in (None, POISON, first):
            if machine.run.protocol and tensor.device == machine.accelerator:
                return True
            if machine.run.trying:
                raise Crash
            machine.emit(
                ParallelDevice,
                machine.site(call.node, call.frame),
                error=errors.message("data-parallel", expected=first, found=tensor.device),
                wrapper="DataParallel",
                expected=first,
                found=tensor.device,
                made=(value.site, value.state["inner"].site),
            )
            return True
    return False


def _scatter(machine: Machine, call: Call, device: str | None, wrapper: str = DATA_PARALLEL) -> Call:
    if device is not None:
        for tensor in (part for value in call.positional for part in tensors_in(value, 3)):
            note_brought(machine, tensor, device, wrapper.rpartition(".")[2])
    positional = [scattered(machine, part, device, call) for part in call.positional]
    keywords = {name: scattered(machine, part, device, call) for name, part in call.keywords.items()}
    return Call(positional, keywords, call.node, call.frame, call.open)


def _fills_one(call: Call) -> bool:
    """Whether the inputs are too few for a second GPU: there are as many copies as the shortest of them has rows."""
    return any(part.size == 1 for value in call.positional for part in tensors_in(value, 3)) and not call.keywords


class _Copying:
    """How a replica is made: for which device, by which call, the copies so far, and what these have lost."""

    __slots__ = ("device", "call", "known", "lost")

    def __init__(self, device: str, call: Call) -> None:
        self.device = device
        self.call = call
        self.known: dict[int, Instance] = {}
        self.lost = Lost()


def _run_replica(machine: Machine, inner: Instance, call: Call, output: str) -> None:
    """The copy on the second GPU: what is registered is there, plain attributes are those of the original."""
    current, waiting = machine.state.current_device, machine.state.hooks
    machine.store.set(machine.state, "current_device", 1)
    replica = _replica(machine, inner, _Copying("cuda:1", call))
    failed, machine.run.replica_failed = machine.run.replica_failed, False
    call_value(machine, replica, _scatter(machine, call, "cuda:1"))
    machine.run.replica_failed = failed
    machine.store.set(machine.state, "current_device", current)
    gather_hooks(machine, waiting, output)


def copied_to(machine: Machine, original: Instance, device: str, call: Call) -> Instance:
    """The copy of a module that a call makes for one device."""
    return _replica(machine, original, _Copying(device, call))


def _replica(machine: Machine, original: Instance, copying: _Copying) -> Instance:
    if id(original) in copying.known:
        return copying.known[id(original)]
    made = copying.known[id(original)] = Instance(original.cls, original.site)
    made.state = Kept(original.state)
    assert original.module is not None
    module = made.module = ModuleState()
    module.kinds, module.places = dict(original.module.kinds), dict(original.module.places)
    module.row, module.unsure = original.module.row, original.module.unsure
    module.is_replica = True
    for name, field in original.fields.items():
        kind, place = module.kinds.get(name), module.places.get(name)
        made.fields[name] = _replicated(machine, present(field), kind, place, name, copying)
    if original.module.children is not None:
        module.children = [
            _replicated(machine, child, "module" if isinstance(child, Instance) else "parameter", None, "", copying)
            for child in map(present, original.module.children)
        ]
    else:
        module.children = None
    return made


def _replicated(
    machine: Machine, value: Value, kind: str | None, place: Site | None, name: str, copying: _Copying
) -> Value:
    """What a replica has in the place of a part of its original; a copy of a tensor has none of its own attributes."""
    frame = copying.call.frame
    if kind and isinstance(value, Instance) and value.module is not None:
        return _replica(machine, value, copying)
    if not isinstance(value, Tensor) or value.device in (None, POISON):
        return value
    if kind:
        origin = machine.origin("module-moved", copying.call.node, frame, copying.device, "replica", value.origin)
        copied = Tensor(copying.device, value.rank, origin)
        copied.attributes = dict.fromkeys(value.attributes, copying.lost) if value.attributes else None
        return copied
    if place is None or value.rank == 0:
        return value
    made = Tensor(value.device, value.rank, value.origin)
    made.origin = Origin("left-behind", place, frame, machine.tick(), value.device, f"self.{name}", value.origin)
    return made


def _forget_attributes(machine: Machine, before: list[tuple[Tensor, dict[str, Value] | None]]) -> None:
    """What a replica sets on its tensors goes with it: the parameters have what they had."""
    for tensor, attributes in before:
        if tensor.attributes is not attributes:
            machine.store.set(tensor, "attributes", attributes)


def _forget_fields(machine: Machine, before: list[tuple[Instance, dict[str, Value]]]) -> None:
    """What the forward of a replica sets on itself goes with it: the module has what it had."""
    lost = Lost()
    for part, fields in before:
        assert part.module is not None
        for name, value in list(part.fields.items()):
            if value is not fields.get(name) and not part.module.kinds.get(name):
                machine.store.put(part.fields, name, fields.get(name, lost))


def scattered(machine: Machine, value: Value, device: str | None, call: Call) -> Value:
    """What arrives on a device of what is passed; on None: on one that is not known."""
    if isinstance(value, Tensor):
        if value.device in (POISON, device):
            return value
        if device is None:
            return Tensor(None, value.rank)
        return Tensor(device, value.rank, machine.origin("moved", call.node, call.frame, device, "", value.origin))
    if isinstance(value, Maybe):
        return Maybe(scattered(machine, value.value, device, call), value.key, value.there)
    if isinstance(value, Sequence):
        return Sequence(value.kind, [scattered(machine, part, device, call) for part in value.items], value.open)
    if isinstance(value, Mapping):
        items = {key: scattered(machine, part, device, call) for key, part in value.items.items()}
        return Mapping(items, value.rest, value.open, value.kind)
    return value
