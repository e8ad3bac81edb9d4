"""Storages on simulated devices, which checkpoints are made of; pinned memory, which is memory with a mark."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch

from devlint.simulated import devices
from devlint.simulated.errors import cannot_simulate
from devlint.simulated.memory import CPU_WORD, cuda_word, set_storage_device

FACTORIES = (
    "empty zeros ones full rand randn randint tensor arange empty_strided "
    "empty_like zeros_like ones_like full_like rand_like randn_like".split()
)

_pinned: set[int] = set()


def _wants_cuda(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


def _storage_type() -> type[Any]:
    original: Any = torch.UntypedStorage.__new__

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        device: Any = kwargs.get("device")
        if not _wants_cuda(device):
            return original(cls, *args, **kwargs)
        cuda: Any = torch.cuda
        cuda._lazy_init()
        index = devices.checked(torch.device(device).index)
        storage = original(cls, *args, **{**kwargs, "device": "cpu"})
        set_storage_device(storage, cuda_word(index))
        return storage

    kind: Any = torch.UntypedStorage
    kind.__new__ = new
    return kind  # type: ignore[no-any-return]


def _resize(original: Any) -> Any:
    def resize_(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return original(self, size)
        word = cuda_word(self.device.index)
        set_storage_device(self, CPU_WORD)
        try:
            return original(self, size)
        finally:
            set_storage_device(self, word)

    return resize_


def _share_cuda(self: Any, *args: Any) -> Any:
    raise cannot_simulate("CUDA tensors shared between processes", "send them as CPU tensors")


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """Return a copy in pinned memory, itself when it is pinned already.

    Raises:
        RuntimeError: it isn't a dense CPU tensor (aten/src/ATen/native/Memory.cpp).
    """
    if self.device.type != "cpu" or self.layout is not torch.strided:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    with torch.no_grad():
        copy = self.clone(memory_format=torch.preserve_format)
    mark_pinned(copy)
    return copy


def mark_pinned(tensor: torch.Tensor) -> None:
    """Say that a CPU tensor's memory is pinned, until it is freed."""
    storage = tensor.untyped_storage()
    key = storage._cdata
    _pinned.add(key)
    weakref.finalize(storage, _pinned.discard, key)


def is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    """Return whether a tensor's memory is pinned."""
    return bool(_pinned) and self.layout is torch.strided and self.untyped_storage()._cdata in _pinned


def _pinning(factory: Any) -> Any:
    """Let a factory make ordinary memory and mark it where it is asked for pinned memory."""

    @functools.wraps(factory)
    def make(*args: Any, pin_memory: bool = False, **kwargs: Any) -> torch.Tensor:
        if not pin_memory:
            return factory(*args, **kwargs)  # type: ignore[no-any-return]
        made: torch.Tensor = factory(*args, **kwargs)
        if made.device.type != "cpu":
            raise RuntimeError("Only dense CPU tensors can be pinned")
        mark_pinned(made)
        return made

    return make


def record_stream(self: torch.Tensor, stream: Any) -> None:
    """Do nothing: memory is never reused while a tensor holds it."""


def install() -> None:
    """Teach `torch.UntypedStorage` and `torch.Tensor` about devices and pinned memory."""
    storage = _storage_type()
    storage.resize_ = _resize(storage.resize_)
    storage._share_cuda_ = _share_cuda
    storage.is_pinned = lambda self, device="cuda": self._cdata in _pinned
    tensor: Any = torch.Tensor
    tensor.pin_memory = pin_memory
    tensor.is_pinned = is_pinned
    tensor.record_stream = record_stream
    package: Any = torch
    builtins: Any = torch.jit._builtins
    for name in FACTORIES:
        factory = getattr(torch, name)
        wrapper = _pinning(factory)
        setattr(package, name, wrapper)
        builtin = builtins._find_builtin(factory)
        if builtin:
            builtins._register_builtin(wrapper, builtin)
