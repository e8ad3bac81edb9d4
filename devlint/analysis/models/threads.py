"""Threads, which run when they are started, and pools, which run where a result is asked for: both with the current GPU
and the default device of a new thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    UNKNOWN,
    Class,
    External,
    Instance,
    Sequence,
    Unknown,
    Value,
    is_none,
)
from devlint.analysis.flow.control import one_way
from devlint.analysis.models.processes import apply

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

EXECUTOR: Final = "concurrent.futures.ThreadPoolExecutor"
POOL: Final = "multiprocessing.pool.ThreadPool"
THREAD: Final = "threading.Thread"
FUTURE: Final = "concurrent.futures.Future"
BEGIN: Final = "initializer"
"""Under this key of its state, a pool keeps the function that each of its threads calls first."""
GIVEN: Final = "initargs"
"""Under this key of its state, a pool keeps what that function is given."""


def _in_thread(machine: Machine, run: Callable[[], Value]) -> Value:
    """Run what a thread does: the current GPU and the default device are its own."""
    store, state = machine.store, machine.state
    current, default = state.current_device, state.default_device
    store.set(state, "current_device", 0)
    store.set(state, "default_device", None)
    try:
        return run()
    finally:
        store.set(state, "current_device", current)
        store.set(state, "default_device", default)


def _in_worker(machine: Machine, pool: Instance, work: Callable[[], Value], call: Call) -> Value:
    """Run a piece of work in a thread of a pool, in which the pool's own beginning has run before."""

    def run() -> Value:
        begin = pool.state.get(BEGIN)
        if isinstance(begin, Unknown):
            machine.store.set(machine.state, "current_device", None)
        elif begin is not None and not is_none(begin):
            apply(machine, begin, pool.state.get(GIVEN), None, call)
        return work()

    return _in_thread(machine, run)


def _apart(machine: Machine, run: Callable[[], Value]) -> None:
    """Run what another thread does: an error there ends that thread alone."""

    def body() -> None:
        _in_thread(machine, run)

    trying, machine.run.trying = machine.run.trying, ()
    try:
        one_way(machine, body)
    finally:
        machine.run.trying = trying


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


# -- pools of threads


@models(EXECUTOR, "concurrent.futures.thread.ThreadPoolExecutor")
def executor(machine: Machine, call: Call) -> Value:
    """`ThreadPoolExecutor(n, initializer=f)`."""
    return _pool(machine, EXECUTOR, 2, call)


@models(POOL, "multiprocessing.dummy.Pool")
def pool(machine: Machine, call: Call) -> Value:
    """`ThreadPool(n, initializer)`."""
    return _pool(machine, POOL, 1, call)


def _pool(machine: Machine, path: str, position: int, call: Call) -> Instance:
    """A pool, and with what each of its threads begins; by position what is given for that, and behind it for what."""
    made = Instance(External(path), machine.site(call.node, call.frame))
    made.state[BEGIN] = UNKNOWN if call.open else call.argument(position, "initializer")
    made.state[GIVEN] = call.argument(position + 1, "initargs")
    return made


@on(ENTER, POOL)
@on(ENTER, EXECUTOR)
def enter(machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame) -> tuple[Value, None]:
    """`with ThreadPoolExecutor() as pool:`."""
    return value, None


def _future(machine: Machine, pool: Instance, work: Callable[[], Value], call: Call) -> Instance:
    """What a pool gives for a piece of work."""
    made = Instance(External(FUTURE), machine.site(call.node, call.frame))
    made.state.update(work=work, pool=pool, value=None)
    return made


@method_models(EXECUTOR, "submit")
def submit(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.submit(f, *args)`."""
    if not call.positional:
        return UNKNOWN
    function, given = call.positional[0], call.with_arguments(call.positional[1:], call.keywords)
    return _future(machine, instance, lambda: call_value(machine, function, given), call)


@method_models(POOL, "apply")
def pool_apply(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.apply(f, args, kwds)`: waits for the result."""
    made = pool_apply_async(machine, instance, call)
    return result(machine, made, call) if isinstance(made, Instance) else made


@method_models(POOL, "apply_async")
def pool_apply_async(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.apply_async(f, args, kwds)`."""
    function, args, kwargs = call.argument(0, "func"), call.given(1, "args"), call.given(2, "kwds")
    if function is None:
        return UNKNOWN
    return _future(machine, instance, lambda: apply(machine, function, args, kwargs, call), call)


@method_models(FUTURE, "result", "get")
def result(machine: Machine, instance: Instance, call: Call) -> Value:
    """`future.result()`: what the work gives, or raises."""
    known: Value | None = instance.state["value"]
    if known is None:
        known = _in_worker(machine, instance.state["pool"], instance.state["work"], call)
        machine.store.put(instance.state, "value", known)
    return known


@method_models(FUTURE, "add_done_callback", "cancel", "wait")
@method_models(EXECUTOR, "shutdown")
@method_models(POOL, "close", "join", "terminate")
def nothing(machine: Machine, instance: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE


@method_models(EXECUTOR, "map")
@method_models(POOL, "map", "imap", "imap_unordered")
def map_all(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.map(f, items)`: an executor takes several rows of items, a pool the size of its chunks."""
    rows = call.positional[1:] if _is(instance, EXECUTOR) else call.positional[1:2]
    if not rows:
        return UNKNOWN
    given = call.with_arguments([call.positional[0], *rows])
    made = _in_worker(machine, instance, lambda: call_value(machine, External("builtins.map"), given), call)
    found = iterate(machine, made, call.node, call.frame)
    return made if found is None else Sequence("list", found.items, found.open)


@method_models(POOL, "starmap")
def starmap(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.starmap(f, tuples)`."""
    rows = iterate(machine, call.positional[1], call.node, call.frame) if len(call.positional) > 1 else None
    if rows is None:
        return UNKNOWN
    function = call.positional[0]

    def work() -> Value:
        return Sequence("list", [apply(machine, function, row, None, call) for row in rows.items], rows.open)

    return _in_worker(machine, instance, work, call)


def _is(instance: Instance, path: str) -> bool:
    return isinstance(instance.cls, External) and instance.cls.path == path


@models("concurrent.futures.as_completed")
def as_completed(machine: Machine, call: Call) -> Value:
    """`as_completed(futures)`: the futures, in any order."""
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    return UNKNOWN if found is None else Sequence("list", found.items, found.open)
