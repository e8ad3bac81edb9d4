"""Containers that would stand in themselves: what closes a circle is not known, so that walks over values end."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.values import UNKNOWN, Mapping, Sequence, Value

MAX_NESTING: Final = 16
"""How many containers deep is looked for a circle."""


def as_part(value: Value, container: Value) -> Value:
    """A value as it stands in a container; one in which the container stands is not known: no walk would end there."""
    return UNKNOWN if isinstance(value, (Sequence, Mapping)) and _closes(value, container, MAX_NESTING) else value


def _closes(value: Sequence | Mapping, container: Value, depth: int) -> bool:
    """Whether a value is the container or has it somewhere inside, or lies too deep to tell."""
    if value is container or not depth:
        return True
    parts = value.items if isinstance(value, Sequence) else [*value.items.values(), value.rest]
    return any(_closes(part, container, depth - 1) for part in parts if isinstance(part, (Sequence, Mapping)))
