"""Context managers of torch: modes, current and default devices, streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value, truth
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    SCALAR,
    UNKNOWN,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.pytorch.devices import demand_gpu, demand_type_name, is_device_like, resolve, use
from devlint.analysis.pytorch.host import let_arrive
from devlint.analysis.state import GRADIENTS

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


# -- what the world answers


def _nothing(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, None]:
    return value, None


def _context(*paths: str) -> None:
    for path in paths:
        ENTER[path] = _nothing


_TRANSPARENT: Final = "torch.autograd.grad_mode.transparent"
_GRAD_MODE: Final = "torch.autograd.grad_mode"


_MODES: Final = ("torch", "torch.autograd", "torch.autograd.grad_mode")


@models(*(f"{module}.{name}" for module in _MODES for name in ("no_grad", "inference_mode")))
def no_grad(machine: Machine, call: Call) -> Value:
    """`torch.no_grad()`: what is computed in it is a leaf."""
    if call.positional and isinstance(call.positional[0], Unknown):
        return call.positional[0]  # a function of which another decorator left nothing known
    return _grad_mode(machine, call, call.argument(0, "mode"), negated=True)


@models(*(f"{module}.enable_grad" for module in _MODES))
def enable_grad(machine: Machine, call: Call) -> Value:
    """`torch.enable_grad()`, in a `no_grad` perhaps."""
    if call.positional and isinstance(call.positional[0], Unknown):
        return call.positional[0]
    return _grad_mode(machine, call, call.argument(0, "orig_func"), negated=False)


_FORK: Final = "torch.random.fork_rng"


@models(_FORK)
def fork_rng(machine: Machine, call: Call) -> Value:
    """`torch.random.fork_rng(devices)`: keeps the state of the CPU's generator and of that of each device, which is
    taken for a GPU whatever it is (torch/random.py)."""
    devices, enabled = call.given(0, "devices"), call.given(1, "enabled")
    is_on = not call.open and (enabled is None or truth(machine, enabled) is True)
    if is_on and "device_type" not in call.keywords and isinstance(devices, Sequence) and not devices.open:
        for device in devices.items:
            call_value(machine, External("torch.cuda.get_rng_state"), call.with_arguments([device]))
    return Instance(External(_FORK))


_context(_FORK)


@models("torch.is_grad_enabled")
def is_grad_enabled(machine: Machine, call: Call) -> Value:
    """`torch.is_grad_enabled()`: unless the program has said otherwise, or nobody knows what."""
    return UNKNOWN if machine.state.makes_leaves else const(True)


@models(*(f"{module}.set_grad_enabled" for module in _MODES))
def set_grad_enabled(machine: Machine, call: Call) -> Value:
    """`torch.set_grad_enabled(mode)`: at once, and as a context until its end."""
    made = _grad_mode(machine, call, call.argument(0, "mode"), negated=False)
    if isinstance(made, Instance):
        made.state["before"] = const(not machine.state.makes_leaves)
        makes_leaves = truth(machine, made.state.get(GRADIENTS, UNKNOWN)) is not True
        machine.store.set(machine.state, "makes_leaves", makes_leaves)
    return made


def _grad_mode(machine: Machine, call: Call, mode: Value | None, *, negated: bool) -> Value:
    """The context, or what is decorated by it without being called (`@torch.no_grad`)."""
    made = Instance(External(_GRAD_MODE), machine.site(call.node, call.frame))
    decorates = mode is not None and not isinstance(mode, (Const, Scalar, Unknown))
    enabled = True if mode is None or decorates else truth(machine, mode)
    made.state[GRADIENTS] = UNKNOWN if enabled is None else const(enabled is not negated)
    return _decorated(machine, made, mode) if mode is not None and decorates else made


def _set_mode(machine: Machine, gradients: Value) -> None:
    """What a context says, until its end; where that is unknown, anything that is computed may be a leaf."""
    machine.store.turn(machine.state, "makes_leaves", truth(machine, gradients) is not True)


@on(ENTER, _GRAD_MODE)
def enter_grad_mode(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, Callable[[], None]]:
    """`with torch.no_grad():`."""
    before = value.state.get("before", const(not machine.state.makes_leaves))
    _set_mode(machine, value.state.get(GRADIENTS, UNKNOWN))
    return NONE, lambda: _set_mode(machine, before)


@method_models(_GRAD_MODE, "__call__")
def decorate_with_mode(machine: Machine, instance: Instance, call: Call) -> Value:
    """`@torch.no_grad()`."""
    return _decorated(machine, instance, call.positional[0]) if call.positional else UNKNOWN


def _decorated(machine: Machine, instance: Instance, value: Value) -> Value:
    """A function that runs in such a mode, unless it has one already; what else is decorated is left as it is."""
    if "before" in instance.state:  # it took effect when it was made, and a decorator has no use for that
        _set_mode(machine, instance.state["before"])
    if isinstance(value, Bound):
        return Bound(_decorated(machine, instance, value.function), value.receiver)
    if not isinstance(value, Function) or GRADIENTS in value.attributes:
        return value
    made = Function(value.node, value.frame, value.defaults, value.owner)
    made.kind = value.kind
    made.attributes = {**value.attributes, GRADIENTS: instance.state.get(GRADIENTS, UNKNOWN)}
    return made


@models(
    "torch.autograd.profiler.profile",
    "torch.profiler.profile",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.detect_anomaly",
)
def transparent_context(machine: Machine, call: Call) -> Value:
    """Contexts and decorators that change nothing here."""
    first = call.positional[0] if call.positional else None
    if isinstance(first, (Function, Bound, Instance, Class)):
        return first
    return Instance(External(_TRANSPARENT))


@method_models(_TRANSPARENT, "__call__")
def decorate(machine: Machine, instance: Instance, call: Call) -> Value:
    """`@torch.autograd.detect_anomaly()`."""
    return call.positional[0] if call.positional else UNKNOWN


@models("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
def autocast(machine: Machine, call: Call) -> Value:
    """`torch.autocast("cuda")`: only warns without CUDA, but what is no device at all raises."""
    name = call.argument(0, "device_type")
    if name is not None:
        demand_type_name(machine, name, call.node, call.frame, "torch.autocast")
    return cuda_autocast(machine, call)


@models("torch.cuda.amp.autocast")
def cuda_autocast(machine: Machine, call: Call) -> Value:
    """`torch.cuda.amp.autocast()`: only warns without CUDA."""
    return Instance(External(_TRANSPARENT))


@models("torch.fx.wrap")
def transparent(machine: Machine, call: Call) -> Value:
    """Wrappers that give what they get."""
    first = call.positional[0] if call.positional else call.keywords.get("model")
    return Instance(External(_TRANSPARENT)) if first is None else first


@models("torch.cuda.device_of", "torch.accelerator.device_index")
def device_context(machine: Machine, call: Call) -> Value:
    """`torch.cuda.device_of(x)`: a context manager, no device."""
    made = Instance(External("torch.cuda.device"), machine.site(call.node, call.frame))
    made.state["target"] = call.argument(0, "device") or UNKNOWN
    return made


@models("torch.cuda.device")
def cuda_device(machine: Machine, call: Call) -> Value:
    """`torch.cuda.device(i)`: a context manager that is made for a GPU only."""
    target = call.argument(0, "device")
    if target is not None:
        demand_gpu(machine, target, call.node, call.frame, "torch.cuda.device", False)
    return device_context(machine, call)


@on(ENTER, "torch.cuda.device")
def enter_cuda_device(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, Callable[[], None] | None]:
    """`with torch.cuda.device(i):` changes the current device, not the default one."""
    wanted = value.state["target"]
    before = machine.state.current_device
    if isinstance(wanted, Tensor):
        device = wanted.device
    elif constant(wanted) is None:  # the current device, and without CUDA there is none
        if machine.has_cuda:
            return NONE, None
        demand_gpu(machine, wanted, node, frame, "torch.cuda.device", True)
        device = POISON
    elif is_device_like(wanted):
        content = constant(wanted)
        if content == -1 or (isinstance(wanted, DeviceValue) and wanted.type == "cpu"):
            return NONE, None
        device = resolve(machine, wanted, node, frame, "torch.cuda.device", kind="use")
    else:
        device = None
    if device != "cpu" and device != POISON:
        index = int(device[5:]) if device is not None and device.startswith("cuda:") else None
        machine.store.set(machine.state, "current_device", index)

    def leave() -> None:
        machine.store.set(machine.state, "current_device", before)

    return NONE, leave


_context(_TRANSPARENT)


@models(
    "torch.cuda.current_stream",
    "torch.cuda.default_stream",
    "torch.cuda.Stream",
    "torch.cuda.Event",
    "torch.Stream",
    "torch.Event",
)
def stream(machine: Machine, call: Call) -> Value | None:
    """Streams and events need CUDA."""
    path = "torch.cuda.Stream"
    use(machine, "cuda", None, call.node, call.frame, path, kind="query")
    return Instance(External(path), machine.site(call.node, call.frame))


@method_models("torch.cuda.Stream", "synchronize", "wait", "query", "wait_stream", "wait_event")
def stream_wait(machine: Machine, instance: Instance, call: Call) -> Value:
    """Waiting for a stream or event makes pending copies safe."""
    let_arrive(machine)
    return NONE


@method_models("torch.cuda.Stream", "record", "record_event", "elapsed_time")
def stream_record(machine: Machine, instance: Instance, call: Call) -> Value:
    """Recording an event."""
    return Instance(External("torch.cuda.Stream")) if not call.positional else SCALAR
