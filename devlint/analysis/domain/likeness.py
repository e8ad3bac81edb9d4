"""Objects that are alike: of the items of a list at an index that is not known the first stands for all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from devlint.analysis.domain.values import (
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)

_DEPTH: Final = 5
"""How deep objects are compared: an agent, its network, a block of it, a layer, its parameters."""


def representative(items: list[Value]) -> Value | None:
    """The first of objects of a class of the program's, of layers, or of tuples with such, if all hold the same as far
    as devices go."""
    first = items[0] if items else None
    if first is None or not all(map(_is_compared, items)):
        return None
    likeness = _likeness(first, _DEPTH)
    if likeness is None or any(_likeness(item, _DEPTH) != likeness for item in items[1:]):
        return None
    return first


def _is_compared(value: Value) -> bool:
    """Whether a value is an object, or a tuple of which a part is one: joined they would be nothing that is known."""
    if isinstance(value, Sequence) and value.kind == "tuple":
        return any(isinstance(part, Instance) for part in value.items)
    return isinstance(value, Instance)


def _likeness(value: Value, depth: int) -> Hashable | None:
    """What alike objects have in common; None where that is not known."""
    if isinstance(value, Tensor):
        return value.device
    if isinstance(value, Const):
        return value.value.__class__, value.value
    if isinstance(value, DeviceValue):
        return str(value)
    if isinstance(value, (Scalar, Array, Unknown)):
        return value.__class__.__name__
    if isinstance(value, (Class, Function)):
        return id(value.node)
    if isinstance(value, External):
        return value.path
    if isinstance(value, (Sequence, Mapping)):
        items = dict(enumerate(value.items)) if isinstance(value, Sequence) else value.items
        return _of_all(items, (value.kind, value.open), depth)
    if not isinstance(value, Instance):
        return None
    own = None if value.module is None else (value.module.unsure, tuple(sorted(value.module.kinds.items())))
    cls = value.cls.path if isinstance(value.cls, External) else id(value.cls)
    fields: dict[Any, Value] = dict(value.fields)
    if value.module is not None and value.module.children:
        fields.update(enumerate(value.module.children))
    return _of_all(fields, (cls, own, *value.state), depth)


def _of_all(parts: dict[Any, Value], what: tuple[object, ...], depth: int) -> Hashable | None:
    """The likeness of a value with parts."""
    if not depth:
        return None
    found = []
    for name, part in parts.items():
        likeness = _likeness(part, depth - 1)
        if likeness is None and not (isinstance(part, Tensor) and part.device is None):
            return None
        found.append((name, likeness))
    return what, tuple(found)
