"""Objects of the program's own that stand for an attribute of a class: `__get__`, `__set__`, `__set_name__`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.values import NONE, Bound, Class, Function, Instance, Tensor, Value, const

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

WRITTEN: Final = "written by descriptors"
"""Under this key, a class keeps the names that an object with `__set__` stands for; they come before the fields."""


def name_descriptors(machine: Machine, cls: Class, node: ir.Node, frame: Frame) -> None:
    """Tell the objects in the body of a class the names they have there, and note those that are asked to write."""
    written = {
        name for parent in mro(cls)[1:] if isinstance(parent, Class) for name in parent.properties.get(WRITTEN, ())
    }
    for name, value in list(cls.fields.items()):
        written.discard(name)
        if value.__class__ is not Instance:
            continue
        hook = _own(value, "__set_name__")
        if hook is not None:
            call_value(machine, hook, Call([cls, const(name)], {}, node, frame))
        if _own(value, "__set__") is not None:
            written.add(name)
    if written:
        cls.properties[WRITTEN] = frozenset(written)


def comes_first(value: Instance, name: str) -> bool:
    """Whether an object of the class stands before the field of this name; a record is filled past it."""
    cls = value.cls
    if cls.__class__ is not Class or WRITTEN not in cls.properties:
        return False
    assert isinstance(cls, Class)
    return name in cls.properties[WRITTEN] and name not in (cls.dataclass_fields or ())


def read(machine: Machine, attribute: Instance, receiver: Value, node: ir.Node, frame: Frame) -> Value:
    """What a class attribute with `__get__` gives for an instance or the class; itself where it has none."""
    getter = _own(attribute, "__get__")
    if getter is None or not isinstance(receiver, (Instance, Class)):
        return attribute
    given: list[Value] = [receiver, receiver.cls] if isinstance(receiver, Instance) else [NONE, receiver]
    return call_value(machine, getter, Call(given, {}, node, frame))


def write(machine: Machine, attribute: Value, receiver: Instance, new: Value, node: ir.Node, frame: Frame) -> bool:
    """Whether a class attribute has `__set__`, which is then given what is assigned; a module registers before that."""
    setter = _own(attribute, "__set__")
    registers = receiver.module is not None and (isinstance(new, Instance) or _may_be_parameter(new))
    if setter is None or registers:
        return False
    call_value(machine, setter, Call([receiver, new], {}, node, frame))
    return True


def _may_be_parameter(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_parameter is not False


def _own(value: Value, name: str) -> Bound | None:
    """A special method that the program's own class of an object has."""
    if not isinstance(value, Instance) or not isinstance(value.cls, Class):
        return None
    found = find(value.cls, name)
    return Bound(found[0], value) if found is not None and isinstance(found[0], Function) else None
