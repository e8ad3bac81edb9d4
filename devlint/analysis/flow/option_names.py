"""What the name of a condition says: whether it is an option about GPUs, and which answer asks for one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.machine import Machine


@lru_cache(maxsize=4096)
def asks_for_gpu(key: str, answer: bool) -> bool:
    """Whether somebody who answers an option of the program so takes it upon them that there is a GPU.

    `args.cuda` is true, `args.gpu is None` is not, nor is `args.no_cuda` or `args.cpu`.
    """
    if key.endswith((" is None", " == -1", " == ''", " < 0")):
        return not answer
    name = key.rpartition(".")[2].lower()
    named = any(word in name for word in ("cuda", "gpu", "accel"))
    against = "cpu" in name or (named and name.startswith(("no", "disable", "without")))
    return answer is not against


@lru_cache(maxsize=4096)
def speaks_of_gpu(text: str) -> bool:
    """Whether what is asked for, or compared with a constant, has a name of GPUs, or the constant is a device."""
    asked = _ASKED.fullmatch(text)
    if asked is not None and asked.group(2):
        return True
    name = "" if asked is None else asked.group(1).rpartition(".")[2].lower()
    return any(word in name for word in OF_GPUS)


OF_GPUS = ("cuda", "gpu", "cpu", "accel", "nvidia", "rocm", "nccl", "hopper")
_ASKED = re.compile(r"([^ ]+)(?: (?:[<>]=?|==|is) (?:-?[\d.]+|None|True|False|('(?:cpu|cuda)')))?")


def is_gpu_option(key: str) -> bool:
    """Whether an option of the program is, by its name, about where it runs: `args.no_cuda`, `opt['gpu']`."""
    name = key.rpartition(".")[2].lower()
    return any(word in name for word in ("cuda", "gpu", "cpu", "device", "accel"))


def gpu_is_declined(machine: Machine) -> bool:
    """Whether only who says so, and not who leaves such an option alone, comes by the running path without a GPU."""
    return any(
        is_gpu_option(choice.condition)
        and not asks_for_gpu(choice.condition, choice.value)
        and machine.run.unless_given.get(choice.condition) is (not choice.value)
        for choice in machine.run.path
    )


def counts_gpus(key: ChoiceKey) -> bool:
    """Whether a condition is an option about GPUs, so that numbers behind it may be those of GPUs."""
    return isinstance(key, str) and is_gpu_option(key)


def are_independent(one: ChoiceKey, other: ChoiceKey) -> bool:
    """Whether two conditions are options of the user's that may have any answers together.

    Comparisons of one option exclude each other, and of the options that are about where a program runs one is meant.
    """
    if not isinstance(one, str) or not isinstance(other, str) or (is_gpu_option(one) and is_gpu_option(other)):
        return False
    names = {option_of(one), option_of(other)}
    return len(names) == 2 and "" not in names


def option_of(key: str) -> str:
    """The name of the one option that a condition is about; "" if it is about something else."""
    name = re.match(r"[\w.]+(?= |$)", key)
    return "" if name is None or " and " in key or " or " in key else name.group()


_FLAG = re.compile(
    r"((no|use|with|enable|disable|without|is|on|force)_?)?(cuda|gpu|cpu|accel(erator)?)(_only)?|device == '(cpu|cuda)'"
)


_WHICH = re.compile(
    r"(visible_|cuda_visible_|cuda_|gpu_)?(?P<one>gpu|cuda|device)(?P<many>s?)(?P<number>_?(id|idx|index|no|list)s?)?"
)


def says_which_gpu(name: str, is_text: bool) -> bool:
    """Whether an option says which GPU, or with a text which of them: `gpu`, `gpu_ids`, `visible_devices`. A number of
    GPUs, `gpus=2`, is another matter."""
    found = _WHICH.fullmatch(name.lower().strip("_"))
    return found is not None and (is_text or not found["many"] or bool(found["number"]))


def is_gpu_flag(key: str) -> bool:
    """Whether an option of the program is there to run it without a GPU, or with one: `args.no_cuda`, `opt['cpu']`.

    Which GPU, and how many, is another matter: `args.gpu_ids`, `args.num_gpus > 1`.
    """
    name = key.rpartition(".")[2].rpartition("[")[2]
    return _FLAG.fullmatch(name.lower().strip("'\"]_")) is not None
