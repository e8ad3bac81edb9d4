"""Device names as torch reads them."""

from __future__ import annotations

from functools import lru_cache

OUTSIDE_TORCH = tuple("npu mlu musa sdaa neuron gcu tpu dipu supa rbln spyre qaic openreg".split())
"""What backends that are packages of their own name theirs (`torch.utils.rename_privateuse1_backend`)."""

BACKENDS = frozenset(f"torch_{kind}" for kind in OUTSIDE_TORCH)
"""The packages that bring them; no world has one."""

_INSIDE = "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone"

DEVICE_TYPES = frozenset([*_INSIDE.split(), *OUTSIDE_TORCH])
"""The types that `torch.device` accepts (torch 2.13: c10/core/Device.cpp), and those of backends outside torch."""

ACCELERATORS = DEVICE_TYPES - frozenset("cpu mkldnn opengl opencl ideep lazy meta".split())

OTHERS = frozenset(["mps", "xpu", "hpu", "xla", *OUTSIDE_TORCH])
"""The types of accelerators, other than CUDA's, for which programs ask; no world has them."""


@lru_cache(maxsize=512)
def parse_device(text: str) -> tuple[str, int | None] | None:
    """Return type and index of a device name, None where torch would raise `Invalid device string`."""
    kind, colon, index = text.partition(":")
    if kind not in DEVICE_TYPES or (colon and not index.isdecimal()):
        return None
    if len(index) > 1 and index.startswith("0"):
        return None
    return kind, int(index) if colon else None
