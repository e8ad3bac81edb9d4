"""Tensors: attributes, truth and operators. Methods are in `tensor_methods`, indexing in `indexing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import ASSIGN_ATTRIBUTE, ATTRIBUTE, BINARY, CALL, TRUTH, Call, on
from devlint.analysis.domain.dtypes import is_floating
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    DTYPE,
    POISON,
    SCALAR,
    SOME_RANK,
    UNKNOWN,
    Array,
    Const,
    External,
    Host,
    Lost,
    Method,
    Scalar,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.pytorch.host import read_pending, to_host
from devlint.analysis.pytorch.leaves import NoGradient, gradient_of, moved_leaf
from devlint.analysis.pytorch.loads import of_weights, take_for_weights
from devlint.analysis.pytorch.meeting import Part, meet
from devlint.analysis.pytorch.missing import read_lost
from devlint.analysis.pytorch.ranks import broadcast_rank, product_rank
from devlint.analysis.pytorch.results import (
    derived,
    device_of,
    is_any_content,
    loaded_tensor,
    may_require_grad,
)
from devlint.analysis.pytorch.rows import apply_row
from devlint.analysis.pytorch.sizes import elementwise_size, product_size, shape
from devlint.analysis.pytorch.snapshots import separate
from devlint.analysis.pytorch.tensor_methods import METHODS
from devlint.semantics import table
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


@on(CALL, Tensor)
def call_tensor(machine: Machine, value: Tensor, call: Call) -> Value:
    """`network(x)` of what was loaded and moved: it is no tensor."""
    take_for_weights(machine, value)
    return UNKNOWN


@on(ATTRIBUTE, Tensor)
def tensor_attribute(machine: Machine, value: Tensor, name: str, node: ir.Node, frame: Frame) -> Value:
    """`tensor.name`."""
    own = None if value.attributes is None else value.attributes.get(name)
    if own is not None and own.__class__ is not Lost:
        return own
    if name in ("device", "is_cuda", "is_cpu"):
        answer = _where(machine, value, name)
        return answer if machine.run.trace is None else machine.run.trace.answer(node, answer)
    if name == "data":
        return of_weights(machine, _content(value)) if value.is_parameter else value
    if name == "shape":
        return shape(value)
    if name == "ndim":
        return const(value.rank) if value.rank is not None and value.rank < SOME_RANK else COUNT
    if name == "dtype":
        return External(value.dtype) if value.dtype else DTYPE
    if name in ("T", "mT", "H", "mH", "real", "imag"):
        return derived(value)
    if name in ("grad", "_grad"):
        return gradient_of(machine, value)
    if name in ("requires_grad", "is_leaf", "is_sparse", "is_quantized"):
        return const(value.requires_grad) if name == "requires_grad" and value.requires_grad is not None else BOOL
    if name in ("layout", "grad_fn", "names", "_version"):
        return SCALAR
    row = table.method(name)
    if row is not None and "property" in row.flags:
        return apply_row(machine, row, Call([], {}, node, frame), value)
    if row is not None or name in METHODS:
        return Method(value, name)
    if not isinstance(own, Lost):
        return UNKNOWN
    asked = node.function if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute) else node
    error = "AttributeError: Caught AttributeError in replica 0 on device 0."
    return read_lost(machine, own, "attribute", error, name, asked, frame)


def _content(parameter: Tensor) -> Tensor:
    """`parameter.data`: another tensor over the same memory, which stays where it is when its module moves."""
    made = derived(parameter)
    made.requires_grad, made.size = False, parameter.size
    return made


def _where(machine: Machine, value: Tensor, name: str) -> Value:
    """`tensor.device`, `tensor.is_cuda`, `tensor.is_cpu`."""
    if name == "device":
        return device_of(value)
    if name == "is_cuda" and machine.device_count == 0:
        return const(False)
    if value.device in (None, POISON):
        return BOOL
    return const(str(value.device).startswith("cuda") if name == "is_cuda" else value.device == "cpu")


@on(ASSIGN_ATTRIBUTE, Tensor)
def assign_tensor_attribute(
    machine: Machine, value: Tensor, name: str, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`tensor.data = other` moves in place; `tensor.requires_grad = True`; what torch has no name for is kept."""
    if name == "data":
        separate(machine, value)
    if name == "data" and isinstance(new, Tensor) and new is not value:
        origin = new.origin
        if origin is not None and origin.kind == "parameter" and None not in (value.device, new.device):
            if value.device != new.device:  # what a parameter was made of lay elsewhere: it goes there by this
                origin = machine.origin("moved", node, frame, new.device, "", origin)
        if new.device == value.device and moved_leaf(value) is not None:
            origin = value.origin  # it has other content now, and is no leaf still
        machine.store.set(value, "device", new.device)
        machine.store.set(value, "origin", origin)
    elif name == "data" and isinstance(new, Unknown):
        if value.is_parameter:
            take_for_weights(machine, new)
        machine.store.set(value, "device", None)
    elif name == "requires_grad" and isinstance(new, Const):
        machine.store.set(value, "requires_grad", bool(new.value))
        machine.store.set(value, "keeps_grad", True)
    elif name in ("grad", "_grad"):
        receiver, given = _assigned(node)
        parts = [Part(value, "strict", receiver, parameter="self"), Part(new, "strict", given, parameter="gradient")]
        meet(machine, parts, "grad", node, frame)
        machine.store.set(value, "keeps_grad", True)
    elif name not in _SETTABLE and not (isinstance(new, Method) and new.receiver is value and new.name == name):
        machine.store.set(value, "attributes", {**(value.attributes or {}), name: new})


