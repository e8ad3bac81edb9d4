"""Context managers of torch: modes, current and default devices, streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.devices import demand_gpu, demand_type_name, is_device_like, resolve, use
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.values import (
    NONE,
    POISON,
    SCALAR,
    UNKNOWN,
    Bound,
    Class,
    DeviceValue,
    External,
    Function,
    Instance,
    Tensor,
    Value,
    constant,
)

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


@models("torch.no_grad", "torch.autograd.no_grad")
def no_grad(machine: Machine, call: Call) -> Value:
    """`torch.no_grad()`, as a context or a decorator."""
    first = call.positional[0] if call.positional else None
    return Instance(External(_NO_GRAD)) if first is None else first


_NO_GRAD: Final = "torch.autograd.grad_mode.no_grad"


@on(ENTER, _NO_GRAD)
def enter_no_grad(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, Callable[[], None]]:
    """`with torch.no_grad():`: what is computed is a leaf."""
    before = machine.state.makes_leaves
    machine.store.set(machine.state, "makes_leaves", True)
    return value, lambda: machine.store.set(machine.state, "makes_leaves", before)


@models("torch.enable_grad", "torch.autograd.enable_grad")
def enable_grad(machine: Machine, call: Call) -> Value:
    """`torch.enable_grad()`, as a context or a decorator."""
    first = call.positional[0] if call.positional else None
    return Instance(External(_ENABLE_GRAD)) if first is None else first


_ENABLE_GRAD: Final = "torch.autograd.grad_mode.enable_grad"


@on(ENTER, _ENABLE_GRAD)
def enter_enable_grad(
    machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame
) -> tuple[Value, Callable[[], None]]:
    """`with torch.enable_grad():`, in a `no_grad` perhaps."""
    before = machine.state.makes_leaves
    machine.store.set(machine.state, "makes_leaves", False)
    return value, lambda: machine.store.set(machine.state, "makes_leaves", before)


@models(
    "torch.inference_mode",
    "torch.set_grad_enabled",
    "torch.autograd.set_grad_enabled",
    "torch.autograd.profiler.profile",
    "torch.profiler.profile",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.detect_anomaly",
)
def grad_mode(machine: Machine, call: Call) -> Value:
    """Gradient modes: contexts and transparent decorators."""
    first = call.positional[0] if call.positional else None
    if isinstance(first, (Function, Bound, Instance, Class)):
        return first
    return Instance(External("torch.no_grad"))


@method_models("torch.no_grad", "__call__")
@method_models(_NO_GRAD, "__call__")
@method_models(_ENABLE_GRAD, "__call__")
def decorate_with_mode(machine: Machine, instance: Instance, call: Call) -> Value:
    """`@torch.no_grad()`."""
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
    return Instance(External("torch.no_grad"))


@models("torch.fx.wrap")
def transparent(machine: Machine, call: Call) -> Value:
    """Wrappers that give what they get."""
    first = call.positional[0] if call.positional else call.keywords.get("model")
    return Instance(External("torch.no_grad")) if first is None else first


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


_context("torch.no_grad")


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
    machine.store.set(machine.state, "synchronizations", machine.state.synchronizations + 1)
    return NONE


@method_models("torch.cuda.Stream", "record", "record_event", "elapsed_time")
def stream_record(machine: Machine, instance: Instance, call: Call) -> Value:
    """Recording an event."""
    return Instance(External("torch.cuda.Stream")) if not call.positional else SCALAR
