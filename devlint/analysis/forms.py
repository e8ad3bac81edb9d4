"""What stands in the files of a project, run or not: which files they import, and which attributes they write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import assigned_attributes

if TYPE_CHECKING:
    from devlint.analysis.project import Project


@memoized
def written_in(project: Project, module: ir.Module) -> Counter[str | None]:
    """The attributes that a file writes, of whatever objects, and how often; None for names that are computed."""
    return Counter(assigned_attributes(module.body))


@memoized
def imports_of(project: Project, path: str) -> frozenset[str]:
    """The files of the project that a file imports, by what stands in it, run or not."""
    module = project.module(path)
    return _files_of(project, path, [] if module is None else module.imports)


def _files_of(project: Project, path: str, names: Sequence[tuple[str, int, tuple[str, ...]]]) -> frozenset[str]:
    """The files of the project that modules are, by their names, dots before them, and what is taken from them."""
    wanted = [(name, level) for name, level, _ in names]
    wanted += [(f"{name}.{part}" if name else part, level) for name, level, parts in names for part in parts]
    found = {project.resolve(name, level, path) for name, level in wanted}
    return frozenset(target for target in found if target is not None and target != path)


@memoized
def imports_by_branch(project: Project, path: str) -> tuple[frozenset[str], frozenset[str]]:
    """The files that a file imports whenever it is run to its end, and those that it imports on one side of an `if`."""
    module = project.module(path)
    surely: list[tuple[str, int, tuple[str, ...]]] = []
    perhaps: list[tuple[str, int, tuple[str, ...]]] = []
    waiting = [(part, surely) for part in (module.body if module is not None else ())]
    while waiting:
        part, found = waiting.pop()
        if isinstance(part, ir.Import):
            found += [(name, 0, ()) for name, _ in part.names]
        elif isinstance(part, ir.ImportFrom):
            found.append((part.module, part.level, tuple(name for name, _ in part.names)))
        elif isinstance(part, ir.If):
            waiting += [(inner, perhaps) for inner in (*part.body, *part.orelse)]
        elif isinstance(part, (ir.Try, ir.With)):
            waiting += [(inner, found) for inner in part.body]
    return _files_of(project, path, surely), _files_of(project, path, perhaps)


@memoized
def reach(project: Project, path: str) -> frozenset[str]:
    """A file and those that it imports, and these, by what stands in them."""
    return _closure(path, lambda file: imports_of(project, file))


@memoized
def run_with(project: Project, path: str) -> frozenset[str]:
    """A file and those that run whenever it is imported, by what stands in them: what it imports whatever happens,
    and these."""
    return _closure(path, lambda file: imports_by_branch(project, file)[0])


def _closure(path: str, imported: Callable[[str], frozenset[str]]) -> frozenset[str]:
    known, waiting = {path}, [path]
    while waiting:
        new = imported(waiting.pop()) - known
        known |= new
        waiting += new
    return frozenset(known)