def _assigned(node: ir.Node) -> tuple[ir.Expr | None, ir.Expr | None]:
    """The object and the value of an assignment to one attribute."""
    if isinstance(node, ir.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ir.Attribute):
        return node.targets[0].value, node.value
    return None, None


_SETTABLE = frozenset("data grad _grad requires_grad names".split())


@on(TRUTH, Tensor)
def tensor_truth(machine: Machine, value: Tensor) -> bool | None:
    """The truth of a tensor is not known."""
    return None


# -- operators


def _goes_along(side: Value, other: Value) -> bool:
    """Whether one side is a number of the host, which goes wherever the other is, and that may be a tensor of which
    nothing is known: `ids != 0` is taken for a bool, and may be one for each element."""
    is_number = isinstance(side, Tensor) and side.rank == 0 and side.device == "cpu"
    return is_number and isinstance(other, Scalar) and other.kind not in ("number", "string")


@on(BINARY, Tensor)
def tensor_binary(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """`left operator right` with a tensor."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Tensor) and is_any_content(side):
            if isinstance(other, (Const, Scalar)) or (isinstance(other, Tensor) and is_any_content(other)):
                return UNKNOWN  # settings that were saved beside the weights
    left, right = loaded_tensor(left) or left, loaded_tensor(right) or right
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Tensor) and is_any_content(side) and isinstance(other, (Unknown, Array)):
            return UNKNOWN  # a date and a time step, for all that is known, or a list of names
        if _goes_along(side, other):
            return UNKNOWN
    for side in (left, right):
        if isinstance(side, Array):
            return _meet_array(machine, left, right, node, frame)
        if not isinstance(side, (Tensor, Const, Scalar, Unknown)):
            return None if side.__class__ is NoGradient else UNKNOWN
    demand = "strict" if operator == "@" else "combine"
    left_node, right_node = getattr(node, "left", None), getattr(node, "right", None)
    if isinstance(node, ir.Augment):
        left_node, right_node = node.target, node.value
        demand_left = "strict"
    else:
        demand_left = demand
    main, clashed = meet(
        machine,
        [Part(left, demand_left, left_node), Part(right, demand, right_node)],
        _OPERATIONS.get(operator, operator),
        node,
        frame,
    )
    if clashed:
        return Tensor(POISON)
    _read_operands(machine, left, right, node, frame)
    if main is None or (main.device == "cpu" and _may_follow(main, left, right)):
        return Tensor(None)
    if operator == "@":
        product = derived(main, product_rank(left, right))
        product.size = product_size(left, right)
        return product
    made = derived(main, broadcast_rank([left, right]))
    made.is_element = made.rank is None and main.is_element
    made.size = elementwise_size(main, [left, right])
    made.dtype = _common_dtype(operator, left, right)
    if main.requires_grad is False and may_require_grad((left, right)):
        made.requires_grad = None
    return made


def _may_follow(main: Tensor, left: Value, right: Value) -> bool:
    """Whether a tensor of the CPU may be a number, and the other operand, nobody knows where, be on the GPU: what has a
    name, such as a setting, is taken for a number itself."""
    other = right if left is main else left
    if isinstance(other, Tensor):
        nowhere = other.device is None
    else:
        nowhere = isinstance(other, Unknown) and not isinstance(other, Host) and other.path is None
    return nowhere and ((main.is_element and main.rank is None) or main.rank == 0)


def _meet_array(machine: Machine, left: Value, right: Value, node: ir.Node, frame: Frame) -> Value:
    """An operator with a numpy array, which on the right may still be a number."""
    array, other, place = (left, right, "right") if isinstance(left, Array) else (right, left, "left")
    if not isinstance(other, Tensor) or not isinstance(array, Array):
        return UNKNOWN
    if array.may_be_number or (array is right and not array.rank):
        return Tensor(other.device)
    if other.device in (None, "cpu", POISON):
        return Tensor(other.device)
    to_host(machine, other, "numpy operator", node, frame, "numpy", getattr(node, place, None))
    return UNKNOWN


def _common_dtype(operator: str, left: Value, right: Value) -> str | None:
    """The dtype of `left operator right`, where both have it."""
    sides = [side for side in (left, right) if isinstance(side, Tensor)]
    dtype = sides[0].dtype
    if dtype is None or sides[-1].dtype != dtype:
        return None
    if is_floating(dtype):
        return dtype if len(sides) == 2 or isinstance(left, Const) or isinstance(right, Const) else None
    return dtype if len(sides) == 2 and operator in "&|^+-*" else None


def _read_operands(machine: Machine, left: Value, right: Value, node: ir.Node, frame: Frame) -> None:
    """An operator on the host reads what it is given."""
    for side in (left, right):
        if isinstance(side, Tensor) and side.pending is not None and side.device == "cpu":
            read_pending(machine, side, "", node, frame)


_OPERATIONS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "@": "matmul",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
}


def compare_tensors(machine: Machine, symbol: str, left: Value, right: Value, node: ir.Compare, frame: Frame) -> Value:
    """An elementwise comparison gives a boolean tensor."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Tensor) and is_any_content(side) and isinstance(other, Array):
            return UNKNOWN
        if _goes_along(side, other):
            return UNKNOWN
    if symbol == "==":
        left, right = _as_tensor(left), _as_tensor(right)
    if not isinstance(left, (Tensor, Const, Scalar, Unknown)) or not isinstance(
        right, (Tensor, Const, Scalar, Unknown)
    ):
        return BOOL
    if isinstance(left, Const) and not isinstance(left.value, (int, float)):
        return BOOL
    if isinstance(right, Const) and not isinstance(right.value, (int, float)):
        return BOOL
    main, clashed = meet(
        machine,
        [Part(left, "combine", node.left), Part(right, "combine", node.right)],
        {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[symbol],
        node,
        frame,
    )
    if clashed:
        return Tensor(POISON)
    _read_operands(machine, left, right, node, frame)
    if main is None:
        return UNKNOWN
    made = derived(main, broadcast_rank([left, right]))
    made.size = elementwise_size(main, [left, right])
    made.dtype = "torch.bool"
    return made


def _as_tensor(side: Value) -> Value:
    """A numpy array that is compared with a tensor becomes one, on the CPU; what may be a number stays."""
    if not isinstance(side, Array) or not side.rank:
        return side
    return Tensor("cpu", side.rank)


def combine(
    machine: Machine, values: list[Value], node: ir.Node, frame: Frame, operation: str = "", rank: int | None = None
) -> Value:
    """The elementwise combination of values, for builtins such as `sum`; with so many dimensions."""
    main, clashed = meet(machine, [Part(value, "combine", None) for value in values], operation or "add", node, frame)
    if clashed:
        return Tensor(POISON)
    return UNKNOWN if main is None else derived(main, rank)
