"""Whether the names of a file mean the same in two worlds: what each came to when the file was run, as a number."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as ReadOnly
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.plain import Key
from devlint.analysis.domain.values import (
    Answer,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Maybe,
    Method,
    ModuleValue,
    OneOf,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    birth,
)
from devlint.analysis.python.fields import Field, Record
from devlint.analysis.python.remembering import REMEMBERS
from devlint.analysis.python.unions import Union
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame, Namespace
    from devlint.analysis.programs.outcomes import Pass

_DEEPEST: Final = 12


def are_the_same(paths: Iterable[str], last: Pass, now: Pass) -> bool:
    """Whether what files bind when they are imported means the same as in the world before, though they asked something
    in which the two differ."""
    before, there = last.machine.prints, now.machine.prints
    return all(before.get(path) == there.get(path) for path in paths)


class _Reading:
    """The file that is read, what the names of others came to that asked something, and what was met, by number."""

    __slots__ = ("path", "prints", "met")

    def __init__(self, path: str, prints: ReadOnly[str, int]) -> None:
        self.path = path
        self.prints = prints
        self.met: dict[int, int] = {}


def print_of(namespace: Namespace, prints: ReadOnly[str, int]) -> int:
    """Return a number that is the same, in another world, if all names of a file mean the same there.

    Of functions and classes that is the code and what it was made with, of objects what they hold. What stands in other
    files, and is only named here, is theirs (`prints`); what functions remember of their calls is asked for when it is
    used.
    """
    reading = _Reading(namespace.path, prints)
    names = tuple((name, _of(value, reading, _DEEPEST)) for name, value in namespace.names.items())
    return hash((names, namespace.complete, tuple(namespace.deferred.items())))


def _of(value: Any, reading: _Reading, depth: int) -> Any:
    """What a value is, as something that can be compared; a number that no other has where that can't be said."""
    kind = value.__class__
    if kind is Const:
        return kind, value.value.__class__, value.value
    if kind is External:
        return kind, value.path
    if kind is Unknown:
        return kind, value.path, value.named, value.default is None
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if id(value) in reading.met:
        return reading.met[id(value)]
    reading.met[id(value)] = len(reading.met)
    depth -= 1
    if not depth:
        return object, birth()
    if kind is Function:
        if value.frame.namespace.path != reading.path:
            return kind, value.node
        return kind, value.node, value.kind, _items(value.defaults, reading, depth), _closure(value, reading, depth)
    if kind is Class:
        return _class(value, reading, depth)
    if kind is ModuleValue:
        return kind, value.namespace.path
    if kind is Scalar:
        return kind, value.low, value.high, value.kind, value.among, value.numbers
    if kind is DeviceValue:
        return kind, value.type, value.index, value.is_text
    if kind is list or kind is tuple:
        return kind, tuple(_of(part, reading, depth) for part in value)
    if kind is Sequence:
        return kind, value.kind, value.open, tuple(_of(part, reading, depth) for part in value.items)
    if kind is Mapping:
        rest = _of(value.rest, reading, depth), _of(value.factory, reading, depth)
        return kind, value.kind, value.open, rest, _items(value.items, reading, depth)
    if kind is Instance:
        held = _items(value.fields, reading, depth), _items(value.state, reading, depth)
        return kind, _of(value.cls, reading, depth), held, _slots(value.module, _OF_MODULES, reading, depth)
    if kind is Tensor:
        return kind, _slots(value, _OF_TENSORS, reading, depth)
    if kind is Bound:
        return kind, _of(value.function, reading, depth), _of(value.receiver, reading, depth)
    if kind is Method:
        return kind, _of(value.receiver, reading, depth), value.name
    if kind is OneOf:
        asked = tuple(_of(option, reading, depth) for option in value.asked)
        return kind, value.open, tuple(_of(option, reading, depth) for option in value.options), asked
    if kind is Maybe:
        return kind, _of(value.value, reading, depth), value.key, value.there
    if isinstance(value, dict):
        return _items(value, reading, depth)
    if isinstance(value, ir.Node):
        return value
    if kind in _PLAIN:
        return kind, _slots(value, ir.slots_of(kind), reading, depth)
    return object, birth()


def _class(cls: Class, reading: _Reading, depth: int) -> Any:
    if cls.frame.namespace.path != reading.path:
        return Class, cls.name, cls.node.at, reading.prints.get(cls.frame.namespace.path)
    bases = tuple(_of(base, reading, depth) for base in cls.bases)
    return (
        Class,
        cls.name,
        cls.node.at,
        bases,
        _items(cls.fields, reading, depth),
        _items(cls.properties, reading, depth),
    )


def _slots(value: Any, slots: tuple[str, ...], reading: _Reading, depth: int) -> Any:
    return None if value is None else tuple(_of(getattr(value, slot), reading, depth) for slot in slots)


_PLAIN: Final = frozenset({Answer, Record, Field, Union})
_DERIVED: Final = frozenset({REMEMBERS, "__doc__"})
"""Attributes of functions and classes on which nothing hangs that is not asked for elsewhere."""
_OF_TENSORS: Final = ("device", "rank", "is_parameter", "requires_grad", "dtype", "size")
_OF_MODULES: Final = ("kinds", "children", "unsure", "device", "placed_itself", "is_bare")


def _items(kept: dict[Any, Any], reading: _Reading, depth: int) -> Any:
    return tuple(
        (_of(key.value, reading, depth) if key.__class__ is Key else key, _of(part, reading, depth))
        for key, part in kept.items()
        if key not in _DERIVED
    )


def _closure(function: Function, reading: _Reading, depth: int) -> Any:
    """What a function was given by its decorators, and what stands around it."""
    found: list[Any] = [_items(function.attributes, reading, depth)]
    frame: Frame | None = function.frame
    while frame is not None and frame.names is not frame.namespace.names:
        if frame.owner is None:
            found.append(_items(frame.names, reading, depth))
        frame = frame.outer
    return tuple(found)
