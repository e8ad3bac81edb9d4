"""What DataParallel makes of numbers: each replica returns one, and the caller gets a vector of them.

Source: `torch.nn.parallel.scatter_gather.gather` and `torch.nn.parallel._functions.Gather`, which unsqueezes scalars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import POISON, Mapping, Maybe, Sequence, Tensor, Value
from devlint.analysis.events import ParallelDevice
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine


def gathered(machine: Machine, value: Value, call: Call) -> Value:
    """What the caller of a module with several replicas gets of what these return: of a number, a vector."""
    if isinstance(value, Tensor):
        return value if value.rank != 0 or value.device == POISON else _vector(machine, value, call)
    if isinstance(value, Maybe):
        return Maybe(gathered(machine, value.value, call), value.key, value.there)
    if isinstance(value, Sequence):
        return Sequence(value.kind, [gathered(machine, part, call) for part in value.items], value.open)
    if isinstance(value, Mapping):
        items = {key: gathered(machine, part, call) for key, part in value.items.items()}
        return Mapping(items, value.rest, value.open, value.kind)
    return value


def _vector(machine: Machine, value: Tensor, call: Call) -> Tensor:
    origin = machine.origin("gathered", call.node, call.frame, value.device, "", value.origin)
    made = Tensor(value.device, 1, origin)
    made.requires_grad = value.requires_grad
    return made


def needs_number(machine: Machine, value: Tensor, call: Call, error: str) -> None:
    """Tell of a vector of the replicas' numbers where one number is asked for; nothing more is told of it.

    Raises:
        Crash: inside a `try`.
    """
    mark = value.origin.find("gathered") if value.rank == 1 and value.origin is not None else None
    if mark is None or value.device == POISON:
        return
    if machine.run.trying or not ancestors("RuntimeError").isdisjoint(machine.run.expected):
        raise Crash("RuntimeError")
    machine.emit(
        ParallelDevice, machine.site(call.node, call.frame), mark.site, error=f"RuntimeError: {error}", kind="gathered"
    )
    machine.store.set(value, "device", POISON)
