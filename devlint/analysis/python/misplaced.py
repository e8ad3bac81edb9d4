"""Imports that raise on every machine since the module lies in another folder of the project: a program of `gan/` says
`from networks import Encoder`, and `networks.py` is in `vae/`.

Sure is a file that is started by itself, in a project that is not installed, and in which nothing that was written for
the interpreter, the shell or the editor sets where modules are looked for.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.memo import memoized
from devlint.analysis.project import INSTALLED
from devlint.analysis.python.lacked_names import is_required
from devlint.analysis.python.unimportable import AMBIGUOUS, MADE, entries, start_of
from devlint.analysis.search_paths import LIBRARIES_OF_PATHS, SETS_PATH

if TYPE_CHECKING:
    from devlint.analysis.frames import Namespace
    from devlint.analysis.project import Project

_MOST: Final = 20_000
"""Of a project with more entries in its folders nothing is said."""
_MOST_READ: Final = 1_000
_LARGEST: Final = 200_000
_MARKS: Final = (".git", "pyproject.toml", "requirements.txt", "README.md", "README.rst", "README")
"""What stands at the top of a project: other folders hold files that have nothing to do with each other."""
_INSTALLS: Final = ("setup.py", "setup.cfg", "pyproject.toml", "meson.build", "CMakeLists.txt")
_IS_BUILT: Final = re.compile(
    r"^\s*\[(?:project|build-system|metadata|options|tool\.(?:poetry|pdm|flit|uv))", re.MULTILINE
)
_NOT_OWN: Final = frozenset({".git", "node_modules", "site-packages", "__pycache__"})
_TOLD: Final = frozenset(
    ".sh .bash .zsh .fish .bat .cmd .ps1 .md .rst .txt .yml .yaml .toml .cfg .ini .env .envrc .json .iml .xml .slurm "
    ".sbatch .sub .pbs .job .mk .def".split()
)
"""The endings of files that say how programs are started; those without an ending may, too."""
_MOVES: Final = re.compile(
    r"\bsys\b[^#\n]*\b(?:path|modules|meta_path)\b|from\s+sys\s+import|\bsite\.|addsitedir|chdir\s*\(|import_hook|"
    r"(?<![.\w])(?:exec|eval|execfile|__import__|SourceFileLoader)\s*\(|spec_from_file|PYTHONPATH|__path__"
)
"""By which a program may find modules elsewhere."""
_RUNS: Final = re.compile(r"run_path|run_module|spec_from_file|\bexec(?:file)?\s*\(|import_module|__import__")
_FROM_THE_TOP: Final = re.compile(
    r"PYTHONPATH=[\"']?(?:\./?|\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)(?::\$\{?PYTHONPATH\}?)?[\"']?(?=[\s;]|$)"
)
_TELLS: Final = re.compile(r"pythonpath|sys\.path|sourceFolder|extraPaths|source-?roots", re.IGNORECASE)


class Layout:
    """What lies in the folders of a project: its modules by name, its programs, and what is said about them."""

    def __init__(self, root: str) -> None:
        self.modules: dict[str, list[str]] = {}
        self.programs: list[str] = []
        self.texts: list[str] = []
        self.is_known = any(os.path.exists(os.path.join(root, mark)) for mark in _MARKS) and self._look(root)

    def _look(self, root: str) -> bool:
        """Look into all folders; tells whether that came to an end."""
        waiting, seen = [root], 0
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as found:
                    for entry in found:
                        seen += 1
                        if seen > _MOST:
                            return False
                        if not entry.is_dir():
                            self._add(entry.path)
                        elif entry.is_symlink():
                            return False
                        elif entry.name not in _NOT_OWN and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                            waiting.append(entry.path)
            except OSError:
                return False
        return len(self.programs) + len(self.texts) <= _MOST_READ

    def _add(self, path: str) -> None:
        name, ending = os.path.splitext(os.path.basename(path))
        if ending == ".py":
            name = os.path.basename(os.path.dirname(path)) if name == "__init__" else name
            self.modules.setdefault(name, []).append(path)
        if ending in (".py", ".ipynb"):
            self.programs.append(path)
        elif ending in _TOLD or not ending:
            self.texts.append(path)


@memoized
def _layout(project: Project, root: str) -> Layout:
    return Layout(root)


def is_misplaced(project: Project, name: str, members: list[str], importer: Namespace) -> bool:
    """Whether the program `importer` imports `members` of a module of the project that lies where it is not found."""
    path, root, top = importer.path, str(project.root), name.partition(".")[0]
    if importer.name != "__main__" or not path.startswith(root + os.sep) or not _is_possible(project, top, path):
        return False
    layout = _layout(project, root)
    found = layout.modules.get(top, [])
    if not found or not layout.is_known or "sitecustomize" in layout.modules or not _is_nowhere(project, top, path):
        return False
    if any(_moves(project, part) for part in project.imported(path)):
        return False
    if not all(_gives(one, name, members) and not _is_installed(one, root) for one in found):
        return False
    if top.islower() and not all(_is_looked_for(layout, one, top) for one in found):
        return False
    if is_required(root, top) or _is_started_by_others(layout, path) or _is_told(layout, top):
        return False
    project.uncached.add(path)  # it hangs on what is not there
    return True


def _is_possible(project: Project, top: str, importer: str) -> bool:
    """Whether a program may be one that its user starts, and a module of this name the project's alone."""
    source = project.source(importer)
    if source is None or source.kind != "python" or top in sys.stdlib_module_names or top in INSTALLED:
        return False
    return top not in AMBIGUOUS and not MADE.fullmatch(top) and not _is_test(importer, str(project.root))


