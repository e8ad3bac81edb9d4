"""Which arguments may be on which device: asked only when the arguments of one operation are on different devices.

The rules are torch's: `device_check` in `native_functions.yaml` (c10/core/op_registration/adaption.h), TensorIterator
(aten/src/ATen/TensorIterator.cpp) and the few operators that check for themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import _C

from devlint.simulated.fallbacks import NO_KERNEL
from devlint.simulated.operators import Operator

__tracebackhide__ = True  # pytest shows the line of the program, not the rule

Rule = Callable[[tuple[Any, ...], dict[str, Any]], None]


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors in arguments, also those in lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def two_devices(first: torch.device, second: torch.device) -> RuntimeError:
    """Return TensorIterator's error."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


def rule_for(op: torch._ops.OpOverload, operator: Operator | None, key: str = "CUDA") -> Rule:
    """Return the rule by which an operator's kernel for a dispatch key judges arguments on different devices."""
    name = operator.name if operator else ""
    if name in SPECIAL:
        return SPECIAL[name]
    if name.startswith(("_foreach", "_amp_foreach")):
        return functools.partial(_same_device_row_by_row, name.partition(".")[0].endswith("_"))
    schema = op._schema
    names = tuple(argument.name for argument in schema.arguments)
    outputs = tuple(argument.name for argument in schema.arguments if argument.is_out)
    has_kernel = operator and (operator.has_cuda_kernel if key == "CUDA" else key in operator.other_keys)
    if operator and has_kernel and operator.checks_devices:
        return _exact_rule(names, outputs, _wrapper_name(operator, key, bool(outputs)))
    return _iterator_rule(names, outputs, name.partition(".")[0].endswith("_"))


def _wrapper_name(operator: Operator, key: str, writes_out: bool) -> str:
    """Return the name of the generated wrapper that does the check, as the error text gives it."""
    base, _, overload = operator.name.partition(".")
    if operator.structured and key == "CUDA":
        return f"wrapper_CUDA_{base}" + (f"_{overload}" if overload else "")
    return f"wrapper_{key}_{overload}_{base}" + ("_out" if writes_out else "")


def _exact_rule(names: tuple[str, ...], outputs: tuple[str, ...], wrapper: str) -> Rule:
    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        named = [(name, kwargs[name]) for name in outputs if name in kwargs]
        named += [(name, value) for name, value in zip(names, args, strict=False) if name not in outputs]
        common: torch.device | None = None
        for name, value in named:
            for tensor in tensors_in((value,)):
                if common is None:
                    common = tensor.device
                elif tensor.device != common:
                    raise _different(name, tensor.device, common, wrapper)

    return check


def _iterator_rule(names: tuple[str, ...], outputs: tuple[str, ...], in_place: bool) -> Rule:
    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        out = [kwargs[name] for name in outputs if isinstance(kwargs.get(name), torch.Tensor)]
        if in_place:
            out.append(args[0])
        same_device(out, [t for t in tensors_in((*args, *kwargs.values())) if not any(t is o for o in out)])

    return check


