"""The errors that device mistakes raise: exception type and message, as torch 2.13 words them.

`message(kind, **facts)` gives the text that a finding shows; `matches(expected, observed)` says whether what was
observed is the same failure, whatever kernel torch chose and whichever build (CPU or CUDA wheel) it came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from devlint.semantics import table
from devlint.semantics.without_cuda import without_cuda

Operands = Sequence[tuple[str, str]]
"""(parameter, device) of the tensors that took part, in the order in which the call names them."""

DEVICE_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)
_SAME = "RuntimeError: Expected all tensors to be on the same device, but "

# The kernel in which torch compares the devices, and what the kernel calls the arguments, in the kernel's order.
# Keys are families of rows, or names of callables. Seen under simulated CUDA (tests/semantics/test_errors.py).
_KERNELS = {
    "addbmm": "_addbmm input=self batch1 batch2",
    "addmm": "addmm input=self mat1 mat2",
    "addmv": "addmv input=self mat vec",
    "attention": "addmm in_proj_bias=self query=mat1 in_proj_weight=mat2",
    "baddbmm": "baddbmm input=self batch1 batch2",
    "batch_norm": "_native_batch_norm input weight bias running_mean running_var",
    "bilinear": "bmm input1=self weight=mat2",
    "bincount": "_bincount input=self weights",
    "bmm": "bmm input=self mat2",
    "bucketize": "Tensor_bucketize input=self boundaries",
    "cat": "cat tensors",
    "cdist": "__cdist_forward x1 x2",
    "clamp": "clamp_Tensor input=self min max",
    "contraction": "bmm 0=self 1=mat2",
    "denoiser": "addmm weight=self sample=mat1 timestep=mat1 encoder_hidden_states=mat1",
    "dot": "_dot input=self tensor",
    "embedding": "_index_select weight=self input=index indices=index input_ids=index token_type_ids=index",
    "embedding_bag": "__embedding_bag weight input=indices offsets",
    "equal": "_equal input=self other",
    "gather": "gather input=self index",
    "grid_sample": "_grid_sampler_2d input grid",
    "graph": "mm x=self weight=mat2",
    "group_norm": "_native_group_norm input weight bias",
    "index_add": "index_add input=self index source",
    "index_copy": "index_copy input=self index source",
    "index_select": "_index_select input=self index",
    "isin": "isin_Tensor_Tensor elements test_elements",
    "layer_norm": "_native_layer_norm input weight bias",
    "linear": "addmm bias=self input=mat1 weight=mat2",
    "linear_without_bias": "mm input=self weight=mat2",
    "masked_select": "_masked_select input=self mask",
    "masked_attention": "baddbmm attn_mask=self key_padding_mask=self query=batch1",
    "matmul": "mm input=self other=mat2",
    "matmul-1-1": "_dot input=self other=tensor",
    "matmul-n-1": "addmv_ other=self input=mat",
    "matmul-n-n": "bmm input=self other=mat2",
    "mm": "mm input=self mat2",
    "mv": "addmv_ vec=self input=mat vec",
    "nll_loss": "nll_loss_forward input=self target weight",
    "prelu": "__prelu_kernel input=self weight",
    "rms_norm": "__fused_rms_norm input x=input weight",
    "rnn-cell": "mm input=self weight_ih=mat2 hx=self weight_hh=mat2",
    "scatter": "scatter_src input=self index src",
    "scatter_add": "scatter_add input=self index src",
    "searchsorted": "Tensor_searchsorted sorted_sequence input=self sorter",
    "solve": "_linalg_solve_ex A B",
    "take": "_take input=self index",
}
_PLACES = ("torch.Tensor.{}", "torch.{}", "torch.nn.functional.{}", "torch.linalg.{}")
_SPELLINGS = {
    **dict.fromkeys(("stack", "concat", "concatenate", "hstack", "vstack", "dstack", "column_stack"), "cat"),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "instance_norm"), "batch_norm"),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), "batch_norm"),
    **dict.fromkeys(("__matmul__", "__rmatmul__"), "matmul"),
    **dict.fromkeys(("Bilinear",), "bilinear"),
    "LayerNorm": "layer_norm",
    "GroupNorm": "group_norm",
    "RMSNorm": "rms_norm",
    "EmbeddingBag": "embedding_bag",
    "einsum": "contraction",
    "clip": "clamp",
}


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
        return "RuntimeError: CUDA error: initialization error"
    return (
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
        "the 'spawn' start method"
    )


def _mixed(facts: _Facts) -> str:
    """`operation` is a dotted name or the last part of one; operands without a name are matched in the row's order."""
    operation = facts.text("operation")
    row = _row_of(operation)
    operands = _named(row, facts.operands())
    name = operation.removesuffix(".forward").rpartition(".")[2]
    devices = dict(reversed([(parameter, device) for parameter, device in operands]))
    receiver = devices.get("self") or devices.get("input", "cpu")
    if name in ("index", "__getitem__"):
        return _index(_Facts({"device": operands[0][1] if operands else "cpu"}))
    if name in ("masked_fill", "masked_fill_"):
        return (
            "RuntimeError: expected self and mask to be on the same device, "
            f"but got mask on {devices.get('mask', 'cpu')} and self on {receiver}"
        )
    if name == "scaled_dot_product_attention" and len({devices.get(n) for n in ("query", "key", "value")}) > 1:
        query, key, value = (devices.get(n, "cpu") for n in ("query", "key", "value"))
        return (
            "RuntimeError: Expected query, key, and value to have the same device type, "
            f"but got query.device: {query} key.device: {key} and value.device: {value} instead."
        )
    if name == "backward":
        expected, got = devices.get("self", "cuda:0"), devices.get("gradient", "cpu")
        return f"RuntimeError: invalid gradient at index 0 - expected device {expected} but got {got}"
    if name == "grad":
        given = dict(facts.operands())
        return _gradient(_Facts({"tensor": given.get("self", "cpu"), "gradient": given.get("gradient", "cuda")}))
    if name in ("stft", "istft"):
        return (
            f"RuntimeError: {name} input and window must be on the same device "
            f"but got self on {receiver} and window on {devices.get('window', 'cpu')}"
        )
    if name == "parameters_to_vector":
        return "TypeError: Found two parameters on different devices, this is currently not supported."
    family = row.family if row is not None else ""
    if family == "graph" and "x" in devices and devices["x"] == devices.get("weight"):
        operands, family = [("input", devices["x"]), ("index", devices.get("edge_index", "cpu"))], "index_select"
    if family == "model":
        family = "conv" if devices.keys() & {"pixel_values", "input_values", "input_features"} else "embedding"
    if family == "conv":
        return _convolution(devices)
    if family == "rnn":
        return _recurrent(devices)
    in_place = name.endswith("_") and not name.startswith("__")
    key = name.removesuffix("_") if in_place else _SPELLINGS.get(name, name)
    if key not in _KERNELS:
        key = family
    if key == "linear" and "bias" not in devices:
        key = "linear_without_bias"
    if key == "matmul":
        key = _product(facts.ranks())
    if key == "contraction":
        operands = [(str(min(place, 1)), device) for place, (_, device) in enumerate(operands)]
    if (
        key == "attention"
        and name == "MultiheadAttention"
        and len({devices.get(n) for n in ("query", "in_proj_weight")}) == 1
    ):
        key = "masked_attention"
    if name in ("__setitem__", "index_put", "index_put_") and receiver == "cpu":
        return f"{_SAME}found at least two devices, cpu and {next((d for _, d in operands if d != 'cpu'), 'cuda:0')}!"
    return _compared(key, in_place, operands) or _two_devices(operands)


