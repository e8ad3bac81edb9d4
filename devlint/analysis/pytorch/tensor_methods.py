"""Tensor methods that are more than a row of the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from devlint.analysis.access import attribute, call_value
from devlint.analysis.dispatch import METHOD, Call, on
from devlint.analysis.domain.dtypes import dtype_of
from devlint.analysis.domain.values import (
    ANY_SIZE,
    COUNT,
    NONE,
    NUMBER,
    POISON,
    SIZE,
    SOME_INDEX,
    SOME_RANK,
    STRING,
    UNKNOWN,
    Array,
    Const,
    DeviceValue,
    External,
    Lost,
    Scalar,
    Sequence,
    Shared,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.events import LegacyType
from devlint.analysis.flow.users_devices import as_given, note_device
from devlint.analysis.python.replacing import replaced
from devlint.analysis.pytorch.devices import (
    demand_gpu,
    given_device,
    is_device_like,
    legacy_error,
    resolve,
    use,
)
from devlint.analysis.pytorch.gathering import needs_number
from devlint.analysis.pytorch.host import let_arrive, names_cpu, pin, read_pending, synchronize, to_host
from devlint.analysis.pytorch.loads import OF_BOTH, moved_load, shows_network, take_for_weights
from devlint.analysis.pytorch.moves import note_transfer
from devlint.analysis.pytorch.results import derived, device_of, is_any_content
from devlint.analysis.pytorch.rows import apply_row, refuse_as_content
from devlint.analysis.pytorch.sizes import first_size, other_size, shape
from devlint.analysis.pytorch.snapshots import kept_on_cpu, note_copied, only_names_cpu
from devlint.semantics import libraries, table
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


Method: TypeAlias = "Callable[[Machine, Tensor, Call, str], Value]"
METHODS: dict[str, Method] = {}


@on(METHOD, Tensor)
def tensor_method(machine: Machine, value: Tensor, name: str, call: Call) -> Value:
    """`tensor.name(...)`."""
    if value.attributes is not None and name in value.attributes:
        if value.attributes[name].__class__ is not Lost:
            return call_value(machine, value.attributes[name], call)
        if name not in METHODS and table.method(name) is None:
            return attribute(machine, value, name, call.node, call.frame)
    own = replaced(machine, "torch.Tensor", name) if machine.state.replaced else None
    if own is not None:
        return call_value(machine, own, call.with_arguments([value, *call.positional], call.keywords))
    made = torch_method(machine, value, name, call)
    return moved_load(machine, value, made) if machine.run.loads and name in OF_BOTH else made


def torch_method(machine: Machine, value: Tensor, name: str, call: Call) -> Value:
    """A method of tensors that is torch's own, whatever stands in its place: `torch.Tensor.name(tensor, ...)`."""
    model = METHODS.get(name)
    if model is not None:
        return model(machine, value, call, name)
    row = table.method(name)
    if row is None:
        if machine.run.loads and shows_network(name, call):
            take_for_weights(machine, value)
        return UNKNOWN
    return apply_row(machine, row, call, value)


# -- moving


