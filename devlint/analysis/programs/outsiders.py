"""What programs move that hangs on objects of others: `trainer.model = wrap(trainer.model)`, `agent.net.cuda()`.

A class that nobody in sight builds by its name (a registry does, or a setting names it) is entered by protocol. Where
programs of the project move an attribute of that name of some object, they may have moved the one of this class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.analysis.memo import memoized
from devlint.analysis.python.settings import MOVES
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
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
        if isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute) and part.function.name in MOVES:
            yield from _of_other(part.function.value)
        elif isinstance(part, ir.Assign) and isinstance(part.value, ir.Call):
            given = set(map(dotted, part.value.args))
            for target in part.targets:
                if dotted(target) in given:
                    yield from _of_other(target)


def _of_other(node: ir.Expr) -> Iterator[str]:
    """The name of an attribute of an object that is not the method's own."""
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name) and node.value.id != "self":
        yield node.name
