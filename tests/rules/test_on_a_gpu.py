"""The same programs on a real GPU, which plays the world `gpu1`: what simulated CUDA says of them is true.

Collected cases are run as well where `DEVLINT_CASES` names their folder (see `tests/simulated/test_cases.py`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from devlint.linter import check
from devlint.rules.base import Example, Rule
from devlint.semantics import errors
from tests.rules.expectations import breaks, config_for, expected_in_text, matches
from tests.rules.machines import Machines
from tests.rules.programs import EXAMPLE_IDS, EXAMPLES, SUFFIXES, Program, fixtures, play, program_text

WORLD = "gpu1"
PROGRAMS = [program for program in fixtures() if WORLD in program.worlds_to_run]
COUNTED = ("transfers", "synchronizations")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

each_example = pytest.mark.parametrize(("rule", "number", "example"), EXAMPLES, ids=EXAMPLE_IDS)
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])


@pytest.fixture(scope="session")
def gpu() -> Iterator[Machines]:
    running = Machines(real=True)
    yield running
    running.close()


@each_program
def test_program_breaks_where_it_is_expected_to(program: Program, tmp_path: Path, gpu: Machines) -> None:
    here = tmp_path / "program"
    shutil.copytree(program.entry.parent, here)
    if (here / "prepare.py").exists():
        prepared = gpu.run((here / "prepare.py").read_text(), WORLD, path=here / "prepare.py")
        assert prepared.error is None, prepared.error
    path = here / program.entry.name
    outcome = gpu.run(program_text(path), WORLD, path=path)
    if not breaks(program.expected, WORLD):
        assert outcome.error is None, outcome.error
        return
    assert outcome.error is not None, "the program ran"
    found = check([path], config_for(program.code, here))
    predicted = [finding.errors[WORLD] for finding in found if finding.errors.get(WORLD)]
    # Where a fault is silent at first (DEV203) nothing is predicted of what it leads to.
    raised = [outcome.error, *re.findall(r"^(?:torch\.)?(\w+Error: .*)", outcome.error, re.MULTILINE)]
    assert not predicted or any(errors.matches(text or "", said) for text in predicted for said in raised), (
        outcome.error,
        predicted,
    )


def cases() -> Iterator[Any]:
    """The programs of the cases, each with whether it breaks on a machine with one GPU; silent ones are left out."""
    folder = os.environ.get("DEVLINT_CASES")
    for case in sorted(Path(folder).glob("*/case.json")) if folder else ():
        facts = json.loads(case.read_text(encoding="utf-8"))
        for stem in ("bug", "ok"):
            for path in sorted(case.parent.glob(f"{stem}.*")):
                wrong = stem == "bug" and WORLD in facts["breaks_in"]
                if path.suffix in SUFFIXES and not (wrong and facts.get("silent")):
                    yield pytest.param(path, wrong, id=f"{case.parent.name}-{stem}")


@pytest.mark.parametrize(("path", "wrong"), list(cases()))
def test_case(path: Path, wrong: bool, gpu: Machines, tmp_path: Path) -> None:
    here = tmp_path / "case"
    shutil.copytree(path.parent, here)
    outcome = gpu.run(program_text(path), WORLD, path=here / path.name)
    assert (outcome.error is not None) == wrong, outcome.error


@each_example
def test_bad_example_breaks(rule: Rule, number: int, example: Example, tmp_path: Path, gpu: Machines) -> None:
    if not example.runs:
        pytest.skip(example.why_not)
    outcome = play(gpu, example, example.bad, tmp_path, WORLD)
    said = {world for item in expected_in_text(example.bad, "") if item.code == rule.code for world in item.worlds}
    error = example.errors.get(WORLD, rule.error if WORLD in said else None)
    if example.observe is not None or error is None:
        assert outcome.error is None, outcome.error
        if WORLD in example.observed and example.observe not in COUNTED:
            assert outcome.value == example.observed[WORLD][0]
    else:
        assert outcome.error is not None, "the program ran"
        # Of another release of torch the words may differ.
        assert matches(outcome.error, error) or errors.matches(error, outcome.error), outcome.error


@each_example
def test_mended_example_runs(rule: Rule, number: int, example: Example, tmp_path: Path, gpu: Machines) -> None:
    if not example.runs:
        pytest.skip(example.why_not)
    outcome = play(gpu, example, example.good, tmp_path, WORLD)
    assert outcome.error is None, outcome.error
    if WORLD in example.observed and example.observe not in COUNTED:
        assert outcome.value == example.observed[WORLD][1]
