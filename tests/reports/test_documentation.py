"""`docs/output.md` says what is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from devlint.reports import FORMATS
from tests.reports.examples import ATTRIBUTE, DROPPED

PAGE = (Path(__file__).parents[2] / "docs" / "output.md").read_text(encoding="utf-8")


def keys(value: object) -> object:
    """Return the keys of nested JSON objects; of an array those of its first item."""
    if isinstance(value, dict):
        return {key: keys(item) for key, item in value.items() if key not in ("gpu1", "gpu2")}
    if isinstance(value, list) and value:
        return [keys(value[0])]
    return None


def test_the_table_of_keys_is_that_of_the_code() -> None:
    section = PAGE[PAGE.index("## The JSON contract") : PAGE.index("## The other formats")]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(ATTRIBUTE.as_json())


def test_the_example_has_the_keys_of_a_finding() -> None:
    example = json.loads(PAGE[PAGE.index("```json\n") + 8 : PAGE.rindex("```")])
    written = {**ATTRIBUTE.as_json(), "when": None}
    assert keys(example) == keys(written)


def test_edits_in_notebooks_have_a_cell() -> None:
    (edit,) = DROPPED.as_json()["fix"]["edits"]
    assert set(edit) == {"content", "location", "end_location", "cell"}
    assert "it has `cell` too" in PAGE


def test_every_format_is_described() -> None:
    table = PAGE[: PAGE.index("## `full`")]
    assert {name for name in FORMATS if f"`{name}`" in table or f"--{name}" in table} == set(FORMATS)
