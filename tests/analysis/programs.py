"""Runs a program text through the interpreter in one world and gives what its global names hold."""

from __future__ import annotations

from pathlib import Path

import devlint.analysis.rooms  # noqa: F401  (registers every room)
from devlint.analysis.domain.plain import lower as python_value
from devlint.analysis.domain.values import Value
from devlint.analysis.events import Event
from devlint.analysis.frames import Namespace
from devlint.analysis.machine import Machine
from devlint.analysis.programs.executing import run_body
from devlint.analysis.project import Project
from devlint.sources import read_source
from devlint.syntax.frontend import lower
from devlint.worlds import GPU2, World

PATH = "/project/program.py"


class Run:
    """A program that has been run: `names`, the machine, and whether it came to its end."""

    def __init__(self, text: str, world: World = GPU2) -> None:
        source = read_source(Path(PATH), "program.py", text.encode())
        project = Project(Path("/project"), {PATH: source})
        self.machine = Machine(project, world, frozenset(Event.__subclasses__()))
        self.namespace = Namespace(PATH, "__main__", "", lower(text, PATH))
        self.names = self.namespace.names
        self.ended = run_body(self.machine, self.namespace)

    def __getitem__(self, name: str) -> Value:
        return self.names[name]

    def python(self, name: str) -> object:
        """The Python value of a name; raises `NotConstant` if it isn't wholly known."""
        return python_value(self.names[name])

    def events(self, kind: type[Event]) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.machine.entry.events.values() if isinstance(event, kind)]


def value_of(expression: str, setup: str = "", world: World = GPU2) -> object:
    """The Python value of an expression after some statements."""
    return Run(f"{setup}\nresult = {expression}\n", world).python("result")
