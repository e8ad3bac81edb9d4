"""Who wrote the checkpoints that programs load: whether what is saved beside them is brought to the CPU first.

Programs that save and programs that load share files, and nothing that the interpreter follows. So this looks at all
files of a run, after it, and only where a load was found that says nothing of devices.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeGuard

from devlint.sources import read_source
from devlint.sources.tops import has_any
from devlint.syntax import ir
from devlint.syntax.frontend import lower
from devlint.syntax.walk import calls, dotted, names_cpu, walk

_SAVES: Final = frozenset({"torch.save", "torch.jit.save"})


class Savers:
    """The files of a run by what they save: from the CPU, or from anywhere."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.contents = contents
        self._kinds: dict[str, frozenset[bool]] = {}

    def bring_to_cpu(self, load: str) -> bool:
        """Whether of what is saved nearest to the file `load` (in its folder, or one above in the same project, and
        below it) some is brought to the CPU before: which of it is loaded nobody can tell."""
        saving = [path for path, content in self.contents.items() if b"save" in content and b"cpu" in content]
        others = [path for path, content in self.contents.items() if b"torch.save" in content]
        for folder in _around(Path(load)):
            inside = os.path.join(str(folder), "")
            if any(True in self._kinds_of(path) for path in saving if path.startswith(inside)):
                return True
            if any(path.startswith(inside) and path != load for path in others):
                return False
        return False

    def _kinds_of(self, path: str) -> frozenset[bool]:
        known = self._kinds.get(path)
        if known is None:
            known = self._kinds[path] = _kinds(path, self.contents[path])
        return known


def _around(load: Path) -> Iterator[Path]:
    """The folder of a file and those above it in which a project has its files together: up to its top."""
    own, *above = load.parents
    yield own
    marked = [number for number, folder in enumerate(load.parents) if has_any(folder)]
    yield from above[: max(marked, default=0)]


def _kinds(path: str, content: bytes) -> frozenset[bool]:
    """For each place where a file saves, whether it brings to the CPU what it saves."""
    try:
        module = lower(read_source(Path(path), path, content).text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    saves = {id(node): node for name, node in calls(module) if name in _SAVES and node.args}
    if not saves:
        return frozenset()
    found = set()
    for body in _bodies(module):
        for node in walk(body):
            save = saves.pop(id(node), None)
            if save is not None:
                found.add(_is_brought(save.args[0], body))
    return frozenset(found)


def _bodies(module: ir.Module) -> Iterator[list[ir.Stmt]]:
    """The bodies of the functions of a file, inner ones first, then its own."""
    functions = [node for node in walk(module.body) if isinstance(node, ir.Function)]
    for function in reversed(functions):
        yield function.body.statements
    yield module.body


def _is_brought(saved: ir.Expr, body: list[ir.Stmt]) -> bool:
    """Whether the weights among what is saved are moved to the CPU: in the expression or the body around it, one by one
    in a loop or comprehension, or with their module, which may be saved as a whole."""
    if _moves_to_cpu(saved):
        return True
    parts = list(walk(body))
    names = set(_roots(saved))
    while True:
        known = len(names)
        for part in parts:
            if isinstance(part, ir.Assign) and any(_root(target) in names for target in part.targets):
                names.update(_roots(part.value))
            elif isinstance(part, ir.For) and not names.isdisjoint(_roots(part.target)):
                names.update(_roots(part.iterable))
        if len(names) == known:
            break
    assigned = [part for part in parts if isinstance(part, ir.Assign) and _asks_state(part.value)]
    weights = {_root(target) for part in assigned for target in part.targets}
    modules = {_root(part.value) for part in parts if isinstance(part, ir.Attribute) and part.name == "state_dict"}
    items = {
        name
        for target, iterable in _loops(parts)
        if _root(iterable) in weights or _asks_state(iterable)
        for name in _roots(target)
    }
    ours = names & (weights | modules | items)
    return any(_root(part) in ours for part in parts if _moves_to_cpu(part))


def _loops(parts: list[ir.Node]) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """Targets and iterables of loops and comprehensions."""
    for part in parts:
        if isinstance(part, ir.For):
            yield part.target, part.iterable
        elif isinstance(part, ir.Comprehension):
            yield from ((one.target, one.iterable) for one in part.generators)


def _asks_state(node: ir.Expr) -> bool:
    """Whether the weights of a module are asked for: `model.state_dict()`."""
    return any(isinstance(part, ir.Attribute) and part.name == "state_dict" for part in walk([node]))


def _moves_to_cpu(node: ir.Node) -> TypeGuard[ir.Call]:
    """`x.cpu()`, `x.to("cpu")`, `x.to(torch.device("cpu"))`."""
    if not isinstance(node, ir.Call) or not isinstance(node.function, ir.Attribute):
        return False
    if node.function.name == "cpu":
        return not node.args
    given = [*node.args, *(value for name, value in node.keywords if name == "device")]
    return node.function.name == "to" and any(names_cpu(value) for value in given)


def _root(node: ir.Expr) -> str:
    """The name, or the attribute of `self`, that an expression goes out from."""
    while True:
        if isinstance(node, ir.Subscript):
            node = node.value
        elif isinstance(node, ir.Call):
            node = node.function
        elif isinstance(node, ir.Attribute):
            if isinstance(node.value, ir.Name) and node.value.id == "self":
                return f"self.{node.name}"
            node = node.value
        else:
            return node.id if isinstance(node, ir.Name) else ""


def _roots(node: ir.Expr) -> Iterator[str]:
    """The names, and attributes of `self`, in an expression."""
    for part in walk([node]):
        if isinstance(part, ir.Name) and part.id != "self":
            yield part.id
        elif isinstance(part, ir.Attribute) and dotted(part.value) == "self":
            yield f"self.{part.name}"
