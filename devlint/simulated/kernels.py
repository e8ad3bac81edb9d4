"""The CUDA backend: a Python kernel for each operator that runs the CPU's kernel on the same memory.

A kernel checks the devices of its arguments, lets them say for the duration of the call that they are CPU tensors,
calls the CPU kernel, and puts everything back, results included. The interpreter lock is held all the while (boxed
calls don't release it), and `_exclusive` keeps other Python threads out.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import _C

from devlint.simulated import devices, foreach, generators, rules, storages, transfers
from devlint.simulated.cuda_only import CUDA_ONLY
from devlint.simulated.errors import cannot_simulate, initialization_error
from devlint.simulated.fallbacks import NO_KERNEL, instead
from devlint.simulated.memory import (
    BACKEND_FLIP,
    BACKENDS,
    CPU_WORD,
    CUDA_TYPE,
    HALVES,
    LAYOUT,
    WORDS,
    cuda_word,
    parts_of,
    place,
)
from devlint.simulated.operators import OTHER_CUDA_KEYS, Operator, read_catalogue
from devlint.simulated.rules import Rule, rule_for

__tracebackhide__ = True  # pytest shows the line of the program, not the kernel

Kernel = Callable[..., Any]

TensorBase = _C.TensorBase
CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.CPU)
DEVICE, KEYS, STORAGE, STORAGE_DEVICE = (
    LAYOUT.tensor_device,
    LAYOUT.tensor_keys,
    LAYOUT.tensor_storage,
    LAYOUT.storage_device,
)
HOST = torch.device("cpu")


def _functionality(key: Any) -> int:
    return int(_C.DispatchKeySet(key).raw_repr()) & ~BACKENDS


QUANTIZED = _functionality(_C.DispatchKey.QuantizedCPU)
NOT_DENSE = QUANTIZED | _functionality(_C.DispatchKey.SparseCPU) | _functionality(_C.DispatchKey.SparseCsrCPU)

# Operators with one kernel for all backends, which would choose a library that isn't there, or copy in two steps.
ALSO = frozenset(
    (
        "convolution",
        "convolution_backward",
        "_to_copy",
        "copy_",
        "masked_fill.Tensor",
        "masked_fill.Scalar",
        "_fused_sdp_choice",
    )
)
# The CPU's own kernel works on CUDA tensors as it stands: it makes views and asks nobody.
VIEWS = frozenset(
    "as_strided view _reshape_alias unfold alias view_as_real view_as_complex view.dtype set_.source_Tensor "
    "set_.source_Storage set_.source_Storage_storage_offset is_set_to record_stream".split()
)
RESULT_FOLLOWS_SELF = frozenset(("index.Tensor", "_unsafe_index.Tensor", "index_put_", "index_put", "_index_put_impl_"))
HOST_RESULTS: dict[str, frozenset[int]] = {"_pack_padded_sequence": frozenset((1,))}

_exclusive = threading.RLock()
_kept_alive: list[Any] = []


class Loan:
    """CUDA tensors that are lent to the CPU for one call."""

    __slots__ = ("lent",)

    def __init__(self) -> None:
        self.lent: list[tuple[int, int, int]] = []

    def take(self, tensor: Any, word: int) -> None:
        """Let a tensor on the device of `word`, and what it is made of, say it is on the CPU."""
        address = tensor._cdata
        if HALVES[(address + DEVICE) >> 1] == CPU_WORD:
            return
        keys = self._take(address, word)
        if keys & NOT_DENSE:
            if keys & QUANTIZED:
                raise cannot_simulate("quantized CUDA tensors")
            for part in parts_of(tensor):
                self._take(part, word)

    def _take(self, address: int, word: int) -> int:
        HALVES[(address + DEVICE) >> 1] = CPU_WORD
        keys = WORDS[(address + KEYS) >> 3]
        WORDS[(address + KEYS) >> 3] = keys ^ BACKEND_FLIP
        storage = WORDS[(address + STORAGE) >> 3]
        if storage:
            HALVES[(storage + STORAGE_DEVICE) >> 1] = CPU_WORD
        self.lent.append((address, word, storage))
        return keys

    def give_back(self) -> None:
        """Put the tensors back on their devices, with the storages that they have now."""
        for address, word, before in self.lent:
            HALVES[(address + DEVICE) >> 1] = word
            WORDS[(address + KEYS) >> 3] ^= BACKEND_FLIP
            if before:
                HALVES[(before + STORAGE_DEVICE) >> 1] = word
            storage = WORDS[(address + STORAGE) >> 3]
            if storage != before and storage:
                HALVES[(storage + STORAGE_DEVICE) >> 1] = word


def put_on(result: Any, word: int, kept: tuple[Any, ...] = ()) -> None:
    """Put the fresh CPU tensors of a result on the device of `word`, except those that were `kept` on the CPU."""
    if isinstance(result, torch.Tensor):
        address = result._cdata
        if HALVES[(address + DEVICE) >> 1] != CPU_WORD or any(result is tensor for tensor in kept):
            return
        keys = WORDS[(address + KEYS) >> 3]
        if keys & NOT_DENSE:
            if keys & QUANTIZED:
                raise cannot_simulate("quantized CUDA tensors")
            for part in parts_of(result):
                place(part, word)
        place(address, word)
    elif isinstance(result, (list, tuple)):
        for part in result:
            put_on(part, word, kept)


def on_host(call: Callable[..., Any], name: str, rule: Rule, args: Any, kwargs: Any, target: int | None = None) -> Any:
    """Call a CPU kernel with CUDA arguments.

    `target` is the two bytes of the device that the result is put on; None stands for the arguments' own.
    """
    loan = Loan()
    cuda: list[tuple[Any, int]] = []
    host: list[Any] = []
    _sort(args, cuda, host)
    if kwargs:
        _sort(kwargs.values(), cuda, host)
    word = cuda[0][1] if cuda else CPU_WORD
    if cuda and devices.in_bad_fork():
        raise initialization_error()
    if host or any(other != word for _, other in cuda):
        rule(args, kwargs)
        if name in RESULT_FOLLOWS_SELF:
            word = HALVES[(args[0]._cdata + DEVICE) >> 1]
    if target is not None:
        word = target
    with _exclusive:
        try:
            for tensor, its in cuda:
                loan.take(tensor, its)
            result = call(*args, **kwargs)
        finally:
            loan.give_back()
        if word != CPU_WORD:
            stays = HOST_RESULTS.get(name)
            if stays:
                for position, part in enumerate(result):
                    if position not in stays:
                        put_on(part, word)
            else:
                put_on(result, word, tuple(host))
    return result


def _sort(values: Any, cuda: list[tuple[Any, int]], host: list[Any]) -> None:
    for value in values:
        if isinstance(value, TensorBase):
            word = HALVES[(value._cdata + DEVICE) >> 1]
            if word & 0xFF == CUDA_TYPE:
                cuda.append((value, word))
            else:
                host.append(value)
        elif value.__class__ is list or value.__class__ is tuple:
            _sort(value, cuda, host)


def make_kernel(op: torch._ops.OpOverload, operator: Operator) -> Kernel:
    """Return the CUDA kernel of one operator."""
    name = operator.name
    if name in BETWEEN_DEVICES:
        return BETWEEN_DEVICES[name]
    handle = op._handle
    if name in VIEWS:
        if name == "record_stream":
            return lambda tensor, stream: None
        return functools.partial(_view, handle, name == "as_strided")
    call = CUDA_ONLY.get(name) or _caller(op, operator)
    rule = rule_for(op, operator)
    arguments = op._schema.arguments
    has_device = any(argument.name == "device" for argument in arguments)
    has_generator = any(argument.name == "generator" for argument in arguments)
    if name in RESULT_FOLLOWS_SELF:
        call = transfers.counting_masks(call)
    if name in transfers.SYNCHRONISING:
        call = transfers.synchronising(call, name)
    if not (has_device or has_generator):
        return _plain_kernel(call, name, rule)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        target = None
        if has_device:
            target, kwargs = _take_device(kwargs)
        if has_generator:
            return generators.lend(lambda *a, **k: on_host(call, name, rule, a, k, target), args, kwargs, target)
        return on_host(call, name, rule, args, kwargs, target)

    return kernel


def _view(handle: Any, by_index: bool, *args: Any, **kwargs: Any) -> Any:
    """Make a view. An index asks the driver for the device, as most that need strides come from one; it answers no
    process that was forked from one that used CUDA (THPVariable_getitem; seen on an H200)."""
    if by_index and devices.in_bad_fork():
        raise initialization_error()
    return handle.redispatch_boxed(CPU_KEYS, *args, **kwargs)


def _plain_kernel(call: Kernel, name: str, rule: Rule) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return on_host(call, name, rule, args, kwargs)

    return kernel


def _take_device(kwargs: dict[str, Any]) -> tuple[int | None, dict[str, Any]]:
    device = kwargs.get("device")
    if device is None:
        return None, kwargs
    kwargs = {**kwargs, "device": HOST}
    if device.type != "cuda":
        return CPU_WORD, kwargs
    kwargs.pop("pin_memory", None)
    return cuda_word(devices.checked(device.index)), kwargs


def _caller(op: torch._ops.OpOverload, operator: Operator | None = None) -> Kernel:
    """Return a function that calls an operator's CPU kernel.

    Python numbers in the place of tensors (`x + 2`) reach a kernel unwrapped; only the bindings wrap them again.
    """
    boxed = op._handle.redispatch_boxed
    arguments = op._schema.arguments
    wrapped = tuple(i for i, a in enumerate(arguments) if str(a.type) == "Tensor" and not a.kwarg_only)
    packet = op.overloadpacket

    def call(*args: Any, **kwargs: Any) -> Any:
        for i in wrapped:
            if i < len(args) and not isinstance(args[i], TensorBase):
                with _C.DisableTorchFunction():
                    return packet(*args, **kwargs)
        try:
            return boxed(CPU_KEYS, *args, **kwargs)
        except RuntimeError as error:
            return instead(error, op, operator, lambda *a, **k: boxed(CPU_KEYS, *a, **k), args, kwargs)

    return call


def fallback(key: str, op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run an operator that has no kernel of its own here for a dispatch key: sparse, nested, or the CPU's alone."""
    operator = _catalogue.get(_name_of(op))
    if operator and operator.for_some_backends and not (operator.has_cuda_kernel or operator.other_keys):
        raise NotImplementedError(NO_KERNEL.format(op._schema.name))
    target, kwargs = _take_device(kwargs) if "device" in kwargs else (None, kwargs)

    def call(*a: Any, **k: Any) -> Any:
        with _C.DisableTorchFunction():
            try:
                return op(*a, **k)
            except RuntimeError as error:
                return instead(error, op, operator, op, a, k)

    return on_host(call, _name_of(op), rule_for(op, operator, key), args, kwargs, target)


