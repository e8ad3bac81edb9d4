"""Modules that stand for several: those of a ModuleList at an index that is not known, if they are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import UNKNOWN, Instance, Tensor, Value, present
from devlint.analysis.pytorch.modules import forget_places, named_modules

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def forget_others(machine: Machine, written: Instance, name: str | None) -> None:
    """What stands for several modules, or a part of it, is given something: the others may be given theirs there, too.
    `for i in range(count): blocks[i].proj.weight = ...` comes to all of them. `name` is None where it is not known."""
    for first, others in machine.run.standing:
        path = next((path for path, part in named_modules(first) if part is written), None)
        for other in others if path is not None else ():
            part = None if path is None else _part_at(other, path)
            if part is not None and name is None:
                forget_places(machine, part)
            held = present(part.fields.get(name, UNKNOWN)) if part is not None and name is not None else None
            if isinstance(held, Tensor):
                machine.store.set(held, "device", None)


def _part_at(module: Value, path: str) -> Instance | None:
    """The module below one at a dotted path."""
    if not isinstance(module, Instance):
        return None
    return next((part for found, part in named_modules(module) if found == path), None)
