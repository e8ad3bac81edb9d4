"""Runs the whole analysis over files in memory: entry points, choices and budgets included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from devlint.analysis.events import Event
from devlint.analysis.project import Project
from devlint.analysis.run import Analysis, analyse
from devlint.sources import read_source
from devlint.syntax.frontend import FrontEnd

ROOT = Path("/project")


def analysed(
    files: str | Mapping[str, str], paths: Iterable[str] | None = None, front_end: FrontEnd = "ast"
) -> Analysis:
    """Analyse files by name (or one program) in all worlds; `paths`: the names that are linted, all if None."""
    texts = {"program.py": files} if isinstance(files, str) else files
    sources = {str(ROOT / name): read_source(ROOT / name, name, text.encode()) for name, text in texts.items()}
    project = Project(ROOT, sources, front_end)
    return analyse(project, paths=None if paths is None else [str(ROOT / name) for name in paths])


def told(analysis: Analysis, kind: type[Event] = Event) -> set[tuple[str, str, int, str]]:
    """The events of a kind: name, file, row of the root, world."""
    return {
        (type(event).__name__, Path(event.root.path).name, event.root.row, event.world)
        for event in analysis.events
        if isinstance(event, kind)
    }
