"""Attributes that nobody gives an object of the program's own: to read one raises on every machine, and ends the way.

Sure is what is closed: classes that are all in sight, and files of which none writes an attribute of that name, but for
methods that write it to the objects of other classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME, has_attribute
from devlint.analysis.domain.ancestry import external_bases, mro
from devlint.analysis.domain.values import Class, Instance
from devlint.analysis.memo import memoized
from devlint.analysis.python.lacking import PLAIN_BASES, is_for_heirs, may_be_extended, writers
from devlint.analysis.signals import Crash
from devlint.syntax import ir
from devlint.syntax.walk import attribute_writes, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_BY_NAMES: Final = re.compile(r"__dict__|\bvars\s*\(|__setattr__")
"""What gives any object attributes whose names stand in texts, if at all."""


def end_if_unwritten(machine: Machine, value: Instance, name: str, frame: Frame) -> None:
    """An attribute is read that was not found.

    Raises:
        Crash: nobody gives the object one of this name.
    """
    if _is_unwritten(machine, value, name, frame):
        raise Crash("AttributeError")


def _is_unwritten(machine: Machine, value: Instance, name: str, frame: Frame) -> bool:
    cls = value.cls
    if not isinstance(cls, Class) or machine.run.importing or machine.state.replaced:
        return False
    entered = machine.run.entered is value
    built = machine.run.building and frame.receiver is value and _is_constructor(frame)
    if (machine.run.protocol and not (built or entered)) or (entered and is_for_heirs(machine, cls, name)):
        return False  # whoever made it may have given it more
    if name.startswith("__") or ANY_NAME in value.state or not PLAIN_BASES.issuperset(external_bases(cls)):
        return False
    if value.module is not None:
        unsure = value.module.unsure and not entered
        if unsure or name.startswith("_") or frame.receiver is not value:
            return False  # libraries give modules more than they had
    if has_attribute(machine, value, name) is not False:
        return False
    if any(isinstance(base, Class) and may_be_extended(machine, base) for base in mro(cls)):
        return False
    own = {base.node for base in mro(cls) if isinstance(base, Class)}
    return not any(_may_write(machine, module, name, own) for module in writers(machine, cls, frame))


def _is_constructor(frame: Frame) -> bool:
    """Whether it is the activation of an `__init__`, before which nobody has had its object."""
    return frame.function is not None and frame.function.name == "__init__"


def _may_write(machine: Machine, module: ir.Module, name: str, own: set[ir.Class]) -> bool:
    """Whether a file may give an object whose classes are `own` an attribute of this name."""
    named = name in module.text
    if not named and "setattr" not in module.text:
        return False
    if named and _BY_NAMES.search(module.text):
        return True
    written = _owners(machine.project, module)
    owners = written.get(name, set()) | written.get(None, set())
    return None in owners or not own.isdisjoint(owners)


@memoized
def _owners(project: Project, module: ir.Module) -> dict[str | None, set[ir.Class | None]]:
    """The attributes that a file writes, and to the objects of which classes."""
    written: dict[str | None, set[ir.Class | None]] = {}
    for found, owner in _writes(module):
        written.setdefault(found, set()).add(owner)
    return written


def _writes(module: ir.Module) -> Iterator[tuple[str | None, ir.Class | None]]:
    """The attributes that a file writes (None for a name that it computes), with the class to whose objects its methods
    write them; None where it may be any object."""
    met: set[ir.Node] = set()
    for cls in walk(module.body):
        if not isinstance(cls, ir.Class):
            continue
        for method in cls.body:
            if isinstance(method, ir.Function) and method.parameters.positional and not method.decorators:
                for node, name, holder in attribute_writes(method.body.statements):
                    if isinstance(holder, ir.Name) and holder.id == method.parameters.positional[0]:
                        met.add(node)
                        yield name, cls
    for node, name, _ in attribute_writes(module.body):
        if node not in met:
            yield name, None