def _product(ranks: Sequence[int | None]) -> str:
    """The kernel by which two tensors of these ranks are multiplied; two matrices where that is not known."""
    first, second = (*ranks, None, None)[:2]
    if second == 1:
        return "matmul-1-1" if first == 1 else "matmul-n-1"
    return "matmul-n-n" if (second or 2) > 2 or ((first or 2) > 2 and second is None) else "matmul"


def _row_of(operation: str) -> table.Row | None:
    """The row of a callable that is named in full (`torch.nn.Linear.forward`) or in short (`Linear`)."""
    if "." in operation:
        return table.lookup(operation)
    places = ("torch.nn.{}.forward",) if operation[:1].isupper() else _PLACES
    return next((row for place in places if (row := table.lookup(place.format(operation))) is not None), None)


def _named(row: table.Row | None, operands: Operands) -> Operands:
    """Give operands that came without a parameter's name (`self` several times, `Linear.weight`) the row's names."""
    if row is None:
        return operands
    known = [name for name, demand in row.demands if demand != "generator" and name != "out"]
    explicit = [next((k for k in known if name == k or name.endswith(f".{k}")), "") for name, _ in operands]
    if explicit.count("self") > 1:
        explicit = ["" if name == "self" else name for name in explicit]
    free = [name for name in known if name not in explicit]
    named: list[tuple[str, str]] = []
    for name, (_, device) in zip(explicit, operands, strict=True):
        if not name and free:
            name = free.pop(0) if len(free) > 1 or not named else free[0]
        named.append((name or (known[-1] if known else "self"), device))
    return named


