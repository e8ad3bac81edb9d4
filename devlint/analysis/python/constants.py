"""Constants: arithmetic, the methods of strings and numbers, indexing and iteration of strings."""

from __future__ import annotations

import operator as op
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import ATTRIBUTE, BINARY, CALL, ITEM, ITERATE, METHOD, TRUTH, Call, Iteration, on
from devlint.analysis.domain.derived import DeviceText
from devlint.analysis.domain.plain import (
    MAX_TEXT,
    NotConstant,
    compute,
    index_number,
    is_moderate,
    lift,
    lower,
    missing,
    path_text,
)
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    MAX_ITEMS,
    NUMBER,
    SCALAR,
    SOME_INDEX,
    STRING,
    UNKNOWN,
    Const,
    DeviceValue,
    External,
    Mapping,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.flow.gpu_numbers import handed_on, note_name
from devlint.analysis.python.lacking import LACKED, ask_nothing, read_lacking
from devlint.analysis.python.sequences import bounds
from devlint.analysis.python.unfilled import stays_none
from devlint.analysis.pytorch.device_handles import indexed_device_name
from devlint.analysis.pytorch.devices import counts_devices
from devlint.analysis.pytorch.formatting import refuse_formats
from devlint.analysis.pytorch.host import read_pending
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": op.add,
    "-": op.sub,
    "*": op.mul,
    "/": op.truediv,
    "//": op.floordiv,
    "%": op.mod,
    "**": op.pow,
    "<<": op.lshift,
    ">>": op.rshift,
    "&": op.and_,
    "|": op.or_,
    "^": op.xor,
}

_ANSWERS: Final = frozenset({"find", "rfind", "index", "rindex", "count", "startswith", "endswith"})
_LISTS: Final = frozenset({"split", "rsplit", "splitlines"})


@on(TRUTH, Const)
def const_truth(machine: Machine, value: Const) -> bool | None:
    """The truth of a constant."""
    return bool(value.value)


@on(ATTRIBUTE, Const)
def const_attribute(machine: Machine, value: Const, name: str, node: ir.Node, frame: Frame) -> Value:
    """`(3).real` is a number; what else a constant has are methods."""
    if value.value is None and not name.startswith("__"):
        _ask_nothing(machine, value, name, node, frame)
        if stays_none(machine, getattr(node, "value", None), frame):
            raise Crash("AttributeError")
        return missing(machine, "AttributeError")
    if name == "value":
        return value  # of a member of an Enum, which is kept as its value
    if name == "name":
        return STRING
    if isinstance(value.value, (int, float, complex)) and name in ("real", "imag", "numerator", "denominator"):
        return lift(getattr(value.value, name, None))
    if name == "__class__":
        return External(f"builtins.{type(value.value).__name__}")
    return read_lacking(machine, value, name, node, frame) if name in LACKED else Method(value, name)


def _ask_nothing(machine: Machine, value: Const, name: str, node: ir.Node, frame: Frame) -> None:
    ask_nothing(machine, value, errors.message("no-attribute", type="NoneType", name=name), node, frame)


@on(CALL, Const)
def call_const(machine: Machine, value: Const, call: Call) -> Value:
    """`None(...)`."""
    if value.value is None:
        ask_nothing(machine, value, "TypeError: 'NoneType' object is not callable", call.node, call.frame)
    return UNKNOWN


@on(METHOD, Const)
def const_method(machine: Machine, value: Const, name: str, call: Call) -> Value:
    """`"...".name(...)`, computed where the arguments are known."""
    if name == "__class__":
        return UNKNOWN
    if value.value is None and not hasattr(None, name):
        _ask_nothing(machine, value, name, call.node, call.frame)
        asked = getattr(call.node, "function", None)
        if stays_none(machine, getattr(asked, "value", None), call.frame):
            raise Crash("AttributeError")
        return missing(machine, "AttributeError")
    function = getattr(value.value, name, None)
    if function is None and name in LACKED:
        return read_lacking(machine, value, name, call.node, call.frame)
    if function is None or call.open:
        return UNKNOWN
    if name == "join" and len(call.positional) == 1:
        return _join(machine, value, call)
    if name == "format" and isinstance(value.value, str):
        for given in call.positional:
            if isinstance(given, Tensor):
                read_pending(machine, given, "", call.node, call.frame)
        refuse_formats(value.value, call)
        return _format(machine, value, call)
    if name in ("ljust", "rjust", "center", "zfill", "expandtabs", "to_bytes"):
        width = index_number(call.positional[0]) if call.positional else 0
        if width is None or width > MAX_TEXT:
            return STRING
    found = compute(machine, function, call.positional, call)
    if found is None:
        return text_result(name) if isinstance(value.value, (str, bytes)) else NUMBER
    if isinstance(found, Const) and found.value == value.value and value.site:
        return value
    return handed_on(machine, value, found)


