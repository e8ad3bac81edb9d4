"""Both front ends give the same findings, and every finding stands at a node of the libcst tree."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from devlint.analysis.events import Event
from devlint.analysis.project import Project
from devlint.analysis.run import Analysis, analyse
from devlint.files import FoundFile
from devlint.findings import Finding
from devlint.linter import Options, lint
from devlint.sources import read_source
from devlint.syntax.frontend import FrontEnd
from devlint.syntax.tree import Tree
from tests.rules.expectations import config_for
from tests.rules.programs import Program, fixtures


def found(program: Program, front_end: FrontEnd) -> list[Finding]:
    config = config_for(program.code, program.entry.parent)
    report = lint([FoundFile(program.entry, config, named=True)], Options(front_end=front_end))
    assert not report.errors and not report.warnings
    return report.findings


PROGRAMS = fixtures()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_fixtures(program: Program) -> None:
    assert found(program, "ast") == found(program, "libcst")


def test_there_is_something_to_compare() -> None:
    assert sum(bool(program.expected) for program in PROGRAMS) > 100


FOLDERS = ("nn", "optim", "distributions", "ao/nn")


def _folder(name: str) -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / name


def run(folder: Path, front_end: FrontEnd) -> Analysis:
    """Analyse the files of a folder as one project."""
    files = [path for path in sorted(folder.rglob("*.py")) if path.stat().st_size < 60_000]
    sources = {str(path): read_source(path, path.name) for path in files}
    analysis = analyse(Project(folder, sources, front_end))
    assert not analysis.failures
    return analysis


def _fact(event: Event) -> tuple[object, ...]:
    choices = [(choice.condition, choice.value) for choice in event.when]
    return (type(event).__name__, event.world, event.site.key, event.root.key, event.error, choices, event.function)


@pytest.mark.parametrize("name", FOLDERS)
def test_real_code(name: str) -> None:
    """All events, in as many steps; each stands at a node of the tree."""
    first, second = run(_folder(name), "ast"), run(_folder(name), "libcst")
    assert [_fact(event) for event in first.events] == [_fact(event) for event in second.events]
    assert first.statistics == second.statistics  # the same steps, too: most of this code has nothing to tell
    assert first.statistics["steps"] > 100
    assert first.events or name != "ao/nn"
    trees: dict[str, Tree] = {}
    for event in first.events:
        path = event.site.path
        tree = trees.get(path) or trees.setdefault(path, Tree.parse(read_source(Path(path), path).text))
        assert tree.node(event.site) is not None, (type(event).__name__, event.site.key)


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program.expected], ids=lambda p: p.name)
def test_findings_have_a_node(program: Program) -> None:
    """Where an event happened, and where its cause stands, libcst has a node of exactly that extent."""
    sources = {str(path): read_source(path, path.name) for path in program.files}
    project = Project(program.entry.parent, sources)
    told = analyse(project, paths=[str(program.entry)]).events
    assert told
    trees = {path: Tree.parse(source.text) for path, source in project.sources.items()}
    for event in told:
        for site in (event.site, event.root):
            assert trees[site.path].node(site) is not None, (type(event).__name__, site.key)
