"""Comparisons: what is known of a value, devices, identity, membership."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value, truth
from devlint.analysis.dispatch import EVALUATE, Call, evaluates
from devlint.analysis.domain.ancestry import HANDED, external_bases, find, is_open_class, mro
from devlint.analysis.domain.derived import DeviceText
from devlint.analysis.domain.dtypes import are_dtypes_apart
from devlint.analysis.domain.plain import equal, none_of, texts_differ
from devlint.analysis.domain.values import (
    BOOL,
    FOLLOWS,
    LOST_TYPE,
    PLACED,
    PRESENT,
    RESULT,
    RESULT_IS_NONE,
    SOME_DEVICE,
    TENSOR_TYPE,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Maybe,
    OneOf,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.flow.choices import COMPARE, count_arguments, presence
from devlint.analysis.flow.conditions import named_unknown
from devlint.analysis.flow.counting import weigh
from devlint.analysis.flow.other_values import note_comparison
from devlint.analysis.flow.presets import compared
from devlint.analysis.flow.users_devices import as_given
from devlint.analysis.frames import Frame
from devlint.analysis.python.arguments import Arguments
from devlint.analysis.python.containers import contains
from devlint.analysis.python.enumerations import is_member
from devlint.analysis.pytorch.device_comparing import compare_devices, refuse_index
from devlint.analysis.pytorch.device_names import compare_names, look_in_names
from devlint.analysis.pytorch.input_places import compare_places
from devlint.analysis.pytorch.leaves import NoGradient, may_lack
from devlint.analysis.pytorch.missing import is_missing_accelerator
from devlint.analysis.pytorch.tensors import compare_tensors
from devlint.analysis.signals import Crash
from devlint.semantics.devices import OTHERS
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


_TYPES: Final = frozenset({LOST_TYPE, TENSOR_TYPE})
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@evaluates(ir.Compare)
def evaluate_compare(machine: Machine, node: ir.Compare, frame: Frame) -> Value:
    """One comparison."""
    machine.step()
    left = EVALUATE[node.left.__class__](machine, node.left, frame)
    right = EVALUATE[node.right.__class__](machine, node.right, frame)
    return compare(machine, left, right, node, frame)


def compare(machine: Machine, left: Value, right: Value, node: ir.Compare, frame: Frame) -> Value:
    """What a comparison gives of these sides, however they were come by."""
    symbol = node.operator
    if machine.run.gives_a_gpu:
        left, right = as_given(machine, left), as_given(machine, right)
    if is_none(right) and is_missing_accelerator(left, machine):
        machine.testify("availability", frame)
    if symbol in ("is", "is-not"):
        if is_none(right) and may_lack(machine, left, node.left):
            return BOOL
        return _compare_identity(left, right, symbol)
    if _asks_for_cuda(symbol, left, right) and machine.device_count == 0:
        return const(symbol in ("!=", "not-in"))
    if machine.run.protocol and (left.__class__ is Unknown or right.__class__ is Unknown):
        placed = compare_places(machine, symbol, left, right)
        if placed is not None:
            return const(placed)
    is_equality = symbol in ("==", "!=")
    if is_equality:
        same = _are_devices_equal(machine, left, right, node)
        if same is not None:
            return const(same is (symbol == "=="))
    if left in _TYPES or right in _TYPES:
        return FOLLOWS
    if is_equality and is_none(right) and _is_told_by_identity(left):
        return _compare_identity(left, right, "is" if symbol == "==" else "is-not")
    if isinstance(left, DeviceValue) or isinstance(right, DeviceValue):
        return compare_devices(machine, symbol, left, right, node, frame)
    if symbol in ("in", "not-in"):
        return _compare_membership(machine, left, right, node, frame)
    if isinstance(left, Const) and isinstance(right, Const):
        return _compare_constants(machine, left, right, node, frame)
    if is_equality:
        same = _are_one(left, right)
        if same is not None:
            return const(same is (symbol == "=="))
    if left.__class__ is Instance or right.__class__ is Instance:
        answered = _by_own_method(machine, symbol, left, right, node, frame)
        if answered is not None:
            return answered
        if is_equality and left is not right and _is_equal_to_itself(left) and _is_equal_to_itself(right):
            return const(symbol == "!=")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return compare_tensors(machine, symbol, left, right, node, frame)
    if isinstance(left, Array) or isinstance(right, Array):
        arrays = [side for side in (left, right) if isinstance(side, Array)]
        return Array(_common_rank(left, right), None, all(side.may_be_number for side in arrays))
    if is_equality:
        same = _are_equal(left, right)
        if same is not None:
            return const(same is (symbol == "=="))
    known = _compare_bounds(left, symbol, right)
    if known is not None:
        weigh(machine, node, frame)
        return const(known)
    return count_arguments(left, symbol, right) or named_unknown(left, symbol, right) or BOOL


def _are_devices_equal(machine: Machine, left: Value, right: Value, node: ir.Compare) -> bool | None:
    """What is told of names of devices though nobody knows what stands on one side."""
    if _asks_for_another(left, right):
        return False
    if _is_cpu(right) and _is_type(node.left, left) and machine.device_count == 0:
        return True
    if left is SOME_DEVICE or right is SOME_DEVICE:
        other = right if left is SOME_DEVICE else left
        return False if other.__class__ is Const else None
    return None


def _compare_membership(machine: Machine, left: Value, right: Value, node: ir.Compare, frame: Frame) -> Value:
    """`left in right`, `left not in right`."""
    symbol = node.operator
    answer = contains(machine, right, left, node, frame)
    if answer is False and left.__class__ is Const:
        look_in_names(machine, symbol, left, right, node, frame)
    if answer is not None:
        return const(answer if symbol == "in" else not answer)
    return named_unknown(left, symbol, right) or _named_membership(left, symbol, right) or BOOL


def _compare_constants(machine: Machine, left: Const, right: Const, node: ir.Compare, frame: Frame) -> Value:
    """An equality or order of two constants.

    Raises:
        Crash: Python refuses it.
    """
    symbol = node.operator
    _note_count(machine, symbol, left, right, frame)
    if machine.places.gpu_numbers and machine.world.device_count == 0:
        without = _without_gpu(machine, symbol, left, right)
        if without is not None:
            return const(without)
    if isinstance(left.value, (int, float)) and isinstance(right.value, (int, float)):
        weigh(machine, node, frame)
    elif left.value.__class__ is DeviceText or right.value.__class__ is DeviceText:
        compare_names(machine, symbol, left, right, node, frame)
    try:
        answer = bool(COMPARE[symbol](left.value, right.value))
        if left in machine.run.from_options or right in machine.run.from_options:
            return note_comparison(machine, node, answer, frame)
        return (compared(machine, left, right, node, answer) if machine.presets else None) or const(answer)
    except TypeError as error:
        refuse_index(machine, node, frame, f"TypeError: {error}")
        raise Crash("TypeError") from None
    except Exception:
        return BOOL


def _are_one(left: Value, right: Value) -> bool | None:
    """Whether two classes, or members of enumerations, are the same; None where that is not known, or it is others."""
    if isinstance(left, (Class, External)) and isinstance(right, (Class, External)):
        same = equal(left, right)
        if same is not None:
            return same
    if is_member(left) and (is_member(right) or isinstance(right, Const)):
        return left is right
    return False if none_of(left, right) or none_of(right, left) else None


def _are_equal(left: Value, right: Value) -> bool | None:
    """Whether two sequences hold the same, and whether what else is known of two values sets them apart."""
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return _same_items(left, right)
    if _are_unlike(left, right) or _are_unlike(right, left):
        return False
    return False if texts_differ(left, right) or are_dtypes_apart(left, right) else None


_BARE_BASES: Final = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "torch.nn.Module"})


def _is_equal_to_itself(value: Value) -> bool:
    """Whether an object is equal to nothing else: nothing of its class, or of what that derives from, compares, and
    nobody else can have added to these."""
    if not isinstance(value, Instance) or not isinstance(value.cls, Class) or is_open_class(value.cls):
        return False
    if find(value.cls, "__eq__") is not None or any(path not in _BARE_BASES for path in external_bases(value.cls)):
        return False
    return not any(_may_be_compared(cls) for cls in mro(value.cls) if isinstance(cls, Class))


def _may_be_compared(cls: Class) -> bool:
    """Whether a class may have been given an equality: as a record, by decorators, or by code that was handed it."""
    return cls.dataclass_fields is not None or bool(cls.node.decorators) or HANDED in cls.properties


def _are_unlike(one: Value, other: Value) -> bool:
    """Whether one is a container of Python's, and the other a constant, which none is equal to, or one an option that
    is True or False, and the other a text."""
    if not isinstance(other, Const):
        return False
    is_flag = isinstance(one, Unknown) and one.is_flag
    return isinstance(one, (Sequence, Mapping)) or (is_flag and isinstance(other.value, str))


_METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def _by_own_method(
    machine: Machine, symbol: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """What `__eq__` or `__lt__` of the program's own class of one side says, the left before; None without one."""
    for side, other, operator in ((left, right, symbol), (right, left, _MIRRORED.get(symbol, ""))):
        if not isinstance(side, Instance):
            if side.__class__ in (Tensor, Array, Unknown):
                return None
            continue
        found = find(side.cls, _METHODS.get(operator, ""))
        negated = find(side.cls, "__eq__") if found is None and operator == "!=" else None
        method = found or negated
        if method is None or not isinstance(method[0], Function):
            continue
        answer = call_value(machine, Bound(method[0], side), Call([other], {}, node, frame))
        if isinstance(answer, External):
            continue  # NotImplemented: the other side is asked
        known = truth(machine, answer) if negated is not None else None
        return answer if negated is None else BOOL if known is None else const(not known)
    return None