def _name_of(op: torch._ops.OpOverload) -> str:
    base = op._schema.name.split("::")[1]
    return base if op._overloadname == "default" else f"{base}.{op._overloadname}"


def copy_(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copy between any two devices."""
    pageable = target.device.type == "cpu" and not storages.is_pinned(target)
    transfers.note_copy(source, target, non_blocking and not pageable)  # a copy to pageable memory waits for its end
    on_host(_copy_on_host, "copy_", _accept, (target, source, non_blocking), {}, CPU_WORD)
    if non_blocking and storages.is_pinned(target):
        transfers.note_pending(source, target)
    return target


def to_copy(source: torch.Tensor, *, device: torch.device | None = None, **kwargs: Any) -> torch.Tensor:
    """Copy to a device, a dtype or a layout."""
    if device is None:
        word = HALVES[(source._cdata + DEVICE) >> 1]
    else:
        word = cuda_word(devices.checked(device.index)) if device.type == "cuda" else CPU_WORD
        if device.type not in ("cuda", "cpu"):
            return torch.empty_like(source, device=device, **{k: v for k, v in kwargs.items() if k != "non_blocking"})
    kwargs.pop("pin_memory", None)
    non_blocking = kwargs.get("non_blocking", False)
    result: torch.Tensor = on_host(_to_copy_on_host, "_to_copy", _accept, (source,), {**kwargs, "device": HOST}, word)
    transfers.note_copy(source, result, non_blocking)
    if non_blocking and word == CPU_WORD and source.is_cuda and result.layout is torch.strided:
        storages.mark_pinned(result)  # aten/src/ATen/native/TensorConversions.cpp, pin_out
        transfers.note_pending(source, result)
    return result


def local_scalar(tensor: torch.Tensor) -> Any:
    """Read one number: the program waits for the device."""
    transfers.note_synchronisation("item")
    return on_host(_scalar_on_host, "_local_scalar_dense", _accept, (tensor,), {})


def _accept(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    pass


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attention by its formula. The CUDA build's own choice of an implementation asks the driver about the GPU."""
    rules.attention(query, key, value, attn_mask)
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, float("-inf"))
    by_formula = torch.ops.aten._scaled_dot_product_attention_math
    result: torch.Tensor = by_formula(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]
    return result


