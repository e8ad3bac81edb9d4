"""multiprocessing and concurrent.futures: what runs in processes that are forked after CUDA was initialised."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import BOOL, NONE, UNKNOWN, Class, External, Instance, Mapping, Value, constant
from devlint.analysis.flow.control import one_way
from devlint.analysis.signals import RAISE, Crash
from devlint.analysis.state import Worker

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

PROCESS: Final = "multiprocessing.Process"
CONTEXT: Final = "multiprocessing.context.BaseContext"
POOL: Final = "multiprocessing.pool.Pool"
EXECUTOR: Final = "concurrent.futures.ProcessPoolExecutor"
_PROCESSES: Final = (PROCESS, "torch.multiprocessing.Process", "multiprocessing.context.Process")
_POOLS: Final = (POOL, "multiprocessing.Pool", "torch.multiprocessing.Pool", "torch.multiprocessing.pool.Pool")
_EXECUTORS: Final = (EXECUTOR, "concurrent.futures.process.ProcessPoolExecutor")


# -- how processes are started


@models("multiprocessing.set_start_method", "torch.multiprocessing.set_start_method")
def set_start_method(machine: Machine, call: Call) -> Value:
    """`set_start_method("spawn")`: whatever may not be `fork` is taken not to be."""
    machine.store.set(machine.state, "may_spawn", constant(call.argument(0, "method")) != "fork")
    return NONE


@models("multiprocessing.get_context", "torch.multiprocessing.get_context")
def get_context(machine: Machine, call: Call) -> Value:
    """`get_context("fork")`: a multiprocessing of one start method."""
    made = Instance(External(CONTEXT), machine.site(call.node, call.frame))
    asked = call.given(0, "method")
    made.state["method"] = None if asked is None else constant(asked)
    return made


def _forks(machine: Machine, method: Any) -> bool:
    """Whether processes are surely forked: None is the default method, `fork` on Linux before Python 3.14.

    Who calls a function that is entered by protocol may have set another one.
    """
    return method == "fork" or (method is None and not machine.state.may_spawn and not machine.run.protocol)


def _is_bad(machine: Machine, method: Any) -> bool:
    """Whether a process that is started now is forked from one that surely has initialised CUDA."""
    return machine.run.worker is None and not machine.state.cuda_unused and _forks(machine, method)


def _run_in_child(machine: Machine, call: Call, run: Callable[[], Value], awaited: bool) -> None:
    """Run what a forked process does; nothing of it is left here. If it is `awaited`, its errors are raised here."""
    store = machine.store
    opened = store.open()
    mark = store.mark()
    before, trying = machine.run.worker, machine.run.trying
    machine.run.worker = Worker(machine.site(call.node, call.frame), False, machine.state.cuda_used)
    if not awaited:
        machine.run.trying = ()

    def body() -> None:
        run()

    try:
        ended = one_way(machine, body)
    finally:
        machine.run.worker, machine.run.trying = before, trying
        store.undo(mark)
        if opened:
            store.close()
    if ended is RAISE and awaited and trying:
        raise Crash


# -- one process


@models(*_PROCESSES)
def process(machine: Machine, call: Call) -> Value:
    """`Process(target=f, args=...)`."""
    return initialise_process(machine, Instance(External(PROCESS), machine.site(call.node, call.frame)), call)


def initialise_process(machine: Machine, made: Instance, call: Call) -> Value:
    """What a process keeps until it is started: also for classes of the user's own that derive from it."""
    made.state.setdefault("method", None)
    made.state.update(
        target=call.given(1, "target"), args=call.given(3, "args"), kwargs=call.given(4, "kwargs"), open=call.open
    )
    return made


def start_process(machine: Machine, value: Instance, call: Call) -> Value:
    """`process.start()`."""
    if _is_bad(machine, value.state["method"]):
        _run_in_child(machine, call, lambda: _work(machine, value, call), False)
    return NONE


def _work(machine: Machine, value: Instance, call: Call) -> Value:
    """What a process does: its own `run`, or its target."""
    state = value.state
    if isinstance(value.cls, Class) and find(value.cls, "run") is not None:
        return call_method(machine, value, "run", call.with_arguments([]))
    return NONE if state["target"] is None else apply(machine, state["target"], state["args"], state["kwargs"], call)


def apply(machine: Machine, function: Value, args: Value | None, kwargs: Value | None, call: Call) -> Value:
    """`function(*args, **kwargs)` with values for both."""
    found = iterate(machine, args, call.node, call.frame) if args is not None else None
    positional = [] if found is None else found.items
    is_open = args is not None and (found is None or found.open)
    keywords: dict[str, Value] = {}
    if isinstance(kwargs, Mapping) and not kwargs.open:
        keywords = {name: item for name, item in kwargs.items.items() if isinstance(name, str)}
    elif kwargs is not None:
        is_open = True
    return call_value(machine, function, Call(positional, keywords, call.node, call.frame, is_open))


for _path in _PROCESSES:
    method_models(_path, "__init__")(initialise_process)
    method_models(_path, "start")(start_process)


