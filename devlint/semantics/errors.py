"""The errors that device mistakes raise: exception type and message, as torch 2.13 words them.

`message(kind, **facts)` gives the text that a finding shows; `matches(expected, observed)` says whether what was
observed is the same failure, whatever kernel torch chose and whichever build (CPU or CUDA wheel) it came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from devlint.semantics.clashes import Operands, clash, indexed, refused_gradient
from devlint.semantics.without_cuda import without_cuda

DEVICE_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


def message(kind: str, **facts: object) -> str:
    """Return `Type: text` of the error of this kind.

    Facts by kind: docs/semantics.md. Devices are strings such as `cuda:0`.

    Raises:
        KeyError: there is no such kind.
    """
    return _KINDS[kind](_Facts(facts))


def kinds() -> tuple[str, ...]:
    """Return all kinds that `message` knows."""
    return tuple(_KINDS)


def matches(expected: str, observed: str) -> bool:
    """Say whether two texts of the form `Type: text` describe the same failure."""
    if expected == observed:
        return True
    families = [family for family in _FAMILIES if family.search(expected)]
    if families:
        return any(family.search(observed) for family in families)
    return _plain(expected) == _plain(observed)


class _Facts:
    """The facts of a message; what is missing has a plausible default."""

    def __init__(self, facts: dict[str, object]) -> None:
        self._facts = facts

    def text(self, name: str, default: str = "") -> str:
        value = self._facts.get(name)
        return default if value is None else str(value)

    def ranks(self) -> Sequence[int | None]:
        value = self._facts.get("ranks")
        return value if isinstance(value, Sequence) and not isinstance(value, str) else ()

    def operands(self) -> Operands:
        value = self._facts.get("operands")
        return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _fork(facts: _Facts) -> str:
    """`form="kernel"`: work on tensors that were there before the fork, to which CUDA itself answers."""
    if facts.text("form") == "kernel":
        return "AcceleratorError: CUDA error: initialization error"
    return (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
        "the 'spawn' start method"
    )


def _mixed(facts: _Facts) -> str:
    """`operation` is a dotted name or the last part of one; operands without a name are matched in the row's order."""
    return clash(facts.text("operation"), facts.operands(), facts.ranks())


def _no_cuda(facts: _Facts) -> str:
    return without_cuda(facts.text("operation"), facts.text("device", "cuda"), facts.text("form"))


# Functions that look a device up among the properties of all, before CUDA hears of it.
_BY_PROPERTIES = ("DataParallel", "get_device_properties", "get_device_name", "get_device_capability")


def _invalid_device(facts: _Facts) -> str:
    """`text` is what stands where a device is expected; `operation` the callable, for a context manager."""
    text = facts.text("text")
    if facts.text("form") == "legacy":
        return f"RuntimeError: legacy constructor expects device type: cpu but device type: {text} was passed"
    if facts.text("form") == "context":
        operation = facts.text("operation").rpartition(".")[2] or "to"
        if operation == "to":
            return "TypeError: to() received an invalid combination of arguments - got (device), but expected one of:"
        return f"TypeError: {operation}(): argument 'device' must be torch.device, not device"
    if facts.text("form") == "several":
        operation = facts.text("operation").rpartition(".")[2]
        if operation in ("to", "device"):
            got = f"got ({text}), but expected one of:"
            return f"TypeError: {operation}() received an invalid combination of arguments - {got}"
        if operation == "load":
            return f"TypeError: '{text}' object is not callable"
        return f"TypeError: {operation}(): argument 'device' must be torch.device, not {text}"
    if not text:
        return "RuntimeError: Device string must not be empty"
    if re.fullmatch(r"-\d+", text):
        return "RuntimeError: Device index must not be negative"
    if re.fullmatch(r"[a-z_]+(:0|:[1-9]\d*)?", text):
        kind = text.partition(":")[0]
        return f"RuntimeError: Expected one of {DEVICE_TYPES} device type at start of device string: {kind}"
    return f"RuntimeError: Invalid device string: '{text}'"


