"""Global names that stay None: their file gives them nothing else, but in functions that the program has not called.

`conf = None` that `start()` replaces: what asks it for an attribute before fails on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.python.lacked_names import GIVES, is_given
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def stays_none(machine: Machine, node: ir.Node | None, frame: Frame) -> bool:
    """Whether a global name that is None here surely is."""
    if machine.run.protocol or machine.run.importing:
        return False
    if not isinstance(node, ir.Name) or node.scope is not ir.NameScope.GLOBAL:
        return False
    name, path, imported = node.id, frame.namespace.path, False
    while True:
        made = _only_binding(machine, path, name, imported)
        if isinstance(made, ir.Assign):
            return isinstance(made.value, ir.Const) and made.value.value is None and len(made.targets) == 1
        if not isinstance(made, ir.ImportFrom) or (name, None) not in made.names:
            return False
        found = machine.project.resolve(made.module, made.level, path)
        if found is None or found == path:
            return False
        path, imported = found, True


def _only_binding(machine: Machine, path: str, name: str, imported: bool) -> ir.Node | None:
    """The one statement that gives a file's name its value, but for functions that nobody has called."""
    module = machine.project.module(path)
    if module is None or GIVES.search(module.text) or is_given(machine.project, path, name):
        return None
    body = [part for part in module.body if not (imported and _is_for_programs(part))]
    bindings = [part for part in walk(body) if _binds(part, name)]
    setters = [part for part in bindings if isinstance(part, ir.Function)]
    if any(part in machine.visited or part.decorators for part in setters):
        return None
    inside = {inner for part in setters for inner in walk(part.body.statements)}
    others = [part for part in bindings if not isinstance(part, ir.Function) and part not in inside]
    return others[0] if len(others) == 1 else None


def _is_for_programs(part: ir.Node) -> bool:
    """Whether a statement runs only where its file is started: `if __name__ == "__main__":`."""
    return isinstance(part, ir.If) and any(
        isinstance(inner, ir.Name) and inner.id == "__name__" for inner in walk(part.test)
    )


def _binds(part: ir.Node, name: str) -> bool:
    """Whether a node gives a global name a value, or may: in a function that says `global name`."""
    if isinstance(part, ir.Function):
        return name in part.body.globals
    if isinstance(part, (ir.Import, ir.ImportFrom)):
        return any((alias or given.partition(".")[0]) == name or given == "*" for given, alias in part.names)
    targets: list[ir.Expr] = []
    if isinstance(part, ir.Assign):
        targets = part.targets
    elif isinstance(part, (ir.Augment, ir.For)):
        targets = [part.target]
    elif isinstance(part, ir.With):
        targets = [target for _, target in part.items if target is not None]
    elif isinstance(part, ir.Class):
        return part.name == name
    names = (inner for inner in walk(targets) if isinstance(inner, ir.Name))
    return any(inner.id == name and inner.scope is ir.NameScope.GLOBAL for inner in names)
