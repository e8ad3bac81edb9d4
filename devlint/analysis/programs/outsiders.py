"""What programs move that hangs on objects of others: `trainer.model = wrap(trainer.model)`, `agent.net.cuda()`.

A class that nobody in sight builds by its name (a registry does, or a setting names it) is entered by protocol. Where
programs of the project move an attribute of that name of some object, they may have moved the one of this class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Class, Instance
from devlint.analysis.memo import memoized
from devlint.analysis.python.settings import MOVES
from devlint.analysis.pytorch.modules import registered
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devlint.analysis.domain.values import Value
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def moved_by_programs(project: Project, path: str) -> frozenset[str]:
    """The names of the attributes that the project's programs move, or give anew, made of what they were. What a file
    that asks is told hangs on programs that it does not import."""
    project.uncached.add(path)
    return _moved_in(project, project.root)


@memoized
def _moved_in(project: Project, root: str) -> frozenset[str]:
    modules = [project.module(path) for path in project.sources]
    programs = [module for module in modules if module is not None and module.has_main_guard]
    return frozenset(name for module in programs for name in _moved(module))


def _moved(program: ir.Module) -> Iterator[str]:
    for part in walk(program.body):
        moved = _moved_by(part)
        if moved is not None:
            yield from _of_other(moved)
        elif isinstance(part, ir.Assign) and isinstance(part.value, ir.Call):
            given = set(map(dotted, part.value.args))
            for target in part.targets:
                if dotted(target) in given:
                    yield from _of_other(target)


def let_callbacks_move(machine: Machine, given: Iterable[Value], frame: Frame) -> None:
    """Something that nobody knows is given an object: it may be one of the callbacks of the program, and where those
    move a part of what they are given (`trainer.model.to(device)`), they may have moved the one of this object."""
    for value in given:
        if not isinstance(value, Instance) or value.module is not None or not isinstance(value.cls, Class):
            continue
        parts = {name: part for name, part in value.fields.items() if isinstance(part, Instance) and part.module}
        if not parts:
            continue
        spaces = [_top(frame).namespace, value.cls.frame.namespace, *machine.namespaces.values()]
        for module in {id(space.module): space.module for space in spaces}.values():
            for name in parts.keys() & _moved_by_callbacks(machine.project, module):
                for tensor, _, _ in list(registered(parts[name])):
                    tensor.device = None  # for good: whether there is such a callback is no choice of the user's
                machine.store.epoch += 1


def _top(frame: Frame) -> Frame:
    """The module level of the file in which a program stands that is running."""
    while frame.outer is not None:
        frame = frame.outer
    return frame


@memoized
def _moved_by_callbacks(project: Project, module: ir.Module) -> frozenset[str]:
    """The attributes that the methods of a file move of what they are given."""
    found: set[str] = set()
    for cls in walk(module.body):
        for method in cls.body if isinstance(cls, ir.Class) else ():
            if not isinstance(method, ir.Function):
                continue
            given = method.parameters.positional[1:]
            for part in walk(method.body.statements):
                owner, _, name = dotted(_moved_by(part)).partition(".")
                if owner in given and name and "." not in name:
                    found.add(name)
    return frozenset(found)


def _moved_by(part: ir.Node) -> ir.Expr | None:
    """What a call moves: `net` in `net.to(device)`."""
    if isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute) and part.function.name in MOVES:
        return part.function.value
    return None


def _of_other(node: ir.Expr) -> Iterator[str]:
    """The name of an attribute of an object that is not the method's own."""
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name) and node.value.id != "self":
        yield node.name
