"""Baselines: known by content, not by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devlint.cli import cli

pytestmark = pytest.mark.usefixtures("fake")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--no-cache", *arguments], catch_exceptions=False)


def rows(*arguments: str) -> list[int]:
    result = check("--output-format", "json", "--baseline", "known.json", *arguments)
    return [finding["location"]["row"] for finding in json.loads(result.stdout)]


@pytest.fixture
def known(project: Path) -> Path:
    (project / "a.py").write_text("x.to(d)\nx.to(d)\ny.to(d)\n")
    result = check("--write-baseline", "known.json")
    assert result.exit_code == 0
    assert "Wrote 3 findings to known.json." in result.stderr
    return project / "known.json"


def test_what_is_known_is_not_reported(known: Path) -> None:
    assert rows() == []
    assert check("--baseline", "known.json").exit_code == 0


def test_moved_and_indented_lines_stay_known(known: Path) -> None:
    (known.parent / "a.py").write_text("import os\n\nif flag:\n    y.to(d)\nx.to(d)\n\nx.to(d)\n")
    assert rows() == []


def test_one_more_of_the_same_is_new(known: Path) -> None:
    (known.parent / "a.py").write_text("x.to(d)\nx.to(d)\nx.to(d)\n")
    assert rows() == [3]


def test_changed_lines_and_other_files_are_new(known: Path) -> None:
    (known.parent / "a.py").write_text("x.to(dev)\n")
    (known.parent / "b.py").write_text("y.to(d)\n")
    assert rows("a.py") == [1]
    assert rows("b.py") == [1]


def test_a_baseline_that_is_renewed_keeps_what_is_known(known: Path) -> None:
    (known.parent / "a.py").write_text("x.to(d)\nz.to(d)\n")
    assert check("--baseline", "known.json", "--write-baseline", "known.json").exit_code == 0
    assert rows() == []


def test_the_working_folder_does_not_matter(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (known.parent / "sub").mkdir()
    monkeypatch.chdir(known.parent / "sub")
    assert check("--baseline", "../known.json", "..").exit_code == 0


def test_files_that_cannot_be_parsed_are_never_known(known: Path) -> None:
    (known.parent / "a.py").write_text("def f(:\n")
    check("--write-baseline", "known.json")
    assert json.loads(known.read_text())["findings"] == []
    assert check("--baseline", "known.json").exit_code == 1


@pytest.mark.parametrize("text", ["", "[]", '{"version": 99, "findings": []}', '{"version": 1, "findings": [1]}'])
def test_what_is_no_baseline_is_wrong_usage(known: Path, text: str) -> None:
    known.write_text(text)
    result = check("--baseline", "known.json")
    assert result.exit_code == 2
    assert "known.json" in result.stderr


def test_a_missing_baseline_is_wrong_usage(project: Path) -> None:
    (project / "a.py").write_text("")
    assert check("--baseline", "nowhere.json").exit_code == 2