@method_models(PROCESS, "join", "terminate", "kill", "close")
def process_method(machine: Machine, value: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE


@method_models(PROCESS, "is_alive")
def process_alive(machine: Machine, value: Instance, call: Call) -> Value:
    """Not known."""
    return BOOL


@method_models(CONTEXT, "Process")
def process_of_context(machine: Machine, context: Instance, call: Call) -> Value:
    """`context.Process(...)`."""
    made = Instance(External(PROCESS), machine.site(call.node, call.frame))
    made.state["method"] = context.state["method"]
    return initialise_process(machine, made, call)


# -- pools


@models(*_POOLS)
def pool(machine: Machine, call: Call) -> Value:
    """`Pool(n)`: its processes are forked here."""
    return _pool(machine, call, None)


@method_models(CONTEXT, "Pool")
def pool_of_context(machine: Machine, context: Instance, call: Call) -> Value:
    """`context.Pool(n)`."""
    return _pool(machine, call, context.state["method"])


def _pool(machine: Machine, call: Call, method: Any) -> Instance:
    made = Instance(External(POOL), machine.site(call.node, call.frame))
    made.state.update(
        bad=_is_bad(machine, method), initializer=call.given(1, "initializer"), initargs=call.given(2, "initargs")
    )
    return made


@models(*_EXECUTORS)
def executor(machine: Machine, call: Call) -> Value:
    """`ProcessPoolExecutor(n, mp_context)`: its processes are forked when it first gets work."""
    made = Instance(External(EXECUTOR), machine.site(call.node, call.frame))
    context = call.given(1, "mp_context")
    method: Any = None
    if context is not None:
        known = isinstance(context, Instance) and isinstance(context.cls, External) and context.cls.path == CONTEXT
        method = context.state["method"] if isinstance(context, Instance) and known else ...
    if call.argument(4, "max_tasks_per_child") is not None or call.open:
        method = ...
    made.state.update(
        method=method, initializer=call.given(2, "initializer"), initargs=call.given(3, "initargs"), bad=None
    )
    return made


@on(ENTER, POOL)
@on(ENTER, EXECUTOR)
def enter_pool(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, None]:
    """`with Pool() as pool:`."""
    return value, None


@method_models(POOL, "close", "join", "terminate")
@method_models(EXECUTOR, "shutdown")
def close_pool(machine: Machine, value: Instance, call: Call) -> Value:
    """Nothing that is seen here."""
    return NONE


@method_models(POOL, "map", "map_async", "imap", "imap_unordered")
def pool_map(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.map(f, items)`."""
    return _map(machine, value, call, call.argument(0, "func"), [call.argument(1, "iterable") or UNKNOWN])


@method_models(POOL, "starmap", "starmap_async")
def pool_starmap(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.starmap(f, tuples)`."""
    function, rows = call.argument(0, "func"), call.argument(1, "iterable") or UNKNOWN
    row = _first(machine, rows, call)
    if function is not None and row is not None:
        _work_of_pool(machine, value, call, lambda: apply(machine, function, row, None, call))
    return UNKNOWN


@method_models(POOL, "apply", "apply_async")
def pool_apply(machine: Machine, value: Instance, call: Call) -> Value:
    """`pool.apply(f, args, kwargs)`."""
    function, args, kwargs = call.argument(0, "func"), call.given(1, "args"), call.given(2, "kwds")
    if function is not None:
        _work_of_pool(machine, value, call, lambda: apply(machine, function, args, kwargs, call))
    return UNKNOWN


@method_models(EXECUTOR, "submit")
def submit(machine: Machine, value: Instance, call: Call) -> Value:
    """`executor.submit(f, *args, **kwargs)`."""
    if call.positional:
        inner = Call(call.positional[1:], call.keywords, call.node, call.frame, call.open)
        _work_of_pool(machine, value, call, lambda: call_value(machine, call.positional[0], inner))
    return UNKNOWN


@method_models(EXECUTOR, "map")
def executor_map(machine: Machine, value: Instance, call: Call) -> Value:
    """`executor.map(f, *iterables)`."""
    return _map(machine, value, call, call.argument(0, "fn"), call.positional[1:])


def _map(machine: Machine, value: Instance, call: Call, function: Value | None, columns: list[Value]) -> Value:
    """Call the function with the first item of each iterable, if they have one."""
    row = [_first(machine, column, call) for column in columns]
    given = [item for item in row if item is not None]
    if function is not None and row and len(given) == len(row):
        inner = Call(given, {}, call.node, call.frame, call.open)
        _work_of_pool(machine, value, call, lambda: call_value(machine, function, inner))
    return UNKNOWN


def _first(machine: Machine, column: Value, call: Call) -> Value | None:
    """The first item of an iterable; None where it surely has none."""
    found = iterate(machine, column, call.node, call.frame)
    if found is None or (not found.items and found.open):
        return UNKNOWN
    return found.items[0] if found.items else None


def _work_of_pool(machine: Machine, value: Instance, call: Call, run: Callable[[], Value]) -> None:
    """Run one piece of work in a process of the pool, after what the pool begins its processes with."""
    state = value.state
    if state["bad"] is None:
        machine.store.put(state, "bad", _is_bad(machine, state["method"]))
    if not state["bad"] or machine.run.worker is not None:
        return

    def work() -> Value:
        if state["initializer"] is not None:
            apply(machine, state["initializer"], state["initargs"], None, call)
        return run()

    _run_in_child(machine, call, work, True)
