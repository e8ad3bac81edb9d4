"""What programs and libraries ask about the devices that there are: the world answers, and the question is evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method
from devlint.analysis.dispatch import VALUES, Call, models
from devlint.analysis.domain.values import BOOL, NONE, SCALAR, STRING, Const, DeviceValue, Value, const
from devlint.analysis.pytorch.devices import touch
from devlint.semantics.devices import OUTSIDE_TORCH
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

LIBRARIES: Final = (
    *("accelerate.utils", "accelerate.utils.imports", "diffusers.utils", "diffusers.utils.import_utils"),
    *("transformers", "transformers.utils", "transformers.utils.import_utils", "transformers.file_utils"),
)
"""Modules of libraries that pass on what they ask of torch: `is_torch_xpu_available`."""
ABSENT: Final = ("xpu", "npu", "mlu", "musa", "hpu", "sdaa", "xla", "tpu", "ccl", "neuroncore", "habana_gaudi")


@models(
    "torch.cuda.is_available",
    "torch.accelerator.is_available",
    *(f"{module}.{name}" for module in LIBRARIES for name in ("is_cuda_available", "is_torch_cuda_available")),
)
def is_available(machine: Machine, call: Call) -> Value:
    """`torch.cuda.is_available()`: asking is evidence that the program means to run without a GPU.

    A process that is forked from one that uses CUDA has the answer of its parent (`c10::cuda::device_count` counts once
    and keeps the number: pytorch/pytorch#55643).
    """
    machine.entry.consulted.add("availability")
    if not _asks_which(machine.run.connective):
        machine.testify("availability", call.frame)
    if machine.device_count != machine.world.device_count:
        machine.entry.consulted.add("count")
    read_visible(machine, call)
    return const(machine.device_count > 0)


_ABILITIES: Final = frozenset({"get_device_capability", "get_device_properties", "is_bf16_supported"})


def _asks_which(around: ir.Bool | None) -> bool:
    """Whether a question stands before one for what the GPU is able to do, `torch.cuda.is_available() and
    torch.cuda.get_device_capability()[0] >= 8`: which types such a program takes hangs on that, not whether it runs."""
    if around is None or not around.is_and:
        return False
    return any(isinstance(part, ir.Attribute) and part.name in _ABILITIES for part in walk(around.values))


@models("torch.distributed.is_available")
def distributed_is_available(machine: Machine, call: Call) -> Value:
    """`torch.distributed.is_available()`: the wheels of torch have it on each platform."""
    return const(True)


@models("torch.accelerator.device_count")
def accelerator_count(machine: Machine, call: Call) -> Value:
    """`torch.accelerator.device_count()` asks the driver."""
    read_visible(machine, call)
    return device_count(machine, call)


@models("torch.cuda.device_count")
def device_count(machine: Machine, call: Call) -> Value:
    """`torch.cuda.device_count()`: asks the management library, which initialises nothing.

    It is evidence for the CPU only where the program asks whether there is one at all.
    """
    machine.entry.consulted.update(("availability", "count"))
    site = machine.site(call.node, call.frame)
    machine.places.counts.add(site.key)
    return Const(machine.device_count, site)


@models("torch.get_device")
def device_number(machine: Machine, call: Call) -> Value | None:
    """`torch.get_device(x)` is `x.get_device()`."""
    value = call.argument(0, "input")
    return None if value is None else call_method(machine, value, "get_device", call.with_arguments([]))


@models("torch.cuda.is_initialized")
def is_initialized(machine: Machine, call: Call) -> Value:
    """`torch.cuda.is_initialized()`: whether anything has been put on a GPU; that it was asked for is not enough."""
    machine.entry.consulted.add("availability")
    if not machine.device_count:
        return const(False)
    return BOOL if machine.state.cuda_unused else const(True)


@models(*(f"torch.cuda.{peak}memory_{what}" for peak in ("", "max_") for what in ("allocated", "reserved", "cached")))
def memory_in_use(machine: Machine, call: Call) -> Value:
    """`torch.cuda.memory_allocated(device)`: nothing, where there is no GPU."""
    machine.entry.consulted.add("availability")
    return SCALAR if machine.device_count else const(0)


def read_visible(machine: Machine, call: Call) -> None:
    """Asking for devices reads CUDA_VISIBLE_DEVICES for good."""
    touch(machine, machine.site(call.node, call.frame))


@models(
    "torch.backends.mps.is_available",
    "torch.backends.mps.is_built",
    "torch.mps.is_available",
    *(f"{module}.is_{torch}mps_available" for module in LIBRARIES for torch in ("", "torch_")),
)
def mps_available(machine: Machine, call: Call) -> Value:
    """Nor is there a GPU of Apple's: a program for machines with one means to run without CUDA."""
    machine.testify("availability", call.frame)
    return const(False)


@models(
    "torch.xpu.is_available",
    *(f"torch.{name}.is_available" for name in OUTSIDE_TORCH),
    *(f"{module}.is_{torch}{name}_available" for module in LIBRARIES for torch in ("", "torch_") for name in ABSENT),
)
def other_available(machine: Machine, call: Call) -> Value:
    """Other accelerators are absent."""
    return const(False)


@models("torch.accelerator.current_accelerator")
def current_accelerator(machine: Machine, call: Call) -> Value:
    """`torch.accelerator.current_accelerator()`: None without one (CPU build)."""
    machine.entry.consulted.add("availability")
    site = machine.site(call.node, call.frame)
    if machine.device_count:
        return DeviceValue("cuda", None, site)
    machine.places.accelerators.add(site.key)
    return Const(None, site)


# -- what torch was built for: worlds are Linux machines with NVIDIA's GPUs, or a CPU build

for _name in ("hip", "xpu", "rocm", "musa"):
    VALUES[f"torch.version.{_name}"] = lambda machine: NONE
VALUES["torch.version.cuda"] = lambda machine: STRING if machine.world.device_count else NONE
