"""Devices that the user names: options and settings of which the program says nothing, or that they are the CPU.

A base run leaves them open (or on the CPU). Where one of them was used as a device, a further run in the worlds with
CUDA gives all of them a GPU, from the row in which they are read: what the program asks of them has the same answer
everywhere. Which settings are devices is seen by what is done with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, Unknown, Value, constant
from devlint.analysis.events import Choice
from devlint.analysis.machine import IS_A_GPU
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.machine import Machine

STAYS: Final = "is the CPU unless it is given"
"""What is noted beside it where the program itself says that it is the CPU: the base run stands for that."""
GPU: Final = "cuda"


def setting(machine: Machine, path: str, default: Value | None = None) -> Value:
    """What stands under the name of a setting of the user's: nothing is known, or this run takes it for a GPU."""
    return given(machine, path, None) if (path, IS_A_GPU) in machine.assume else Unknown(path, True, default)


def unless_given(machine: Machine, path: str, default: Value, gpu: str | None = GPU) -> Value:
    """An option that is `default` unless it is given: one that is the CPU this run may take for a GPU."""
    if not isinstance(default, Const) or default.value != "cpu" or gpu is None:
        return default
    if not machine.world.device_count or machine.protocol or machine.importing:
        return default
    machine.asked.update(((path, IS_A_GPU), (path, STAYS)))
    return given(machine, path, default.site, gpu) if (path, IS_A_GPU) in machine.assume else default


def given(machine: Machine, path: str, site: Site | None, gpu: str = GPU) -> Const:
    """A GPU in the place of a setting; the path of the run says so."""
    choice = Choice(f"{path} == {gpu!r}", True, site)
    if choice not in machine.path:
        machine.path.append(choice)
    return Const(gpu, site)


def as_given(machine: Machine, value: Value) -> Value:
    """The GPU that this run takes a setting for, which was read before that was assumed; the value itself otherwise."""
    if value.__class__ is Unknown and isinstance(value, Unknown) and value.path is not None and value.named:
        if (value.path, IS_A_GPU) in machine.assume:
            return given(machine, value.path, None)
    return value


def note_device(machine: Machine, value: Value, surely: bool) -> None:
    """Note that a setting of which nothing is known is used as a device. `surely`: nothing else could stand there, so
    that its name may be any."""
    if value.__class__ is not Unknown or not isinstance(value, Unknown) or machine.protocol or machine.importing:
        return
    if not value.named or value.path is None or not machine.world.device_count:
        return
    if surely or "device" in value.path.rpartition(".")[2].lower():
        machine.asked.add((value.path, IS_A_GPU))


def of_users(machine: Machine, surely_open: bool) -> dict[ChoiceKey, bool]:
    """What a further run assumes: that each setting which was asked for a device is a GPU. `surely_open`: only those of
    which the program says nothing."""
    keys = [key for key in machine.asked if isinstance(key, tuple) and len(key) == 2 and key[1] == IS_A_GPU]
    return {key: True for key in sorted(keys) if not (surely_open and (key[0], STAYS) in machine.asked)}


def gpu_among(choices: list[Value] | None) -> str | None:
    """Which of the words that an option takes names a GPU; it takes any where they are not listed."""
    if choices is None:
        return GPU
    for choice in choices:
        named = parse_device(choice.value) if isinstance(choice, Const) and isinstance(choice.value, str) else None
        if named is not None and named[0] == GPU and not named[1]:
            return str(constant(choice))
    return None
