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
