"""Formats that tensors refuse: `Tensor.__format__` knows a specification only where there are no dimensions."""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING

from devlint.analysis.domain.values import MANY_RANK, SOME_RANK, Const, Tensor, Value
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call


def refuse_formats(text: str, call: Call) -> None:
    """Go through the fields of `text.format(...)`: a tensor with dimensions has no format but the empty one.

    Raises:
        Crash: one of them is given another.
    """
    arguments = _Arguments(call)
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return
    for _, name, specification, conversion in fields:
        if name is None:
            continue
        value = arguments.take(name)
        is_formatted = bool(specification) and _says_something(specification or "", arguments)
        if is_formatted and not conversion:
            refuse_format(value)


def refuse_format(value: Value | None) -> None:
    """Give a value a format that is not empty.

    Raises:
        Crash: it is a tensor that surely has dimensions.
    """
    if isinstance(value, Tensor) and not value.assumed and _has_dimensions(value):
        raise Crash("TypeError")


def _has_dimensions(value: Tensor) -> bool:
    """Whether the number of dimensions is known and not 0, or is at least two: SOME_RANK stands, too, for what is left
    of some by a reduction, and for sizes that are not known."""
    rank = value.rank
    return rank is not None and (0 < rank < SOME_RANK or rank == MANY_RANK)


class _Arguments:
    """The arguments of `text.format(...)`, taken by the names of its fields in their order."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.number = 0

    def take(self, name: str) -> Value | None:
        """The argument that a field names; None for a part of one."""
        if name and not name.isdecimal():
            return self.call.keywords.get(name)
        at = int(name) if name else self.number
        self.number += not name
        return self.call.positional[at] if at < len(self.call.positional) else None


def _says_something(specification: str, arguments: _Arguments) -> bool:
    """Whether a specification is surely not empty, once the fields inside it are filled."""
    try:
        parts = list(Formatter().parse(specification))
    except ValueError:
        return False
    found = False
    for literal, name, _, _ in parts:
        value = None if name is None else arguments.take(name)
        found = found or bool(literal) or (isinstance(value, Const) and str(value.value) != "")
    return found
