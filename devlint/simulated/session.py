"""Turning it on: what is done once for every world, and what makes a process a machine with so many devices."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass

from devlint.simulated import selftest
from devlint.simulated.errors import SimulationError

# Python must not go to another thread while tensors are lent to the CPU. Torch gives up the interpreter lock in every
# operation, and so do waiting and input/output; only a thread that computes in pure Python holds others up so long.
SECONDS_BETWEEN_THREADS = 10.0


@dataclass(slots=True)
class _State:
    prepared: bool = False
    device_count: int | None = None


_state = _State()


def preload() -> None:
    """Do the slow part, the same in every world, so that a server can fork children that only `activate`.

    Starts no threads. Takes about 1.5 seconds once torch is imported.
    """
    if _state.prepared:
        return
    import torch._dynamo
    import torch.utils._device

    from devlint.simulated import kernels, unsynchronised

    torch.utils._device._device_constructors()  # remembers the functions that a default device applies to
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a CUDA build says that it had kernels of its own
        kernels.register_kernels()
        unsynchronised.register()
    _state.prepared = True


def activate(device_count: int) -> None:
    """Make this process one on a machine with `device_count` CUDA devices. Call it before the program's own code.

    With 0 torch stays as it is: in the `cpu` world the CPU build's own answers are right. The CUDA build sees no GPU.

    Raises:
        SimulationError: it can't be done here, or this process has other devices already.
    """
    import torch

    if _state.device_count is not None:
        if _state.device_count == device_count:
            return
        raise SimulationError(f"This process has {_state.device_count} simulated CUDA devices already.")
    if device_count:
        reason = selftest.refusal()
        if reason:
            raise SimulationError(reason)
        preload()
        _install(device_count)
    elif torch.version.cuda:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    _state.device_count = device_count


def active() -> int | None:
    """Return the device count that this process was activated with, or None."""
    return _state.device_count


def _install(device_count: int) -> None:
    import torch

    from devlint.simulated import (
        autograd,
        devices,
        distributed,
        driver,
        generators,
        legacy_types,
        native,
        parallel,
        processes,
        storages,
        streams,
        unsynchronised,
    )

    devices.install(device_count)
    devices.watch_environment()
    native.install_guard()
    native.install_hooks()
    driver.install()
    streams.install()
    storages.install()
    unsynchronised.install()
    legacy_types.install()
    autograd.install()
    parallel.install()
    processes.install(device_count)
    distributed.install()
    sys.setswitchinterval(SECONDS_BETWEEN_THREADS)
    torch.Generator = generators.Generator  # type: ignore[misc,assignment]
