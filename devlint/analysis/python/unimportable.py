"""Imports of the project's own packages that raise on every machine: of parts that do not exist, and relative ones
that go above the topmost package.

What a build, a tool or a user's hand adds to a package is not in sight, and neither are packages that are installed
under the same name: where there is a doubt, the part may be there.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devlint.analysis.project import Project
    from devlint.syntax import ir

MADE: Final = re.compile(
    r"_.*|.*(?:version|pb2|proto|config|settings|secret|local|private|credential|key|constant|path|param|"
    r"cuda|cpu|cpp|cython|ext|kernel|native|build|generated|op|ops)s?(?:_.*)?"
)
"""Names of what a build, a tool or a user makes."""
AMBIGUOUS: Final = frozenset("accelerate datasets detectron2 diffusers evaluate fairseq gym mmcv peft timm".split())
"""Libraries whose names projects give their own folders, too."""
_BUILDERS: Final = ("setup.py", "CMakeLists.txt", "meson.build", "build.py", "Makefile")
_MOVES_PATH: Final = re.compile(r"__path__|sys\.modules|extend_path|sys\.path|import_hook|__getattr__")
_LONGEST: Final = 200_000
_NEAR: Final = 3
"""So many folders above the root of a project are looked into where no repository is around it."""


GONE: Final = frozenset({"torch.utils.ffi", "torch.legacy"})
"""What torch had and has no more, with nothing in its place: extensions that were built by it are written anew."""


def is_unimportable(project: Project, name: str, level: int, importer: str) -> bool:
    """Whether an import names a part that a package of the project surely does not have, or torch has no more."""
    if not level and name in GONE:
        return True
    above, _, last = name.rpartition(".")
    source = project.source(importer)
    if source is None or source.kind != "python" or not last or MADE.fullmatch(last):
        return False
    if not level and (not above or above.partition(".")[0] in AMBIGUOUS):
        return False
    package = project.resolve(above, level, importer)
    if package is None or os.path.basename(package) != "__init__.py":
        return False
    folder = os.path.dirname(package)
    if any(entry.partition(".")[0] == last for entry in entries(folder)):
        return False
    if any(_speaks(project, path, _MOVES_PATH) for path in (package, importer)) or _is_built(project, folder, last):
        return False
    written = re.compile(rf"\w\.{re.escape(last)}['\"]|\b{re.escape(last)}\.py\b|sys\.meta_path|sys\.modules")
    if any(module is not None and written.search(module.text) for _, module in project.loaded()):
        return False
    project.uncached.add(importer)  # it hangs on what is not there
    return True


def climbs_out(project: Project, node: ir.ImportFrom, importer: str) -> bool:
    """Whether a relative import goes above the topmost package: `from ...part import f` two folders below the root of
    the project, which is none itself."""
    source = project.source(importer)
    level, root = node.level, str(project.root)
    if level < 2 or source is None or source.kind != "python" or not importer.startswith(root + os.sep):
        return False
    depth = os.path.relpath(importer, root).count(os.sep)
    if level <= depth or project.exists(os.path.join(root, "__init__.py")):
        return False
    if (level > depth + 1 or "setup.py" in entries(root)) and _is_there(project, node, importer):
        return False
    project.uncached.add(importer)  # it hangs on what is around the root
    return not _is_inside(root)


def _is_there(project: Project, node: ir.ImportFrom, importer: str) -> bool:
    """Whether the folders give what a relative import names, whether they are packages or not."""
    above = f"{node.module}." if node.module else ""
    names = [node.module, *(above + name for name, _ in node.names)]
    return any(project.resolve(name, node.level, importer) is not None for name in names if name)


def _is_inside(root: str) -> bool:
    """Whether code around the root of a project may hold it as one of its packages: a repository of which it is a
    part; where there is none, a package, or files above that name the folder that it is in."""
    above, folder = 0, root
    while not os.path.isdir(os.path.join(folder, ".git")):
        parent, name = os.path.split(folder)
        if parent == folder:
            return False
        above, folder = above + 1, parent
        if above <= _NEAR and _may_import(folder, name):
            return True
    return above > 0


def _may_import(folder: str, name: str) -> bool:
    """Whether a folder is a package, or files in it name the folder `name` there."""
    files = [entry for entry in entries(folder) if entry.endswith((".py", ".ipynb"))]
    named = re.compile(rf"\b{re.escape(name)}\b")
    return "__init__.py" in files or any(named.search(start_of(os.path.join(folder, file))) for file in files)


def start_of(path: str) -> str:
    """The text of a file, as far as it is looked into; nothing if it can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""


def entries(folder: str) -> list[str]:
    """What lies in a folder, nothing if it can't be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _speaks(project: Project, path: str, of: re.Pattern[str]) -> bool:
    source = project.source(path)
    return source is None or of.search(source.text) is not None


def _is_built(project: Project, folder: str, last: str) -> bool:
    """Whether what builds the project, in this folder or above, names the part."""
    root = str(project.root)
    while folder.startswith(root):
        for name in _BUILDERS:
            if last in start_of(os.path.join(folder, name)):
                return True
        if folder == root:
            return False
        folder = os.path.dirname(folder)
    return False
