"""Threads and queues: what a thread runs is run when it is started, in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method
from devlint.analysis.classes import find
from devlint.analysis.control import one_way
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.models.processes import apply
from devlint.analysis.models.threads import in_thread
from devlint.analysis.sequences import any_item, append, rewrite
from devlint.analysis.values import BOOL, COUNT, NONE, UNKNOWN, Class, External, Instance, Sequence, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

THREAD: Final = "threading.Thread"
QUEUE: Final = "queue.Queue"


def _apart(machine: Machine, run: Callable[[], Value]) -> None:
    """Run what another thread does: an error there ends that thread alone."""

    def body() -> None:
        in_thread(machine, run)

    trying, machine.trying = machine.trying, ()
    try:
        one_way(machine, body)
    finally:
        machine.trying = trying


# -- one thread


@models(THREAD)
def thread(machine: Machine, call: Call) -> Value:
    """`Thread(target=f, args=...)`."""
    return initialise_thread(machine, Instance(External(THREAD), machine.site(call.node, call.frame)), call)


@models("threading.Timer")
def timer(machine: Machine, call: Call) -> Value:
    """`Timer(seconds, f)`: what runs later is not run."""
    return Instance(External(THREAD), machine.site(call.node, call.frame))


@method_models(THREAD, "__init__")
def initialise_thread(machine: Machine, made: Instance, call: Call) -> Value:
    """What a thread keeps until it is started: also for classes of the user's own that derive from it."""
    made.state.update(
        target=call.given(1, "target"), args=call.given(3, "args"), kwargs=call.given(4, "kwargs"), open=call.open
    )
    return made


@method_models(THREAD, "start")
def start_thread(machine: Machine, value: Instance, call: Call) -> Value:
    """`thread.start()`: its own `run`, or its target."""
    state = value.state
    if isinstance(value.cls, Class) and find(value.cls, "run") is not None:
        _apart(machine, lambda: call_method(machine, value, "run", call.with_arguments([])))
    elif state.get("target") is not None and not state["open"]:
        _apart(machine, lambda: apply(machine, state["target"], state["args"], state["kwargs"], call))
    return NONE


@method_models(THREAD, "join", "cancel")
def thread_method(machine: Machine, value: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE


@method_models(THREAD, "is_alive")
def thread_alive(machine: Machine, value: Instance, call: Call) -> Value:
    """Not known."""
    return BOOL


# -- queues


@models("queue.Queue", "queue.SimpleQueue")
def queue(machine: Machine, call: Call) -> Value:
    """`Queue()`."""
    return _queue(machine, call, False)


@models("queue.LifoQueue", "queue.PriorityQueue")
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
