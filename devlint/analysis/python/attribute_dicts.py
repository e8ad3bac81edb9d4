"""Objects whose attributes are the items of a dict: `self.__dict__ = settings`, `self.__dict__ = self`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import METHODS
from devlint.analysis.domain.ancestry import external_bases
from devlint.analysis.domain.values import Instance, Mapping, Value, const
from devlint.analysis.python.classes import note_any_name
from devlint.analysis.python.mappings import put

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

HELD: Final = "__dict__"
"""Where an object's state keeps the dict that it was given for its attributes."""


def replace_dict(machine: Machine, owner: Instance, new: Value) -> bool:
    """`owner.__dict__ = new`; False where it is not known what is in it."""
    held = _dict_behind(machine, new)
    if held is None or owner.module is not None or held.holds:
        return False
    if HELD in owner.state:
        machine.store.set(owner, "fields", {})  # others may have those that it had
    for name in owner.fields.keys() - held.items.keys():
        machine.store.remove(owner.fields, name)
    for name, item in held.items.items():
        if isinstance(name, str):
            machine.store.put(owner.fields, name, item)
    if held.of is None:
        machine.store.set(held, "of", owner)
    elif held.of is not owner:
        machine.store.set(owner, "fields", held.of.fields)  # of several objects, what one sets all have
    if held.open:
        note_any_name(machine, owner)
    machine.store.put(owner.state, HELD, held)
    machine.store.epoch += 1
    return True


def _dict_behind(machine: Machine, value: Value) -> Mapping | None:
    """The dict that a value is, or that an object of a class derived from dicts keeps its items in."""
    if not isinstance(value, Instance):
        return value if isinstance(value, Mapping) else None
    if not any("setdefault" in METHODS.get(path, {}) for path in external_bases(value.cls)):
        return None
    data = value.state.get("data")
    if data is None:
        data = Mapping({}, None, False)
        machine.store.put(value.state, "data", data)
    return data if isinstance(data, Mapping) else None


def keep_in_dict(machine: Machine, owner: Instance, name: str, new: Value) -> None:
    """`owner.name = new` is an item of the dict that holds its attributes."""
    held = owner.state[HELD]
    if isinstance(held, Mapping):
        put(machine, held, const(name), new)
