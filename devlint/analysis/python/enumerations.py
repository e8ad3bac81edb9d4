"""Enumerations of the project: their members, by name and by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import ITEM, ITERATE, Call, Iteration, on
from devlint.analysis.domain.ancestry import external_bases, find
from devlint.analysis.domain.plain import equal, missing
from devlint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Maybe,
    Sequence,
    Unknown,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.python.classes import ELSEWHERE
from devlint.analysis.python.metaclasses import METACLASS

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

AUTO: Final = "enum.auto"
_MEMBERS: Final = "members"
"""Under this key of its properties, an enumeration keeps the names of its members, in order."""
_VALUE_BASES: Final = frozenset({"str", "int", "float", "StrEnum", "IntEnum", "Flag", "IntFlag"})
_FLAGS: Final = frozenset({"Flag", "IntFlag"})


def is_enumeration(cls: Value) -> bool:
    """Whether a class of the project is an enumeration."""
    return isinstance(cls, Class) and bool(cls.properties.get("enum"))


def is_member(value: Value) -> bool:
    """Whether a value is a member of an enumeration of the project, which equals nothing but itself."""
    return _is_made(value) and find(value.cls, "__eq__") is None


def _is_made(value: Value) -> TypeGuard[Instance]:
    return isinstance(value, Instance) and "value" in value.fields and is_enumeration(value.cls)


def make_members(machine: Machine, cls: Class) -> None:
    """Turn the values that the body of a plain enumeration named into its members; equal values share one member.

    A class that mixes in `str` or `int`, or that makes its members itself, keeps the values as they are.
    """
    names = [name for name, value in cls.fields.items() if not name.startswith("_") and _is_value(value)]
    cls.properties[_MEMBERS] = names
    if _keeps_values(cls):
        if any(find(cls, name) is not None for name in ("to", "cuda", "cpu", "device")):
            _hide_values(machine, cls)
        return
    made: list[Instance] = []
    for name in names:
        value = _counted(cls, made, cls.fields[name])
        member = next((known for known in made if equal(known.fields["value"], value) is True), None)
        if member is None:
            member = Instance(cls)
            machine.store.put(member.fields, "name", const(name))
            machine.store.put(member.fields, "value", value)
            made.append(member)
        machine.store.put(cls.fields, name, member)


def _is_value(value: Value) -> bool:
    """Whether what the body of an enumeration named is the value of a member, and no method."""
    is_descriptor = isinstance(value, Instance) and value.state.get("getter") is not None
    return not (isinstance(value, (Function, Bound, Class)) or is_descriptor)


def _keeps_values(cls: Class) -> bool:
    mixed = any(path.rpartition(".")[2] in _VALUE_BASES for path in external_bases(cls))
    return mixed or find(cls, "__new__") is not None or find(cls, "__init__") is not None


def _is_auto(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == AUTO


def _counted(cls: Class, before: list[Instance], value: Value) -> Value:
    """What `auto()` stands for: one more than the highest number so far."""
    if not _is_auto(value):
        return value
    numbers = [constant(member.fields["value"]) for member in before]
    if find(cls, "_generate_next_value_") is not None or not all(isinstance(number, int) for number in numbers):
        return UNKNOWN
    return const(max(numbers, default=0) + 1)


def _hide_values(machine: Machine, cls: Class) -> None:
    """Members that are values, and have more than their values have: nothing is known of them."""
    for name, value in list(cls.fields.items()):
        if isinstance(value, (Const, Sequence, Mapping)) and not name.startswith("_"):
            machine.store.put(cls.fields, name, UNKNOWN)


def members(cls: Class) -> Mapping:
    """The members by name, `E.__members__`; open where the class may have more."""
    names = cls.properties.get(_MEMBERS, ())
    is_open = bool(cls.properties.get(ELSEWHERE)) or bool(cls.node.decorators)
    return Mapping({name: cls.fields[name] for name in names if name in cls.fields}, None, is_open or not names)


@on(ITERATE, Class)
def iterate_class(machine: Machine, value: Class, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """`for member in E`; a flag has members that are put together."""
    return each_member(value)


def each_member(cls: Class) -> Iteration | None:
    """The members of an enumeration, each once, whatever other names it has."""
    if not is_enumeration(cls) or any(path.rpartition(".")[2] in _FLAGS for path in external_bases(cls)):
        return None
    known = members(cls)
    if known.open:
        return None
    made: list[Value] = []
    for member in known.items.values():
        if all(one is not member and equal(one, member) is not True for one in made):
            made.append(member)
    return Iteration(made, False)


@on(ITEM, Class)
def class_item(machine: Machine, value: Class, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`E["name"]`: the member of that name; `C[T]` is called as `C` is."""
    name = constant(index)
    own = find(value, "__class_getitem__")
    if own is not None and isinstance(own[0], Function):
        return call_value(machine, Bound(own[0], value), Call([index], {}, node, frame))
    if not is_enumeration(value):
        return UNKNOWN if METACLASS in value.properties else value  # types in brackets change nothing
    if name is ...:
        return UNKNOWN
    known = members(value)
    if isinstance(name, str) and name in known.items:
        return known.items[name]
    return UNKNOWN if known.open else missing(machine)


def by_value(machine: Machine, cls: Class, call: Call) -> Value:
    """`E(value)`: the first member that has it; a member is given back as it is."""
    value = call.argument(0, "value")
    if value is None or call.open or len(call.values()) != 1:
        return UNKNOWN
    if _is_made(value) and value.cls is cls:
        return value
    known = members(cls)
    if known.open or find(cls, "__new__") is not None:
        return UNKNOWN
    for member in known.items.values():
        same = _has_value(member, value)
        if same is not False:
            return UNKNOWN if same is None else member
    return _without_member(machine, cls, value, call)


def _has_value(member: Value, value: Value) -> bool | None:
    """Whether `value` is that of a member; None when that is not known."""
    own = member.fields["value"] if _is_made(member) else member
    return None if _is_auto(own) or isinstance(own, (Maybe, Unknown)) else equal(own, value)


def _without_member(machine: Machine, cls: Class, value: Value, call: Call) -> Value:
    """`E(value)` of what no member has: a class may say what is meant, and flags are combined."""
    own = find(cls, "_missing_")
    if own is not None:
        meant = call_value(machine, Bound(own[0], cls), call.with_arguments([value]))
        return missing(machine, "ValueError") if is_none(meant) else meant
    if any(path.rpartition(".")[2] in _FLAGS for path in external_bases(cls)):
        return UNKNOWN
    return missing(machine, "ValueError")