_OF_CUDA = ("cuda", "torch.cuda.")


def _note_count(machine: Machine, symbol: str, left: Const, right: Const, frame: Frame) -> None:
    """`torch.cuda.device_count() > 0` asks whether there is a GPU, and `>= 0` means to; `> 1` does not, nor does
    `== 1`. An option for the number of a GPU that is compared with -1 can be given so that there is none."""
    compare = COMPARE[symbol]
    for side, other in ((left, right), (right, left)):
        if side.site is not None and side.site.key in machine.places.counts and isinstance(other.value, (int, float)):
            of = [compare(n, other.value) if side is left else compare(other.value, n) for n in (0, 1, 2, 64)]
            if of[0] not in of[1:3] or len(set(of)) == 1:  # what is so of any number was meant to ask something
                machine.testify("availability", frame)
        elif side.site is not None and side.site.key in machine.places.gpu_numbers and isinstance(other.value, int):
            none, first, yes = (
                compare(n, other.value) if side is left else compare(other.value, n) for n in (-1, 0, 1)
            )
            if none is not first or (side.value == 1 and yes is not first):
                machine.testify("option", frame)


def _without_gpu(machine: Machine, symbol: str, left: Const, right: Const) -> bool | None:
    """What the question comes to whether an option names a GPU, where there is none: whoever has none gives -1. None
    where something else is asked, such as whether there are so many, or every number has the same answer."""
    if any(side.site is not None and side.site.key in machine.places.counts for side in (left, right)):
        return None
    compare = COMPARE[symbol]
    for side, other in ((left, right), (right, left)):
        if side.site is not None and side.site.key in machine.places.gpu_numbers and isinstance(other.value, int):
            none, first = ((compare(n, other.value) if side is left else compare(other.value, n)) for n in (-1, 0))
            return none if none is not first else None
    return None