def _numpy(facts: _Facts) -> str:
    device = facts.text("device", "cuda:0")
    return (
        f"TypeError: can't convert {device} device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def _generator(facts: _Facts) -> str:
    kinds = [facts.text(name, kind).partition(":")[0] for name, kind in (("expected", "cuda"), ("found", "cpu"))]
    return f"RuntimeError: Expected a '{kinds[0]}' device type for generator but found '{kinds[1]}'"


_OPTIONS = "layout=Strided, requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)"


def _lengths(facts: _Facts) -> str:
    if facts.text("operation") in ("set_rng_state", "set_state"):
        return "TypeError: RNG state must be a torch.ByteTensor"
    if facts.text("operation").endswith("tensor_split"):
        return (
            "RuntimeError: tensor_split expected tensor_indices_or_sections to be on cpu, "
            f"but it's on {facts.text('device', 'cuda:0')}"
        )
    if facts.text("operation") == "apply_":
        return "TypeError: apply_ is only implemented on CPU tensors"
    device = facts.text("device", "cuda:0")
    if facts.text("operation").endswith(("Tensor", "new")):
        given = f"(got TensorOptions(dtype=float, device={device}, {_OPTIONS}))"
        return f"TypeError: expected TensorOptions(dtype=float, device=cpu, {_OPTIONS}) {given}"
    return f"RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D {device} Long tensor"


def _deserialize(facts: _Facts) -> str:
    index, count = facts.text("index"), facts.text("count", "0")
    if count not in ("", "0") and index:
        return (
            f"RuntimeError: Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
            f"{count}. Please use torch.load with map_location to map your storages to an existing device."
        )
    return (
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
        "your storages to the CPU."
    )


def _unbound(facts: _Facts) -> str:
    name = facts.text("name")
    if facts.text("scope") == "function":
        return f"UnboundLocalError: cannot access local variable '{name}' where it is not associated with a value"
    return f"NameError: name '{name}' is not defined"


def _parallel(facts: _Facts) -> str:
    expected, found = facts.text("expected", "cuda:0"), facts.text("found", "cpu")
    return (
        f"RuntimeError: module must have its parameters and buffers on device {expected} (device_ids[0]) "
        f"but found one of them on device: {found}"
    )


def _no_attribute(facts: _Facts) -> str:
    return f"AttributeError: '{facts.text('type', 'NoneType')}' object has no attribute '{facts.text('name', 'type')}'"


def _ordinal(facts: _Facts) -> str:
    if facts.text("operation").rpartition(".")[2] in _BY_PROPERTIES:
        return "AssertionError: Invalid device id"
    return "AcceleratorError: CUDA error: invalid device ordinal"


def _index(facts: _Facts) -> str:
    return indexed(facts.text("device", "cpu"))


def _pin(facts: _Facts) -> str:
    kind = facts.text("type", "torch.cuda.FloatTensor")
    return f"RuntimeError: cannot pin '{kind}' only dense CPU tensors can be pinned"


def _gradient(facts: _Facts) -> str:
    return refused_gradient(facts.text("tensor", "cuda"), facts.text("gradient", "cpu"))


def _not_a_parameter(facts: _Facts) -> str:
    kind, name = facts.text("type", "torch.cuda.FloatTensor"), facts.text("name", "weight")
    if facts.text("form") == "register":
        return f"TypeError: cannot assign '{kind}' object to parameter '{name}' (torch.nn.Parameter or None required)"
    return f"TypeError: cannot assign '{kind}' as parameter '{name}' (torch.nn.Parameter or None expected)"


def _collective(facts: _Facts) -> str:
    return f"RuntimeError: No backend type associated with device type {facts.text('device', 'cpu').partition(':')[0]}"


def _duplicate(facts: _Facts) -> str:
    return (
        f"DistBackendError: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device {facts.text('index', '0')}"
    )


def _fixed(text: str) -> Callable[[_Facts], str]:
    return lambda facts: text


_KINDS: dict[str, Callable[[_Facts], str]] = {
    "mixed": _mixed,
    "numpy": _numpy,
    "index": _index,
    "no-cuda": _no_cuda,
    "no-driver": _fixed(
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed "
        "a driver from http://www.nvidia.com/Download/index.aspx"
    ),
    "ordinal": _ordinal,
    "invalid-device": _invalid_device,
    "generator": _generator,
    "cpu-argument": _lengths,
    "pin": _pin,
    "data-parallel": _parallel,
    "collective": _collective,
    "duplicate-gpu": _duplicate,
    "metric": _fixed(
        "RuntimeError: Encountered different devices in metric calculation (see stacktrace for details). This could be "
        "due to the metric class not being on the same device as input."
    ),
    "deserialize": _deserialize,
    "fork": _fork,
    "non-leaf": _fixed("ValueError: can't optimize a non-leaf Tensor"),
    "gradient": _gradient,
    "not-a-parameter": _not_a_parameter,
    "no-attribute": _no_attribute,
    "unbound": _unbound,
    "meta": _fixed("NotImplementedError: Cannot copy out of meta tensor; no data!"),
    "not-iterable": _fixed("TypeError: argument of type 'torch.device' is not iterable"),
}

# Failures that torch words in several ways. The first group of an expected text that is found decides.
_FAMILIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^TypeError: expected TensorOptions\(dtype=[\w ]+, device=cpu, ",
        r"Torch not compiled with CUDA|Found no NVIDIA driver|Cannot access accelerator device"
        r"|_C' has no attribute '_cuda|requires CUDA support|dummy base class|without CUDA support|without ATen_cuda"
        r"|No CUDA GPUs are available|type torch\.cuda\.\w+ not available|allocated_bytes"
        r"|NVTX functions|doesn't have NCCL|Torch not compiled with XPU|support for mps devices|from the 'MPS' backend",
        r"tensors to be on the same device|should be the same$|at the same device|same device type"
        r"|self and mask to be on the same device|two parameters on different devices|invalid gradient at index"
        r"|Expected tensor for .* to have the same device|different devices in metric calculation"
        r"|should be the same or input should be a MKLDNN tensor|input and window must be on the same device"
        r"|same device as the input tensor|tensors to have the same device$"
        r"|crow_indices need to be on the same device|got device \S+ for value tensor"
        r"|'aten::\w+' with arguments from the 'CUDA' backend",
        r"re-initialize CUDA in forked subprocess|CUDA error: initialization error",
        r"argument 'device' must be torch.device|invalid combination of arguments - got \(.*\bdevice=",
        r"attempting to assign a gradient",
        r"can't convert \S+ device type tensor to numpy",
        r"indices should be either on",
        r"invalid device ordinal|Invalid device id",
        r"for generator but found|generator device but found",
        r"cannot pin",
        r"Duplicate GPU detected",
        r"Attempting to deserialize object on",
        r"module must have its parameters and buffers on device",
        r"'lengths' argument should be|to be on cpu, but",
        r"Expected one of .* device type at start of device string|Invalid device string",
        r"\bbuiltin_function_or_method\b",
    )
)


def _plain(text: str) -> str:
    """The text without device indices and without anything after its first line."""
    return re.sub(r"cuda:\d+", "cuda", text.partition("\n")[0]).strip()
