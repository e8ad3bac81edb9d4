"""What asks for NVIDIA's driver or compiler, and raises on a machine that has neither.

Sources: `torch.utils.cpp_extension` (a CPU build has no CUDA headers, and `CUDA_HOME` is asked for); the documentation
of NVML (`nvmlInit` answers NVML_ERROR_DRIVER_NOT_LOADED or NVML_ERROR_LIBRARY_NOT_FOUND).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from devlint.analysis.dispatch import Call, models
from devlint.analysis.machine import Crash, text_of
from devlint.analysis.values import NONE, UNKNOWN, Sequence, Value, is_none

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline")
def load_extension(machine: Machine, call: Call) -> Value:
    """`cpp_extension.load(name, sources)`: kernels for CUDA are compiled where CUDA is.

    Raises:
        Crash: it isn't, and there are some.
    """
    machine.consulted.add("availability")
    if not machine.world.has_cuda and _has_kernels(call):
        _end(machine, "OSError")
    return UNKNOWN


def _end(machine: Machine, error: str) -> NoReturn:
    """The program ends here, unless there is a `try`: nothing behind it lacks a GPU, in what imports this file either.

    Raises:
        Crash: always.
    """
    if not machine.trying:
        machine.store.set(machine.state, "alive", False)
    raise Crash(error)


def _has_kernels(call: Call) -> bool:
    sources = call.given(1, "sources")
    names = sources.items if isinstance(sources, Sequence) else [sources]
    kernels = call.keywords.get("cuda_sources")
    return any((text_of(name) or "").endswith(".cu") for name in names) or not (kernels is None or is_none(kernels))


@models("pynvml.nvmlInit", "py3nvml.nvmlInit", "py3nvml.py3nvml.nvmlInit")
def start_management(machine: Machine, call: Call) -> Value:
    """`pynvml.nvmlInit()` asks the driver.

    Raises:
        Crash: there is none.
    """
    machine.consulted.add("availability")
    if not machine.world.has_cuda:
        _end(machine, "NVMLError")
    return NONE
