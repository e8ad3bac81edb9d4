"""Plain Python values: from Python and back, as keys, equality, joins of items."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.dtypes import are_dtypes_apart
from devlint.analysis.domain.records import is_distinct
from devlint.analysis.domain.values import (
    MAX_ITEMS,
    SCALAR,
    UNKNOWN,
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    OneOf,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.signals import Crash
from devlint.semantics import libraries

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

NUMERIC: Final = (int, float, complex)
MAX_TEXT: Final = 4096
MAX_BITS: Final = 4096
SETS: Final = frozenset({"set", "frozenset", "dict_keys"})
LAZY: Final = "generator"
"""The kind of every iterator: it is consumed by what iterates it."""


class NotConstant(Exception):
    """The value isn't wholly known."""


class Key:
    """The key of a container under which an object that is no constant stands."""

    __slots__ = ("identity", "value")

    def __init__(self, identity: object, value: Value) -> None:
        self.identity = identity
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"Key({self.value!r})"


_ANY = Key(("any",), SCALAR)
"""A part of a composite key that is not known: taken to be the same number every time."""


def _part_of(value: Value) -> Any:
    if isinstance(value, Scalar):
        return _ANY
    if isinstance(value, Sequence) and value.kind == "tuple" and not value.open:
        return tuple(map(_part_of, value.items))
    return key_of(value)


def _is_any(part: Any) -> bool:
    """Whether nothing is known of a part, or of its parts."""
    return part is _ANY or (part.__class__ is tuple and all(map(_is_any, part)))


def key_of(value: Value) -> Any:
    """Return what stands for the value among the keys of a dict.

    Raises:
        NotConstant: the value isn't known well enough to be told from others.
    """
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence) and value.kind in ("tuple", "frozenset") and not value.open:
        parts = tuple(_part_of(part) for part in value.items)
        if parts and all(map(_is_any, parts)):
            raise NotConstant
        return parts if value.kind == "tuple" else frozenset(parts)
    if isinstance(value, DeviceValue):
        return Key(("device", value.type, value.index), value)
    if isinstance(value, External):
        return Key(("external", value.path), value)
    if isinstance(value, (Instance, Function, Class, Tensor)):
        return Key(("object", id(value)), value)
    raise NotConstant


def value_of_key(key: Any) -> Value:
    """Return the value that stands under a key of a dict."""
    if isinstance(key, Key):
        return key.value
    if isinstance(key, tuple):
        return Sequence("tuple", [value_of_key(part) for part in key])
    return lift(key)


def lift(value: Any, site: Site | None = None) -> Value:
    """Return the abstract value of a Python one: `Unknown` for what has no counterpart."""
    if value is None or value is ... or isinstance(value, (bool, int, float, complex)):
        return const(value)
    if isinstance(value, (str, bytes)):
        return Const(value, site) if len(value) <= MAX_TEXT else SCALAR
    kind = type(value).__name__
    if kind in ("list", "tuple", "set", "frozenset"):
        items = [lift(item, site) for item, _ in zip(value, range(MAX_ITEMS), strict=False)]
        return Sequence(kind, items, len(value) > MAX_ITEMS)
    if kind == "dict":
        return Mapping({key: lift(item, site) for key, item in value.items()})
    return UNKNOWN


def lower(value: Value) -> Any:
    """Return the Python value.

    Raises:
        NotConstant: some part isn't known.
    """
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence) and not value.open:
        make: Callable[[list[Any]], Any] | None = _MAKE.get(value.kind)
        if make is not None:
            return make([lower(item) for item in value.items])
    if isinstance(value, Mapping) and not value.open:
        if any(isinstance(key, Key) for key in value.items):
            raise NotConstant
        return {key: lower(item) for key, item in value.items.items()}
    raise NotConstant


_MAKE: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "generator": list,
    "dict_keys": list,
    "dict_values": list,
    "dict_items": list,
    "range": list,
    "deque": list,
}


