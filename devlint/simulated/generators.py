"""Random number generators on simulated devices: CPU generators that say they are on `cuda:k`.

The streams of random numbers are the CPU's. CUDA's own (Philox) differ, so no program may count on the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import _C

from devlint.simulated import devices
from devlint.simulated.memory import CPU_WORD, CUDA_TYPE, HALVES, LAYOUT, cuda_word, set_generator_device

_defaults: dict[int, torch.Generator] = {}


def new_generator(index: int) -> torch.Generator:
    """Return a generator on `cuda:index`."""
    generator = _C.Generator("cpu")
    generator.manual_seed(torch.initial_seed() & 0xFFFFFFFFFFFFFFF)
    set_generator_device(generator, cuda_word(index))
    return generator


def default_generator(index: int) -> torch.Generator:
    """Return the generator that operations on `cuda:index` draw from when they are given none."""
    if index not in _defaults:
        _defaults[index] = new_generator(index)
    return _defaults[index]


def lend(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], word: int | None) -> Any:
    """Call with the generator in `args` or `kwargs`, or the device's default one, lent to the CPU.

    Raises:
        RuntimeError: the generator is a CPU generator (aten/src/ATen/core/Generator.h, check_generator).
    """
    if word is None:
        word = next((w for w in map(_word, (*args, *kwargs.values())) if w & 0xFF == CUDA_TYPE), CPU_WORD)
    if word == CPU_WORD:
        return call(*args, **kwargs)
    given: Any = kwargs.get("generator")
    if given is None:
        given = next((a for a in args if isinstance(a, _C.Generator)), None)
    if given is None:
        given = default_generator(word >> 8)
        kwargs = {**kwargs, "generator": given}
    elif given.device.type != "cuda":
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{given.device.type}'")
    before = HALVES[(given._cdata + LAYOUT.generator_device) >> 1]
    set_generator_device(given, CPU_WORD)
    try:
        return call(*args, **kwargs)
    finally:
        set_generator_device(given, before)


def permutation(
    n: int,
    *,
    generator: torch.Generator | None,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    """`randperm` on the CPU. CUDA's kernel runs where the generator is CUDA's, and asks for another before the CPU's
    own check of the device does; seen on an H200.

    Raises:
        RuntimeError: the generator is CUDA's.
    """
    if generator is not None and generator.device.type == "cuda":
        raise RuntimeError("Expected a 'cpu' device type for generator but found 'cuda'")
    kind = torch.int64 if dtype is None else dtype
    out = torch.empty(n, dtype=kind, layout=layout or torch.strided, device="cpu", pin_memory=bool(pin_memory))
    result: torch.Tensor = torch.ops.aten.randperm.generator_out(n, generator=generator, out=out)
    return result


def _word(value: Any) -> int:
    if isinstance(value, _C.TensorBase):
        return HALVES[(value._cdata + LAYOUT.tensor_device) >> 1]
    if isinstance(value, (list, tuple)) and value:
        return _word(value[0])
    return CPU_WORD


class _GeneratorType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _C.Generator)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _C.Generator)


class Generator(metaclass=_GeneratorType):
    """Stands for `torch.Generator`, whose own constructor asks the CUDA library."""

    def __new__(cls, device: torch.device | str | int = "cpu") -> Any:
        device = torch.device(device)
        if device.type != "cuda":
            return _C.Generator(device)
        cuda: Any = torch.cuda
        cuda._lazy_init()
        return new_generator(devices.checked(device.index))
