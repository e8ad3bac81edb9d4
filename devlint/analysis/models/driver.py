"""What asks for NVIDIA's driver or compiler, or for a GPU, and raises on a machine that has none.

Sources: `torch.utils.cpp_extension` (a CPU build has no CUDA headers, and `CUDA_HOME` is asked for); the documentation
of NVML (`nvmlInit` answers NVML_ERROR_DRIVER_NOT_LOADED or NVML_ERROR_LIBRARY_NOT_FOUND); that of `subprocess` (a
program that is not there raises FileNotFoundError, in a shell it gives 127), for `nvidia-smi` comes with the driver;
accelerate, which trainers of transformers begin with ("fp16 mixed precision requires a GPU").
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NoReturn

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import NONE, STRING, UNKNOWN, Sequence, Value, constant, is_none
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
    machine.entry.consulted.add("availability")
    if not machine.world.has_cuda and _has_kernels(call):
        end(machine, "OSError")
    return UNKNOWN


def end(machine: Machine, error: str) -> NoReturn:
    """The program ends here, unless there is a `try`: nothing behind it lacks a GPU, in what imports this file either.

    Raises:
        Crash: always.
    """
    if not machine.run.trying:
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
    machine.entry.consulted.add("availability")
    if not machine.world.has_cuda:
        end(machine, "NVMLError")
    return NONE


@models("subprocess.Popen", "subprocess.run", "subprocess.call")
def start_program(machine: Machine, call: Call) -> Value | None:
    """`subprocess.run(["nvidia-smi"])`.

    Raises:
        Crash: the machine has no such program.
    """
    _ask_driver(machine, call, constant(call.keywords.get("check")) is True)
    return None


@models("subprocess.check_call")
def start_checked_program(machine: Machine, call: Call) -> Value | None:
    """`subprocess.check_call("nvidia-smi", shell=True)`.

    Raises:
        Crash: the machine has no such program.
    """
    _ask_driver(machine, call, True)
    return None


@models("subprocess.check_output")
def output_of_program(machine: Machine, call: Call) -> Value:
    """`subprocess.check_output(["nvidia-smi", "-L"])`.

    Raises:
        Crash: the machine has no such program.
    """
    _ask_driver(machine, call, True)
    return STRING


def _ask_driver(machine: Machine, call: Call, is_checked: bool) -> None:
    command = call.given(0, "args")
    by_itself = isinstance(command, Sequence)
    first = command.items[0] if isinstance(command, Sequence) and command.items else command
    text = text_of(first) if first is not None else None
    if not text or PurePosixPath(text.split()[0] if text.split() else "").name != _TOOL:
        return
    machine.entry.consulted.add("availability")
    if machine.world.has_cuda:
        return
    if not _uses_shell(call):
        if by_itself or text.split() == [text]:
            end(machine, "FileNotFoundError")
    elif is_checked and not _JOINING & set(text):
        end(machine, "CalledProcessError")


_TOOL: Final = "nvidia-smi"
_JOINING: Final = frozenset("|;&")
"""In a shell's line with these the last program's answer counts, or another is run instead."""


def _uses_shell(call: Call) -> bool:
    shell = call.keywords.get("shell")
    return shell is not None and constant(shell) is not False


@models("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
def settings_of_a_training(machine: Machine, call: Call) -> Value | None:
    """`TrainingArguments(fp16=True)`: the training is refused without a GPU. With `use_cpu=True` it heeds none.

    Raises:
        Crash: there is none.
    """
    if any(constant(call.keywords[name]) is not False for name in _DECLINING if name in call.keywords):
        machine.store.set(machine.state, "trains_on_host", True)
    if constant(call.keywords.get("fp16")) is True:
        demand_half(machine)
    return None


_DECLINING: Final = ("use_cpu", "no_cuda")


def demand_half(machine: Machine) -> None:
    """Mixed precision with `float16` is asked for.

    Raises:
        Crash: there is no GPU.
    """
    machine.entry.consulted.add("availability")
    if not machine.world.has_cuda:
        end(machine, "ValueError")
