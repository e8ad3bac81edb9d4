"""`asyncio` and context variables. What is awaited has run where it was called: a coroutine is what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.plain import sequence
from devlint.analysis.domain.values import NONE, UNKNOWN, External, Instance, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

LOOP: Final = "asyncio.AbstractEventLoop"
VARIABLE: Final = "contextvars.ContextVar"


@models("asyncio.run", "asyncio.wait_for", "asyncio.create_task", "asyncio.ensure_future", "asyncio.shield")
def run(machine: Machine, call: Call) -> Value:
    """`asyncio.run(main())`."""
    return call.positional[0] if call.positional else UNKNOWN


@models("asyncio.gather")
def gather(machine: Machine, call: Call) -> Value:
    """`await asyncio.gather(f(), g())`: what each gives, in order."""
    return sequence("list", list(call.positional), call.open)


@models("asyncio.sleep")
def sleep(machine: Machine, call: Call) -> Value:
    """`await asyncio.sleep(1)`."""
    return call.argument(1, "result") or NONE


@models("asyncio.to_thread")
def to_thread(machine: Machine, call: Call) -> Value:
    """`await asyncio.to_thread(f, x)`."""
    return _called(machine, call, 0)


def _called(machine: Machine, call: Call, position: int) -> Value:
    if len(call.positional) <= position:
        return UNKNOWN
    inner = call.with_arguments(call.positional[position + 1 :], call.keywords)
    return call_value(machine, call.positional[position], inner)


@models("asyncio.get_event_loop", "asyncio.new_event_loop", "asyncio.get_running_loop")
def loop(machine: Machine, call: Call) -> Value:
    """`asyncio.get_event_loop()`."""
    return Instance(External(LOOP), machine.site(call.node, call.frame))


@method_models(LOOP, "run_until_complete")
def run_until_complete(machine: Machine, value: Instance, call: Call) -> Value:
    """`loop.run_until_complete(main())`."""
    return run(machine, call)


@method_models(LOOP, "run_in_executor")
def run_in_executor(machine: Machine, value: Instance, call: Call) -> Value:
    """`await loop.run_in_executor(None, f, x)`."""
    return _called(machine, call, 1)


@models(VARIABLE)
def variable(machine: Machine, call: Call) -> Value:
    """`ContextVar("name", default=x)`."""
    made = Instance(External(VARIABLE), machine.site(call.node, call.frame))
    default = call.keywords.get("default")
    if default is not None:
        made.fields["default"] = default
    return made


@method_models(VARIABLE, "set")
def set_variable(machine: Machine, value: Instance, call: Call) -> Value:
    """`variable.set(x)`; what it gives brings the value before back."""
    machine.store.put(value.fields, "now", call.argument(0, "value") or UNKNOWN)
    return UNKNOWN


@method_models(VARIABLE, "reset")
def reset_variable(machine: Machine, value: Instance, call: Call) -> Value:
    """`variable.reset(token)`."""
    machine.store.put(value.fields, "now", UNKNOWN)
    return NONE


@method_models(VARIABLE, "get")
def get_variable(machine: Machine, value: Instance, call: Call) -> Value:
    """`variable.get(default)`."""
    now = value.fields.get("now")
    if now is not None:
        return now
    return call.argument(0, "default") or value.fields.get("default") or UNKNOWN
