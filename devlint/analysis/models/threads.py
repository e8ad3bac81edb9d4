"""Pools of threads: what they are given runs where its result is asked for, with the devices of a new thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.values import NONE, UNKNOWN, External, Instance, Sequence, Value

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

EXECUTOR: Final = "concurrent.futures.ThreadPoolExecutor"
POOL: Final = "multiprocessing.pool.ThreadPool"
FUTURE: Final = "concurrent.futures.Future"


@models(EXECUTOR, "concurrent.futures.thread.ThreadPoolExecutor")
def executor(machine: Machine, call: Call) -> Value:
    """`ThreadPoolExecutor(n)`."""
    return Instance(External(EXECUTOR), machine.site(call.node, call.frame))


@models(POOL, "multiprocessing.dummy.Pool")
def pool(machine: Machine, call: Call) -> Value:
    """`ThreadPool(n)`."""
    return Instance(External(POOL), machine.site(call.node, call.frame))


@on(ENTER, POOL)
@on(ENTER, EXECUTOR)
def enter(machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame) -> tuple[Value, None]:
    """`with ThreadPoolExecutor() as pool:`."""
    return value, None


def in_thread(machine: Machine, run: Callable[[], Value]) -> Value:
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


def _future(machine: Machine, function: Value, given: Call) -> Instance:
    """What a pool gives for a piece of work."""
    made = Instance(External(FUTURE), machine.site(given.node, given.frame))
    made.state.update(function=function, given=given, value=None)
    return made


@method_models(EXECUTOR, "submit")
def submit(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.submit(f, *args)`."""
    if not call.positional:
        return UNKNOWN
    return _future(machine, call.positional[0], call.with_arguments(call.positional[1:], call.keywords))


@method_models(POOL, "apply")
def apply(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.apply(f, args, kwds)`: waits for the result."""
    made = apply_async(machine, instance, call)
    return result(machine, made, call) if isinstance(made, Instance) else made


@method_models(POOL, "apply_async")
def apply_async(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.apply_async(f, args, kwds)`."""
    function, args = call.argument(0, "func"), call.given(1, "args")
    if function is None or call.given(2, "kwds") is not None:
        return UNKNOWN
    found = iterate(machine, args, call.node, call.frame) if args is not None else None
    if args is not None and (found is None or found.open):
        return UNKNOWN
    return _future(machine, function, call.with_arguments([] if found is None else found.items))


@method_models(FUTURE, "result", "get")
def result(machine: Machine, instance: Instance, call: Call) -> Value:
    """`future.result()`: what the work gives, or raises."""
    known: Value | None = instance.state["value"]
    if known is None:
        function, given = instance.state["function"], instance.state["given"]
        known = in_thread(machine, lambda: call_value(machine, function, given))
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
    made = in_thread(machine, lambda: call_value(machine, External("builtins.map"), given))
    found = iterate(machine, made, call.node, call.frame)
    return made if found is None else Sequence("list", found.items, found.open)


@method_models(POOL, "starmap")
def starmap(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pool.starmap(f, tuples)`."""
    rows = iterate(machine, call.positional[1], call.node, call.frame) if len(call.positional) > 1 else None
    if rows is None or not all(isinstance(row, Sequence) and not row.open for row in rows.items):
        return UNKNOWN
    calls = [call.with_arguments(row.items) for row in rows.items if isinstance(row, Sequence)]

    def work() -> Value:
        return Sequence("list", [call_value(machine, call.positional[0], given) for given in calls], rows.open)

    return in_thread(machine, work)


def _is(instance: Instance, path: str) -> bool:
    return isinstance(instance.cls, External) and instance.cls.path == path


@models("concurrent.futures.as_completed")
def as_completed(machine: Machine, call: Call) -> Value:
    """`as_completed(futures)`: the futures, in any order."""
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    return UNKNOWN if found is None else Sequence("list", found.items, found.open)