def text_result(name: str) -> Value:
    """What a method of an unknown string gives."""
    if name in _ANSWERS or name.startswith("is"):
        return BOOL if name.endswith("with") or name.startswith("is") else NUMBER
    if name in _LISTS:
        return Sequence("list", [STRING], True)
    if name in ("partition", "rpartition"):
        return Sequence("tuple", [STRING, STRING, STRING])
    return STRING


def _join(machine: Machine, value: Const, call: Call) -> Value:
    found = iterate(machine, call.positional[0], call.node, call.frame)
    if found is None or found.open or not all(isinstance(item, Const) for item in found.items):
        return STRING
    return compute(machine, value.value.join, [Sequence("list", found.items)], call) or STRING


def _format(machine: Machine, value: Const, call: Call) -> Value:
    if not call.open and _names_gpu(value, (*call.positional, *call.keywords.values())):
        return indexed_device_name(machine, call.node, call.frame)
    texts = [as_text(item) for item in call.positional]
    keywords = {name: as_text(item) for name, item in call.keywords.items()}
    known = call.with_arguments([item for item in texts if item], {k: v for k, v in keywords.items() if v})
    if len(known.positional) < len(texts) or len(known.keywords) < len(keywords):
        return STRING
    found = compute(machine, value.value.format, known.positional, known)
    if found is None:
        return STRING
    number = next((text.site for text in texts if text is not None and text.value == -1), None)
    if number and isinstance(found, Const):
        return Const(found.value, number)
    for text in (*texts, *keywords.values()):
        note_name(machine, text, found)
    return found


def as_text(value: Value) -> Const | None:
    """Return the constant that stands for a value where it is formatted with `str`."""
    if isinstance(value, Const):
        return value
    if isinstance(value, DeviceValue):
        if value.index == SOME_INDEX:
            return None
        text = str(value)
        of_tensor = value.site is None and value.index is not None
        return Const(DeviceText(text) if of_tensor else text, value.site)
    path = path_text(value)
    return None if path is None else Const(path)


# -- items


