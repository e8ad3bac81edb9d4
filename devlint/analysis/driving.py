"""Which files are programs, which of the others these drive, and what in a driven file is still entered by protocol."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.analysis.entries import is_program
from devlint.analysis.project import Project
from devlint.analysis.staying import importers_of, moves
from devlint.syntax.walk import called_names


class Driving:
    """Who imports whom: `imports` are the project's files that a file imports, `importers` those by which it is
    imported, `driven` those that a program imports."""

    __slots__ = ("imports", "importers", "driven", "_project", "_called")

    def __init__(self, project: Project, targets: Sequence[str]) -> None:
        self._project = project
        self.imports: dict[str, set[str]] = {}
        self.driven: set[str] = set()
        self._called: dict[str, set[str]] = {}
        for path in targets:
            module = project.module(path)
            assert module is not None
            found: set[str] = set()
            for name, level, members in module.imports:
                target = project.resolve(name, level, path)
                if target is not None:
                    found.add(target)
                for member in members:
                    inner = project.resolve(f"{name}.{member}" if name else member, level, path)
                    if inner is not None:
                        found.add(inner)
            found.discard(path)
            self.imports[path] = found
            # Who is driven by a program depends on its imports, run or not.
            project.dependencies.setdefault(path, set()).update(found)
        self.importers = importers_of(self.imports)
        for path in targets:
            if self.is_program(path):
                self.driven |= self.imports[path]

    def is_program(self, path: str) -> bool:
        """Whether a file is run as a program: it does work, and no other file imports it unless it says `__main__`."""
        module = self._project.module(path)
        source = self._project.source(path)
        if module is None or source is None:
            return False
        if path in self.importers and not module.has_main_guard:
            return False
        return is_program(module, source.kind != "python")

    def chosen_among(self, path: str) -> set[str]:
        """The names that the programs call which import a file and move something.

        A class among them that none has built is one that another answer to an option builds.
        """
        names: set[str] = set()
        for program in self.importers.get(path, ()):
            if self.is_program(program) and moves(self._project, program):
                if program not in self._called:
                    module = self._project.module(program)
                    assert module is not None
                    self._called[program] = called_names(module)
                names |= self._called[program]
        return names