def is_moderate(value: Any) -> bool:
    """Whether a Python value is small enough to go on computing with."""
    if isinstance(value, int):
        return value.bit_length() <= MAX_BITS
    if isinstance(value, (str, bytes, list, tuple, set, frozenset, dict)):
        return len(value) <= MAX_TEXT
    return True


def compute(machine: Machine, function: Callable[..., Any], values: Iterable[Value], call: Call) -> Value | None:
    """Run a harmless Python function on constants; None where some argument isn't one.

    Raises:
        Crash: the function raises in Python too.
    """
    try:
        arguments = [lower(value) for value in values]
        keywords = {name: lower(value) for name, value in call.keywords.items()}
    except (NotConstant, TypeError):
        return None
    if not all(is_moderate(argument) for argument in arguments):
        return None
    try:
        return lift(function(*arguments, **keywords), machine.site(call.node, call.frame))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if None in arguments:
            return missing(machine, type(error).__name__)
        raise Crash(type(error).__name__) from None


def ancestors(kind: str) -> set[str]:
    """Return the names under which a builtin exception can be caught."""
    exception = getattr(builtins, kind, Exception)
    return {cls.__name__ for cls in exception.__mro__}


def missing(machine: Machine, kind: str = "KeyError") -> Value:
    """What is read of None, or under a key that a dict lacks: some code out of sight may have filled it.

    Raises:
        Crash: the program expects that it raises (there is a `try` around).
    """
    if not ancestors(kind).isdisjoint(machine.run.expected):
        raise Crash(kind)
    return UNKNOWN


def refuse_dicts(data: Value | None) -> None:
    """A tensor is made of a list of numbers.

    Raises:
        Crash: there is a dict among its items, as in what an environment's `reset()` gives.
    """
    if isinstance(data, Sequence) and any(part.__class__ is Mapping for part in data.items):
        raise Crash("RuntimeError")


def equal(a: Value, b: Value) -> bool | None:
    """Whether two values compare equal; None when that is not known."""
    if a is b:
        return None if isinstance(a, (Unknown, Scalar, Array)) else True
    if isinstance(a, Const) and isinstance(b, Const):
        return bool(a.value == b.value)
    if isinstance(a, DeviceValue) and isinstance(b, DeviceValue):
        return (a.type, a.index) == (b.type, b.index)
    if isinstance(a, (Class, External)) and isinstance(b, (Class, External)):
        return _same_class(a, b)
    if isinstance(a, (Unknown, Scalar, Tensor, Array, External, OneOf)) or isinstance(
        b, (Unknown, Scalar, Tensor, Array, External, OneOf)
    ):
        return _scalar_differs(a, b)
    if isinstance(a, Instance) or isinstance(b, Instance):
        if isinstance(a, Instance) and isinstance(b, Instance):
            return False if is_distinct(a) and is_distinct(b) else None
        return False if isinstance(a, Const) or isinstance(b, Const) else None
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        return _equal_sequences(a, b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return None
    return False


def _same_class(a: Class | External, b: Class | External) -> bool | None:
    """Whether two names, one of which may be no class, stand for the same; None when that is not known."""
    if isinstance(a, External) and isinstance(b, External):
        return True if a.path == b.path else libraries.same_class(a.path, b.path)
    outside = a if isinstance(a, External) else b
    if isinstance(outside, External):
        return False if outside.path.startswith(("torch.", "builtins.")) else None
    return False


def texts(value: Value) -> frozenset[str] | None:
    """Return the strings of which a value is one; None where these are not known."""
    if isinstance(value, Scalar):
        return value.among
    return frozenset((value.value,)) if isinstance(value, Const) and isinstance(value.value, str) else None


def texts_differ(a: Value, b: Value) -> bool:
    """Whether two strings of unknown value can't be the same."""
    one, other = texts(a), texts(b)
    return one is not None and other is not None and one.isdisjoint(other)


def none_of(one: Value, other: Value) -> bool:
    """Whether a value is surely none of those of which another is one: members of enumerations are what they are."""
    if not isinstance(one, OneOf) or one.open or not all(isinstance(option, Instance) for option in one.options):
        return False
    if isinstance(other, OneOf):
        return all(none_of(one, option) for option in other.options)
    return isinstance(other, Instance) and not any(option is other for option in one.options)


def _scalar_differs(a: Value, b: Value) -> bool | None:
    if texts_differ(a, b) or none_of(a, b) or none_of(b, a) or are_dtypes_apart(a, b):
        return False
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Scalar) and isinstance(other, Const):
            if other.value is None and one.kind:
                return False
            if one.kind == "number" and isinstance(other.value, str):
                return False
            if one.kind == "number" and isinstance(other.value, (int, float)):
                return False if _is_out_of_bounds(other.value, one) else None
            if one.kind == "string" and isinstance(other.value, NUMERIC):
                return False
        if isinstance(one, (Tensor, Array)) and isinstance(other, Const) and other.value is None:
            return False
    return None


