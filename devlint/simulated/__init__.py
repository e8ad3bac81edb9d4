"""CUDA devices that aren't there: the CPU build of torch taught to have them, with real values.

    from devlint import simulated
    simulated.activate(2)  # a machine with cuda:0 and cuda:1
    import program

Usable without the rest of devlint. Importing this package doesn't import torch; `preload` and `activate` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.simulated.errors import SimulationError, told
from devlint.simulated.observations import Observation, SilentDeviceWarning, observations
from devlint.simulated.selftest import supported
from devlint.simulated.session import activate, active, preload

if TYPE_CHECKING:
    from devlint.simulated.transfers import Statistics

__all__ = [
    "Observation",
    "SilentDeviceWarning",
    "SimulationError",
    "activate",
    "active",
    "observations",
    "poison_unsynchronised_reads",
    "preload",
    "statistics",
    "supported",
    "told",
]


def statistics() -> Statistics:
    """Return the transfers, bytes and synchronisations since `activate`, by source line."""
    from devlint.simulated import transfers

    return transfers.statistics()


def poison_unsynchronised_reads() -> None:
    """Spoil host memory until the non-blocking copy into it was waited for, so that early reads show."""
    from devlint.simulated import unsynchronised

    unsynchronised.poison()
