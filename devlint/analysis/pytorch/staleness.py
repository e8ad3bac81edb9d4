"""Values that were cached by an earlier pass through a function, and are used again where they may be wrong."""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import TYPE_CHECKING

from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import Function, Instance, Mapping, Sequence, Tensor, Value
from devlint.analysis.events import MarkKind
from devlint.analysis.frames import held
from devlint.syntax import ir
from devlint.syntax.walk import assigned_attributes, walk

if TYPE_CHECKING:
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.pytorch.meeting import Part

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
    return machine.run.latest.get(cached.holder.function, 0) > cached.holder.tick and not _is_replaced(cached)


def stale_ones(machine: Machine, operands: Items[tuple[Tensor, Part]]) -> Items[tuple[Tensor, Part]]:
    """Those of tensors that met which are stale, unless they met what the pass that uses them again has itself created
    on the CPU: where the cache is, that pass would have created it so."""
    stale = [pair for pair in operands if is_stale(machine, pair[0])]
    for tensor, _ in stale:
        cached = None if tensor.origin is None else tensor.origin.cached()
        if cached is None or cached.holder is None or cached.holder.function is None or tensor.device == "cpu":
            continue
        began = machine.run.latest.get(cached.holder.function, 0)
        if any(_is_fresh(other.origin, began) for other, _ in operands if other.device == "cpu"):
            return []
    return stale


def _is_fresh(origin: Origin | None, began: int) -> bool:
    """Whether a value was created since then, without a device."""
    return origin is not None and origin.kind == "factory" and origin.tick > began


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


def is_filled(node: ir.If, frame: Frame) -> bool:
    """Whether an `if` renews what it looks at (`if self.mask.shape[0] < n: self.mask = ...`), of an object that an
    earlier pass through it has filled: what it keeps is taken to fit, as it does for inputs of one size."""
    if node.orelse or frame.function is None or not isinstance(frame.receiver, Instance):
        return False
    if not any(_earlier(part, frame) for field in frame.receiver.fields.values() for part in _kept(field)):
        return False
    read = {part.name for part in walk(node.test) if isinstance(part, ir.Attribute) and _is_own(part, frame)}
    if not read:
        return False
    methods = [method for call in walk(node.body) if isinstance(call, ir.Call) for method in _own(call, frame)]
    renewed = set(assigned_attributes([*node.body, *methods]))
    if not renewed & read:
        return False
    kept = [part for name in renewed if name is not None for part in _kept(frame.receiver.fields.get(name))]
    return any(_is_from(tensor, [node, *methods], frame) for tensor in kept)


def _own(call: ir.Call, frame: Frame) -> list[ir.Function]:
    """The method of the running object's own that is called."""
    called = call.function
    if not isinstance(called, ir.Attribute) or not _is_own(called, frame) or not isinstance(frame.receiver, Instance):
        return []
    found = find(frame.receiver.cls, called.name)
    return [found[0].node] if found is not None and isinstance(found[0], Function) else []


def _is_own(node: ir.Attribute, frame: Frame) -> bool:
    """Whether it is an attribute of the object whose method runs."""
    return frame.receiver is not None and held(node.value, frame) is frame.receiver


def _kept(value: Value | None) -> list[Tensor]:
    if isinstance(value, Sequence):
        return [part for part in value.items if isinstance(part, Tensor)]
    if isinstance(value, Mapping):
        return [part for part in value.items.values() if isinstance(part, Tensor)]
    return [value] if isinstance(value, Tensor) else []


def _earlier(tensor: Tensor, frame: Frame) -> Site | None:
    """Where a tensor was kept in an earlier pass through the running function, under a condition of it."""
    cached = None if tensor.origin is None else tensor.origin.cached()
    if cached is None or cached.holder is None or cached.holder is frame:
        return None
    return cached.stored if cached.holder.function is frame.function else None


def _is_from(tensor: Tensor, nodes: list[ir.Node], frame: Frame) -> bool:
    """Whether it was one of these statements that kept a tensor."""
    site = _earlier(tensor, frame)
    return site is not None and any(part.at.lineno <= site.row <= part.at.end_lineno for part in nodes)
