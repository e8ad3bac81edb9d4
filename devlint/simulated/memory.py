"""Reading and writing the fields of torch's C++ objects: which device a tensor, a storage or a generator says it is on.

The CPU build of torch has no way to make a CUDA tensor, but a tensor is on CUDA when its fields say so: the device and
the dispatch key set of its `TensorImpl`, and the device of its `StorageImpl`. The offsets of these fields are found by
comparing objects whose fields are known; they are not written down, and `find_layout` raises where it is not certain.
"""

from __future__ import annotations

import ctypes
import warnings
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
SAMPLES = 16  # objects of each kind that a field is looked for in
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
    """Find the offsets by looking at CPU tensors, meta tensors and generators, whose fields are known.

    There are many of each, made by turns and held at once: what lies in the padding of one object, or behind its end
    (its own storage, often, which says the same device), looks like the field by chance, but not in all of them.

    Raises:
        LayoutError: a field is found nowhere, or in more than one place.
    """
    meta_word = 0xFF00 | META_TYPE
    tensors: list[tuple[torch.Tensor, int]] = []
    for size in range(1, SAMPLES):
        host, meta = torch.empty(2, size), torch.empty(2, size, device="meta")
        # A view is made without a storage: its neighbour in memory is another tensor, of the other device.
        tensors += [(host, CPU_WORD), (meta, meta_word), (host.detach(), CPU_WORD), (meta.detach(), meta_word)]
    storages = [(tensor.untyped_storage()._cdata, word) for tensor, word in tensors]
    keys = [torch._C._dispatch_keys(tensor).raw_repr() for tensor, _ in tensors]
    generators: list[Any] = [torch.Generator().manual_seed(7919 * seed) for seed in range(SAMPLES)]
    objects = [tensor._cdata for tensor, _ in tensors]
    words = [word for _, word in tensors]
    return Layout(
        tensor_storage=_only("storage", WORDS, range(16, 64, 8), objects, [storage for storage, _ in storages]),
        tensor_device=_only("device", HALVES, range(16, 256, 2), objects, words),
        tensor_keys=_only("key set", WORDS, range(16, 256, 8), objects, keys),
        storage_device=_only("storage device", HALVES, range(16, 128, 2), [at for at, _ in storages], words),
        generator_device=_only(
            "generator device",
            HALVES,
            range(16, 96, 2),
            [generator._cdata for generator in generators],
            [CPU_WORD] * len(generators),
        ),
        compressed_parts=_compressed_parts(),
    )


def _compressed_parts() -> int:
    """Find where a CSR tensor has its pointers to row pointers, column indices and values, which stand in a row."""
    parts = [(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1)) for _ in range(SAMPLES)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compressed = [torch.sparse_csr_tensor(*of, (1, 1)) for of in parts]
    objects = [tensor._cdata for tensor in compressed]
    at = _only("row pointers", WORDS, range(16, 320, 8), objects, [rows._cdata for rows, _, _ in parts])
    following = [(address + at >> 3) + 1 for address in objects]
    if any(WORDS[i : i + 2].tolist() != [c._cdata, v._cdata] for i, (_, c, v) in zip(following, parts, strict=True)):
        raise LayoutError(f"the parts of a CSR tensor of torch {torch.__version__} do not stand in a row")
    return at


def _only(what: str, cells: memoryview, offsets: range, objects: list[int], expected: list[int]) -> int:
    """Return the one offset at which each of the objects has, in cells of that size, what is expected of it."""
    size = cells.itemsize
    known = list(zip(objects, expected, strict=True))
    found = [offset for offset in offsets if all(cells[(at + offset) // size] == value for at, value in known)]
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
