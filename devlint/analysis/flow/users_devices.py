"""Devices that the user names: options and settings of which the program says nothing, or that they are the CPU, or
a GPU that no world has.

A base run leaves them open (or at their defaults). Where one of them was used as a device, a further run in the worlds
with CUDA gives all of them a GPU, from the row in which they are read: what the program asks of them has the same
answer everywhere. Which settings are devices is seen by what is done with them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, Unknown, Value, constant
from devlint.analysis.events import Choice
from devlint.analysis.running import IS_A_GPU
from devlint.semantics.devices import parse_device
from devlint.worlds import WORLDS

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.machine import Machine

GPU: Final = "cuda"


def setting(machine: Machine, path: str, default: Value | None = None) -> Value:
    """What stands under the name of a setting of the user's: nothing is known, or this run takes it for a GPU."""
    return given(machine, path, None) if _is_given(machine, path) else Unknown(path, True, default)


def no_device(machine: Machine, path: str, default: Value | None = None) -> Value:
    """What stands under the name of an option that takes no name of a device: a number, or one of other words."""
    machine.places.no_devices.add(path)
    return Unknown(path, True, default)


def unless_given(machine: Machine, path: str, default: Value, gpu: str | None = GPU) -> Value:
    """An option that is `default` unless it is given: one that is the CPU, or a GPU that no world has, this run may
    take for a GPU that is there, if another run used it as a device."""
    if not isinstance(default, Const) or default.site is None:
        return default
    if not machine.world.device_count or machine.run.protocol or machine.run.importing:
        return default
    instead = _instead(default.value, gpu)
    if instead is None:
        return default
    if _is_given(machine, path):
        return given(machine, path, default.site, instead)
    machine.places.default_options[default.site.key] = path
    return default


def _instead(default: object, gpu: str | None) -> str | int | None:
    """What users give for an option whose default names no device that they compute on: `cpu`, the fourth GPU."""
    if default == "cpu":
        return gpu
    if isinstance(default, str):
        named = parse_device(default)
        return f"{GPU}:0" if named is not None and named[0] == GPU and is_in_no_world(named[1]) else None
    return 0 if default.__class__ is int and is_in_no_world(default) else None


def is_in_no_world(index: object) -> bool:
    """Whether a machine would need more GPUs than any world has for one of them to have this index."""
    return isinstance(index, int) and index >= max(world.device_count for world in WORLDS)


def note_default(machine: Machine, site: Site | None) -> None:
    """Note that the CPU, or a GPU that no world has, was used as a device, as is said at `site`, which may be the
    default of an option."""
    path = machine.places.default_options.get(site.key) if site is not None and machine.places.default_options else None
    if path is not None and not _is_of_the_host(path):
        machine.run.asked[_key(path)] = None


def _key(path: str) -> ChoiceKey:
    """What stands for a setting among the conditions, however its name is spelt: `cfg["a"]` is `cfg.a`."""
    return _ITEM.sub(r".\1", path), IS_A_GPU


_ITEM: Final = re.compile(r"\[['\"](\w+)['\"]\]")


def _is_given(machine: Machine, path: str) -> bool:
    """Whether this run takes a setting for a GPU."""
    return machine.run.gives_a_gpu and _key(path) in machine.run.assume


def given(machine: Machine, path: str, site: Site | None, gpu: str | int = GPU) -> Const:
    """A GPU in the place of a setting; the path of the run says so."""
    choice = Choice(f"{path} == {gpu!r}", True, site)
    if choice not in machine.run.path:
        machine.run.path.append(choice)
    return Const(gpu, site)


def as_given(machine: Machine, value: Value) -> Value:
    """The GPU that this run takes a setting for, which was read before that was assumed; the value itself otherwise."""
    if value.__class__ is Unknown and isinstance(value, Unknown) and value.path is not None and value.named:
        if _is_given(machine, value.path):
            return given(machine, value.path, None)
    return value


def note_device(machine: Machine, value: Value, surely: bool) -> None:
    """Note that a setting of which nothing is known is used as a device. `surely`: nothing else could stand there, so
    that its name may be any."""
    if machine.run.protocol or machine.run.importing or value.__class__ is not Unknown:
        return
    assert isinstance(value, Unknown)
    if not machine.world.device_count or not value.named or value.path is None:
        return
    if value.path in machine.places.no_devices:
        return
    if surely or ("device" in _word(value.path) and not _is_of_the_host(value.path)):
        machine.run.asked[_key(value.path)] = None


def _word(path: str) -> str:
    """The last word of the name of a setting."""
    return _ITEM.sub(r".\1", path).rpartition(".")[2].lower()


def _is_of_the_host(path: str) -> bool:
    return any(word in _word(path) for word in _OF_THE_HOST)


_OF_THE_HOST: Final = ("cpu", "host", "offload", "storage", "store")
"""What the name of a setting says that is about where things are kept, not about where they are computed."""


def of_users(machine: Machine) -> dict[ChoiceKey, bool]:
    """What a further run assumes: that each setting which was asked for a device is a GPU."""
    keys = [key for key in machine.run.asked if isinstance(key, tuple) and len(key) == 2 and key[1] == IS_A_GPU]
    return dict.fromkeys(sorted(keys), True)


def open_ones(machine: Machine, users: dict[ChoiceKey, bool]) -> dict[ChoiceKey, bool]:
    """Those of which the program says nothing: every run may assume it, so that all that is asked of one has the same
    answer."""
    stay = {_key(path) for path in machine.places.default_options.values()}
    return {key: given for key, given in users.items() if key not in stay}


def gpu_among(choices: list[Value] | None) -> str | None:
    """Which of the words that an option takes names a GPU; it takes any where they are not listed."""
    if choices is None:
        return GPU
    for choice in choices:
        named = parse_device(choice.value) if isinstance(choice, Const) and isinstance(choice.value, str) else None
        if named is not None and named[0] == GPU and not named[1]:
            return str(constant(choice))
    return None
