"""What torch 2.13 says where tensors of two devices meet: by the operation, its kernel and their parameters.

The texts were raised under simulated CUDA, and on an H200 with torch 2.11 (test_errors.py and test_words.py in
tests/semantics). Where torch's choice depends on what is not known here (sizes, the dtype, the GPU), the text is that
of a batch in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence

from devlint.semantics import table

Operands = Sequence[tuple[str, str]]
"""(parameter, device) of the tensors that took part, in the order in which the call names them."""

_SAME = "RuntimeError: Expected all tensors to be on the same device, but "

# The kernel in which torch compares the devices, and what the kernel calls the arguments, in the kernel's order.
# Keys are families of rows, or names of callables; a kernel of another backend than CUDA is given with its backend, and
# a slash stands before the overload.
_KERNELS = {
    "addbmm": "_addbmm input=self batch1 batch2",
    "addmm": "addmm input=self mat1 mat2",
    "addmv": "addmv input=self mat vec",
    "attention": "addmm in_proj_bias=self self_attn.in_proj_weight=mat2 query=mat1 key=mat1 value=mat1 memory=mat1 "
    "in_proj_weight=mat2",
    "baddbmm": "baddbmm input=self batch1 batch2",
    "batch_norm": "_native_batch_norm input weight bias running_mean running_var",
    "batch_norm-by-cudnn": "_cudnn_batch_norm input weight bias running_mean running_var",
    "bilinear": "bmm input1=self weight=mat2",
    "bincount": "_bincount input=self weights",
    "bmm": "bmm input=self mat2",
    "bucketize": "Tensor_bucketize input=self boundaries",
    "cat": "cat tensors",
    "cdist": "__cdist_forward x1 x2",
    "clamp": "clamp/Tensor input=self min max",
    "contraction": "bmm 0=self 1=mat2",
    "denoiser": "addmm weight=self sample=mat1 timestep=mat1 encoder_hidden_states=mat1",
    "complex": "out_complex_out input=real real imag",
    "cross": "linalg_cross input=self other",
    "dot": "_dot input=self tensor",
    "embedding": "_index_select weight=self input=index indices=index input_ids=index token_type_ids=index",
    "embedding_bag": "__embedding_bag weight input=indices offsets",
    "equal": "_equal input=self other",
    "gather": "gather input=self index",
    "grid_sample": "_grid_sampler_2d input grid",
    "graph": "mm x=self weight=mat2",
    "group_norm": "_native_group_norm input weight bias",
    "huber_loss": "_huber_loss input=self target",
    "index_add": "index_add input=self index source",
    "index_copy": "index_copy input=self index source",
    "index_select": "_index_select input=self index",
    "repeat_interleave": "_index_select input=self repeats=index",
    "isin": "isin_Tensor_Tensor elements test_elements",
    "layer_norm": "_native_layer_norm input weight bias",
    "linear": "addmm bias=self input=mat1 weight=mat2",
    "linear_without_bias": "mm input=self weight=mat2",
    "log_prob-of-classes": "gather self value=index",
    "logaddexp": "logaddexp input=self other",
    "logaddexp2": "logaddexp2 input=self other",
    "lstsq": "out_linalg_lstsq_out A=self input=self B=b",
    "masked_scatter": "_masked_scatter_ input=self mask source",
    "masked_select": "_masked_select input=self mask",
    "masked_attention": "baddbmm attn_mask=self key_padding_mask=self query=batch1",
    "matmul": "mm input=self other=mat2",
    "matmul-1-1": "_dot input=self other=tensor",
    "matmul-n-1": "addmv_ other=self input=mat",
    "matmul-n-n": "bmm input=self other=mat2",
    "mm": "mm input=self mat2",
    "multilabel_margin_loss": "_multilabel_margin_loss_forward input=self target",
    "multi_margin_loss": "_multi_margin_loss input=self target weight",
    "mv": "addmv_ vec=self input=mat vec",
    "nll_loss": "nll_loss_forward input=self target weight",
    "polar": "out_polar_out abs angle",
    "prelu": "__prelu_kernel input=self weight",
    "rms_norm": "__fused_rms_norm input x=input weight",
    "rnn-cell": "mm input=self weight_ih=mat2 hx=self weight_hh=mat2",
    "scatter": "scatter/src input=self index src",
    "scatter-number": "scatter/value input=self index",
    "scatter_add": "scatter_add input=self index src",
    "searchsorted": "Tensor_searchsorted sorted_sequence input=self sorter",
    "solve": "_linalg_solve_ex A B",
    "sparse.addmm": "SparseCUDA__addmm mat=self mat1 mat2",
    "sparse.mm": "SparseCUDA__addmm mat2=self mat1",
    "sparse_coo_tensor": "SparseCUDA___sparse_coo_tensor_with_dims_and_tensors indices values",
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
# Operations that compare for themselves, and name no devices.
_OWN_TEXTS = {
    **dict.fromkeys(
        ("meshgrid", "cartesian_prod"), "RuntimeError: meshgrid expects all tensors to have the same device"
    ),
    **dict.fromkeys(
        ("quantile", "nanquantile"), "RuntimeError: quantile() q tensor must be on the same device as the input tensor"
    ),
    "parameters_to_vector": "TypeError: Found two parameters on different devices, this is currently not supported.",
}
_OF_TWO_OR_MORE_SPATIAL = ("BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d")
_TRANSFORMERS = (
    *("TransformerEncoderLayer", "TransformerDecoderLayer"),
    *("TransformerEncoder", "TransformerDecoder", "Transformer"),
)


def clash(operation: str, given: Operands, ranks: Sequence[int | None] = ()) -> str:
    """Return what torch raises where these meet in an operation: a dotted name, or the last part of one.

    Operands without a name are matched in the order of the operation's row; `ranks` are theirs, where known.
    """
    row = _row_of(operation)
    operands = _named(row, given)
    name = operation.removesuffix(".forward").rpartition(".")[2]
    devices = dict(reversed([(parameter, device) for parameter, device in operands]))
    if name == "grad":
        written = dict(given)
        return refused_gradient(written.get("self", "cpu"), written.get("gradient", "cuda"))
    own = _in_own_words(name, operands, devices, ranks)
    if own is not None:
        return own
    family = row.family if row is not None else ""
    if family == "graph" and "x" in devices and devices["x"] == devices.get("weight"):
        operands, family = [("input", devices["x"]), ("index", devices.get("edge_index", "cpu"))], "index_select"
    if family == "model":
        family = "conv" if devices.keys() & {"pixel_values", "input_values", "input_features"} else "embedding"
    if family == "conv":
        return _convolution(devices)
    if family == "rnn":
        return _recurrent(devices)
    key = _kernel(operation, name, family, devices, ranks)
    if key == "nll_loss" and name in ("cross_entropy", "CrossEntropyLoss") and _are_probabilities(operands, ranks):
        return _two_devices(operands)
    return _compared(key, _is_in_place(name), _compared_by(key, operands, devices)) or _two_devices(operands)


def _in_own_words(name: str, operands: Operands, devices: dict[str, str], ranks: Sequence[int | None]) -> str | None:
    """What operations say that compare devices before a kernel does."""
    receiver = devices.get("self") or devices.get("input", "cpu")
    if name in ("index", "__getitem__"):
        return indexed(operands[0][1] if operands else "cpu")
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
    if name == "scaled_dot_product_attention" or name in _TRANSFORMERS:
        return _masked(operands, ranks[0] if ranks and name not in _TRANSFORMERS else None)
    if name == "backward":
        expected, got = devices.get("self", "cuda:0"), devices.get("gradient", "cpu")
        return f"RuntimeError: invalid gradient at index 0 - expected device {expected} but got {got}"
    if name in ("stft", "istft"):
        return (
            f"RuntimeError: {name} input and window must be on the same device "
            f"but got self on {receiver} and window on {devices.get('window', 'cpu')}"
        )
    if name == "take_along_dim":
        indices = devices.get("indices", "cpu")
        return (
            f"RuntimeError: Expected tensor to have {receiver} Device, but got tensor with {indices} Device "
            "(while checking arguments for torch.take_along_dim():)"
        )
    if name == "gradient" and len(operands) > 1:
        places = list(dict.fromkeys(device for _, device in operands))
        return (
            "RuntimeError: torch.gradient expected each tensor to be on the same device, "
            f"but got devices {places[0]} and {places[-1]}!"
        )
    if name in ("sparse_csr_tensor", "sparse_csc_tensor"):
        return f"RuntimeError: Values and {operands[0][0]} need to be on the same device."
    return _OWN_TEXTS.get(name)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.startswith("__")


def _kernel(operation: str, name: str, family: str, devices: dict[str, str], ranks: Sequence[int | None]) -> str:
    """The key of the kernel that compares the devices."""
    key = name.removesuffix("_") if _is_in_place(name) else _SPELLINGS.get(name, name)
    if operation.startswith("torch.sparse."):
        return f"sparse.{name}"
    if name == "log_prob" and "Categorical" in operation:
        return "log_prob-of-classes"
    if key not in _KERNELS:
        key = family
    if key == "batch_norm" and _is_for_cudnn(name, devices, ranks):
        return "batch_norm-by-cudnn"
    if key == "linear" and "bias" not in devices:
        return "linear_without_bias"
    if key == "matmul":
        return _product(ranks)
    if key == "scatter" and "src" not in devices:
        return "scatter-number"
    if key == "attention" and name == "MultiheadAttention" and devices.get("query") == devices.get("in_proj_weight"):
        return "masked_attention"
    return key


def _compared_by(key: str, operands: Operands, devices: dict[str, str]) -> Operands:
    """The operands as the kernel is given them."""
    if key == "log_prob-of-classes":
        return [("self", operands[0][1]), ("value", operands[-1][1])]
    if key == "contraction":
        return [(str(min(place, 1)), device) for place, (_, device) in enumerate(operands)]
    if key == "rnn-cell" and devices.get("hx", "") != devices.get("input", "") == devices.get("weight_ih"):
        return [(name, device) for name, device in operands if name not in ("input", "weight_ih")]
    return operands


def _masked(operands: Operands, rank: int | None) -> str | None:
    """What memory-efficient attention says to a mask elsewhere; it takes four dimensions, as modules give it."""
    common = operands[0][1] if operands else "cpu"
    other = next(((name, device) for name, device in operands if device != common), None)
    if other is None or "mask" not in other[0] or common == "cpu" or rank not in (None, 4):
        return None
    return (
        f"{_SAME}got attn_bias is on {other[1]}, different from other tensors on {common} "
        "(when checking argument in method wrapper_CUDA___scaled_dot_product_efficient_attention)"
    )


def _is_for_cudnn(name: str, devices: dict[str, str], ranks: Sequence[int | None]) -> bool:
    """Whether cuDNN normalises: more than two dimensions, with a weight (aten/src/ATen/native/Normalization.cpp)."""
    rank = 3 if name in _OF_TWO_OR_MORE_SPATIAL else (ranks[0] if ranks else None)
    return (rank or 2) > 2 and "weight" in devices and devices.get("input", "cpu") != "cpu"


def _are_probabilities(operands: Operands, ranks: Sequence[int | None]) -> bool:
    """Whether the targets of a loss have the shape of its input, and are no indices of classes."""
    of = {name: rank for (name, _), rank in zip(operands, ranks, strict=False)}
    return of.get("target") is not None and of.get("target") == of.get("input")


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
    name, slash, overload = kernel.partition("/")
    in_place = in_place and not name.endswith("_")
    kernel = name + "_" * in_place + slash.replace("/", "_") + overload
    seen: list[tuple[str, str]] = []
    for argument in arguments:
        parameter, _, called = argument.partition("=")
        for given, device in operands:
            if given == parameter or (given == "self" and parameter == "input"):
                seen.append((called or parameter, device))
    common = seen[0][1] if seen else ""
    for argument, device in seen:
        if device != common:
            backend = "" if kernel.startswith("Sparse") else "CUDA_"
            return (
                f"{_SAME}got {argument} is on {device}, different from other tensors on {common} "
                f"(when checking argument in method wrapper_{backend}{kernel})"
            )
    return None


def _two_devices(operands: Operands) -> str:
    """What TensorIterator says: the device that it settled on is the first that is not the CPU."""
    devices = list(dict.fromkeys(device for _, device in operands)) or ["cuda:0", "cpu"]
    common = next((device for device in devices if device != "cpu"), devices[0])
    other = next((device for device in devices if device != common), "cpu")
    return f"{_SAME}found at least two devices, {common} and {other}!"


def _convolution(devices: dict[str, str]) -> str:
    """An input on the CPU goes to MKLDNN, which has a text of its own; a single small one doesn't."""
    given = devices.get("input") or devices.get("self")
    if given is None:
        given = next((device for name, device in devices.items() if name not in ("weight", "bias")), "cuda:0")
    other = next((n for n in ("weight", "bias") if devices.get(n, given) != given), "weight")
    device = devices.get(other, "cpu")
    if device != given and device.partition(":")[0] == given.partition(":")[0]:
        return (
            f"{_SAME}got {other} is on {device}, different from other tensors on {given} "
            "(when checking argument in method wrapper_CUDA__cudnn_convolution)"
        )
    dense = f" or input should be a MKLDNN tensor and {other} is a dense tensor" if given == "cpu" else ""
    return (
        f"RuntimeError: Input type ({tensor_type(given)}) and {other} type ({tensor_type(device)}) "
        f"should be the same{dense}"
    )


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


def indexed(device: str) -> str:
    """Return what an index on another device than a tensor on this one raises."""
    return f"RuntimeError: indices should be either on cpu or on the same device as the indexed tensor ({device})"


def refused_gradient(tensor: str, gradient: str) -> str:
    """Return what `tensor.grad = gradient` raises, by the devices of the two."""
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