def same_device(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> None:
    """Check as TensorIterator does: one device for all, but 0-dimensional CPU inputs are welcome.

    Raises:
        RuntimeError: two devices.
    """
    common = next((t.device for t in (*outputs, *inputs) if t.device.type != "cpu"), None)
    if common is None:
        return
    for tensor in outputs:
        if tensor.device != common:
            raise two_devices(common, tensor.device)
    for tensor in inputs:
        if tensor.device != common and not (tensor.device.type == "cpu" and tensor.dim() == 0):
            raise two_devices(common, tensor.device)


def _same_device_row_by_row(in_place: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check lists of tensors position by position (aten/src/ATen/native/ForeachUtils.h falls back to single calls)."""
    lists = [
        a for a in (*args, *kwargs.values()) if isinstance(a, (list, tuple)) and a and isinstance(a[0], torch.Tensor)
    ]
    for row in zip(*lists, strict=False):
        same_device([row[0]] if in_place else [], list(row[1:] if in_place else row))


def _index(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """aten/src/ATen/native/IndexingUtils.h and TensorAdvancedIndexing.cpp"""
    target = args[0]
    for index in tensors_in((args[1],)):
        if index.device.type != "cpu" and index.device != target.device:
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({target.device})"
            )


def _index_put(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """_index_put_impl_ in TensorAdvancedIndexing.cpp: make_info brings the indices to the tensor, wherever they are; so
    torch/_subclasses/fake_impls.py asks of the values alone."""
    target, indices, value, accumulate = (*args, *kwargs.values(), False)[:4]
    if value.device == target.device or _fills(target, indices, value):
        return
    if accumulate and target.device.type == "cuda":  # index_put_with_sort_kernel in cuda/Indexing.cu; seen on an H200
        raise RuntimeError(f"expected device {target.device} but got device {value.device} for value tensor")
    same_device([target], [value.flatten()])


def _fills(target: torch.Tensor, indices: list[torch.Tensor | None], value: torch.Tensor) -> bool:
    """Return whether `value` is of no dimension, or a number on the host that fills a mask beside the tensor
    (canDispatchToMaskedFill)."""
    if value.numel() != 1 or value.dim() == 0:
        return value.dim() == 0
    given = [index for index in indices if index is not None]
    masks = len(given) == 1 and given[0].dtype is torch.bool and given[0].device == target.device
    return value.device.type == "cpu" and masks


def _masked_fill(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    target, mask = args[0], args[1]
    if target.device != mask.device:
        raise RuntimeError(
            "expected self and mask to be on the same device, "
            f"but got mask on {mask.device} and self on {target.device}"
        )


def _index_fill(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """index_fill_ in TensorAdvancedIndexing.cpp gives the index the tensor's dimensions before TensorIterator sees it,
    so that one of no dimension is not welcome either; seen on an H200."""
    target, index = args[0], args[2]
    if index.device != target.device:
        same_device([target], [index.flatten()])


# The kernels of aten/src/ATen/native/Convolution.cpp for inputs on the CPU that are not MKLDNN's, which dispatch by
# themselves and so meet CUDA's device check. Seen on an H200.
_SLOW_CONVOLUTIONS = {
    "Slow2d": "__slow_conv2d_forward",
    "SlowDilated2d": "_slow_conv_dilated2d",
    "SlowDilated3d": "_slow_conv_dilated3d",
    "SlowTranspose2d": "slow_conv_transpose2d",
    "SlowTranspose3d": "_slow_conv_transpose3d",
}


def _convolution(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """aten/src/ATen/native/Convolution.cpp, check_input_same_type_as_parameters, or what the backend of an input on the
    CPU says; then cuDNN's own check"""
    source, weight, bias = args[:3]
    backend = "Cudnn" if source.is_cuda else _C._select_conv_backend(*args).name
    by_mkldnn = backend in ("Mkldnn", "???")  # the name of MKLDNN's transposed convolution is not exported
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is None or tensor.device == source.device:
            continue
        if backend in _SLOW_CONVOLUTIONS:
            raise _different(name, tensor.device, source.device, f"wrapper_CUDA_{_SLOW_CONVOLUTIONS[backend]}")
        if backend == "Slow3d":
            raise NotImplementedError(NO_KERNEL.format("aten::slow_conv3d_forward"))
        if backend == "Empty":
            raise two_devices(tensor.device, source.device)
        if tensor.device.type != source.device.type:
            dense = f" or input should be a MKLDNN tensor and {name} is a dense tensor" if by_mkldnn else ""
            raise RuntimeError(
                f"Input type ({_type_name(source)}) and {name} type ({_type_name(tensor)}) should be the same{dense}"
            )
        raise _different(name, tensor.device, source.device, "wrapper_CUDA__cudnn_convolution")


def _type_name(tensor: torch.Tensor) -> str:
    """What `Tensor::toString` calls a type; those that have no legacy name in Python have one of C++."""
    if tensor.dtype is torch.bfloat16:
        return f"{tensor.device.type.upper()}BFloat16Type"
    return tensor.type()


def _different(name: str, device: torch.device, common: torch.device, wrapper: str) -> RuntimeError:
    """Return the error of a wrapper's device check (c10/core/op_registration/adaption.h)."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but got {name} is on {device}, "
        f"different from other tensors on {common} (when checking argument in method {wrapper})"
    )


def _batch_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """_batch_norm_impl_index in aten/src/ATen/native/Normalization.cpp: cuDNN takes what has more than two dimensions,
    with weight and bias, and either both statistics or none in training. Seen on an H200."""
    source, weight, bias, mean, variance, training = args[:6]
    statistics = (mean is not None) + (variance is not None)
    rows = 880801 if training else 65535
    by_cudnn = source.is_cuda and source.dim() > 2 and source.size(0) <= rows and source.dtype is not torch.bfloat16
    complete = weight is not None and bias is not None and (statistics == 2 or (statistics == 0 and training))
    kernel = "_cudnn_batch_norm" if by_cudnn and complete else "_native_batch_norm"
    names = ("input", "weight", "bias", "running_mean", "running_var")
    _exact_rule(names, (), f"wrapper_CUDA_{kernel}")(args[:5], {})


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None) -> None:
    """Check scaled_dot_product_attention as validate_sdpa_input and the implementation do that is chosen for a GPU of
    capability 8.0 (aten/src/ATen/native/transformers). Seen on an H200, where cuDNN's takes half precision.

    Raises:
        RuntimeError, NotImplementedError: two devices.
    """
    if not query.device == key.device == value.device:
        raise RuntimeError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query.device} "
            f"key.device: {key.device} and value.device: {value.device} instead."
        )
    if mask is None or mask.device == query.device:
        return
    if not query.is_cuda:
        raise NotImplementedError(NO_KERNEL.format("aten::_scaled_dot_product_flash_attention_for_cpu"))
    aligned = query.size(-1) * query.element_size() % 16 == 0
    if query.dim() == 4 and query.element_size() <= 4 and aligned and mask.dim() in (2, 4):
        wrapper = "wrapper_CUDA___scaled_dot_product_efficient_attention"
        raise _different("attn_bias", mask.device, query.device, wrapper)
    same_device([], [query, mask])  # the formula adds it


def anything(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Accept any mixture: the operator crosses devices on purpose, or wants its arguments on the CPU."""


CTC = ("_ctc_loss", "_ctc_loss_backward", "_use_cudnn_ctc_loss", "_use_miopen_ctc_loss")
SPECIAL: dict[str, Rule] = {
    **dict.fromkeys(("index.Tensor", "_unsafe_index.Tensor"), _index),
    **dict.fromkeys(("index_put_", "index_put", "_index_put_impl_"), _index_put),
    **dict.fromkeys((f"masked_fill{mark}.{kind}" for mark in ("", "_") for kind in ("Tensor", "Scalar")), _masked_fill),
    **dict.fromkeys(
        (f"index_fill{mark}.int_{kind}" for mark in ("", "_") for kind in ("Tensor", "Scalar")), _index_fill
    ),
    "convolution": _convolution,
    "native_batch_norm": _batch_norm,
    **dict.fromkeys(("convolution_backward", "copy_", "_to_copy", "_copy_from", "set_data"), anything),
    "_pack_padded_sequence": anything,
    **dict.fromkeys((f"{name}{kind}" for name in CTC for kind in ("", ".Tensor")), anything),
}
