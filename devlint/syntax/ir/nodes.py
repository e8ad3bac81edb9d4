"""The node of the program form, and where a name lives."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class NameScope(IntEnum):
    """Where a name lives, decided when it is lowered."""

    LOCAL = 0  # bound in this function (or comprehension)
    FREE = 1  # bound in an enclosing function
    GLOBAL = 2  # bound at module level, or a builtin
    CLASS = 3  # read or bound directly in a class body


class Node:
    """A node of the program form."""

    __slots__ = ("at",)
    at: Any


def slots_of(cls: type) -> tuple[str, ...]:
    """What the nodes of a class hold, besides `at`, in order. A compiled class has no `__slots__`."""
    slots: tuple[str, ...] = getattr(cls, "__slots__", None) or cls.__dict__.get("__mypyc_attrs__", ())
    return tuple(slot for slot in slots if slot != "at")
