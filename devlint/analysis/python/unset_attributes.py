"""Attributes that a world leaves unset: an object of the program is given them under a guard alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.analysis.access import ANY_NAME, has_attribute
from devlint.analysis.domain.ancestry import mro
from devlint.analysis.domain.values import Class, Instance
from devlint.analysis.events import NameUnbound, Site
from devlint.analysis.forms import written_in
from devlint.analysis.memo import memoized
from devlint.analysis.python.lacking import comes_surely, may_be_extended, writers
from devlint.analysis.python.names import asks_torch, statements_of
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def note_unset(machine: Machine, value: Instance, name: str, node: ir.Node, frame: Frame) -> None:
    """Tell of an attribute that is read unset, if its classes set it, and each time under a guard.

    Raises:
        Crash: they do.
    """
    cls = value.cls
    if not isinstance(cls, Class) or name.startswith("__") or ANY_NAME in value.state or machine.run.importing:
        return
    guards = list(_guards(machine, cls, name))
    if not guards or None in guards or has_attribute(machine, value, name) is not False:
        return
    path, guard = next(found for found in guards if found is not None)
    if machine.run.protocol and not asks_torch(guard):
        return  # what else a caller sets up nobody knows
    if any(isinstance(base, Class) and may_be_extended(machine, base) for base in mro(cls)):
        return
    if _is_written_elsewhere(machine, cls, name, len(guards)) or not comes_surely(machine, frame):
        return
    given = Site(path, guard.at)
    if given.key not in machine.run.one_sided:
        machine.emit(
            NameUnbound,
            machine.site(node, frame),
            error=errors.message("no-attribute", type=cls.name, name=name),
            name=name,
            guard=given,
        )
    raise Crash("AttributeError")


def _guards(machine: Machine, cls: Class, name: str) -> Iterator[tuple[str, ir.Node] | None]:
    """The tests under which the methods of a class and its bases set an attribute of their object, with their files;
    None for one that is set without a test."""
    for base in mro(cls):
        if isinstance(base, Class):
            for test in _settings(machine.project, base.node).get(name, ()):
                yield (base.frame.namespace.path, test) if test is not None else None


@memoized
def _settings(project: Project, node: ir.Class) -> dict[str, list[ir.Node | None]]:
    """The tests under which the methods of a class set attributes, by their names."""
    found: dict[str, list[ir.Node | None]] = {}
    for method in node.body:
        if isinstance(method, ir.Function):
            for statement, test in statements_of(method.body.statements, None):
                if isinstance(statement, ir.Assign):
                    for name in {name for target in statement.targets for name in _set_by(target)}:
                        found.setdefault(name, []).append(test)
    return found


def _set_by(target: ir.Node) -> Iterator[str]:
    if isinstance(target, ir.Display):
        for part in target.items:
            yield from _set_by(part)
    elif isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name):
        yield target.name


def _is_written_elsewhere(machine: Machine, cls: Class, name: str, known: int) -> bool:
    """Whether the files that take part write such an attribute more often than is known, under a name that they
    compute, or speak of it in a text."""
    found = 0
    for module in writers(machine, cls):
        if f'"{name}"' in module.text or f"'{name}'" in module.text:
            return True
        if name in module.text or "setattr(" in module.text:
            written = written_in(machine.project, module)
            if None in written:
                return True
            found += written[name]
    return found != known
