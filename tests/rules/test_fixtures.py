"""Programs that look like real code: exactly what their lines expect is found, and the right half is left alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from devlint.linter import check
from devlint.rules.base import Rule
from devlint.rules.catalogue import CATALOGUE
from devlint.worlds import WORLD_NAMES
from tests.rules.expectations import MARK, as_expected, breaks, config_for
from tests.rules.machines import Machines
from tests.rules.programs import Program, fixtures, program_text

PROGRAMS = fixtures()
TESTED = [rule for rule in CATALOGUE if rule.handlers]

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])


@each_program
def test_found_exactly_what_is_expected(program: Program) -> None:
    found = check([program.entry], config_for(program.code, program.entry.parent))
    assert as_expected(found) == program.expected


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
    else:
        assert outcome.error is None, outcome.error


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
