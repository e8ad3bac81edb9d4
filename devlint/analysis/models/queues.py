"""Queues between threads and between tasks: what is put is taken again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import BOOL, COUNT, NONE, UNKNOWN, External, Instance, Sequence, Value
from devlint.analysis.python.sequences import any_item, append, rewrite

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

QUEUE: Final = "queue.Queue"


@models("queue.Queue", "queue.SimpleQueue", "asyncio.Queue")
def queue(machine: Machine, call: Call) -> Value:
    """`Queue()`."""
    return _queue(machine, call, False)


@models("queue.LifoQueue", "queue.PriorityQueue", "asyncio.LifoQueue", "asyncio.PriorityQueue")
def other_queue(machine: Machine, call: Call) -> Value:
    """Queues that give something else than what was put first."""
    return _queue(machine, call, True)


def _queue(machine: Machine, call: Call, is_mixed: bool) -> Instance:
    """An empty queue: `waiting` is what was put and not yet taken, `seen` all that was ever put."""
    made = Instance(External(QUEUE), machine.site(call.node, call.frame))
    made.fields.update(waiting=Sequence("list", [], is_mixed), seen=Sequence("list", []))
    return made


def _parts(value: Instance) -> tuple[Sequence, Sequence] | None:
    waiting, seen = value.fields.get("waiting"), value.fields.get("seen")
    return (waiting, seen) if isinstance(waiting, Sequence) and isinstance(seen, Sequence) else None


@method_models(QUEUE, "put", "put_nowait")
def put(machine: Machine, value: Instance, call: Call) -> Value:
    """`queue.put(item)`."""
    parts = _parts(value)
    for part in parts or ():
        append(machine, part, call.positional[:1] or [call.keywords.get("item", UNKNOWN)])
    return NONE


@method_models(QUEUE, "get", "get_nowait")
def get(machine: Machine, value: Instance, call: Call) -> Value:
    """`queue.get()`: what was put first; where that is not known, any of what was put."""
    parts = _parts(value)
    if parts is None:
        return UNKNOWN
    waiting, seen = parts
    if waiting.items and not waiting.open:
        first = waiting.items[0]
        rewrite(machine, waiting, waiting.items[1:])
        return first
    return any_item(machine, seen) if seen.items else UNKNOWN


@method_models(QUEUE, "empty", "full")
def is_empty(machine: Machine, value: Instance, call: Call) -> Value:
    """Other threads may put something."""
    return BOOL


@method_models(QUEUE, "qsize")
def size(machine: Machine, value: Instance, call: Call) -> Value:
    """Not known."""
    return COUNT


@method_models(QUEUE, "task_done", "join", "shutdown")
def queue_method(machine: Machine, value: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE
