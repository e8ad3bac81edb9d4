"""contextlib: context managers that change nothing about devices; those of deepspeed that gather parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.domain.values import NONE, UNKNOWN, External, Function, Instance, Value
from devlint.analysis.python.statements import enter
from devlint.analysis.pytorch.meeting import tensors_in

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

STACK: Final = "contextlib.ExitStack"
MANAGER: Final = "contextlib.AbstractContextManager"
SUPPRESS: Final = "contextlib.suppress"

Entered = tuple[Value, "Callable[[], None] | None"]


@models("contextlib.contextmanager", "contextlib.asynccontextmanager")
def context_manager(machine: Machine, call: Call) -> Value | None:
    """`contextmanager(f)` called as a function."""
    function = call.positional[0] if call.positional else UNKNOWN
    if isinstance(function, Function):
        machine.store.set(function, "kind", "contextmanager")
    return function


@models("deepspeed.zero.GatheredParameters", "deepspeed.runtime.zero.partition_parameters.GatheredParameters")
def gathered_parameters(machine: Machine, call: Call) -> Value | None:
    """`GatheredParameters(params)`: these are brought together from all processes, and where that is the library says
    (deepspeed 0.14, runtime/zero/partition_parameters.py)."""
    for given in call.values():
        for tensor in tensors_in(given, 3):
            machine.store.set(tensor, "device", None)
    return None


@models("contextlib.nullcontext", "contextlib.closing")
def null_context(machine: Machine, call: Call) -> Value | None:
    """`nullcontext(x)` and `closing(x)` bind x."""
    made = Instance(External(MANAGER), machine.site(call.node, call.frame))
    made.state["value"] = call.positional[0] if call.positional else NONE
    return made


@on(ENTER, MANAGER)
def enter_manager(machine: Machine, value: Any, target: Value | None, node: ir.Node, frame: Frame) -> Entered:
    """`with manager as target`: what a generator does after its `yield` happens when the block is left."""
    afterwards = value.state.get("afterwards")

    def leave() -> None:
        machine.store.apply(afterwards)
        machine.store.epoch += 1  # what calls gave inside says nothing of those behind

    return value.state.get("value", UNKNOWN), leave if afterwards else None


@models(SUPPRESS, "pytest.raises")
def suppress(machine: Machine, call: Call) -> Value | None:
    """`suppress(Exception)`, `pytest.raises(Exception)`: what fails inside is expected to; `suppress()` is for none."""
    if not (call.positional or call.keywords or call.open):
        return null_context(machine, call)
    return Instance(External(SUPPRESS), machine.site(call.node, call.frame))


@on(ENTER, SUPPRESS)
def enter_suppress(machine: Machine, value: Any, target: Value | None, node: ir.Node, frame: Frame) -> Entered:
    """Inside, nothing is told."""
    trying = machine.run.trying
    machine.run.trying = (*trying, frozenset({"BaseException"}))

    def leave() -> None:
        machine.run.trying = trying

    return NONE, leave


@models(STACK, "contextlib.AsyncExitStack")
def exit_stack(machine: Machine, call: Call) -> Value | None:
    """`ExitStack()`."""
    made = Instance(External(STACK), machine.site(call.node, call.frame))
    made.state["leave"] = []
    return made


@method_models(STACK, "enter_context", "enter_async_context")
def enter_context(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`stack.enter_context(manager)`."""
    if not call.positional:
        return UNKNOWN
    bound, leave = enter(machine, call.positional[0], call.node, call.frame)
    if leave is not None:
        instance.state["leave"].append(leave)
    return bound


@method_models(STACK, "callback")
def callback(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`stack.callback(f, *args, **kwargs)`: what is called at the end."""
    if not call.positional or call.open:
        return UNKNOWN
    function, given = call.positional[0], call.with_arguments(call.positional[1:], call.keywords)

    def leave() -> None:
        call_value(machine, function, given)

    instance.state["leave"].append(leave)
    return function


@method_models(STACK, "push", "pop_all")
def push(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """What leaves at the end says nothing."""
    return call.positional[0] if call.positional else instance


@method_models(STACK, "close")
def close(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`stack.close()` leaves all that was entered."""
    _leave_all(instance)
    return NONE


@on(ENTER, STACK)
def enter_stack(machine: Machine, value: Any, target: Value | None, node: ir.Node, frame: Frame) -> Entered:
    """`with ExitStack() as stack`."""
    return value, lambda: _leave_all(value)


def _leave_all(instance: Instance) -> None:
    for leave in reversed(instance.state["leave"]):
        leave()
    instance.state["leave"].clear()
