"""Values that were cached by an earlier pass through a function, and are used again where they may be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.events import MarkKind
from devlint.analysis.values import Instance, Tensor

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.origins import Origin

_CACHED: frozenset[MarkKind] = frozenset(
    {"factory", "placed", "moved", "input", "loader", "host", "left-behind", "unregistered"}
)


def is_stale(machine: Machine, tensor: Tensor) -> bool:
    """Whether a value was cached by an earlier pass through a function that has run again since, and kept it."""
    origin = tensor.origin
    if origin is None or origin.kind not in _CACHED:
        return False
    in_module = origin.kind in ("left-behind", "unregistered")
    cached = origin if origin.holder is not None else origin.previous if in_module else None
    if cached is None or cached.holder is None or cached.holder.function is None:
        return False
    return machine.latest.get(cached.holder.function, 0) > cached.holder.tick and not _is_replaced(cached)


def _is_replaced(cached: Origin) -> bool:
    """Whether the attribute in which a value was kept has surely got another one, from the same statement."""
    receiver = cached.holder.receiver if cached.holder is not None else None
    if not isinstance(receiver, Instance) or cached.stored is None:
        return False
    kept = [receiver.fields.get(name) for name, site in receiver.places.items() if site.key == cached.stored.key]
    now = [value.origin for value in kept if isinstance(value, Tensor)]
    return bool(now) and len(now) == len(kept) and not any(_reaches(origin, cached) for origin in now)


def _reaches(origin: Origin | None, cached: Origin) -> bool:
    """Whether a mark is that one, or came after it."""
    while origin is not None and origin is not cached:
        origin = origin.previous
    return origin is not None