def _asks_for_cuda(symbol: str, left: Value, right: Value) -> bool:
    """Whether a text that nobody can choose is compared with "cuda": `device.type == "cuda"`, `"cuda" in str(device)`,
    `x.type() == "torch.cuda.FloatTensor"`.

    Without a GPU it is something else: whoever put `cuda` there would have failed before.
    """
    if symbol in ("==", "!=") and isinstance(left, Const):
        left, right = right, left
    elif symbol in ("in", "not-in"):
        left, right = right, left
    elif symbol not in ("==", "!="):
        return False
    if not (isinstance(right, Const) and isinstance(right.value, str) and right.value.startswith(_OF_CUDA)):
        return False
    return (isinstance(left, Unknown) and not left.named) or (isinstance(left, Scalar) and left.kind == "string")


def _asks_for_another(left: Value, right: Value) -> bool:
    """Whether what nobody knows is compared with an accelerator that no world has: `device.type == "xpu"`."""
    if isinstance(left, Const):
        left, right = right, left
    return isinstance(right, Const) and right.value in OTHERS and isinstance(left, (Unknown, Scalar))


def _is_type(node: ir.Expr, value: Value) -> bool:
    """`device.type` of a device that nobody can choose: without a GPU it is the CPU's."""
    return isinstance(node, ir.Attribute) and node.name == "type" and isinstance(value, Unknown) and not value.named


