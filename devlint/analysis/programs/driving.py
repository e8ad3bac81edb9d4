"""Which files are programs, which of the others these drive, and what in a driven file is still entered by protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from devlint.analysis.forms import imports_by_branch, imports_of, reach
from devlint.analysis.programs.entries import is_for_tests, is_program
from devlint.analysis.programs.staying import moves
from devlint.analysis.project import Project
from devlint.syntax import ir
from devlint.syntax.walk import called_names, calls, dotted, names_cpu, walk

_SETTERS: Final = {
    "torch.set_default_device": ("default_device",),
    "torch.set_default_tensor_type": ("default_device", "default_type"),
}
"""Which defaults a call chooses: the tensor type is that of `torch.Tensor(...)`, and the device of all factories."""


class Driving:
    """Who imports whom: `imports` are the project's files that a file imports, `importers` those by which it is
    imported, `driven` those that a program imports, `optional` those that are imported in branches alone."""

    __slots__ = ("imports", "importers", "driven", "optional", "_project", "_called", "_around", "_movers")

    def __init__(self, project: Project, targets: Sequence[str]) -> None:
        self._project = project
        self._called: dict[str, set[str]] = {}
        self._around: dict[str, set[str]] | None = None
        self._movers: set[str] | None = None
        self.imports = {path: imports_of(project, path) for path in targets}
        self.importers: dict[str, set[str]] = {}
        for path, found in self.imports.items():
            # Who is driven by a program depends on its imports, run or not.
            project.dependencies.setdefault(path, set()).update(found)
            for imported in found:
                self.importers.setdefault(imported, set()).add(path)
        programs = (path for path in targets if self.is_program(path) and not self.is_self_test(path))
        self.driven = {imported for path in programs for imported in self.imports[path]}
        self.optional = self._optional()

    def _optional(self) -> set[str]:
        """The files that are imported on one side of an `if` and nowhere else, `if torch.cuda.is_available(): import
        kernels`, and those that only such import. What they write into others is there where that side was taken."""
        surely: set[str] = set()
        perhaps: set[str] = set()
        for path in self.imports:
            always, by_branch = imports_by_branch(self._project, path)
            surely |= always
            perhaps |= by_branch
        optional: set[str] = set()
        waiting = perhaps - surely
        while waiting:
            optional |= waiting
            below = {inner for path in waiting for inner in self.imports.get(path, ())} - optional
            waiting = {path for path in below if self.importers[path] <= optional}
        return {path for path in optional if not self.is_program(path)}

    def is_program(self, path: str) -> bool:
        """Whether a file is run as a program: it does work, and no other file imports it unless it says `__main__`."""
        module = self._project.module(path)
        source = self._project.source(path)
        if module is None or source is None:
            return False
        if path in self.importers and not module.has_main_guard:
            return False
        return is_program(module, source.kind != "python")

    def is_self_test(self, path: str) -> bool:
        """Whether what a file does as a program is a trial of what others import from it: it names no device and moves
        nothing, while around it something does. What such a trial reaches on the CPU is not its own."""
        if self.tries_others(path) or self._shows_others(path):
            return True
        if path not in self.importers or moves(self._project, path):
            return False
        return self.is_program(path) and not self.stays_on_cpu(path)

    def tries_others(self, path: str) -> bool:
        """Whether a file has tests that move nothing: what they try out on the CPU is there for any device."""
        return is_for_tests(path, self._project.root) and not moves(self._project, path)

    def _shows_others(self, path: str) -> bool:
        """Whether a file is a document that moves nothing, and shows what others, which move something, import too."""
        source = self._project.source(path)
        if source is None or source.kind == "python" or moves(self._project, path):
            return False
        shown = (self.importers.get(file, set()) - {path} for file in self.imports.get(path, ()))
        return any(moves(self._project, other) for others in shown for other in others)

    def tried_out(self, path: str, reached: Sequence[ir.Node]) -> list[ir.Node]:
        """What a file with such tests reached, and does not stand in it: it is entered as if there were none."""
        module = self._project.module(path)
        if not reached or module is None or not self.tries_others(path):
            return []
        own = set(walk(module.body))
        return [node for node in reached if node not in own]

    def chosen_among(self, path: str) -> set[str]:
        """The names that those call which import a file, of the programs that move something and of what these import,
        and those that functions and classes of the file call of which they call one.

        A class among them that none has built is one that another answer to an option builds.
        """
        names: set[str] = set()
        for importer in self.importers.get(path, ()):
            if self._is_of_movers(importer):
                if importer not in self._called:
                    module = self._project.module(importer)
                    assert module is not None
                    self._called[importer] = called_names(module.body)
                names |= self._called[importer]
        own = self._project.module(path)
        if names and own is not None:
            defined = {part.name: part.body for part in own.body if isinstance(part, ir.Class)}
            defined |= {part.name: part.body.statements for part in own.body if isinstance(part, ir.Function)}
            waiting = [name for name in defined if name in names]
            while waiting:
                new = called_names(defined[waiting.pop()]) - names
                waiting += [name for name in defined if name in new]
                names |= new
        return names

    def _is_of_movers(self, path: str) -> bool:
        """Whether a file is a program that moves something, or one that such a program imports."""
        if self._movers is None:
            movers = [file for file in self.imports if self.is_program(file) and moves(self._project, file)]
            self._movers = {*movers, *(imported for mover in movers for imported in self.imports[mover])}
        return path in self._movers

    def defaults_around(self, path: str) -> set[str]:
        """The defaults for new tensors that programs choose, by functions in other files, which come to this one: they
        do, or others that import the same functions. Networks that a program loads from a file are imported by none."""
        if self._around is None:
            self._around = {}
            choosers = {file: slots for file in self.imports if (slots := self._chosen_in(file))}
            programs = [file for file in self.imports if self.is_program(file)] if choosers else []
            used = {chooser for program in programs for chooser in reach(self._project, program).intersection(choosers)}
            for user in self.imports if used else ():
                reached = reach(self._project, user)
                for chooser in reached & used:
                    for file in reached - {chooser}:
                        self._around.setdefault(file, set()).update(choosers[chooser])
        return self._around.get(path, set())

    def _chosen_in(self, path: str) -> set[str]:
        """The defaults that a file lets be chosen: by calls that give something else than the CPU by its name."""
        module = self._project.module(path)
        found = calls(module) if module is not None and "set_default_" in module.text else ()
        return {
            slot
            for name, node in found
            if name in _SETTERS and not all(_is_of_host(given) for given in node.args)
            for slot in _SETTERS[name]
        }

    def stays_on_cpu(self, path: str) -> bool:
        """Whether programs import a file, by way of others or at once, nothing else does, and in all of these nothing
        names a device, asks for one or moves anything.

        An export copies its network into a file of its own, builds it, and writes down what it computed: nobody takes
        such a module to a GPU, though it would not stand it. A file that no program imports may be anybody's, and so
        may one that tests do.
        """
        if not self.importers.get(path):
            return False
        around, waiting, used = {path}, [path], False
        while waiting:
            file = waiting.pop()
            above = self.importers.get(file, set())
            runs = not above and self.is_program(file) and not self.tries_others(file)
            if not (above or runs):
                return False
            used = used or runs
            waiting += above - around
            around |= above
        return used and not any(moves(self._project, file) for file in around)


def _is_of_host(given: ir.Expr) -> bool:
    """Whether what is given for a default is the CPU, or a tensor type of the host, as it is written."""
    text = given.value if isinstance(given, ir.Const) and isinstance(given.value, str) else dotted(given)
    return names_cpu(given) or (text.endswith("Tensor") and "cuda" not in text)
