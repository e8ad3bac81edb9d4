"""The files of the project as the interpreter sees them: reading, lowering, resolving and running imports."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.values import ModuleValue
from devlint.analysis.events import Failure
from devlint.analysis.flow.conditions import Conditions
from devlint.analysis.frames import Namespace
from devlint.analysis.machine import stands_by
from devlint.analysis.notes import NOT_IMPORTED
from devlint.analysis.programs.executing import pass_on, run_file
from devlint.analysis.search_paths import Place, places_of
from devlint.lines import split_rows
from devlint.sources import Source, read_source
from devlint.syntax import ir
from devlint.syntax.frontend import FrontEnd, lower

if TYPE_CHECKING:
    from devlint.analysis.events import Site, Wrapped
    from devlint.analysis.machine import Machine


class Project:
    """Sources by absolute path, lowered once; further files are read when they are imported."""

    def __init__(self, root: Path, sources: Mapping[str, Source], front_end: FrontEnd = "ast") -> None:
        self.root = str(root)
        self.sources: dict[str, Source] = dict(sources)
        self.front_end = front_end
        self.failures: list[Failure] = []
        self.dependencies: dict[str, set[str]] = {}
        self.uncached: set[str] = set()
        """The files in which what is found hangs on others that they do not import."""
        self.answers: defaultdict[Callable[..., Any], dict[Any, Any]] = defaultdict(dict)
        """What was asked of the form of the program, by the function that says it (`memo.py`)."""
        self.conditions = Conditions()
        self.documenting: set[ir.Function] = set()
        """Decorators that work long, leave nothing, and give back what they decorate."""
        self.wrapped: dict[tuple[str, int, int], set[Wrapped]] = {}
        """Where modules were asked for their `.module` and had one, by the place."""
        self.no_tensors: dict[tuple[str, int, int], set[str]] = {}
        """The names that held no tensor at some time when one was created, by the place where it was."""
        self._modules: dict[str, ir.Module | None] = {}
        self._resolved: dict[tuple[str, int, str, tuple[Place, ...]], str | None] = {}
        self._exists: dict[str, bool] = {}
        self._rows: tuple[str, list[str]] = ("", [])

    def module(self, path: str) -> ir.Module | None:
        """Return the lowered file, None where it can't be read or parsed (then `failures` says why)."""
        if path in self._modules:
            return self._modules[path]
        source = self.source(path)
        module: ir.Module | None = None
        if source is not None:
            try:
                module = lower(source.text, path, self.front_end)
            except SyntaxError as error:
                column = max(error.offset or 1, 1)
                self.failures.append(Failure(path, error.lineno or 1, f"syntax error: {error.msg}", column))
            except RecursionError:
                self.failures.append(Failure(path, 1, "nested too deeply to be parsed"))
            except (ValueError, MemoryError) as error:
                self.failures.append(Failure(path, 1, str(error) or "can't be parsed"))
        self._modules[path] = module
        return module

    def loaded(self) -> list[tuple[str, ir.Module]]:
        """Return the files that the run has read so far, by their paths."""
        return [(path, module) for path, module in self._modules.items() if module is not None]

    def imported(self, path: str) -> set[str]:
        """Return a file and those that it imports, and these, as far as the run went."""
        found, waiting = {path}, [path]
        while waiting:
            new = self.dependencies.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    def source(self, path: str) -> Source | None:
        """Return the source of a file, read now if it was not given."""
        source = self.sources.get(path)
        if source is None:
            try:
                source = read_source(Path(path), os.path.relpath(path))
            except (OSError, ValueError):
                return None
            self.sources[path] = source
        return source

    @property
    def absent(self) -> set[str]:
        """The files that imports looked for and that were not there: should one appear, an import may mean another."""
        return {path for path, there in self._exists.items() if not there}

    def rows(self, path: str) -> list[str]:
        """Return the rows of the program text of a file; those of the last one asked for are kept."""
        if self._rows[0] != path:
            source = self.source(path)
            self._rows = (path, [] if source is None else split_rows(source.text))
        return self._rows[1]

    def text_at(self, site: Site) -> str:
        """The program text at a site, on one line."""
        if self.module(site.path) is None:
            return ""
        lines = self.rows(site.path)
        at = site.at
        if at.lineno > len(lines):
            return ""
        if at.end_lineno == at.lineno:
            text: str = lines[at.lineno - 1].encode()[at.col_offset : at.end_col_offset].decode(errors="replace")
            return text
        first = lines[at.lineno - 1].encode()[at.col_offset :].decode(errors="replace")
        middle = lines[at.lineno : at.end_lineno - 1]
        last = lines[at.end_lineno - 1].encode()[: at.end_col_offset].decode(errors="replace")
        return " ".join(part.strip() for part in [first, *middle, last])

    # -- imports

    def resolve(self, name: str, level: int, importer: str) -> str | None:
        """Return the file of the project that an import names, None when it is outside.

        Absolute names resolve where the importing file says that modules are found, from its folder, then the folders
        above it up to the project root, the root and its `src/`.
        """
        said = () if level or name.partition(".")[0] in INSTALLED else places_of(self, importer)
        return self.find(name, level, importer.rpartition(os.sep)[0] or os.sep, said)

    def find(self, name: str, level: int, folder: str, said: tuple[Place, ...]) -> str | None:
        """Return the file that an import in a folder names, where its file says so much of where modules are found."""
        key = (name, level, folder, said)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(*key)
        return self._resolved[key]

    def _resolve(self, name: str, level: int, folder: str, said: tuple[Place, ...]) -> str | None:
        parts = name.split(".") if name else []
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._file(os.path.join(folder, *parts))
        if parts and parts[0] in INSTALLED:
            return None
        added = [place for place in said if parts and parts[0] not in place.known]
        places = [*(place.folder for place in added if place.is_first), folder]
        places += [place.folder for place in added if not place.is_first]
        while folder.startswith(self.root + os.sep):
            folder = os.path.dirname(folder)
            places.append(folder)
        if self.root not in places:
            places.append(self.root)
        places.append(os.path.join(self.root, "src"))
        for place in places:
            found = self._file(os.path.join(place, *parts))
            if found is not None:
                return found
        return None

    def _file(self, base: str) -> str | None:
        candidates = (base + ".py", os.path.join(base, "__init__.py"))
        return next((candidate for candidate in candidates if self.exists(candidate)), None)

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""
        known = self._exists.get(path)
        if known is None:
            known = self._exists[path] = path in self.sources or os.path.isfile(path)
        return known

    def import_module(self, machine: Machine, name: str, level: int, importer: Namespace) -> ModuleValue | None:
        """Return the project file that an import names, run once in this world; None when it is outside.

        Raises:
            Crash: an import of the file, or of a package that it stands in, raises.
        """
        path = self.resolve(name, level, importer.path)
        if path is None or (path == importer.path and not level):
            return None
        self.dependencies.setdefault(importer.path, set()).add(path)
        for package in self._packages(name, level, importer.path):
            self.dependencies[importer.path].add(package)
            pass_on(run_file(machine, package))
        found = run_file(machine, path)
        pass_on(found)
        for kind in machine.imports.get(path, NOT_IMPORTED).asked if stands_by(path, importer.path) else ():
            machine.entry.evidence[kind, importer.path] = None
        return found

    def _packages(self, name: str, level: int, importer: str) -> list[str]:
        """The packages in which an imported file stands: they run before it. Those of the importer have been run."""
        packages: list[str] = []
        end = name.find(".")
        while end >= 0:
            path = self.resolve(name[:end], level, importer)
            if path is not None and path.endswith(_PACKAGE) and not importer.startswith(path[: 1 - len(_PACKAGE)]):
                packages.append(path)
            end = name.find(".", end + 1)
        return packages

    def submodule(self, machine: Machine, namespace: Namespace, name: str) -> ModuleValue | None:
        """Return the file `name` in the package that `namespace` is."""
        if not namespace.path.endswith("__init__.py"):
            return None
        path = self._file(os.path.join(os.path.dirname(namespace.path), name))
        return None if path is None or path not in machine.namespaces else ModuleValue(machine.namespaces[path])


INSTALLED = frozenset(
    "torch numpy os sys re json math random time copy functools itertools collections typing argparse pathlib "
    "transformers torchvision torchaudio scipy sklearn pandas matplotlib cv2 PIL tqdm".split()
)
"""Top-level names that no project file stands for, unless it is relative."""

_PACKAGE = f"{os.sep}__init__.py"