def _is_told_by_identity(value: Value) -> bool:
    """Whether `== None` says of a value what `is None` does: nothing of its own decides what it is equal to."""
    if isinstance(value, Instance):
        return find(value.cls, "__eq__") is None and not is_open_class(value.cls)
    return isinstance(value, (Maybe, Sequence, Mapping, Function, Bound, Class))


def _is_cpu(value: Value) -> bool:
    return isinstance(value, Const) and value.value == "cpu"


def _named_membership(left: Value, symbol: str, right: Value) -> Unknown | None:
    if isinstance(left, Const) and isinstance(right, Arguments):
        text = f"{left.value!r} in sys.argv"
        return Unknown(text if symbol == "in" else f"not {text}", True)
    if left.__class__ is Unknown and isinstance(right, Sequence):
        return _kind_among(left, symbol, right)
    if isinstance(left, Const) and isinstance(right, Unknown) and right.path:
        text = f"{left.value!r} in {right.path}"
        return Unknown(text if symbol == "in" else f"not {text}", right.named)
    return None


def _kind_among(left: Value, symbol: str, right: Sequence) -> Unknown | None:
    """`x.device.type in ("cuda", "xpu")`: here there are two kinds of devices, and it asks for one of them."""
    assert isinstance(left, Unknown)
    names = {constant(part) for part in right.items}
    kinds = [kind for kind in ("cuda", "cpu") if kind in names]
    if (
        not all(isinstance(name, str) for name in names)
        or left.named
        or not (left.path or "").endswith(".device.type")
        or right.open
        or len(kinds) != 1
    ):
        return None
    text = f"{left.path} == {kinds[0]!r}"
    return Unknown(text if symbol == "in" else f"not {text}")


def _compare_identity(left: Value, right: Value, symbol: str) -> Value:
    answer: bool | None = None
    if are_dtypes_apart(left, right):
        answer = False
    elif isinstance(right, Const) and right.value is None:
        if isinstance(left, Const):
            answer = left.value is None
        elif isinstance(left, Maybe):
            return presence(left, symbol == "is-not")
        elif left.__class__ is NoGradient:
            answer = True
        elif not isinstance(left, Unknown):
            answer = False
    elif isinstance(left, Const) and isinstance(right, Const):
        answer = left.value is right.value or (type(left.value) is type(right.value) and left.value == right.value)
    elif isinstance(left, External) and isinstance(right, External):
        answer = left.path == right.path
    elif isinstance(left, (Class, External)) and isinstance(right, (Class, External)):
        answer = equal(left, right)
    elif not isinstance(left, (Unknown, Scalar, External)) and not isinstance(right, (Unknown, Scalar, External)):
        answer = None if _may_be_same(left, right) else left is right
        if isinstance(left, OneOf) or isinstance(right, OneOf):
            answer = False if none_of(left, right) or none_of(right, left) else None
    if answer is None and left is PRESENT and is_none(right):
        answer = False
    if answer is None and left is RESULT and is_none(right):
        return RESULT_IS_NONE
    if answer is None and is_none(right) and _is_by_number(left):
        return FOLLOWS
    if answer is None:
        return named_unknown(left, symbol, right) or BOOL
    return const(answer if symbol == "is" else not answer)


