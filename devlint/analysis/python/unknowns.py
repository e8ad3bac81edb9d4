"""Values of which little is known: numbers and strings of unknown value, and unknowns with a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_attribute, assign_item, attribute, call_method, call_value, item, iterate
from devlint.analysis.dispatch import (
    ASSIGN_ATTRIBUTE,
    ASSIGN_ITEM,
    ATTRIBUTE,
    BINARY,
    CALL,
    ITEM,
    ITERATE,
    METHOD,
    TRUTH,
    Call,
    Iteration,
    on,
)
from devlint.analysis.domain.plain import compute
from devlint.analysis.domain.values import (
    FALSE,
    HOST,
    HOST_DATA,
    IN_TEXT,
    LOST_DEVICE,
    LOST_TYPE,
    NUMBER,
    PLACED,
    RESULT,
    SCALAR,
    STRING,
    TENSOR_TYPE,
    UNKNOWN,
    Answer,
    Array,
    Const,
    DeviceValue,
    Environment,
    Host,
    Instance,
    Maybe,
    Method,
    Scalar,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)
from devlint.analysis.flow.users_devices import as_given
from devlint.analysis.programs.asked_places import looked_up_on_the_host
from devlint.analysis.programs.given_away import note_method
from devlint.analysis.programs.handed import hand_over
from devlint.analysis.programs.outsiders import let_callbacks_move
from devlint.analysis.python.classes import let_others_write
from devlint.analysis.python.constants import scalar_result, text_result
from devlint.analysis.python.lacking import LACKED, read_lacking
from devlint.analysis.pytorch.devices import is_device_like, resolve, source_text, use
from devlint.analysis.pytorch.host import let_arrive, names_cpu
from devlint.analysis.pytorch.input_places import attribute_of_input, method_of_place, number_of_input
from devlint.analysis.pytorch.loads import (
    give_weights,
    item_of_load,
    made_of_loads,
    method_of_load,
    moved_load,
    part_of_load,
    shows_network,
    take_for_data,
    take_for_weights,
)
from devlint.analysis.pytorch.meeting import spoilt, tensors_in
from devlint.analysis.pytorch.modules import forget_places
from devlint.analysis.pytorch.opaque import part_moved, unknown_part
from devlint.analysis.pytorch.straying import note_stray, was_lost
from devlint.analysis.signals import Crash
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_LONGEST_PATH: Final = 80
_PURE: Final = frozenset({"startswith", "endswith", "lower", "upper", "strip", "casefold", "split", "get", "isdigit"})
"""Methods that give the same answer each time they are asked with the same arguments."""
_MOVES: Final = ("to", "cuda", "cpu")
_READ_BY_HOST: Final = ("numpy", "__array__", "pin_memory")


# -- numbers and strings


@on(TRUTH, Scalar)
def scalar_truth(machine: Machine, value: Scalar) -> bool | None:
    """A number that can't be 0 is true."""
    if value.low is not None and value.low > 0:
        return True
    return True if value.numbers is not None and 0 not in value.numbers else None


@on(ATTRIBUTE, Scalar)
def scalar_attribute(machine: Machine, value: Scalar, name: str, node: ir.Node, frame: Frame) -> Value:
    """`n.real` is a number; what else a number or string has are methods."""
    if name in LACKED and value.kind == "string":
        return read_lacking(machine, value, name, node, frame)
    return NUMBER if name in ("real", "imag", "itemsize", "bits", "min", "max", "eps") else Method(value, name)


@on(METHOD, Scalar)
def scalar_method(machine: Machine, value: Scalar, name: str, call: Call) -> Value:
    """`n.name(...)`."""
    if value.kind == "number":
        return NUMBER
    if name in LACKED and value.kind == "string":
        return read_lacking(machine, value, name, call.node, call.frame)
    if hasattr(str, name):
        return _of_each_text(machine, value.among, name, call) or text_result(name)
    return NUMBER if name in ("item", "bit_length", "is_integer") else SCALAR


def _of_each_text(machine: Machine, among: frozenset[str] | None, name: str, call: Call) -> Value | None:
    """What a method gives for every string that may stand there; None where that is not the same for all."""
    if not among or call.open:
        return None
    try:
        found = [compute(machine, getattr(text, name), call.positional, call) for text in among]
    except Crash:
        return None  # `text.index(part)`: perhaps not for all of them
    values = [item.value if isinstance(item, Const) else None for item in found]
    if all(value == values[0] for value in values):
        return found[0]
    texts = frozenset(value for value in values if isinstance(value, str))
    return Scalar(kind="string", among=texts) if all(isinstance(value, str) for value in values) else None


