"""What asks for NVIDIA's driver or compiler, or for a GPU, and raises on a machine that has none.

Sources: `torch.utils.cpp_extension` (a CPU build has no CUDA headers, and `CUDA_HOME` is asked for); the documentation
of NVML (`nvmlInit` answers NVML_ERROR_DRIVER_NOT_LOADED or NVML_ERROR_LIBRARY_NOT_FOUND); accelerate, which trainers of
transformers begin with ("fp16 mixed precision requires a GPU").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import NONE, UNKNOWN, Sequence, Value, constant, is_none
from devlint.analysis.machine import text_of
from devlint.analysis.signals import Crash

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
        end(machine, "OSError")
    return UNKNOWN


def end(machine: Machine, error: str) -> NoReturn:
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


@models("pynvml.nvmlInit", "py3nvml.nvmlInit", "py3nvml.py3nvml.nvmlInit", "nvidia_smi.nvmlInit")
def start_management(machine: Machine, call: Call) -> Value:
    """`pynvml.nvmlInit()` asks the driver.

    Raises:
        Crash: there is none.
    """
    machine.consulted.add("availability")
    if not machine.world.has_cuda:
        end(machine, "NVMLError")
    return NONE


@models("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
def settings_of_a_training(machine: Machine, call: Call) -> Value | None:
    """`TrainingArguments(fp16=True)`: the training is refused without a GPU.

    Raises:
        Crash: there is none.
    """
    if constant(call.keywords.get("fp16")) is True:
        demand_half(machine)
    return None


def demand_half(machine: Machine) -> None:
    """Mixed precision with `float16` is asked for.

    Raises:
        Crash: there is no GPU.
    """
    machine.consulted.add("availability")
    if not machine.world.has_cuda:
        end(machine, "ValueError")
