"""The examples of the rule files: flagged where and in the worlds that they say, and broken there for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.linter import check
from devlint.rules.base import Example, Rule
from devlint.worlds import WORLD_NAMES
from tests.rules.expectations import as_expected, config_for, expected_in_text, matches
from tests.rules.machines import Machines
from tests.rules.programs import EXAMPLE_IDS, EXAMPLES, lay_out, play

each_example = pytest.mark.parametrize(("rule", "number", "example"), EXAMPLES, ids=EXAMPLE_IDS)
each_world = pytest.mark.parametrize("world", WORLD_NAMES)


def worlds_said(rule: Rule, example: Example) -> set[str]:
    """The worlds in which the expectations of the bad example say that it breaks."""
    return {world for item in expected_in_text(example.bad, "") if item.code == rule.code for world in item.worlds}


@each_example
def test_bad_example_says_what_is_found(rule: Rule, number: int, example: Example) -> None:
    said = expected_in_text(example.bad, "")
    assert {item.code for item in said} == {rule.code}
    assert all(set(item.worlds) <= set(rule.worlds) for item in said)
    assert not expected_in_text(example.good, "")


@each_example
def test_bad_example_is_flagged(rule: Rule, number: int, example: Example, tmp_path: Path) -> None:
    path = lay_out(example, example.bad, tmp_path)
    assert as_expected(check([path], config_for(rule.code, tmp_path))) == expected_in_text(example.bad, path.name)


@each_example
def test_mended_example_is_silent(rule: Rule, number: int, example: Example, tmp_path: Path) -> None:
    path = lay_out(example, example.good, tmp_path)
    assert as_expected(check([path], config_for(rule.code, tmp_path))) == []


@each_example
def test_predicted_errors_are_those_of_the_page(rule: Rule, number: int, example: Example, tmp_path: Path) -> None:
    path = lay_out(example, example.bad, tmp_path)
    for finding in check([path], config_for(rule.code, tmp_path)):
        for world, error in finding.errors.items():
            stated = example.errors.get(world, rule.error)
            assert (error is None) == (stated is None), (world, error, stated)
            if error is not None and stated is not None:
                assert matches(error, stated), (world, error, stated)


@each_world
@each_example
def test_bad_example_breaks_in_its_worlds_only(
    rule: Rule, number: int, example: Example, world: str, tmp_path: Path, machines: Machines
) -> None:
    if not example.runs:
        pytest.skip(example.why_not)
    outcome = play(machines, example, example.bad, tmp_path, world)
    error = example.errors.get(world, rule.error if world in worlds_said(rule, example) else None)
    if example.observe is not None:
        assert outcome.error is None, outcome.error
        if world in example.observed:
            assert outcome.value == example.observed[world][0]
    elif error is None:
        assert outcome.error is None, outcome.error
    else:
        assert outcome.error is not None, "the program ran"
        assert matches(outcome.error, error), outcome.error


@each_world
@each_example
def test_mended_example_runs_everywhere(
    rule: Rule, number: int, example: Example, world: str, tmp_path: Path, machines: Machines
) -> None:
    if not example.runs:
        pytest.skip(example.why_not)
    outcome = play(machines, example, example.good, tmp_path, world)
    assert outcome.error is None, outcome.error
    if example.observe is not None and world in example.observed:
        assert outcome.value == example.observed[world][1]


@each_example
def test_silent_example_states_an_observation(rule: Rule, number: int, example: Example) -> None:
    if rule.handlers and rule.error is None and rule.severity != "advice" and example.runs:
        assert example.observe is not None
    if example.observe is not None:
        differing = {world for world, (bad, mended) in example.observed.items() if bad != mended}
        assert worlds_said(rule, example) <= differing or rule.severity == "advice"


def test_what_can_not_run_says_why() -> None:
    for rule, _, example in EXAMPLES:
        assert example.runs or example.why_not, rule.code