@on(METHODS, "to")
def method_to(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.to(device | dtype | other)`."""
    target = call.argument(0, "device")
    if target is None:
        target = call.keywords.get("other")
    if isinstance(target, Scalar) and target.kind not in ("dtype", "number"):
        return moved(machine, value, None, call)  # one of several numbers or names
    if target is None or isinstance(target, External) or (isinstance(target, Scalar) and target.kind == "dtype"):
        made = derived(value)
        made.dtype = dtype_of(target if target is not None else call.keywords.get("dtype"))
        second = call.argument(1, "device") if "device" not in call.keywords else None
        if isinstance(target, External) and second is not None and is_device_like(second):
            return moved(machine, value, resolve(machine, second, call.node, call.frame, ".to"), call)
        if call.open:
            made.device = None
        return made
    if isinstance(target, Tensor):
        return moved(machine, value, _device_of_other(machine, target, call), call)
    if target is not None and machine.run.gives_a_gpu:
        target = as_given(machine, target)
    if isinstance(target, Unknown) and given_device(machine, target) is None:
        note_device(machine, target, False)
        made = Tensor(None, value.rank, value.origin)
        made.requires_grad = value.requires_grad
        return made
    if isinstance(target, Const) and target.value is None:
        return value if "dtype" not in call.keywords else derived(value)
    device = resolve(machine, target, call.node, call.frame, ".to")
    if device == POISON:
        return Tensor(POISON)
    if value.shared is not None and device == value.device == "cpu" and only_names_cpu(call):
        return kept_on_cpu(machine, value, call)
    again = device == value.device == "cpu" and machine.world.has_cuda
    result = _put_again(machine, value, call) if again else moved(machine, value, device, call)
    if not again and machine.run.trace is not None and result is not value and result.origin is not None:
        result.origin = machine.frozen(target, result.origin, call.frame)
    dtype = call.argument(1, "dtype")
    if isinstance(dtype, External) or (isinstance(dtype, Scalar) and dtype.kind == "dtype"):
        if result is not value:
            result.dtype = dtype_of(dtype)
        elif value.dtype not in (None, dtype_of(dtype)):
            result = _cast(value, dtype_of(dtype))
    return result if again else note_pending(machine, value, result, call)


def _device_of_other(machine: Machine, other: Tensor, call: Call) -> str | None:
    """Where another tensor is, which a trace has frozen."""
    if machine.run.trace is not None:
        answer = machine.run.trace.answer(call.node, device_of(other))
        return str(answer) if isinstance(answer, DeviceValue) else None
    return None if is_any_content(other) else other.device


@on(METHODS, "cuda")
def method_cuda(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.cuda(device)`."""
    target = call.given(0, "device")
    if isinstance(target, (Unknown, Scalar)):
        if machine.device_count == 0 and not machine.run.protocol:
            device = use(machine, "cuda", None, call.node, call.frame, ".cuda")
            return Tensor(device, value.rank)
        some = None
        if machine.device_count:
            some = use(machine, "cuda", SOME_INDEX, call.node, call.frame, ".cuda")
        return moved(machine, value, some, call)
    if target is None:
        device = use(machine, "cuda", None, call.node, call.frame, ".cuda")
    elif demand_gpu(machine, target, call.node, call.frame, ".cuda", False):
        return Tensor(POISON)
    else:
        device = resolve(machine, target, call.node, call.frame, ".cuda")
    if device == POISON:
        return Tensor(POISON)
    return moved(machine, value, device, call)


@on(METHODS, "cpu")
def method_cpu(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.cpu()`: waits for the device."""
    synchronize(machine, value, call, ".cpu()")
    return kept_on_cpu(machine, value, call) if value.device == "cpu" else moved(machine, value, "cpu", call)


@on(METHODS, "type")
def method_type(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.type(torch.FloatTensor)` moves to the CPU; `torch.cuda.FloatTensor` to CUDA; a dtype keeps the device."""
    target = call.argument(0, "dtype")
    if target is None:
        if call.open:
            return UNKNOWN
        name_of_type = _type_name(machine, value)
        return name_of_type if machine.run.trace is None else machine.run.trace.answer(call.node, name_of_type)
    if isinstance(target, Scalar) and target.among is not None:
        return _type_of_another(machine, value, target.among, call)
    path = target.path if isinstance(target, External) else target.value if isinstance(target, Const) else None
    if not isinstance(path, str):
        return Tensor(None, value.rank, value.origin)
    if path.startswith("torch.cuda.") and path.endswith("Tensor"):
        return legacy_move(machine, value, path, call)
    if path.startswith("torch.") and path.endswith("Tensor"):
        if value.device in ("cpu", None, POISON):
            return _cast(value, (libraries.legacy_type(path) or ("", None))[1])
        made = Tensor("cpu", value.rank, machine.origin("type-cast", call.node, call.frame, "cpu", path, value.origin))
        made.requires_grad = value.requires_grad
        return made
    return _cast(value, dtype_of(target))


def _cast(value: Tensor, dtype: str | None) -> Tensor:
    made = derived(value)
    made.dtype, made.size = dtype, value.size
    return made


@on(METHODS, "new")
def method_new(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.new(2, 3)`, `tensor.new(other)`: what is made where the tensor is, of another that is there."""
    if value.device == "cpu" and len(call.positional) == 1 and isinstance(call.positional[0], Tensor):
        refuse_as_content(machine, call.positional[0], "Tensor.new", call)
    row = table.method(name)
    return UNKNOWN if row is None else apply_row(machine, row, call, value)


@on(METHODS, *"half float double bfloat16 short int long bool byte char".split())
def method_cast(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.long()`: another dtype, on the same device."""
    row = table.method(name)
    made = UNKNOWN if row is None else apply_row(machine, row, call, value)
    if isinstance(made, Tensor):
        made.dtype = libraries.dtype_named(f"torch.{name}")
    return made


_NUMBERS = (
    *("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool", "ComplexFloat"),
    *("ComplexDouble", "ComplexHalf"),
)
_ON_CPU, _ON_CUDA = (
    Scalar(kind="string", among=frozenset(f"{prefix}{kind}Tensor" for kind in _NUMBERS for prefix in prefixes))
    for prefixes in (("torch.", "torch.sparse."), ("torch.cuda.", "torch.cuda.sparse."))
)


def _type_name(machine: Machine, value: Tensor) -> Value:
    """`tensor.type()`: the name of a type of tensors on its device, nobody knows of which numbers."""
    if value.device == "cpu" or (value.device is None and machine.device_count == 0):
        return _ON_CPU
    return _ON_CUDA if value.device is not None and value.device.startswith("cuda:") else STRING


def _type_of_another(machine: Machine, value: Tensor, among: frozenset[str], call: Call) -> Value:
    """`tensor.type(other.type())`: to the kind of device on which the other is; on one of that kind it stays."""
    kinds = {"cuda" if text.startswith("torch.cuda.") else "cpu" for text in among}
    if len(kinds) != 1 or value.device in (None, POISON):
        return Tensor(None if value.device != POISON else POISON, value.rank, value.origin)
    kind = kinds.pop()
    if str(value.device).partition(":")[0] == kind:
        return derived(value)
    device = use(machine, kind, None, call.node, call.frame, ".type")
    return Tensor(POISON) if device == POISON else moved(machine, value, device, call)


@on(METHODS, "type_as")
def method_type_as(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.type_as(other)`: its type and its device."""
    other = call.argument(0, "other")
    if isinstance(other, Tensor):
        return moved(machine, value, other.device, call)
    return Tensor(None, value.rank)


@on(METHODS, "copy_")
def method_copy(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.copy_(other)`: across devices on purpose; into pinned memory without blocking, it is not there yet."""
    other = call.argument(0, "src")
    note_copied(machine, value, other, call)
    if value.is_parameter or value.shared is not None or value in machine.run.contents:
        take_for_weights(machine, other)
    blocking = constant(call.argument(1, "non_blocking"))
    if isinstance(other, Tensor) and value.device == "cpu" and other.device not in (None, "cpu", POISON):
        if blocking is True and value.pinned:
            mark = machine.origin("async-copy", call.node, call.frame, "cpu", "", value.origin)
            for written in (value, value.base):
                if written is not None:
                    machine.store.set(written, "pending", machine.state.synchronizations)
                    machine.store.set(written, "origin", mark)
        else:
            synchronize(machine, other, call, ".copy_()")
    elif isinstance(other, Tensor) and other.device == "cpu":
        if value.device == "cpu":
            read_pending(machine, other, ".copy_()", call.node, call.frame)
        elif blocking is not True:
            let_arrive(machine)
    return value


def moved(machine: Machine, value: Tensor, device: str | None, call: Call, note: str = "") -> Tensor:
    """What `.to(device)` gives: the tensor itself when it is there already."""
    if device is not None and device == value.device:
        return value
    note_transfer(machine, value, device, call)
    if value.device in ("cpu", None) and device not in ("cpu", POISON) and not _is_asynchronous(call):
        let_arrive(machine)  # the host waits in this direction, too
    if value.origin is not None and not call.unused:
        machine.run.sent.add(value.origin.first())
        if value.device == "cpu" and device not in (None, POISON):
            machine.run.served[value.origin] = machine.tick()  # who has both from here on makes the mistake
    made = Tensor(
        device,
        value.rank,
        machine.origin("moved", call.node, call.frame, device, note, value.origin),
        dtype=value.dtype,
        size=value.size,
    )
    assert made.origin is not None
    made.origin.source = value
    made.origin.is_leaf = machine.state.makes_leaves
    made.origin.product = made
    made.requires_grad = True if value.is_parameter and value.requires_grad is None else value.requires_grad
    made.is_element = value.is_element
    made.keeps_grad = made.requires_grad is not True
    if device is None and value.assumed:
        made.assumed = True
    return made


def _put_again(machine: Machine, value: Tensor, call: Call) -> Tensor:
    """A tensor on the CPU that the program puts there, though there is CUDA: from here on that is its own choice."""
    if value.is_parameter or value.requires_grad is True:
        return value  # who holds it may ask whether it is still the same leaf
    made = derived(value)
    made.origin = machine.origin("moved", call.node, call.frame, "cpu", "", value.origin)
    made.size, made.pinned, made.attributes, made.base = value.size, value.pinned, value.attributes, value
    return made


def _is_asynchronous(call: Call) -> bool:
    return constant(call.keywords.get("non_blocking", call.argument(1, "non_blocking"))) is True


def note_pending(machine: Machine, value: Tensor, result: Tensor, call: Call) -> Tensor:
    """A device-to-host copy with non_blocking=True is not there before a synchronization; another one is itself one."""
    if result.device != "cpu" or value.device == "cpu" or result is value:
        return result
    if not _is_asynchronous(call):
        let_arrive(machine)
    else:
        if value.device is None and not (names_cpu(call) and machine.has_cuda):
            return result
        result.pending = machine.state.synchronizations
        result.origin = machine.origin("async-copy", call.node, call.frame, "cpu", "", value.origin)
        result.origin.source = value
        result.origin.product = result
    return result


def legacy_move(machine: Machine, value: Tensor, path: str, call: Call) -> Value:
    """`.type(torch.cuda.FloatTensor)`."""
    site = machine.site(call.node, call.frame)
    error = legacy_error(machine, "torch.Tensor.type")
    machine.emit(LegacyType, site, error=error, text=path, operation=".type")
    if value.device is not None and value.device.startswith("cuda:") and machine.device_count:
        return _cast(value, (libraries.legacy_type(path) or ("", None))[1])  # what is on a GPU stays on that one
    device = use(machine, "cuda", None, call.node, call.frame, ".type", kind="legacy")
    return Tensor(POISON) if device == POISON else moved(machine, value, device, call)


# -- leaving tensors


@on(METHODS, "numpy", "__array__")
def method_numpy(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.numpy()`: CPU only, unless `force=True`."""
    if constant(call.argument(0, "force")) is True:
        synchronize(machine, value, call, ".numpy()")
        return Array(value.rank)
    receiver = (
        call.node.function.value
        if isinstance(call.node, ir.Call) and isinstance(call.node.function, ir.Attribute)
        else None
    )
    to_host(machine, value, ".numpy()", call.node, call.frame, "numpy", receiver)
    if not machine.run.protocol:  # a view of its memory: callers out of sight may wait before they read it
        read_pending(machine, value, ".numpy()", call.node, call.frame)
    return Array(value.rank, value if value.device == "cpu" else None)


@on(METHODS, "item", "tolist", "__float__", "__int__")
def method_item(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`.item()`, `.tolist()`: Python values; waits for the device."""
    if name == "item":
        needs_number(machine, value, call, "a Tensor with 2 elements cannot be converted to Scalar")
    synchronize(machine, value, call, f".{name}()")
    read_pending(machine, value, f".{name}()", call.node, call.frame)
    return NUMBER if name != "tolist" else Sequence("list", [NUMBER, NUMBER] if value.rank == 1 else [], True)


@on(METHODS, "get_device")
def method_get_device(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.get_device()`: an index, -1 on the CPU."""
    answer: Value = NUMBER
    if value.device == "cpu":
        answer = Const(-1, machine.site(call.node, call.frame))
    elif value.device is not None and value.device.startswith("cuda:"):
        answer = Const(int(value.device[5:]), None)
    return answer if machine.run.trace is None else machine.run.trace.answer(call.node, answer)


@on(METHODS, "size")
def method_size(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.size()`, `tensor.size(0)`."""
    if call.positional or call.keywords:
        index = constant(call.argument(0, "dim"))
        return first_size(value) if index == 0 else other_size(value, index if isinstance(index, int) else None)
    return shape(value)


@on(METHODS, "numel", "nelement")
def method_numel(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.numel()`."""
    return first_size(value) if value.size in (0, ANY_SIZE) else SIZE


@on(METHODS, "dim", "ndimension")
def method_dim(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.dim()`."""
    return const(value.rank) if value.rank is not None and value.rank < SOME_RANK else COUNT


# -- others


@on(METHODS, "pin_memory")
def method_pin(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.pin_memory()`: dense CPU tensors only."""
    return pin(machine, value, call)


@on(METHODS, "requires_grad_")
def method_requires_grad(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.requires_grad_()` in place."""
    flag = constant(call.argument(0, "requires_grad"))
    machine.store.set(value, "requires_grad", flag is not False)
    machine.store.set(value, "keeps_grad", True)
    return value


@on(METHODS, "float")
def method_float(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.float()`: a parameter is of that type, unless it is known to be of another, and then it is returned."""
    if value.is_parameter and value.dtype in (None, "torch.float32"):
        return value
    row = table.method(name)
    assert row is not None
    return apply_row(machine, row, call, value)


@on(METHODS, "detach", "detach_")
def method_detach(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.detach()`."""
    made = derived(value)
    made.requires_grad = False
    made.keeps_grad = True
    made.is_parameter = False
    made.shared = Shared(value) if value.is_parameter else value.shared
    return made


@on(METHODS, "retain_grad")
def method_retain_grad(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.retain_grad()`: what is no leaf keeps its gradient, too."""
    machine.store.set(value, "keeps_grad", True)
    return NONE


@on(METHODS, "__setstate__")
def method_nothing(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """Methods that give nothing."""
    return NONE


@on(METHODS, "squeeze_", "unsqueeze_")
def method_reshape_in_place(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.squeeze_()`: the tensor itself gets another number of dimensions."""
    row = table.method(name.removesuffix("_"))
    assert row is not None
    made = apply_row(machine, row, call, value)
    machine.store.set(value, "rank", made.rank if isinstance(made, Tensor) else None)
    return value
