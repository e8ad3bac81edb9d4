"""The catalogue, and the pages that are made from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.commands.rule import rule as rule_command
from devlint.rules import pages
from devlint.rules.base import Rule
from devlint.rules.catalogue import CATALOGUE, rule_with_code
from devlint.worlds import WORLD_NAMES

FOLDER = Path(pages.__file__).parent
each_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=[rule.code for rule in CATALOGUE])

CODES = [rule.code for rule in CATALOGUE]
ADVICE = {"DEV103", "DEV801", "DEV802", "DEV803", "DEV901"}


def test_catalogue_is_in_order_and_numbers_have_no_gaps() -> None:
    for group in range(1, 10):
        numbers = [int(code[3:]) for code in CODES if code.startswith(f"DEV{group}")]
        assert numbers == [group * 100 + number for number in range(1, len(numbers) + 1)]
    assert CODES[0] == "DEV000"
    assert sorted(CODES) == CODES


def test_each_file_is_in_the_catalogue() -> None:
    names = [f"{rule.code.lower()}_{rule.name.replace('-', '_')}.py" for rule in CATALOGUE]
    assert sorted(path.name for path in FOLDER.glob("dev[0-9]*.py")) == names


def test_advice_is_off_by_default() -> None:
    assert {rule.code for rule in CATALOGUE if rule.severity == "advice"} == ADVICE
    assert {rule.code for rule in CATALOGUE if not rule.default} == ADVICE


@each_rule
def test_page_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.summary.endswith(".") and "\n" not in rule.summary
    assert rule.what.strip() and rule.why.strip() and rule.references
    assert set(rule.worlds) <= set(WORLD_NAMES)
    assert rule.fix_safety or rule.fixer is None
    text = pages.page(rule)
    for heading in ("What it does", "Why is this bad", "Example", "References"):
        assert f"## {heading}\n" in text
    assert "!\n" not in text and "! " not in rule.what + rule.why + rule.summary


@each_rule
def test_command_prints_the_page(rule: Rule) -> None:
    result = CliRunner().invoke(rule_command, [rule.code])
    assert result.exit_code == 0
    assert result.output.rstrip() == pages.page(rule).rstrip()


def test_command_gives_json() -> None:
    result = CliRunner().invoke(rule_command, ["--all", "--output-format", "json"])
    assert result.exit_code == 0
    listed = json.loads(result.output)
    assert [item["code"] for item in listed] == CODES
    assert listed[1] == pages.as_json(rule_with_code("DEV101"))


def test_unknown_code() -> None:
    with pytest.raises(KeyError):
        rule_with_code("DEV999")


def test_generated_files_are_fresh() -> None:
    assert pages.stale() == [], "run `python -m devlint.rules.pages --write`"


def test_stale_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"# devlint\n\n{pages.START}\nold\n{pages.END}\n\nafter\n", encoding="utf-8")
    for path, text in pages.files(tmp_path).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert pages.stale(tmp_path) == []
    page = tmp_path / "docs" / "rules" / "DEV101.md"
    page.write_text("old", encoding="utf-8")
    stray = tmp_path / "docs" / "rules" / "DEV999.md"
    stray.write_text("no such rule", encoding="utf-8")
    assert pages.stale(tmp_path) == [page, stray]


def test_readme_without_marks(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# devlint\n", encoding="utf-8")
    with pytest.raises(ValueError, match="rules:start"):
        pages.files(tmp_path)
