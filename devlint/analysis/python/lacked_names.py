"""Names that a module of the project surely lacks: `from helpers import compute` of them raises on every machine.

Sure is what is written: a file that binds the name nowhere and does nothing by which names get there that are not
written. Where another module may be meant, or others may give it names, the name may be there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.forms import written_in
from devlint.analysis.python.unimportable import AMBIGUOUS, MADE, entries, is_unimportable, start_of
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Namespace
    from devlint.analysis.project import Project

GIVES: Final = re.compile(
    r"\b(?:globals|locals|vars|exec|eval|setattr|execfile|__import__)\s*\(|__dict__|__getattr__|__path__|"
    r"sys\s*\.\s*modules|import_hook|extend_path|lazy|import\s*\(?\s*\*"
)
"""What gives a module names that are not written there."""
_MOVES_IMPORTS: Final = re.compile(r"sys\s*\.\s*(?:path|modules|meta_path)\b|\bchdir\(|addsitedir")
_REQUIRES: Final = re.compile(
    r"requirements.*\.(?:txt|in)|setup\.(?:py|cfg)|pyproject\.toml|Pipfile|environment\.ya?ml"
)


def lacks_name(project: Project, module: Namespace, node: ir.ImportFrom, name: str, importer: str) -> bool:
    """Whether the module from which a statement imports a name has run to its end and surely has no such name."""
    text = module.module.text
    if not module.complete or name.startswith("__") or name in module.names or name in module.deferred:
        return False
    if GIVES.search(text) or not _is_python(project, importer) or not _is_python(project, module.path):
        return False
    if not _is_meant(project, module.path, node, importer) or _is_bound(module.module, name):
        return False
    if is_given(project, module.path, name):
        return False
    if os.path.basename(module.path) == "__init__.py":
        whole = f"{node.module}.{name}" if node.module else name
        if not is_unimportable(project, whole, node.level, importer):
            return False
    project.uncached.add(importer)  # it hangs on what is not there
    return True


def _is_python(project: Project, path: str) -> bool:
    source = project.source(path)
    return source is not None and source.kind == "python"


def _is_bound(module: ir.Module, name: str) -> bool:
    """Whether a file binds a global name, or so much as mentions one, at its top level or in its functions."""
    if not re.search(rf"\b{re.escape(name)}\b", module.text):
        return False
    for part in walk(module.body):
        if isinstance(part, ir.Name) and part.id == name and part.scope is ir.NameScope.GLOBAL:
            return True
        if isinstance(part, ir.Function) and name in part.body.globals:
            return True
    return any(name in _defined(statement) for statement in _top_level(module.body))


def _top_level(statements: list[Any]) -> Iterator[Any]:
    """The statements of a file at any depth, less those of its functions and classes."""
    for statement in statements:
        yield statement
        if not isinstance(statement, (ir.Function, ir.Class)):
            for slot in ("body", "orelse", "final", "handlers", "cases"):
                yield from _top_level(getattr(statement, slot, None) or [])


def _defined(statement: Any) -> set[str]:
    if isinstance(statement, (ir.Function, ir.Class)):
        return {statement.name}
    if isinstance(statement, (ir.Import, ir.ImportFrom)):
        return {alias or name.partition(".")[0] for name, alias in statement.names}
    return set()


def is_given(project: Project, path: str, name: str) -> bool:
    """Whether a file that was read gives anything an attribute of this name, or gives the module one whose name it
    computes."""
    stem = os.path.splitext(os.path.basename(path))[0]
    own = os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem
    for _, module in project.loaded():
        computed = "setattr(" in module.text and own in module.text
        if name in module.text or computed:
            written = written_in(project, module)
            if name in written or (computed and None in written):
                return True
    return False


def _is_meant(project: Project, path: str, node: ir.ImportFrom, importer: str) -> bool:
    """Whether no other module can be the one that a statement imports from."""
    folder, file = os.path.split(path)
    if file == "__init__.py":
        folder, file = os.path.split(folder)
    stem = file.removesuffix(".py")
    if MADE.fullmatch(stem) or sum(entry.partition(".")[0] == stem for entry in entries(folder)) != 1:
        return False
    if any(_MOVES_IMPORTS.search(module.text) for _, module in project.loaded()):
        return False
    return bool(node.level) or _is_own(project, node.module.partition(".")[0], importer)


def _is_own(project: Project, top: str, importer: str) -> bool:
    """Whether a first name of absolute imports is the project's, and of one file or package of it alone: beside the
    program that imports it, or at the top of the project."""
    root, beside = str(project.root), os.path.dirname(importer)
    found = project.resolve(top, 0, importer)
    if found is None or top in AMBIGUOUS or top in sys.stdlib_module_names or not importer.startswith(root + os.sep):
        return False
    place = os.path.dirname(found.removesuffix(f"{os.sep}__init__.py"))
    is_script = place == beside and not project.exists(os.path.join(beside, "__init__.py"))
    if not is_script and place not in (root, os.path.join(root, "src")):
        return False
    imports = re.compile(rf"^\s*(?:from|import)\s[^#\n]*\b{re.escape(top)}\b", re.MULTILINE)
    asking = [other for other, module in project.loaded() if imports.search(module.text)]
    asking += [os.path.join(folder, "_") for folder in (os.path.join(root, "src"), root, *_above(beside, root))]
    return all(project.resolve(top, 0, other) in (None, found) for other in asking) and not is_required(root, top)


def _above(folder: str, root: str) -> Iterator[str]:
    while folder.startswith(root + os.sep):
        folder = os.path.dirname(folder)
        yield folder


def is_required(root: str, top: str) -> bool:
    """Whether what a project requires to be installed has a name like this."""
    listed = [start_of(os.path.join(root, entry)) for entry in entries(root) if _REQUIRES.fullmatch(entry)]
    return any(top.lower() in text.lower().replace("-", "_") for text in listed)
