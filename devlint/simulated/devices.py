"""The simulated devices: how many the program sees, which is current, and whether CUDA was touched before a fork."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

import torch

from devlint.simulated.errors import BAD_FORK, NO_GPUS, invalid_ordinal
from devlint.simulated.observations import SourceLine, observe
from devlint.simulated.source_lines import source_line

VISIBLE = "CUDA_VISIBLE_DEVICES"


class _Machine:
    """What the process knows of its devices. One object, because a process has one set of devices."""

    def __init__(self) -> None:
        self.installed = 0
        self.visible: tuple[int, ...] | None = None
        self.touched_at: SourceLine = ("", 0)
        self.in_bad_fork = False
        self.current = threading.local()


_machine = _Machine()


def install(count: int) -> None:
    """Put `count` devices into the machine, none of them touched yet."""
    _machine.installed = count
    _machine.visible = None


def installed() -> int:
    """Return how many devices the machine has, whatever `CUDA_VISIBLE_DEVICES` says."""
    return _machine.installed


def count() -> int:
    """Return how many devices the program sees; the first call reads `CUDA_VISIBLE_DEVICES`, as the driver does."""
    if _machine.visible is None:
        _machine.visible = visible_among(_machine.installed, os.environ.get(VISIBLE))
        _machine.touched_at = source_line()
    return len(_machine.visible)


def count_from_outside() -> int:
    """Return how many devices the management library finds for this process: it reads the variable anew each time.

    `torch.cuda.device_count()` asks it as long as CUDA is not initialised, so that counting settles nothing.
    """
    return len(visible_among(_machine.installed, os.environ.get(VISIBLE)))


def visible_among(installed: int, setting: str | None) -> tuple[int, ...]:
    """Return the devices that `CUDA_VISIBLE_DEVICES` leaves, in its order: the list ends at the first invalid entry.

    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables. On a machine with
    several devices, a list that names only ids of a bigger machine (`"2,3"`) is taken as present.
    """
    devices = tuple(range(installed))
    if setting is None:
        return devices
    entries = [entry.strip() for entry in setting.split(",")]
    numbers = [int(entry) if entry.isdigit() else -1 for entry in entries]
    if installed > 1 and min(numbers) >= installed:
        return devices[: len(numbers)]
    seen: list[int] = []
    for number in numbers:
        if number in seen:
            return ()  # the driver refuses a list that names a device twice
        if not 0 <= number < installed:
            break
        seen.append(number)
    return tuple(seen)


def note_setting(name: str, value: str) -> None:
    """Notice `CUDA_VISIBLE_DEVICES` set when it is too late."""
    if name != VISIBLE or not _machine.visible:
        return
    wanted = visible_among(_machine.installed, value)
    if wanted and wanted != _machine.visible:
        message = f"{VISIBLE} is set to {value!r} after CUDA was touched: the program goes on with the devices it had"
        observe("visible-devices-too-late", message, source_line(), _machine.touched_at)


def watch_environment() -> None:
    """Look at what the program puts into `os.environ`."""
    kind: Any = type(os.environ)
    original = kind.__setitem__

    @functools.wraps(original)
    def set_item(self: Any, key: str, value: str) -> None:
        original(self, key, value)
        if self is os.environ:
            note_setting(key, value)

    kind.__setitem__ = set_item


def initialise() -> None:
    """Do what `cudaInit` does for the program: look for devices.

    Raises:
        RuntimeError: there are none, or the process was forked after CUDA was touched.
    """
    refuse_bad_fork()
    if count() == 0:
        raise RuntimeError(NO_GPUS)


def current() -> int:
    """Return the index of the calling thread's current device."""
    index: int = getattr(_machine.current, "index", 0)
    return index


def set_current(index: int) -> None:
    """Make a device the calling thread's current one.

    Raises:
        RuntimeError: there is no such device (`torch.AcceleratorError`).
    """
    _machine.current.index = checked(index)


def checked(index: int | None) -> int:
    """Return the index, the current device's for None.

    Raises:
        RuntimeError: there is no such device (`torch.AcceleratorError`), or the process was forked.
    """
    if _machine.in_bad_fork:
        raise RuntimeError(BAD_FORK)
    if index is None or index < 0:
        return current()
    if index >= count():
        raise invalid_ordinal()
    return index


def in_bad_fork() -> bool:
    """Return whether this process was forked from one that had touched CUDA."""
    return _machine.in_bad_fork


def refuse_bad_fork() -> None:
    """Raise what CUDA raises in a process forked from one that had touched it."""
    if _machine.in_bad_fork:
        raise RuntimeError(BAD_FORK)


def _after_fork_in_child() -> None:
    if _machine.installed and _machine.visible is not None:
        _machine.in_bad_fork = True


os.register_at_fork(after_in_child=_after_fork_in_child)


def index_of(device: torch.device | str | int | None) -> int:
    """Return the index that a CUDA device argument names, the current one where it names none.

    Raises:
        ValueError: it names another kind of device.
    """
    if device is None:
        return current()
    if isinstance(device, int):
        return checked(device)
    device = torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return checked(device.index)
