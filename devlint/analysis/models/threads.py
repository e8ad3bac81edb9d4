"""Threads, their pools and queues: what a thread runs is run when it is started, in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value
from devlint.analysis.classes import find
from devlint.analysis.control import one_way
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.iterables import items_of, lazy
from devlint.analysis.machine import RAISE, Crash
from devlint.analysis.models.processes import apply
from devlint.analysis.sequences import any_item, append, rewrite
from devlint.analysis.values import BOOL, COUNT, NONE, UNKNOWN, Class, External, Instance, Sequence, Value

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

THREAD: Final = "threading.Thread"
POOL: Final = "multiprocessing.pool.ThreadPool"
EXECUTOR: Final = "concurrent.futures.ThreadPoolExecutor"
FUTURE: Final = "concurrent.futures.Future"
QUEUE: Final = "queue.Queue"


def _apart(machine: Machine, run: Callable[[], Value]) -> tuple[Value, bool]:
    """Run what another thread does: an error there ends that thread alone. Gives its result, and whether it failed."""
    results: list[Value] = []
    trying, machine.trying = machine.trying, ()
    try:
        ended = one_way(machine, lambda: results.append(run()))
    finally:
        machine.trying = trying
    return (results[0] if results else UNKNOWN), ended is RAISE


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


# -- pools


@models(POOL, EXECUTOR, "concurrent.futures.thread.ThreadPoolExecutor")
def pool(machine: Machine, call: Call) -> Value:
    """`ThreadPoolExecutor(n)`."""
    return Instance(External(EXECUTOR), machine.site(call.node, call.frame))


@on(ENTER, EXECUTOR)
def enter_pool(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, None]:
    """`with ThreadPoolExecutor() as pool:`."""
    return value, None


@method_models(EXECUTOR, "shutdown", "close", "join", "terminate")
def close_pool(machine: Machine, value: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE


@method_models(EXECUTOR, "map", "imap", "imap_unordered")
def pool_map(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.map(f, items)`: as the builtin does."""
    keywords = {name: part for name, part in call.keywords.items() if name not in ("timeout", "chunksize")}
    return call_value(machine, External("builtins.map"), call.with_arguments(call.positional, keywords))


@method_models(EXECUTOR, "starmap")
def pool_starmap(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.starmap(f, tuples)`."""
    function, rows = call.argument(0, "func"), call.argument(1, "iterable")
    if function is None or rows is None:
        return UNKNOWN
    found = items_of(machine, rows, call)
    return Sequence("list", [apply(machine, function, row, None, call) for row in found.items], found.open)


@method_models(EXECUTOR, "submit")
def submit(machine: Machine, value: Instance, call: Call) -> Value:
    """`executor.submit(f, *args, **kwargs)`."""
    if not call.positional:
        return UNKNOWN
    inner = Call(call.positional[1:], call.keywords, call.node, call.frame, call.open)
    return _future(machine, call, lambda: call_value(machine, call.positional[0], inner))


@method_models(EXECUTOR, "apply_async")
def apply_async(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.apply_async(f, args, kwargs)`."""
    function = call.argument(0, "func") or UNKNOWN
    args, kwargs = call.given(1, "args"), call.given(2, "kwds")
    return _future(machine, call, lambda: apply(machine, function, args, kwargs, call))


def _future(machine: Machine, call: Call, run: Callable[[], Value]) -> Instance:
    made = Instance(External(FUTURE), machine.site(call.node, call.frame))
    result, failed = _apart(machine, run)
    made.state.update(result=result, failed=failed)
    return made


@method_models(FUTURE, "result", "get")
def result(machine: Machine, value: Instance, call: Call) -> Value:
    """`future.result()`: an error of the thread is raised here."""
    if value.state["failed"]:
        raise Crash
    found: Value = value.state["result"]
    return found


@method_models(FUTURE, "done", "cancelled", "running", "cancel")
def future_state(machine: Machine, value: Instance, call: Call) -> Value:
    """Not known."""
    return BOOL


@method_models(FUTURE, "add_done_callback")
def add_done_callback(machine: Machine, value: Instance, call: Call) -> Value:
    """`future.add_done_callback(f)`."""
    if call.positional:
        _apart(machine, lambda: call_value(machine, call.positional[0], call.with_arguments([value])))
    return NONE


@models("concurrent.futures.as_completed")
def as_completed(machine: Machine, call: Call) -> Value:
    """`as_completed(futures)`: in some order."""
    found = items_of(machine, call.positional[0], call) if call.positional else None
    return UNKNOWN if found is None else lazy(found.items, found.open)


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