@on(ITEM, Scalar)
def scalar_item(machine: Machine, value: Scalar, index: Value, node: ir.Node, frame: Frame) -> Value:
    """A part of a string."""
    return STRING if value.kind == "string" else SCALAR


@on(ITERATE, Scalar)
def iterate_scalar(machine: Machine, value: Scalar, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """The characters of a string."""
    return Iteration([STRING], True) if value.kind == "string" else None


@on(BINARY, Scalar)
def scalar_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """Arithmetic in which some number or string is not known."""
    if isinstance(left, (Const, Scalar)) and isinstance(right, (Const, Scalar)):
        return scalar_result(operator, left, right)
    if operator == "%" and isinstance(left, Scalar) and left.kind == "string":
        return STRING
    return None


# -- unknowns


@on(TRUTH, Unknown, Maybe, Answer, Host, Environment)
def unknown_truth(machine: Machine, value: Unknown) -> bool | None:
    """Not known."""
    return None


@on(ATTRIBUTE, Unknown, Answer)
def unknown_attribute(machine: Machine, value: Unknown, name: str, node: ir.Node, frame: Frame) -> Value:
    """`args.name`."""
    if name == "is_cuda" and machine.device_count == 0:
        return FALSE
    if value is LOST_DEVICE and name == "type":
        return LOST_TYPE
    if value in machine.run.parts:
        return UNKNOWN if name in _OF_LAYERS else unknown_part(machine, machine.run.parts[value])
    if name == "device" and machine.run.protocol and _is_of_the_host(machine, node, frame):
        return LOST_DEVICE
    answered = attribute_of_input(machine, value, name) if name in _PLACES else None
    return answered or part_of_load(machine, value) or _part(machine, value, f".{name}")


def _is_of_the_host(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether an input of a function is asked for its device that another shows to be on the host."""
    if frame.function is None or not isinstance(node, ir.Attribute) or not isinstance(node.value, ir.Name):
        return False
    return node.value.id in looked_up_on_the_host(machine.project, frame.function)


_PLACES: Final = frozenset({"is_cuda", "is_cpu", "device", "type", "index"})
"""What an input and its device say of where it is."""


_GIVE_MODULES: Final = frozenset(
    "eval train half float double bfloat16 requires_grad_ children modules named_children named_modules get_submodule "
    "values items get_decoder get_encoder get_input_embeddings get_output_embeddings".split()
)
"""Methods of modules and of what holds them that give modules."""
_OF_LAYERS: Final = frozenset({"weight", "bias", "data", "grad", "config", "device", "dtype", "shape"})
"""What layers have that is no module: what is made of it moves nothing."""


def _part_of_part(machine: Machine, value: Unknown) -> Unknown | None:
    """What is read of a part of an opaque module is one itself."""
    return unknown_part(machine, machine.run.parts[value]) if value in machine.run.parts else None


_WAITS: Final = frozenset({"cpu", "item", "tolist", "synchronize", "wait"})
"""Methods for which the host waits, if it is a tensor on a GPU, an event or a stream that has them; so do moves."""


_OF_HOST_DATA: Final = frozenset("numpy share_memory_ lower upper strip startswith endswith isdigit".split())
"""Methods of tensors in host memory, and those of texts: what was loaded is data by them, and no weights. Processes may
share the first."""


def _is_asynchronous(call: Call) -> bool:
    return constant(call.keywords.get("non_blocking")) is True


def _moved(machine: Machine, name: str, call: Call) -> Value:
    """`x.to(device)`, `x.cuda()`, `x.cpu()` of something unknown: for what follows it is a tensor on that device."""
    target = call.argument(0, "device")
    if call.open:
        return UNKNOWN
    if name == "cpu":
        device = None if call.positional or call.keywords else "cpu"
    elif _is_asked_for(machine, name, call) and not machine.has_cuda:
        return UNKNOWN  # what has such a method or not need be no module
    elif name == "cuda" and (target is None or is_none(target)):
        device = use(machine, "cuda", None, call.node, call.frame, ".cuda")
    elif isinstance(target, DeviceValue) or (isinstance(target, Const) and is_device_like(target)):
        if isinstance(target, Const) and isinstance(target.value, str) and parse_device(target.value) is None:
            return UNKNOWN
        device = resolve(machine, target, call.node, call.frame, f".{name}")
    else:
        return UNKNOWN
    if device is None:
        return UNKNOWN
    made = Tensor(device, None, machine.origin("moved", call.node, call.frame, device))
    if names_cpu(call) and constant(call.keywords.get("non_blocking")) is True and machine.world.has_cuda:
        made.pending = machine.state.synchronizations
        made.origin = machine.origin("async-copy", call.node, call.frame, "cpu")
    return made


def _is_asked_for(machine: Machine, name: str, call: Call) -> bool:
    """Whether the way to a call asks if the object has the method, `if hasattr(model, "cuda"): model.cuda()`: a plain
    object may have one that needs no GPU."""
    function = call.node.function if isinstance(call.node, ir.Call) else None
    owner = dotted(function.value) if isinstance(function, ir.Attribute) else ""
    asked = f"hasattr({owner}, '{name}')"
    for choice in machine.run.path if owner else ():
        text = choice.condition or (source_text(machine, choice.site) if choice.site is not None else "")
        if choice.value and text.replace('"', "'") == asked:
            return True
    return False


@on(METHOD, Unknown, Answer)
def unknown_method(machine: Machine, value: Unknown, name: str, call: Call) -> Value:
    """`args.name(...)`: `cfg.get("key")` is `cfg["key"]`, and questions about a named string have names.

    What is moved to a known device is there afterwards, whatever it is.
    """
    if name in _READ_BY_HOST or (name in _MOVES and call.unused):
        machine.run.elsewhere = True
    hand_over(machine, call.values())
    note_method(machine, name, call)
    let_callbacks_move(machine, call.values(), call.frame)
    let_others_write(machine, call.values(), call.frame)
    _note_strays(machine, value, call.values())
    if value in machine.run.parts:
        if name in _MOVES:
            part_moved(machine, value)
        elif name in _GIVE_MODULES:
            return unknown_part(machine, machine.run.parts[value])
    if machine.run.loads:
        if shows_network(name, call):
            take_for_weights(machine, value)
        give_weights(machine, name, call)
    made = _moved(machine, name, call) if name in _MOVES else UNKNOWN
    waits = name in _WAITS or (made.__class__ is Tensor and made.device == "cpu")
    if waits and machine.has_cuda and not _is_asynchronous(call):
        let_arrive(machine)
    if name in _MOVES:
        return moved_load(machine, value, made)
    if name in _OF_HOST_DATA:
        take_for_data(machine, value)
    loaded = method_of_load(machine, value, name) if machine.run.loads else None
    if loaded is not None:
        return loaded
    if name == "get_device":
        return number_of_input(machine, value) or UNKNOWN
    if name == "type" and machine.run.protocol and not call.positional and not call.keywords:
        return TENSOR_TYPE
    if name not in _PURE or call.keywords or call.open:
        return UNKNOWN
    answered = method_of_place(machine, value, name, call)
    if answered is not None or value.path is None:
        return answered or UNKNOWN
    if name == "get":
        return _extended_by(machine, value, call.positional[0]) if call.positional else UNKNOWN
    if not all(isinstance(item, Const) for item in call.positional):
        return UNKNOWN
    arguments = ", ".join(repr(item.value) for item in call.positional if isinstance(item, Const))
    return extended(value, f".{name}({arguments})")


@on(CALL, Unknown)
def unknown_called(machine: Machine, value: Unknown, call: Call) -> Value:
    """`f(...)` of which nothing is known."""
    if machine.run.loads:
        take_for_weights(machine, value)
        give_weights(machine, last_name(call.node.function) if isinstance(call.node, ir.Call) else "", call)
    let_callbacks_move(machine, call.values(), call.frame)
    let_others_write(machine, call.values(), call.frame)
    _note_strays(machine, value, call.values())
    if value is IN_TEXT:
        for given in call.values():  # it may move them, or let them move their inputs
            if isinstance(given, Instance) and given.module is not None:
                forget_places(machine, given)
    return spoilt(call)


def _note_strays(machine: Machine, value: Value, given: list[Value]) -> None:
    """What is given to something that a join may have lost."""
    if machine.run.strayed and not machine.run.elsewhere and was_lost(value):
        note_stray(machine, [tensor for part in given for tensor in tensors_in(part)])


@on(ASSIGN_ITEM, Unknown)
def assign_unknown_item(
    machine: Machine, value: Unknown, index: Value, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`x[i] = new` of which nothing is known."""
    _note_strays(machine, value, [index, new])


@on(ITEM, Unknown, Answer)
def unknown_item(machine: Machine, value: Unknown, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`cfg["key"]`."""
    return _part_of_part(machine, value) or item_of_load(machine, value, index) or _extended_by(machine, value, index)


def _extended_by(machine: Machine, value: Unknown, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, (str, int)):
        if isinstance(index.value, int) and (value is RESULT or value.path is None):
            return RESULT if value is RESULT else PLACED
        return _part(machine, value, f"[{index.value!r}]")
    return UNKNOWN


def _part(machine: Machine, value: Unknown, suffix: str) -> Value:
    """A part of what is not known, or the GPU that this run gives it."""
    made = extended(value, suffix)
    return as_given(machine, made) if machine.run.gives_a_gpu else made


def extended(value: Unknown, suffix: str) -> Value:
    """Return the unknown whose name goes on."""
    if value.path is None or len(value.path) + len(suffix) > _LONGEST_PATH:
        return UNKNOWN
    return Unknown(value.path + suffix, value.named)


@on(ITERATE, Unknown, Answer)
def iterate_unknown(machine: Machine, value: Unknown, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """Nothing is known, but of parts of a module that each is one, and of what was loaded that each is a part of it."""
    part = _part_of_part(machine, value) or part_of_load(machine, value)
    return None if part is None else Iteration([part] * max(wanted, 1), True)


@on(BINARY, Unknown, Maybe, Answer, Host, Environment)
def unknown_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """Not known, unless the other side knows (a tensor on the right answers for itself)."""
    if isinstance(left, Unknown) and isinstance(right, (Tensor, Array, Instance, DeviceValue)):
        return None
    if left is HOST_DATA or right is HOST_DATA:
        return HOST_DATA
    return HOST if _is_of_host(left) and _is_of_host(right) else made_of_loads(machine, UNKNOWN, left, right)


def _is_of_host(value: Value) -> bool:
    return isinstance(value, (Host, Const, Scalar))


# -- what is in host memory: so is all that is read of it


@on(ATTRIBUTE, Host)
def host_attribute(machine: Machine, value: Host, name: str, node: ir.Node, frame: Frame) -> Value:
    """`env.action_space`."""
    return HOST


@on(METHOD, Host)
def host_method(machine: Machine, value: Host, name: str, call: Call) -> Value:
    """`env.step(action)`; `data.astype(np.float32)` of what is an array, or a tensor of the CPU."""
    return value if name in _KEEP_DATA else HOST


_KEEP_DATA: Final = frozenset("astype copy reshape transpose swapaxes flatten ravel clip repeat round squeeze".split())
"""Methods of arrays that give as much."""


@on(CALL, Host)
def host_called(machine: Machine, value: Host, call: Call) -> Value:
    """A call of something that was read of it."""
    return HOST


@on(ITEM, Host)
def host_item(machine: Machine, value: Host, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`observation[0]`."""
    return HOST


@on(ITERATE, Host)
def iterate_host(machine: Machine, value: Host, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """As many parts as are wanted."""
    return Iteration([HOST] * max(wanted, 2), True)


# -- what may be None: what is read of it, or called, is there


@on(ATTRIBUTE, Maybe)
def maybe_attribute(machine: Machine, value: Maybe, name: str, node: ir.Node, frame: Frame) -> Value:
    """`x.name` of the value."""
    return attribute(machine, value.value, name, node, frame)


@on(METHOD, Maybe)
def maybe_method(machine: Machine, value: Maybe, name: str, call: Call) -> Value:
    """`x.name(...)` of the value."""
    return call_method(machine, value.value, name, call)


@on(CALL, Maybe)
def maybe_called(machine: Machine, value: Maybe, call: Call) -> Value:
    """`x(...)`."""
    return call_value(machine, value.value, call)


@on(ITEM, Maybe)
def maybe_item(machine: Machine, value: Maybe, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`x[index]`."""
    return item(machine, value.value, index, node, frame)


@on(ASSIGN_ITEM, Maybe)
def assign_maybe_item(machine: Machine, value: Maybe, index: Value, new: Value, node: ir.Node, frame: Frame) -> None:
    """`x[index] = new`."""
    assign_item(machine, value.value, index, new, node, frame)


@on(ASSIGN_ATTRIBUTE, Maybe)
def assign_maybe_attribute(machine: Machine, value: Maybe, name: str, new: Value, node: ir.Node, frame: Frame) -> None:
    """`x.name = new`."""
    assign_attribute(machine, value.value, name, new, node, frame)


@on(ITERATE, Maybe)
def iterate_maybe(machine: Machine, value: Maybe, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """The items of the value."""
    return iterate(machine, value.value, node, frame, wanted)
