"""Names outside the project for which no hand-written model answers: what the tables say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, METHODS, Call
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.module_state import HIDDEN, ModuleState
from devlint.analysis.domain.plain import refuse_dicts
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    RESULT,
    SOME_RANK,
    UNKNOWN,
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_none,
)
from devlint.analysis.events import InvalidDevice, LegacyType
from devlint.analysis.machine import text_of
from devlint.analysis.models import metrics
from devlint.analysis.models.distributions import FAMILY, apply, construct, initialise
from devlint.analysis.programs.given_away import note_call, note_method
from devlint.analysis.programs.handed import hand_over
from devlint.analysis.python.classes import ask, let_others_write
from devlint.analysis.pytorch.array_ranks import nesting
from devlint.analysis.pytorch.building import construct_builtin
from devlint.analysis.pytorch.devices import device_of_default_type, legacy_error, resolve, use
from devlint.analysis.pytorch.leaves import NoGradient
from devlint.analysis.pytorch.missing import gone
from devlint.analysis.pytorch.module_moves import move, move_module
from devlint.analysis.pytorch.modules import forget_places, registered
from devlint.analysis.pytorch.opaque import part_moved
from devlint.analysis.pytorch.results import plain_result
from devlint.analysis.pytorch.rows import apply_row, may_be_delegated, refuse_as_content
from devlint.analysis.pytorch.tensor_methods import moved, torch_method
from devlint.semantics import errors, libraries, table
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row


def call(machine: Machine, path: str, arguments: Call, named_at: Site | None = None) -> Value:
    """Call an external name by its row."""
    note_call(machine, path, arguments)
    if path.startswith("torch.Tensor.") and arguments.positional:
        receiver = arguments.positional[0]
        if isinstance(receiver, Tensor):
            return torch_method(
                machine, receiver, path[13:], arguments.with_arguments(arguments.positional[1:], arguments.keywords)
            )
    if path in _MOVES_OF_MODULES and arguments.positional and isinstance(arguments.positional[0], Instance):
        moved = arguments.positional[0]
        if moved.module is not None:
            rest = arguments.with_arguments(arguments.positional[1:], arguments.keywords)
            return move(machine, moved, path.rpartition(".")[2], rest)
    if metrics.is_metric(path):
        return metrics.construct(machine, path, arguments)
    legacy = _legacy_constructor(machine, path, arguments, named_at)
    if legacy is not None:
        return legacy
    row = table.lookup(path)
    if row is None:
        keeps = path.rpartition(".")[2][:1].isupper()  # a class may hold what it is given, and move it later
        moves = keeps or libraries.may_move(path) or "device" in arguments.keywords
        lose_modules(machine, arguments.values(), all_of_them=moves)
        hand_over(machine, arguments.values())
        if not path.startswith("torch."):
            let_others_write(machine, arguments.values(), arguments.frame)
        return _initialised(machine, path, arguments) if path.endswith(".__init__") else RESULT
    if "havoc" in row.flags:
        lose_modules(machine, arguments.values())
    if row.effect == "module":
        return construct_builtin(machine, path, row, arguments)
    if row.effect == "instance":
        return _instance(machine, path, row, arguments)
    if row.effect == "model":
        return UNKNOWN
    if row.effect == "numpy" and row.result == "array" and arguments.positional:
        if isinstance(arguments.positional[0], (Const, Scalar)):
            return Array(0)  # of a number
        if isinstance(arguments.positional[0], Unknown):
            return Array()  # whatever it is given
    if not _may_apply(row, arguments):
        makes_array = row.result == "array" and row.rank != "unknown" and not may_be_delegated(row, arguments)
        return plain_result(row, table.bind(row, arguments.positional, arguments.keywords)) if makes_array else UNKNOWN
    return apply_row(machine, row, arguments)


_MOVES_OF_MODULES: Final = frozenset({"torch.nn.Module.to", "torch.nn.Module.cuda", "torch.nn.Module.cpu"})


def lose_modules(machine: Machine, values: list[Value], depth: int = 2, all_of_them: bool = True) -> None:
    """What a library moves as it likes may be anywhere; of what nothing is known, models of libraries are handed to."""
    for value in values:
        if isinstance(value, Instance) and value.module is not None:
            if all_of_them or HIDDEN in value.fields:
                forget_places(machine, value)
        elif isinstance(value, Unknown):
            part_moved(machine, value)
        elif depth and isinstance(value, (Sequence, Mapping)):
            parts = value.items if isinstance(value, Sequence) else list(value.items.values())
            lose_modules(machine, parts, depth - 1, all_of_them)


def _initialised(machine: Machine, path: str, arguments: Call) -> Value:
    """`Base.__init__(self, ...)` of an external class."""
    receiver = arguments.positional[0] if arguments.positional else None
    if isinstance(receiver, Instance):
        own = arguments.with_arguments(arguments.positional[1:], arguments.keywords)
        base = path.removesuffix(".__init__")
        model = METHODS.get(libraries.canonical(base), {}).get("__init__")
        if model is None:
            initialise(machine, receiver, base, own)
        else:
            model(machine, receiver, own)
    return NONE


_TENSOR_FREE = frozenset({"create", "query", "harmless", "context", "none", "metadata", "transparent", "data"})


_HOLDERS = (Tensor, Sequence, Mapping, Array, Instance, NoGradient)


def _may_apply(row: Row, arguments: Call) -> bool:
    """Whether a call tells anything: a row about tensors needs a tensor among its arguments."""
    if row.effect in _TENSOR_FREE:
        return True
    return any(isinstance(value, _HOLDERS) for value in arguments.values())


def _instance(machine: Machine, path: str, row: Row, arguments: Call) -> Value:
    lose_modules(machine, arguments.values(), all_of_them=False)
    made = Instance(External(path), machine.site(arguments.node, arguments.frame))
    bound = table.bind(row, arguments.positional, arguments.keywords)
    if "module" in row.flags or row.base == "torch.nn.Module":
        made.module = ModuleState()
        made.module.row = row
    if path.startswith(FAMILY):
        return construct(machine, made, row, bound, arguments)
    made.state["arguments"] = bound
    return made


def _legacy_constructor(machine: Machine, path: str, arguments: Call, named_at: Site | None) -> Value | None:
    """`torch.Tensor(...)`, `torch.FloatTensor(...)`, `torch.cuda.FloatTensor(...)`."""
    if not path.endswith("Tensor") or not path.startswith("torch.") or path == "torch.is_Tensor":
        return None
    kind = path[6:]
    on_cuda = kind.startswith("cuda.")
    name = kind.removeprefix("cuda.")
    if not name.endswith("Tensor") or "." in name or not name[:1].isupper():
        return None
    device: str | None
    node, frame = arguments.node, arguments.frame
    if on_cuda:
        error = legacy_error(machine, path)
        machine.emit(LegacyType, machine.site(node, frame), error=error, text=path, operation="constructor")
        target = arguments.keywords.get("device")
        device = (
            use(machine, "cuda", None, node, frame, path, named_at, "legacy")
            if target is None or is_none(target)
            else resolve(machine, target, node, frame, path, "legacy")
        )
        if device == POISON:
            return Tensor(POISON)
    elif name == "Tensor":
        device = device_of_default_type(machine, node, frame, path)
    else:
        device = "cpu"
    if not on_cuda and device == "cpu" and _is_refused(machine, path, arguments):
        return Tensor(POISON)
    first = arguments.positional[0] if arguments.positional else None
    refuse_dicts(first)
    if isinstance(first, Tensor) and not on_cuda:
        if name != "Tensor" and device == "cpu":
            refuse_as_content(machine, first, f"torch.{name}", arguments)
        return Tensor(first.device, first.rank, first.origin)
    if arguments.open or (isinstance(first, Unknown) and len(arguments.positional) == 1):
        rank: int | None = SOME_RANK
    elif isinstance(first, Sequence):
        rank = nesting(first)
    elif all(isinstance(value, (Const, Scalar)) for value in arguments.positional):
        rank = len(arguments.positional) or 1
    else:
        rank = SOME_RANK
    made = Tensor(device, rank, machine.origin("placed" if on_cuda else "factory", node, frame, device, path))
    made.dtype = (libraries.legacy_type(path) or ("", None))[1]
    made.size = _legacy_size(arguments)
    return made


def _is_refused(machine: Machine, path: str, arguments: Call) -> bool:
    """Tell that a legacy constructor of the CPU is given a GPU by `device=`: it refuses that, whether there is one or
    not."""
    target = arguments.keywords.get("device")
    text = text_of(target)
    named = parse_device(text) if text is not None else None
    kind = target.type if isinstance(target, DeviceValue) else named[0] if named is not None else ""
    if kind != "cuda":
        return False
    machine.emit(
        InvalidDevice,
        machine.site(arguments.node, arguments.frame),
        error=errors.message("invalid-device", form="legacy", text=kind),
        text=kind,
        kind="legacy",
        operation=path,
    )
    gone(machine)
    return True


def _legacy_size(arguments: Call) -> int | None:
    """The length of `torch.Tensor(...)`, which takes nothing, a list of numbers, or sizes."""
    if arguments.open:
        return None
    if not arguments.positional:
        return 0
    first = arguments.positional[0]
    if isinstance(first, Sequence):
        return None if first.open else len(first.items)
    return first.value if isinstance(first, Const) and isinstance(first.value, int) else None


def method(machine: Machine, value: Instance, name: str, arguments: Call, paths: list[str]) -> Value:
    """A method of an instance of external classes, by their rows."""
    if isinstance(value.cls, External):
        note_method(machine, name, arguments)
    if name == "__name__" or "__name__" in arguments.keywords:
        arguments.keywords.pop("__name__", None)
    for path in paths:
        path = libraries.canonical(path)
        row = table.lookup(path)
        bases = [path, row.base] if row is not None and row.base else [path]
        for base in bases:
            model = METHODS.get(base, {}).get(name) if base != path else None
            answer = None if model is None else ask(model, machine, value, arguments)
            if answer is not None:
                return answer
            found = table.lookup(f"{base}.{name}")
            if found is not None:
                if base == "torch.distributions.Distribution":
                    return apply(machine, value, found, arguments)
                if "havoc" in found.flags:
                    lose_modules(machine, arguments.values())
                if value.module is not None:
                    return _of_module(machine, value, found, arguments)
                return apply_row(machine, found, arguments)
        if row is not None and row.to and name in ("to", "cuda", "cpu"):
            return _move(machine, value, row.to, name, arguments)
    if isinstance(value.cls, Class):  # what it has from the library may move what it is given
        lose_modules(machine, arguments.values())
    return UNKNOWN


def attribute_by_base(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """What the model of the class whose row an object shares says of an attribute."""
    row = table.lookup(libraries.canonical(value.cls.path)) if isinstance(value.cls, External) else None
    reads = INSTANCE_ATTRIBUTES.get(row.base) if row is not None and row.base else None
    return None if reads is None else reads(machine, value, name, site)


def _of_module(machine: Machine, value: Instance, row: Row, arguments: Call) -> Value:
    """A method of a library's module: its parameters stand for the module itself, where all are together."""
    held = [tensor for tensor, _, _ in registered(value)]
    together = len({tensor.device for tensor in held}) == 1
    return apply_row(machine, row, arguments, held[0] if together else Tensor(None))


