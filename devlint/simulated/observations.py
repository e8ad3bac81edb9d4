"""What goes wrong in silence on a GPU, noticed: each kind is a warning to the program and an entry in a list."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

SourceLine = tuple[str, int]


class SilentDeviceWarning(UserWarning):
    """The program does something that on a GPU is wrong without an error."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One silent fault. `where` is the line that is wrong, `cause` the line that made it so (file, 1-based line)."""

    kind: str
    message: str
    where: SourceLine
    cause: SourceLine


_observations: dict[tuple[str, SourceLine, SourceLine], Observation] = {}


def observe(kind: str, message: str, where: SourceLine, cause: SourceLine) -> None:
    """Note a silent fault, once for each pair of lines, and warn at the line that is wrong."""
    key = (kind, where, cause)
    if key in _observations:
        return
    _observations[key] = Observation(kind, message, where, cause)
    text = f"{message} (from {os.path.basename(cause[0])}:{cause[1]})"
    warnings.warn_explicit(text, SilentDeviceWarning, where[0], where[1])


def observations() -> tuple[Observation, ...]:
    """Return the silent faults noticed so far, in the order in which they happened."""
    return tuple(_observations.values())


def reset() -> None:
    """Forget the faults noticed so far."""
    _observations.clear()
