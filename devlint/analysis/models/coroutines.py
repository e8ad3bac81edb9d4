"""asyncio: what a coroutine gives is what its function gave when it was called; nothing waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, models
from devlint.analysis.values import UNKNOWN, Sequence, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("asyncio.run", "asyncio.wait_for", "asyncio.create_task", "asyncio.ensure_future", "asyncio.shield")
def awaited(machine: Machine, call: Call) -> Value | None:
    """`asyncio.run(coroutine)`."""
    return call.positional[0] if call.positional else UNKNOWN


@models("asyncio.gather")
def gather(machine: Machine, call: Call) -> Value | None:
    """`await asyncio.gather(one, other)`: a list of what they give."""
    return Sequence("list", list(call.positional), call.open)
