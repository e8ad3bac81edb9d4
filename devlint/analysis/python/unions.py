"""Unions of classes, `int | None`, as `isinstance` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import BINARY, on
from devlint.analysis.domain.values import Class, Const, External, Unknown, Value
from devlint.semantics import libraries

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


class Union(Unknown):
    """`A | B`: of it nothing is asked but whether a value is an instance of one of its members (None is one, too)."""

    __slots__ = ("members",)

    def __init__(self, members: list[Value]) -> None:
        super().__init__(None)
        self.members = members


_ABSTRACT: Final = ("typing.", "collections.abc.", "types.")
_BUILTIN: Final = frozenset(
    f"builtins.{kind.__name__}" for kind in (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
)


def _members(value: Value) -> list[Value] | None:
    if isinstance(value, Union):
        return value.members
    if isinstance(value, Class) or (isinstance(value, Const) and value.value is None):
        return [value]
    if isinstance(value, External):
        path = libraries.canonical(value.path)
        known = path in _BUILTIN or path.startswith(_ABSTRACT) or path == "numpy.ndarray"
        return [value] if known or libraries.is_tensor_class(path) or libraries.is_module(path) else None
    return None


@on(BINARY, Class, External, Union)
def united(machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame) -> Value | None:
    """`A | B` of classes."""
    one, other = _members(left), _members(right)
    return Union([*one, *other]) if operator == "|" and one is not None and other is not None else None