BETWEEN_DEVICES: dict[str, Kernel] = {"copy_": copy_, "_to_copy": to_copy, "_local_scalar_dense": local_scalar}

_catalogue: dict[str, Operator] = {}
_copy_on_host = _caller(torch.ops.aten.copy_.default)
_to_copy_on_host = _caller(torch.ops.aten._to_copy.default)
_scalar_on_host = _caller(torch.ops.aten._local_scalar_dense.default)


def register_kernels() -> None:
    """Register a kernel for every operator that CUDA has, and a fallback for the others. Takes about 0.3 seconds."""
    _catalogue.update(read_catalogue())
    new_library: Any = torch.library.Library
    library = new_library("aten", "IMPL")
    _kept_alive.append(library)
    for name, operator in _catalogue.items():
        base, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if op is None:
            continue
        if operator.has_cuda_kernel or name in ALSO:
            kernel = make_kernel(op, operator)
            library.impl(
                name, foreach.one_by_one(op, name, kernel) if name.startswith(foreach.PREFIX) else kernel, "CUDA"
            )
        for (
            key
        ) in operator.other_keys:  # where CUDA has a kernel of its own, the one for all backends must not take over
            library.impl(name, functools.partial(fallback, key, op), key)
    for key in ("CUDA", "AutogradCUDA"):
        library.impl("scaled_dot_product_attention", attention, key)
    library.impl("randperm.generator", generators.permutation, "CPU")
    others = new_library("_", "IMPL")
    _kept_alive.append(others)
    for key in ("CUDA", *OTHER_CUDA_KEYS):
        others.fallback(functools.partial(fallback, key), key)
