"""Weights that a program keeps for later by bringing them to the CPU: where they are there already, nothing is copied.

`tensor.cpu()` and `tensor.to("cpu")` give the tensor itself if it is on the CPU (documentation of `torch.Tensor.to`),
and what `state_dict()` gives shares the memory of the module. What was kept so follows the training, and to load it
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from devlint.analysis.domain.values import NONE, Mapping, Shared, Tensor, Value, present
from devlint.analysis.events import SnapshotNotCopied
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.results import derived
from devlint.syntax import ir
from devlint.syntax.walk import names_cpu

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine


def kept_on_cpu(machine: Machine, value: Tensor, call: Call) -> Tensor:
    """`tensor.cpu()` of a tensor on the CPU: the tensor itself, remembered if it was to be a copy of a weight."""
    if value.shared is None or value.shared.site is not None:
        return value
    made = derived(value)
    made.requires_grad, made.size = value.requires_grad, value.size
    made.shared = Shared(value.shared.of, machine.site(call.node, call.frame))
    weight = id(value.shared.of)
    machine.store.put(machine.run.kept, weight, {**machine.run.kept.get(weight, {}), id(made.shared): made.shared})
    machine.run.weighed = True  # a later round of the loop around may keep nothing, and change the weights
    return made


def only_names_cpu(call: Call) -> bool:
    """Whether a call of `.to` asks for nothing but the CPU: `x.to("cpu")`. Another type, or `copy=True`, is a copy."""
    node = call.node
    if not isinstance(node, ir.Call) or len(node.args) + len(node.keywords) != 1:
        return False
    return names_cpu(node.args[0] if node.args else node.keywords[0][1])


def note_changed(machine: Machine, weights: Iterable[Tensor]) -> None:
    """Weights are changed in place: what was kept of them, and no copy, changes too."""
    for weight in weights if machine.run.kept else ():
        for shared in machine.run.kept.get(id(weight), {}).values():
            if not shared.is_stale:
                machine.store.set(shared, "is_stale", True)


def separate(machine: Machine, weight: Tensor) -> None:
    """A weight gets other memory: what was kept of it stays as it is."""
    for shared in machine.run.kept.get(id(weight), {}).values() if machine.run.kept else ():
        if shared.site is not None:
            machine.store.set(shared, "site", None)


def note_loaded(machine: Machine, kept: Value | None, weights: list[Tensor], call: Call) -> None:
    """What was kept is loaded into a module with these weights: are they other ones by now? What else is loaded changes
    them."""
    if not machine.run.kept:
        return
    ours = {id(tensor) for tensor in weights}
    held = _shared_in(NONE if kept is None else present(kept))
    _tell_first([shared for shared in held if id(shared.of) in ours], "loaded", machine, call)
    own = {id(shared.of) for shared in held}
    note_changed(machine, [tensor for tensor in weights if id(tensor) not in own])


def note_copied(machine: Machine, target: Tensor, source: Value | None, call: Call) -> None:
    """`target.copy_(source)`: a weight gets what was kept of it."""
    shared = source.shared if isinstance(source, Tensor) else None
    weight = target if target.shared is None else target.shared.of
    if shared is not None and shared.of is weight:
        _tell_first([shared], "loaded", machine, call)
    else:
        note_changed(machine, [weight])


def note_saved(machine: Machine, saved: Value | None, call: Call) -> None:
    """What was kept is saved, by itself or in a dict: have the weights changed? In a loop that may be done only
    in rounds that have just kept them."""
    if machine.run.kept and isinstance(saved, Mapping) and not call.frame.loops:
        parts = [saved, *map(present, saved.items.values())]
        _tell_first([shared for part in parts for shared in _shared_in(part)], "saved", machine, call)


def _shared_in(kept: Value) -> list[Shared]:
    """What the values of a state share, if all of them do: in a loop over them one may stand for the others."""
    if not isinstance(kept, Mapping):
        return []
    parts = [part for part in (*kept.items.values(), kept.rest) if part is not None]
    found = [part.shared for part in parts if isinstance(part, Tensor) and part.shared is not None]
    return found if len(found) == len(parts) else []


def _tell_first(found: list[Shared], kind: str, machine: Machine, call: Call) -> None:
    for shared in found:
        if shared.is_stale and shared.site is not None:
            text = source_text(machine, shared.site)
            machine.emit(SnapshotNotCopied, machine.site(call.node, call.frame), shared.site, text=text, kind=kind)
            return