def _compared(key: str, in_place: bool, operands: Operands) -> str | None:
    """What the device check of a kernel says: it names the first argument that differs from the first of all."""
    if key not in _KERNELS:
        return None
    kernel, *arguments = _KERNELS[key].split()
    if in_place:
        kernel += "_"
    seen: list[tuple[str, str]] = []
    for argument in arguments:
        parameter, _, called = argument.partition("=")
        for given, device in operands:
            if given == parameter or (given == "self" and parameter == "input"):
                seen.append((called or parameter, device))
    common = seen[0][1] if seen else ""
    for argument, device in seen:
        if device != common:
            return (
                f"{_SAME}got {argument} is on {device}, different from other tensors on {common} "
                f"(when checking argument in method wrapper_CUDA_{kernel})"
            )
    return None


def _two_devices(operands: Operands) -> str:
    """What TensorIterator says: the device that it settled on is the first that is not the CPU."""
    devices = list(dict.fromkeys(device for _, device in operands)) or ["cuda:0", "cpu"]
    common = next((device for device in devices if device != "cpu"), devices[0])
    other = next((device for device in devices if device != common), "cpu")
    return f"{_SAME}found at least two devices, {common} and {other}!"


def _convolution(devices: dict[str, str]) -> str:
    given = devices.get("input") or devices.get("self")
    if given is None:
        given = next((device for name, device in devices.items() if name not in ("weight", "bias")), "cuda:0")
    for name in ("weight", "bias"):
        device = devices.get(name, given)
        if device.partition(":")[0] != given.partition(":")[0]:
            return (
                f"RuntimeError: Input type ({tensor_type(given)}) and {name} type ({tensor_type(device)}) "
                "should be the same"
            )
        if device != given:
            return (
                f"{_SAME}got {name} is on {device}, different from other tensors on {given} "
                "(when checking argument in method wrapper_CUDA__cudnn_convolution)"
            )
    return f"RuntimeError: Input type ({tensor_type(given)}) and weight type (torch.FloatTensor) should be the same"


def _recurrent(devices: dict[str, str]) -> str:
    given = devices.get("input", "cuda:0")
    for name, device in devices.items():
        if name.startswith("weight") and device != given:
            return (
                "RuntimeError: Input and parameter tensors are not at the same device, "
                f"found input tensor at {given} and parameter tensor at {device}"
            )
    hidden = devices.get("hx", "cpu")
    return (
        "RuntimeError: Input and hidden tensors are not at the same device, "
        f"found input tensor at {given} and hidden tensor at {hidden}"
    )


def tensor_type(device: str, name: str = "Float") -> str:
    """Return what `tensor.type()` answers for a tensor on this device: `torch.cuda.FloatTensor`."""
    return f"torch.cuda.{name}Tensor" if device.startswith("cuda") else f"torch.{name}Tensor"


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
    expected, found = facts.text("expected", "cuda"), facts.text("found", "cpu")
    if facts.text("operation").endswith(("randperm", "RandomSampler", "random_split")) and found.startswith("cuda"):
        found = found if ":" in found else found + ":0"
        return f"RuntimeError: Expected a 'cpu' generator device but found '{found}'"
    kinds = expected.partition(":")[0], found.partition(":")[0]
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
    device = facts.text("device", "cpu")
    return f"RuntimeError: indices should be either on cpu or on the same device as the indexed tensor ({device})"


def _pin(facts: _Facts) -> str:
    kind = facts.text("type", "torch.cuda.FloatTensor")
    return f"RuntimeError: cannot pin '{kind}' only dense CPU tensors can be pinned"


def _gradient(facts: _Facts) -> str:
    gradient, tensor = facts.text("gradient", "cpu"), facts.text("tensor", "cuda")
    (kind, _, index), (expected, _, at) = gradient.partition(":"), tensor.partition(":")
    if kind == expected:
        return (
            f"RuntimeError: attempting to assign a gradient located on device with index '{index}' to a tensor located "
            f"on device with index '{at}'. Please ensure that the gradient and the tensor are on the same device"
        )
    return (
        f"RuntimeError: attempting to assign a gradient with device type '{kind}' to a tensor "
        f"with device type '{expected}'. Please ensure that the gradient and the tensor are on the "
        "same device"
    )


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
        r"|should be the same or input should be a MKLDNN tensor|input and window must be on the same device",
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
