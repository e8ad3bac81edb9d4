"""What the program moves between devices and when it waits for one, counted by source line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from devlint.simulated import unsynchronised
from devlint.simulated.observations import SourceLine
from devlint.simulated.source_lines import source_line

# Operators whose result has a size, or a value, that the host has to know (torch.cuda.set_sync_debug_mode's list).
SYNCHRONISING = frozenset(
    "nonzero masked_select _unique2 unique_dim unique_consecutive equal is_nonzero _local_scalar_dense "
    "repeat_interleave.Tensor bincount".split()
)


@dataclass(slots=True)
class Line:
    """What one source line does. Directions are `host to device`, `device to host` and `device to device`."""

    transfers: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    synchronisations: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Transfers, bytes and synchronisations by source line: the key is a file name and a 1-based line number."""

    lines: dict[SourceLine, Line]

    def total(self, what: str) -> int:
        """Return the sum of `transfers`, `bytes` or `synchronisations` over all lines."""
        return sum(sum(getattr(line, what).values()) for line in self.lines.values())


_lines: dict[SourceLine, Line] = {}


def statistics() -> Statistics:
    """Return what was counted since `activate`."""
    return Statistics(dict(_lines))


def reset() -> None:
    """Forget what was counted."""
    _lines.clear()


def _line() -> Line:
    return _lines.setdefault(source_line(), Line())


def note_copy(source: torch.Tensor, target: torch.Tensor, non_blocking: bool) -> None:
    """Count a copy, if it is one between devices. A blocking copy to the host is a synchronisation too."""
    start, end = source.device, target.device
    if start == end:
        return
    direction = f"{_side(start)} to {_side(end)}"
    size = source.numel() * source.element_size()
    line = _line()
    line.transfers[direction] = line.transfers.get(direction, 0) + 1
    line.bytes[direction] = line.bytes.get(direction, 0) + size
    if end.type == "cpu" and not non_blocking:
        _synchronised(line, "copy to the host")
    elif start.type == "cpu" and not non_blocking:
        unsynchronised.arrive()  # the host waits for the stream (aten/src/ATen/native/cuda/Copy.cu)


def _side(device: torch.device) -> str:
    return "host" if device.type == "cpu" else "device"


def note_pending(source: torch.Tensor, target: torch.Tensor) -> None:
    """Remember that `target` on the host isn't there yet."""
    if target.device.type == "cpu" and source.device.type == "cuda":
        unsynchronised.remember(target, source_line())


def note_synchronisation(reason: str) -> None:
    """Count that the program waits for the device here, and let all pending copies arrive."""
    _synchronised(_line(), reason)


def _synchronised(line: Line, reason: str) -> None:
    line.synchronisations[reason] = line.synchronisations.get(reason, 0) + 1
    unsynchronised.arrive()


def synchronising(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return `call`, counted as a synchronisation."""
    reason = name.partition(".")[0].strip("_")

    def counted(*args: Any, **kwargs: Any) -> Any:
        note_synchronisation(reason)
        return call(*args, **kwargs)

    return counted


def counting_masks(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return an indexing `call`, counted where an index is a mask: the host asks how many elements it selects."""

    def counted(target: torch.Tensor, indices: Any, *args: Any, **kwargs: Any) -> Any:
        if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
            note_synchronisation("mask")
        return call(target, indices, *args, **kwargs)

    return counted