def _move(machine: Machine, value: Instance, how: str, name: str, arguments: Call) -> Value:
    """`.to()` of a library's object: in place or returned; its tensors go along."""
    target = arguments.given(0, "device")
    if name == "cpu":
        device: str | None = "cpu"
    elif name == "cuda" and target is None:
        device = use(machine, "cuda", None, arguments.node, arguments.frame, ".cuda")
    elif isinstance(target, (DeviceValue, Const)):
        device = resolve(machine, target, arguments.node, arguments.frame, f".{name}")
    else:
        device = None
    if how == "returned":
        made = Instance(value.cls, value.site)
        made.fields = {key: moved_value(machine, part, device, arguments) for key, part in value.fields.items()}
        made.state = Kept({**value.state, "device": device})
        return made
    for key, part in list(value.fields.items()):
        machine.store.put(value.fields, key, moved_value(machine, part, device, arguments))
    data = value.state.get("data")
    if isinstance(data, Value):
        machine.store.put(value.state, "data", moved_value(machine, data, device, arguments))
    machine.store.put(value.state, "device", device)
    return value


def _moved_data(machine: Machine, value: Instance, device: str | None, arguments: Call) -> Instance:
    """A dict of a library's own, with what it holds moved."""
    made = Instance(value.cls, value.site)
    made.fields = value.fields
    data = moved_value(machine, value.state["data"], device, arguments)
    made.state = Kept({**value.state, "data": data, "device": device})
    return made


def moved_value(machine: Machine, value: Value, device: str | None, arguments: Call) -> Value:
    """A value on another device: tensors are copied, also in containers; modules are moved in place."""
    if isinstance(value, Maybe):
        return Maybe(moved_value(machine, value.value, device, arguments), value.key, value.there)
    if isinstance(value, Instance) and value.module is not None:
        move_module(machine, value, device, arguments.node, arguments.frame)
        return value
    if isinstance(value, Instance) and isinstance(value.state.get("data"), Mapping):
        return _moved_data(machine, value, device, arguments)
    if isinstance(value, Tensor):
        return Tensor(POISON) if device == POISON else moved(machine, value, device, arguments)
    if isinstance(value, Mapping):
        items = {key: moved_value(machine, part, device, arguments) for key, part in value.items.items()}
        rest = None if value.rest is None else moved_value(machine, value.rest, device, arguments)
        return Mapping(items, rest, value.open, value.kind)
    if isinstance(value, Sequence):
        return Sequence(value.kind, [moved_value(machine, part, device, arguments) for part in value.items], value.open)
    return value
