"""`torch.jit`: what is traced keeps the devices of its example, what is scripted does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.module_state import CONVERTED
from devlint.analysis.domain.values import (
    POISON,
    TRUE,
    Bound,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Value,
    const,
    is_none,
)
from devlint.analysis.models.torch_contexts import transparent
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.module_calls import run_traced
from devlint.analysis.state import SCRIPTED, TRACE, Trace

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_FUNCTION: Final = "torch.jit.ScriptFunction"


@models("torch.jit.script", "torch.jit.script_if_tracing")
def script(machine: Machine, call: Call) -> Value:
    """`torch.jit.script(obj)`: compiled from its text, it asks for devices each time."""
    compiled = transparent(machine, call)
    if isinstance(compiled, Function):
        machine.store.put(compiled.attributes, SCRIPTED, TRUE)
    elif isinstance(compiled, Instance) and compiled.module is not None:
        machine.store.put(compiled.state, SCRIPTED, True)
    return compiled


@models("torch.compile", "torch.jit.optimize_for_inference", "torch.jit.freeze")
def compiled(machine: Machine, call: Call) -> Value:
    """`torch.compile(obj)`: what it gives does what it got does, as an object of another class."""
    made = transparent(machine, call)
    if isinstance(made, Instance) and made.module is not None:
        machine.store.put(made.state, CONVERTED, True)
    return made


@models("torch.jit.trace")
def trace(machine: Machine, call: Call) -> Value:
    """`torch.jit.trace(func, example_inputs)`: runs the example, and keeps the devices that it met.

    The module shares parameters and buffers with the one that was traced.
    """
    traced, given, named = call.argument(0, "func"), _examples(call), call.keywords.get("example_kwarg_inputs")
    keywords = named.items if isinstance(named, Mapping) and not named.open else {}
    known = given is not None and (named is None or is_none(named) or bool(keywords))
    is_module = isinstance(traced, Instance) and traced.module is not None
    if traced is None or given is None or not known or call.open:
        return transparent(machine, call)
    if not is_module and not isinstance(traced, (Function, Bound)):
        return traced
    if isinstance(traced, Instance) and (TRACE in traced.state or SCRIPTED in traced.state):
        return traced
    kept = Trace(machine.site(call.node, call.frame))
    run_traced(machine, kept, lambda: call_value(machine, traced, call.with_arguments(given, keywords)))
    kept.recording = False
    if not isinstance(traced, Instance):
        made = Instance(External(_FUNCTION), machine.site(call.node, call.frame))
        made.state.update(function=traced)
    else:
        made = Instance(traced.cls, machine.site(call.node, call.frame))
        made.fields, made.module, made.places = traced.fields, traced.module, traced.places
        made.state.update(traced.state)
    made.state[TRACE] = kept
    return made


def _examples(call: Call) -> list[Value] | None:
    """The arguments of the example; None where it is not known on what devices they are."""
    example = call.argument(1, "example_inputs")
    if example is None or is_none(example):
        return [] if "example_kwarg_inputs" in call.keywords else None
    given: list[Value] = [example]
    if isinstance(example, Sequence) and example.kind in ("tuple", "list"):
        given = list(example.items)
        if example.open:
            return None
    return given if all(is_known_example(value) for value in given) else None


def is_known_example(value: Value) -> bool:
    """Whether an argument is one or more tensors on known devices, or a plain value."""
    if isinstance(value, (Tensor, Sequence, Mapping)):
        tensors = tensors_in(value)
        return bool(tensors) and all(tensor.device not in (None, POISON) for tensor in tensors)
    return isinstance(value, (Const, Scalar))


@method_models(_FUNCTION, "__call__")
def call_traced(machine: Machine, value: Instance, call: Call) -> Value:
    """A call of a traced function."""
    return run_traced(machine, value.state[TRACE], lambda: call_value(machine, value.state["function"], call))


@method_models(_FUNCTION, "save")
def save_traced(machine: Machine, value: Instance, call: Call) -> Value:
    """`traced.save(f)`."""
    return call_value(machine, External("torch.jit.save"), call.with_arguments([value, *call.positional]))


@models(
    "torch.jit.is_tracing",
    "torch._C._get_tracing_state",
    "torch.onnx.is_in_onnx_export",
    "torchvision._is_tracing",
    "torchvision.extension._is_tracing",
)
def is_tracing(machine: Machine, call: Call) -> Value:
    """`torch.jit.is_tracing()`: a trace keeps the way it went; other code is run as it stands."""
    return const(machine.run.trace is not None)