_NUMBERED = re.compile(r"\[-?\d+\]$")


def _is_by_number(value: Value) -> bool:
    """Whether something unknown stands at a place of a list: `args.devices[0]`. Nobody chooses it to be None, but the
    program may have put None there."""
    if value is PLACED:
        return True
    return isinstance(value, Unknown) and value.path is not None and _NUMBERED.search(value.path) is not None


def _may_be_same(left: Value, right: Value) -> bool:
    """Whether of two tensors one is what a move gave that had nothing to move."""
    return isinstance(left, Tensor) and isinstance(right, Tensor) and (left.base is right or right.base is left)


def _same_items(left: Sequence, right: Sequence) -> bool | None:
    """Whether two lists or tuples of the same kind hold the same: `grid.shape[2:4] != x.shape[2:4]`."""
    if left.kind != right.kind or left.kind not in ("list", "tuple"):
        return None
    if left.is_shape and right.is_shape and _is_placeholder(left) is not _is_placeholder(right):
        return False
    if left.open or right.open:
        return None
    if len(left.items) != len(right.items):
        return False
    answer: bool | None = True
    for mine, other in zip(left.items, right.items, strict=True):
        if isinstance(mine, Const) and isinstance(other, Const):
            if mine.value != other.value:
                return False
        elif isinstance(mine, Sequence) and isinstance(other, Sequence):
            same = _same_items(mine, other)
            if same is False:
                return False
            answer = answer and same
        else:
            answer = None
    return answer


def _common_rank(left: Value, right: Value) -> int | None:
    """The rank of an elementwise comparison of arrays and numbers."""
    ranks = [side.rank if isinstance(side, Array) else 0 for side in (left, right)]
    plain = all(isinstance(side, (Array, Const, Scalar)) for side in (left, right))
    return max(rank for rank in ranks if rank is not None) if plain and None not in ranks else None


def _is_placeholder(shape: Sequence) -> bool:
    """Whether a shape is that of a tensor with one number or none, which only keeps the place of another: no input has
    such a shape, `if self.mask.shape != x.shape: self.mask = make_mask(x)` runs at first."""
    sizes = [item.value for item in shape.items if isinstance(item, Const)]
    return not shape.open and len(sizes) == len(shape.items) and bool(math.prod(sizes) <= 1)


def _compare_bounds(left: Value, symbol: str, right: Value) -> bool | None:
    """What the bounds of a number tell: a size is at least 0 (`x.shape[1] > -1`)."""
    if isinstance(left, Const) and isinstance(right, Scalar):
        return _compare_bounds(right, _MIRRORED.get(symbol, ""), left)
    if not isinstance(left, Scalar) or not isinstance(right, Const) or not isinstance(right.value, (int, float)):
        return None
    if left.numbers is not None and symbol in COMPARE:
        answers = {COMPARE[symbol](number, right.value) for number in left.numbers}
        return answers.pop() if len(answers) == 1 else None
    number, low, high = right.value, left.low, left.high
    if low is not None and (number < low or (number == low and symbol in (">=", "<"))):
        return symbol in (">", ">=", "!=") if symbol in COMPARE else None
    if high is not None and (number > high or (number == high and symbol in ("<=", ">"))):
        return symbol in ("<", "<=", "!=") if symbol in COMPARE else None
    return None