@on(ITEM, Const)
def const_item(machine: Machine, value: Const, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`"..."[i]` and `"..."[a:b]`."""
    if value.value is None:
        ask_nothing(machine, value, "TypeError: 'NoneType' object is not subscriptable", node, frame)
    if value.value is None and value.site is None:
        return missing(machine, "TypeError")  # where a condition has said so, it is surely None
    if not isinstance(value.value, (str, bytes)):
        raise Crash("TypeError")
    inside = getattr(node, "index", None)
    position = bounds(machine, inside, frame) if isinstance(inside, ir.Slice) else index_number(index)
    if position is None:
        return STRING if isinstance(value.value, str) else SCALAR
    try:
        return lift(value.value[position], machine.site(node, frame))
    except IndexError:
        raise Crash("IndexError") from None


@on(ITERATE, Const)
def iterate_const(machine: Machine, value: Const, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """The characters of a string."""
    if value.value is None:
        missing(machine, "TypeError")
        return None
    if not isinstance(value.value, (str, bytes)):
        raise Crash("TypeError")
    return Iteration([lift(part) for part in value.value[:MAX_ITEMS]], len(value.value) > MAX_ITEMS)


# -- operators


@on(BINARY, Const)
def const_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """Arithmetic of constants, and `text % values`."""
    if isinstance(left, Const) and isinstance(right, Const):
        return arithmetic(machine, operator, left, right, node, frame)
    if operator == "%" and isinstance(left, Const) and isinstance(left.value, (str, bytes)):
        if _names_gpu(left, right.items if isinstance(right, Sequence) and right.kind == "tuple" else [right]):
            return indexed_device_name(machine, node, frame)
        return _interpolate(machine, left, right, node, frame)
    if operator == "+" and isinstance(left, Const) and left.value == "cuda:" and _is_some_text(right):
        return indexed_device_name(machine, node, frame)
    if isinstance(left, (Const, Scalar)) and isinstance(right, (Const, Scalar)):
        return scalar_result(operator, left, right)
    if isinstance(left, Const) and isinstance(left.value, str) and isinstance(right, Unknown) and operator == "+":
        return STRING
    if isinstance(right, Const) and isinstance(right.value, str) and isinstance(left, Unknown) and operator == "+":
        return STRING
    return None


_INDEXED: Final = re.compile(r"cuda:(%[dis]|\{\w*(:d)?\})")
"""Templates of the name of a GPU, with a place for its number."""


def _names_gpu(template: Const, values: Iterable[Value]) -> bool:
    """Whether a template with the number of a GPU is given one that is not known."""
    given = list(values)
    if len(given) != 1 or given[0].__class__ not in (Unknown, Scalar):
        return False
    return isinstance(template.value, str) and _INDEXED.fullmatch(template.value) is not None


def _is_some_text(value: Value) -> bool:
    """Whether what is added to a text is a text that is not known: nothing else can be."""
    return value.__class__ is Unknown or (isinstance(value, Scalar) and value.kind in ("string", ""))


def arithmetic(machine: Machine, operator: str, left: Const, right: Const, node: ir.Node, frame: Frame) -> Value:
    """Compute `left operator right`.

    Raises:
        Crash: Python raises there.
    """
    site = machine.site(node, frame)
    a, b = left.value, right.value
    if not is_cheap(operator, a, b):
        return NUMBER if isinstance(a, (int, float)) and isinstance(b, (int, float)) else SCALAR
    function = OPERATORS.get(operator)
    if function is None:
        return UNKNOWN
    try:
        found = function(a, b)
    except (ArithmeticError, TypeError, ValueError) as error:
        if a is None or b is None:
            return missing(machine, "TypeError")
        raise Crash(type(error).__name__) from None
    if not is_moderate(found):
        return SCALAR
    if operator in ("-", "%") and (counts_devices(machine, left) or counts_devices(machine, right)):
        machine.loss.indices.add(site.key)
        return Const(found, site)
    asked = right.site if operator == "%" and b == -1 else None  # where `get_device()` said so
    made = const(found, (asked or site) if isinstance(found, str) else None)
    note_name(machine, right, made)
    return made


def is_cheap(operator: str, a: Any, b: Any) -> bool:
    """Whether an operation on constants has a result of moderate size."""
    if not is_moderate(a) or not is_moderate(b):
        return False
    if operator == "**" and isinstance(a, int) and isinstance(b, int):
        return abs(b) * max(1, a.bit_length()) <= MAX_TEXT
    if operator == "<<" and isinstance(a, int) and isinstance(b, int):
        return b <= MAX_TEXT
    if operator == "*":
        for text, times in ((a, b), (b, a)):
            if isinstance(text, (str, bytes)) and isinstance(times, int):
                return len(text) * times <= MAX_TEXT
    if operator == "%" and isinstance(a, (str, bytes)):
        return len(a) <= MAX_TEXT and not any(part.isdigit() and len(part) > 3 for part in _digits(a))
    return True


def _digits(text: str | bytes) -> list[str]:
    readable = text if isinstance(text, str) else text.decode("latin-1")
    return "".join(letter if letter.isdigit() else " " for letter in readable).split()


def _interpolate(machine: Machine, left: Const, right: Value, node: ir.Node, frame: Frame) -> Value:
    values = right.items if isinstance(right, Sequence) and right.kind == "tuple" and not right.open else None
    arguments: Any
    if values is not None:
        texts = [as_text(item) for item in values]
        if None in texts:
            return STRING
        arguments = tuple(text.value for text in texts if text is not None)
    elif isinstance(right, (Mapping, DeviceValue)):
        try:
            text = as_text(right)
            arguments = text.value if text is not None else lower(right)
        except NotConstant:
            return STRING
    else:
        return STRING
    if not is_cheap("%", left.value, None):
        return STRING
    try:
        return lift(left.value % arguments, machine.site(node, frame))
    except (TypeError, ValueError, KeyError) as error:
        raise Crash(type(error).__name__) from None


def scalar_result(operator: str, left: Value, right: Value) -> Value:
    """What arithmetic of numbers and strings gives where they are not all known."""
    text = _is_text(left) or _is_text(right)
    if text:
        return STRING if operator in ("+", "%", "*") else SCALAR
    if _low(left) is not None and _low(right) is not None and operator in ("+", "*", "//"):
        lows = (_low(left) or 0, _low(right) or 0)
        highs = (_high(left), _high(right))
        high = highs[0] + highs[1] if operator == "+" and highs[0] is not None and highs[1] is not None else None
        return Scalar(sum(lows) if operator == "+" else lows[0] * lows[1] if operator == "*" else 0, "number", high)
    if operator == "-" and isinstance(left, Scalar) and isinstance(right, Const) and isinstance(right.value, int):
        low, high = (None if bound is None else bound - right.value for bound in (left.low, left.high))
        return Scalar(low, "number", high) if low is not None or high is not None else NUMBER
    if operator == "%" and (_low(right) or 0) > 0:
        return COUNT
    return NUMBER if _is_number(left) or _is_number(right) else SCALAR


def _is_text(value: Value) -> bool:
    return (isinstance(value, Const) and isinstance(value.value, str)) or (
        isinstance(value, Scalar) and value.kind == "string"
    )


def _is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float))
    return isinstance(value, Scalar) and value.kind == "number"


def _high(value: Value) -> int | None:
    """An upper bound of an integer."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int) else None
    return value.high if isinstance(value, Scalar) else None


def _low(value: Value) -> int | None:
    """A lower bound of an integer that is no less than 0."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int) and value.value >= 0 else None
    if isinstance(value, Scalar):
        return value.low if value.low is not None and value.low >= 0 else None
    return None