def _is_nowhere(project: Project, top: str, importer: str) -> bool:
    """Whether there is nothing of this name in the folders in which it would be found."""
    folders = _places(project, importer)
    return not any(entry.partition(".")[0] == top for folder in folders for entry in entries(folder))


def _is_test(path: str, root: str) -> bool:
    """Whether pytest may import a file, which looks for modules in the folders of all tests."""
    *folders, name = os.path.relpath(path, root).split(os.sep)
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py") or not _TESTS.isdisjoint(folders)


_TESTS: Final = frozenset({"test", "tests", "testing"})


def _places(project: Project, importer: str) -> Iterator[str]:
    """Where modules are found, from wherever the program is started."""
    root = str(project.root)
    yield from (os.path.join(root, "src"), os.path.dirname(root))
    folder = importer
    while folder.startswith(root + os.sep):
        folder = os.path.dirname(folder)
        yield folder


def _moves(project: Project, path: str) -> bool:
    """Whether a file, or one out of sight that it imports for that, may change where modules are found."""
    module = project.module(path)
    if module is None or _MOVES.search(module.text):
        return True
    return any(SETS_PATH.fullmatch(name) and name not in LIBRARIES_OF_PATHS for name, _, _ in module.imports)


def _gives(path: str, name: str, members: list[str]) -> bool:
    """Whether a file of the project is the module that is meant: it has what is imported of it."""
    is_package = os.path.basename(path) == "__init__.py"
    if "." in name:
        inner = os.path.join(os.path.dirname(path), *name.split(".")[1:])
        return is_package and (os.path.isfile(inner + ".py") or os.path.isfile(os.path.join(inner, "__init__.py")))
    text = start_of(path)
    inside = {entry.partition(".")[0] for entry in entries(os.path.dirname(path))} if is_package else set()
    return all(one == "*" or one in inside or re.search(rf"\b{re.escape(one)}\b", text) for one in members)


def _is_looked_for(layout: Layout, path: str, top: str) -> bool:
    """Whether the files beside a module import it by this name: it is no copy of a library, whose names have small
    letters."""
    own = os.path.dirname(path) if os.path.basename(path) == "__init__.py" else path
    asks = re.compile(rf"^\s*(?:from|import)\s+{re.escape(top)}\b", re.MULTILINE)
    beside = [one for one in layout.programs if one != path and os.path.dirname(one) == os.path.dirname(own)]
    return any(asks.search(start_of(one)) for one in beside if one.endswith(".py"))


def _is_installed(path: str, root: str) -> bool:
    """Whether something around a module may install it."""
    folder = os.path.dirname(path)
    while True:
        for name in _INSTALLS:
            file = os.path.join(folder, name)
            if os.path.exists(file) and (not name.endswith((".toml", ".cfg")) or _IS_BUILT.search(start_of(file))):
                return True
        if not folder.startswith(root + os.sep):
            return False
        folder = os.path.dirname(folder)


def _is_started_by_others(layout: Layout, path: str) -> bool:
    """Whether a file of the project imports or runs the program, or the package that it is in."""
    folder, stem = os.path.dirname(path), os.path.basename(path).removesuffix(".py")
    names = [stem, os.path.basename(folder)] if os.path.exists(os.path.join(folder, "__init__.py")) else [stem]
    named = "|".join(map(re.escape, names))
    imports = re.compile(rf"\b(?:from|import)\s[^#\n]*\b(?:{named})\b")
    for other in layout.programs:
        text = start_of(other) if other != path else ""
        if "PYTHONPATH" in text or imports.search(text) or len(text) >= _LARGEST:
            return True
        if _RUNS.search(text) and re.search(rf"\b(?:{named})\b", text):
            return True
    return False


def _is_told(layout: Layout, top: str) -> bool:
    """Whether what is written about a project sets where modules are found, or puts or installs the module there."""
    own = re.escape(top)
    puts = re.compile(rf"\b(?:install|cp|copy|mv|move|ln|mklink)\b[^\n]*\b{own}\b", re.IGNORECASE)
    for path in layout.texts:
        text = start_of(path)
        rest = text if re.search(r"\bcd\b", text) else _FROM_THE_TOP.sub("", text)
        if _TELLS.search(rest) or puts.search(text):
            return True
    return False
