"""Conditions on what data hold: each answer is tried for all, and then one that not all data have.

`if mask.any():` in a function that is called for each image asks another mask each time. A run that assumes an answer
gives it to all of them; where the condition was asked of several objects, a further run gives it to the first alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Instance, Mapping, Scalar, Sequence, Tensor, Value
from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def note_asked(machine: Machine, key: ChoiceKey, test: ir.Expr, value: Value, frame: Frame) -> None:
    """Note of which data a condition is asked, until there are two."""
    if isinstance(key, str) or not _asks_content(test, value):
        return
    known = machine.run.data_asked.setdefault(key, [])
    if len(known) < 2:
        objects = _objects(machine, test, frame)
        if objects and (not known or _are_others(known[0], objects)):
            known.append(objects)


def is_of_others(machine: Machine, key: ChoiceKey, test: ir.Expr, frame: Frame) -> bool:
    """Whether a condition whose answer is assumed for what it asks first is asked of something else."""
    objects = _objects(machine, test, frame)
    if not objects:
        return False
    known = machine.run.data_asked.setdefault(key, [])
    if not known:
        known.append(objects)
    return _are_others(known[0], objects)


def may_vary(machine: Machine, key: ChoiceKey) -> bool:
    """Whether a run has asked a condition of several data."""
    return len(machine.run.data_asked.get(key, ())) > 1


def _asks_content(test: ir.Expr, value: Value) -> bool:
    """Whether a condition that is not decided asks what data hold: not whether there are any, or of what kind."""
    if isinstance(test, ir.Compare):
        return test.operator not in ("is", "is-not")
    if isinstance(test, ir.Call):
        asked = test.function
        return isinstance(asked, ir.Attribute) or (isinstance(asked, ir.Name) and asked.id in ("len", "bool", "int"))
    return isinstance(value, (Tensor, Scalar))


@memoized
def _names(project: Project, test: ir.Expr) -> tuple[str, ...]:
    """The names that stand in a condition."""
    return tuple(dict.fromkeys(part.id for part in walk(test) if isinstance(part, ir.Name)))


def _objects(machine: Machine, test: ir.Expr, frame: Frame) -> list[Value]:
    """The tensors, containers and objects that the local names of a condition hold, but for the instance itself."""
    own = frame.function.parameters.positional[:1] if frame.function is not None else []
    found: list[Value] = []
    for name in _names(machine.project, test):
        value = frame.names.get(name)
        if isinstance(value, Instance) and (name in own or value.module is not None):
            continue
        if isinstance(value, (Tensor, Mapping, Sequence, Instance)):
            found.append(value)
    return found


def _are_others(known: list[Value], objects: list[Value]) -> bool:
    return len(known) != len(objects) or any(a is not b for a, b in zip(known, objects, strict=True))
