"""What `torch.load` gave, of which nothing is known: told from what it is taken for, data or weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Unknown, Value
from devlint.analysis.events import LoadWithoutMap

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def part_of_load(machine: Machine, value: Unknown) -> Unknown | None:
    """An attribute or item of what was loaded, or of a part of it; None of anything else."""
    site = machine.run.loads.get(value) if machine.run.loads else None
    if site is None:
        return None
    part = Unknown()
    machine.run.loads[part] = site
    return part


def take_for_data(machine: Machine, value: Value) -> None:
    """The host reads something, finds something by it, or takes samples out of it: if it was loaded, or is a part of
    what was, these are no weights, and nothing of them was on a GPU.

    Weights are a dict that a network takes; what was saved from a GPU becomes no array before it is brought back.
    """
    site = machine.run.loads.get(value) if isinstance(value, Unknown) else None
    if site is not None and site.key not in machine.places.weight_loads:
        machine.places.data_loads.add(site.key)
        told = machine.entry.events.pop((LoadWithoutMap, site.key, None, None), None)
        if told is not None:
            machine.run.withheld[site.key] = told


def take_for_weights(machine: Machine, value: Value | None) -> None:
    """A module takes something, or it is used as one: if it was loaded, or is a part of what was, these are
    weights, whatever else stands beside them."""
    site = machine.run.loads.get(value) if isinstance(value, Unknown) else None
    if site is None or site.key in machine.places.weight_loads:
        return
    machine.places.weight_loads.add(site.key)
    machine.places.data_loads.discard(site.key)
    told = machine.run.withheld.pop(site.key, None)
    if told is not None:
        machine.entry.events[LoadWithoutMap, site.key, None, None] = told
