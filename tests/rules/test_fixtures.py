"""Programs that look like real code: exactly what their lines expect is found, and the right half is left alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from devlint.config import Config
from devlint.findings import Finding
from devlint.linter import check
from devlint.rules.base import Rule
from devlint.rules.catalogue import CATALOGUE
from devlint.semantics import errors
from devlint.worlds import WORLD_NAMES
from tests.rules.expectations import MARK, RULES, as_expected, breaks, config_for, expected_in_file
from tests.rules.machines import Machines, Outcome
from tests.rules.programs import FIXTURES, Program, fixtures, libraries, program_text

PROGRAMS = fixtures()
LIBRARIES = libraries()
TESTED = [rule for rule in CATALOGUE if rule.handlers]

# Programs that end in a row that no finding shows, and why.
ELSEWHERE = {
    "DEV102/offered_the_cpu.py": "as it is run, its default device ends it before",
    "DEV107/offered_the_cpu.py": "as it is run, its default device ends it before",
    "DEV110/imported_table": "it ends in another file, from the import in its own",
    "DEV110/loads_for_another": "it ends in another file, from the import in its own",
    "DEV201/method_not_called.py": "what a method that is taken for a tensor comes to is not followed",
    "DEV305/loader_of_a_default_type.py": "`iter(loader)` is shown; torch draws when the first batch is asked for",
    "DEV605/executor.py": "the row of the child is shown; the parent ends where it asks for the result",
}

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])


@each_program
def test_found_exactly_what_is_expected(program: Program) -> None:
    found = check([program.entry], config_for(program.code, program.entry.parent))
    assert as_expected(found) == program.expected


@pytest.mark.parametrize("folder", LIBRARIES, ids=[str(folder.relative_to(FIXTURES)) for folder in LIBRARIES])
def test_found_exactly_what_is_expected_in_libraries(folder: Path) -> None:
    files = sorted(folder.rglob("*.py"))
    found = check(files, config_for(folder.parent.name, folder))
    assert as_expected(found) == sorted(item for path in files for item in expected_in_file(path))


def test_programs_side_by_side_do_not_speak_for_each_other(tmp_path: Path) -> None:
    """All programs are linted in one run, as in a folder of examples: the same is found as in each by itself."""
    together = [program for program in PROGRAMS if RULES[program.code].default]
    entries = []
    for number, program in enumerate(together):
        folder = tmp_path / str(number)
        if program.entry.parent.name == program.code:
            folder.mkdir()
            shutil.copy(program.entry, folder)
        else:
            shutil.copytree(program.entry.parent, folder)
        entries.append(folder / program.entry.name)
    found: dict[int, list[Finding]] = {}
    for finding in check(entries, Config(root=tmp_path)):
        number = int(Path(finding.location.filename).resolve().relative_to(tmp_path.resolve()).parts[0])
        found.setdefault(number, []).append(finding)
    others = [
        (program.name, as_expected(found.get(number, [])))
        for number, program in enumerate(together)
        if as_expected(found.get(number, [])) != program.expected
    ]
    assert not others


@pytest.mark.parametrize("world", WORLD_NAMES)
@each_program
def test_breaks_where_it_is_expected_to(program: Program, world: str, tmp_path: Path, machines: Machines) -> None:
    if world not in program.worlds_to_run:
        pytest.skip("the program says that it can't be run here")
    here = tmp_path / "program"
    shutil.copytree(program.entry.parent, here)
    if (here / "prepare.py").exists():
        prepared = machines.run((here / "prepare.py").read_text(), "gpu1", path=here / "prepare.py")
        assert prepared.error is None, prepared.error
    path = here / program.entry.name
    outcome = machines.run(program_text(path), world, path=path)
    if breaks(program.expected, world):
        assert outcome.error is not None, "the program ran"
        is_told(outcome, check([path], config_for(program.code, here)), world, program)
    else:
        assert outcome.error is None, outcome.error


def is_told(outcome: Outcome, found: list[Finding], world: str, program: Program) -> None:
    """What was raised is what a finding says is raised, in a row that it shows."""
    assert outcome.error is not None
    raised = [
        outcome.error.partition("\n")[0],
        *re.findall(r"^(?:torch\.)?(\w+Error: .*)", outcome.error, re.MULTILINE),
    ]
    predicted = [finding for finding in found if finding.errors.get(world)]
    told = [finding for finding in predicted if any(errors.matches(finding.errors[world] or "", one) for one in raised)]
    # Where a fault is silent at first (DEV203) nothing is predicted of what it leads to.
    assert told or not predicted, (outcome.error, [finding.errors[world] for finding in predicted])
    if told and program.name not in ELSEWHERE and program.entry.suffix == ".py":
        shown = [(finding.location, *(step.location for step in finding.trace)) for finding in told]
        rows = {row for places in shown for place in places for row in range(place.start.row, place.end.row + 1)}
        assert outcome.row in rows, (outcome.row, rows)


@pytest.mark.parametrize("rule", TESTED, ids=[rule.code for rule in TESTED])
def test_each_rule_has_enough_programs(rule: Rule) -> None:
    own = [program for program in PROGRAMS if program.code == rule.code]
    right = [program for program in own if not program.expected]
    wrong = [program for program in own if any(item.code == rule.code for item in program.expected)]
    assert len(own) >= 6
    assert wrong
    assert 2 * len(right) >= len(own)


@each_program
def test_expectations_are_well_formed(program: Program) -> None:
    """A mark that is not understood would expect nothing."""
    for path in program.files:
        for line in path.read_text(encoding="utf-8").splitlines():
            meant = re.search(r"#\s*(below:\s*)?DEV\d{3}:", line)
            assert meant is None or path.suffix == ".ipynb" or MARK.search(line), line
