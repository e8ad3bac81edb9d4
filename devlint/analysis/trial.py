"""What an evaluation would give, of which nothing stays and nothing is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

T = TypeVar("T")


def quietly(machine: Machine, run: Callable[[], T]) -> T | None:
    """What a second evaluation gives, or one that the program never comes to; None where it raises."""
    machine.run.quiet += 1
    opened = machine.store.open()
    mark = machine.store.mark()
    try:
        return run()
    except Crash:
        return None
    finally:
        machine.store.undo(mark)
        if opened:
            machine.store.close()
        machine.run.quiet -= 1
