"""Reading and writing the fields of torch's C++ objects: which device a tensor, a storage or a generator says it is on.

The CPU build of torch has no way to make a CUDA tensor, but a tensor is on CUDA when its fields say so: the device and
the dispatch key set of its `TensorImpl`, and the device of its `StorageImpl`. The offsets of these fields are found by
comparing objects whose fields are known; they are not written down, and `find_layout` raises where it is not certain.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

ADDRESS_SPACE = 1 << 47  # user space of x86-64 and of most aarch64 kernels
BYTES = memoryview((ctypes.c_uint8 * ADDRESS_SPACE).from_address(0)).cast("B")
HALVES = BYTES.cast("H")
WORDS = BYTES.cast("Q")

CPU_WORD = 0xFF00  # c10::Device as two bytes, little-endian: type 0 (CPU), index -1
CUDA_TYPE = 1
META_TYPE: int = torch._C._autograd.DeviceType.Meta.value
BACKENDS = 0b11  # CPUBit and CUDABit, the two lowest of c10::DispatchKeySet
BACKEND_FLIP: int = BACKENDS
for _key in (torch._C.DispatchKey.AutocastCPU, torch._C.DispatchKey.AutocastCUDA):
    BACKEND_FLIP |= torch._C.DispatchKeySet(_key).raw_repr()


class LayoutError(RuntimeError):
    """The fields were not found where torch's objects can be expected to have them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Byte offsets in the C++ objects of the installed torch."""

    tensor_storage: int
    tensor_device: int
    tensor_keys: int
    storage_device: int
    generator_device: int
    compressed_parts: int


def cuda_word(index: int) -> int:
    """Return the two bytes of `c10::Device(CUDA, index)`."""
    return CUDA_TYPE | index << 8


def find_layout() -> Layout:
    """Find the offsets by looking at a CPU tensor, a meta tensor and some generators, whose fields are known.

    Raises:
        LayoutError: a field is found nowhere, or in more than one place.
    """
    host, meta = torch.empty(2, 3), torch.empty(2, 3, device="meta")
    meta_word = 0xFF00 | META_TYPE
    tensors = ((host._cdata, CPU_WORD), (meta._cdata, meta_word))
    storages = ((host.untyped_storage()._cdata, CPU_WORD), (meta.untyped_storage()._cdata, meta_word))
    keys = tuple((tensor._cdata, torch._C._dispatch_keys(tensor).raw_repr()) for tensor in (host, meta))
    # Several, of different seeds: what lies in their padding, and their state, may look like the field by chance.
    generators: list[Any] = [torch.Generator().manual_seed(7919 * seed) for seed in range(16)]
    return Layout(
        tensor_storage=_only("storage", range(16, 64, 8), lambda at: WORDS[(host._cdata + at) >> 3] == storages[0][0]),
        tensor_device=_only(
            "device", range(16, 256, 2), lambda at: all(HALVES[(a + at) >> 1] == w for a, w in tensors)
        ),
        tensor_keys=_only("key set", range(16, 256, 8), lambda at: all(WORDS[(a + at) >> 3] == w for a, w in keys)),
        storage_device=_only(
            "storage device", range(16, 128, 2), lambda at: all(HALVES[(a + at) >> 1] == w for a, w in storages)
        ),
        generator_device=_only(
            "generator device",
            range(16, 96, 2),
            lambda at: all(HALVES[(generator._cdata + at) >> 1] == CPU_WORD for generator in generators),
        ),
        compressed_parts=_compressed_parts(),
    )


def _compressed_parts() -> int:
    """Find where a CSR tensor has its pointers to row pointers, column indices and values, which stand in a row."""
    rows, columns, values = torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compressed = torch.sparse_csr_tensor(rows, columns, values, (1, 1))
    addresses = (rows._cdata, columns._cdata, values._cdata)
    start = compressed._cdata
    return _only(
        "parts of a CSR tensor",
        range(16, 320, 8),
        lambda at: all(WORDS[((start + at) >> 3) + i] == address for i, address in enumerate(addresses)),
    )


def _only(what: str, offsets: range, holds: Callable[[int], bool]) -> int:
    found = [offset for offset in offsets if holds(offset)]
    if len(found) != 1:
        raise LayoutError(f"the {what} field of torch {torch.__version__} was found at {found}")
    return found[0]


LAYOUT = find_layout()
SPARSE_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.SparseCPU)


def place(address: int, word: int) -> None:
    """Turn the CPU tensor at an address, with its storage, into one on the device of `word`."""
    WORDS[(address + LAYOUT.tensor_keys) >> 3] ^= BACKEND_FLIP
    HALVES[(address + LAYOUT.tensor_device) >> 1] = word
    storage = WORDS[(address + LAYOUT.tensor_storage) >> 3]
    if storage:
        HALVES[(storage + LAYOUT.storage_device) >> 1] = word


def parts_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the addresses of the tensors that a sparse CPU tensor is made of."""
    if tensor.layout is torch.sparse_coo:
        aten = torch.ops.aten
        parts = (aten._indices.default, aten._values.default)
        return tuple(part.redispatch(SPARSE_CPU, tensor)._cdata for part in parts)
    start = (tensor._cdata + LAYOUT.compressed_parts) >> 3
    return tuple(WORDS[start : start + 3])


def set_storage_device(storage: torch.UntypedStorage, word: int) -> None:
    """Say on which device a storage lies."""
    HALVES[(storage._cdata + LAYOUT.storage_device) >> 1] = word


def set_generator_device(generator: Any, word: int) -> None:
    """Say on which device a generator draws."""
    HALVES[(generator._cdata + LAYOUT.generator_device) >> 1] = word