def _is_out_of_bounds(number: float, value: Scalar) -> bool:
    if value.numbers is not None:
        return number not in value.numbers
    return (value.low is not None and number < value.low) or (value.high is not None and number > value.high)


def _equal_sequences(a: Sequence, b: Sequence) -> bool | None:
    if a.kind != b.kind:
        return None if a.kind in SETS and b.kind in SETS else False
    if a.open or b.open:
        return None
    if a.kind in SETS:
        try:
            return {key_of(item) for item in a.items} == {key_of(item) for item in b.items}
        except NotConstant:
            return None
    if len(a.items) != len(b.items):
        return False
    answers = [equal(x, y) for x, y in zip(a.items, b.items, strict=True)]
    return False if False in answers else None if None in answers else True


def join_all(machine: Machine, values: Iterable[Value], empty: Value = UNKNOWN) -> Value:
    """Join values where no branch is at stake: what is lost here makes no condition worth a choice."""
    before = machine.loss.lost
    joined: Value | None = None
    for value in values:
        joined = value if joined is None else machine.loss.without_bounds(joined, value)
    machine.loss.lost = before
    return empty if joined is None else joined


def set_of(kind: str, items: list[Value], open: bool = False) -> Sequence:
    """Return a set of the items: of equal ones the first.

    Where some cannot be told apart they may be equal, and nobody knows how many there are.
    """
    found: list[Value] = []
    keys: set[Any] = set()
    untold = 0
    for item in items:
        try:
            key = key_of(item)
        except NotConstant:
            found.append(item)
            untold += 1
            continue
        if key not in keys:
            keys.add(key)
            found.append(item)
    return sequence(kind, found, open or (untold > 0 and len(found) > 1))


def sequence(kind: str, items: list[Value], open: bool = False) -> Sequence:
    """Return a container that keeps apart as many items as containers do."""
    return Sequence(kind, items[:MAX_ITEMS], open or len(items) > MAX_ITEMS)


def pair(first: Value, second: Value) -> Sequence:
    """Return a tuple of two."""
    return Sequence("tuple", [first, second])


def length(value: Value) -> int | None:
    """Return the length of a container or string that is known."""
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return len(value.value)
    if isinstance(value, Sequence) and value.kind != LAZY and not value.open:
        return len(value.items)
    if isinstance(value, Mapping) and not value.open:
        return len(value.items)
    return None


def path_text(value: Value) -> str | None:
    """The text of a path, which is a string or a `Path`; None where it is not known."""
    text = value.value if isinstance(value, Const) else value.state.get("text") if isinstance(value, Instance) else None
    return text if isinstance(text, str) else None


def index_number(value: Value) -> int | None:
    """Return the integer that an index surely is."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return int(value.value)
    return None
