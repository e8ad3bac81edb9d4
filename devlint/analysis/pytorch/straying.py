"""Tensors that an entry by protocol makes elsewhere than where all is: whether an answer to a condition may show that
one meets what it must not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Maybe, Sequence, Tensor, Unknown, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def was_lost(value: Value) -> bool:
    """Whether a value may be what a join has left of a tensor, a module or a function, or holds such."""
    if isinstance(value, Sequence):
        return value.open or any(map(was_lost, value.items))
    return value.__class__ is Maybe or (isinstance(value, Unknown) and value.path is None)


def note_stray(machine: Machine, tensors: Iterable[Tensor]) -> None:
    """Tensors come to something of which nobody knows where it is: in a run that knows it, one that is elsewhere than
    by protocol, and no number, may not agree with that."""
    if any(tensor.device not in (None, machine.accelerator) and tensor.rank != 0 for tensor in tensors):
        machine.run.elsewhere = True
