"""The interpreter as the linter sees it: sources in, events out, and no file takes the others down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devlint.analysis.events import Event, Failure
from devlint.sources import Source
from devlint.syntax.frontend import FrontEnd
from devlint.worlds import World

Progress = Callable[[int, int], None]
"""Is told how many steps of how many are done."""

FILE_TIMEOUT = 60.0
"""Seconds that the analysis of one file in one world may take."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be analysed, and how. `wanted`: the types of events that somebody listens to.

    `front_end`: `ast`, `libcst`, or `auto` for libcst only where the running Python can't parse. `models`: lines of the
    project's own for the tables of `devlint.semantics`.
    """

    root: Path
    worlds: tuple[World, ...]
    wanted: frozenset[type[Event]]
    file_timeout: float = FILE_TIMEOUT
    front_end: FrontEnd = "auto"
    progress: Progress | None = None
    models: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What the analysis told. `failures`: the files that it did not get through. `dependencies`: the project files that
    each file imports, by absolute path; `absent`: files that imports looked for and that were not there; `uncached`:
    files in which what was found hangs on others, too, so that it can't be kept for the next run."""

    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    dependencies: dict[str, set[str]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    uncached: set[str] = field(default_factory=set)

    def add(self, other: Outcome) -> None:
        """Take over what another analysis told."""
        self.events += other.events
        self.failures += other.failures
        self.statistics.update(other.statistics)
        for path, imported in other.dependencies.items():
            self.dependencies.setdefault(path, set()).update(imported)
        self.absent |= other.absent
        self.uncached |= other.uncached


def analyse_project(request: Request, sources: Mapping[str, Source]) -> Outcome:
    """Run the interpreter over the sources, as one project."""
    from devlint.analysis.project import Project
    from devlint.analysis.run import Options, analyse
    from devlint.semantics import own

    project = Project(request.root, sources, request.front_end)
    options = Options(request.file_timeout, request.progress)
    with own.models(request.models):
        analysis = analyse(project, request.worlds, request.wanted, options)
    return Outcome(
        analysis.events,
        analysis.failures,
        analysis.statistics,
        analysis.dependencies,
        analysis.absent,
        analysis.uncached,
    )


def analyse(request: Request, sources: Mapping[str, Source]) -> Outcome:
    """Analyse all sources together; if that fails, in halves, until the file that is at fault is alone."""
    if not sources:
        return Outcome()
    try:
        return analyse_project(request, sources)
    except Exception as error:
        paths = list(sources)
        if len(paths) == 1:
            return Outcome(failures=[Failure(paths[0], 1, f"the analysis failed: {type(error).__name__}: {error}")])
    half = len(paths) // 2
    outcome = analyse(request, {path: sources[path] for path in paths[:half]})
    outcome.add(analyse(request, {path: sources[path] for path in paths[half:]}))
    return outcome
