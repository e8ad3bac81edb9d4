"""Over the worlds: one place is one finding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from devlint import merging
from devlint.analysis.events import Choice, Event, MixedDevices, Site
from devlint.findings import Condition, Finding, Location, Position, Severity
from devlint.places import Places
from devlint.rules.base import Diagnosis, Note, Rule, TextContext
from devlint.sources import read_source
from devlint.worlds import WORLD_NAMES
from tests.shell.conftest import EXAMPLE
from tests.sources.helpers import code, notebook

PATH = "/project/a.py"
TEXT = "if flag:\n    pass\nif other:\n    pass\nx + y\nx + z\n"
TREE = ast.parse(TEXT)
FLAG, OTHER, FIRST, SECOND = (
    Site(PATH, node)
    for node in (TREE.body[0].test, TREE.body[2 - 1].test, TREE.body[2].value, TREE.body[3].value)  # type: ignore[attr-defined]
)


def rule(worlds: tuple[str, ...] = ("gpu1", "gpu2"), severity: Severity = "error") -> Rule:
    made = Rule(
        code="DEV301",
        name="mixed-devices",
        summary="",
        what="",
        why="",
        example=EXAMPLE,
        severity=severity,
        worlds=worlds,
    )

    @made.on(MixedDevices)
    def diagnose(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
        yield Diagnosis(event.root, f"{event.world}: {context.text(event.root)}", event, (Note(event.site, "here"),))

    return made


def event(world: str, *when: Choice, root: Site = FIRST, error: str | None = "E") -> MixedDevices:
    return MixedDevices(world, root, root, error, when)


def findings(*events: Event, rules: list[Rule] | None = None, allowed: tuple[str, ...] = WORLD_NAMES) -> list[Finding]:
    places = Places({PATH: read_source(Path(PATH), "a.py", TEXT.encode())})

    def failed(event: Event, rule: Rule, error: Exception) -> None:
        raise error

    verdicts = merging.diagnose(events, rules or [rule()], places, lambda _: allowed, failed)
    return [merging.finding(verdict, places) for verdict in verdicts]


def test_worlds_are_in_order_and_the_first_gives_the_words() -> None:
    (found,) = findings(event("gpu2", error="two"), event("gpu1", error="one"))
    assert found.worlds == ("gpu1", "gpu2")
    assert found.errors == {"gpu1": "one", "gpu2": "two"}
    assert found.error == "one"
    assert found.message == "gpu1: x + y"
    assert found.location == Location("a.py", Position(5, 1), Position(5, 6))
    assert [(step.location.start.row, step.message) for step in found.trace] == [(5, "here")]


def test_two_places_are_two_findings() -> None:
    assert [f.location.start.row for f in findings(event("gpu1"), event("gpu1", root=SECOND))] == [5, 6]


def test_a_rule_speaks_only_of_its_own_worlds() -> None:
    assert findings(event("cpu")) == []


def test_advice_is_given_where_nothing_breaks() -> None:
    (found,) = findings(event("cpu"), rules=[rule((), "advice")])
    assert (found.worlds, found.errors, found.error) == ((), {}, None)


def test_worlds_that_are_not_allowed_do_not_count() -> None:
    (found,) = findings(event("gpu1"), event("gpu2"), allowed=("cpu", "gpu2"))
    assert found.worlds == ("gpu2",)


YES, NO = Choice("flag", True, FLAG), Choice("flag", False, FLAG)
ELSE = Choice("other", False, OTHER)


@pytest.mark.parametrize(
    ("events", "conditions"),
    [
        ([event("gpu1", YES)], ["flag"]),
        ([event("gpu1", YES, ELSE)], ["flag", "other"]),
        ([event("gpu1", YES, ELSE), event("gpu1", YES)], ["flag"]),
        ([event("gpu1", YES), event("gpu1", NO)], []),
        ([event("gpu1", YES), event("gpu1")], []),
        ([event("gpu1", YES), event("gpu2", NO)], []),
        ([event("gpu1", YES), event("gpu2")], ["flag"]),
    ],
)
def test_a_condition_is_shown_if_the_finding_rests_on_it(events: list[Event], conditions: list[str]) -> None:
    (found,) = findings(*events)
    assert [condition.condition for condition in found.when] == conditions


def test_a_condition_has_its_place() -> None:
    (found,) = findings(event("gpu1", ELSE))
    assert found.when == (Condition("other", False, "a.py", 3),)


def test_an_error_that_the_notebook_shows_is_advice() -> None:
    """Where a cell on the way to the crash keeps this error among its outputs."""
    outputs = [{"output_type": "error", "ename": "RuntimeError", "evalue": "", "traceback": []}]
    cells = [code("flag = x = y = z = 1\n"), code(TEXT.replace("x + z", "x - z"), outputs=outputs)]
    path = "/project/a.ipynb"
    source = read_source(Path(path), "a.ipynb", notebook(*cells).encode())
    tree = ast.parse(source.text)
    site = Site(path, tree.body[3].value)  # type: ignore[attr-defined]
    for error, severity in (("RuntimeError: no", "advice"), ("TypeError: no", "error"), (None, "error")):
        places = Places({path: source})
        happened = MixedDevices("gpu1", site, site, error, ())
        (verdict,) = merging.diagnose([happened], [rule()], places, lambda _: WORLD_NAMES, lambda *_: None)
        assert merging.finding(verdict, places).severity == severity
