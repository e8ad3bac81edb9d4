"""Files that are reached by imports, through the real interpreter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devlint.cli import cli

MAIN = """\
import torch

from helper import shift

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(3, device=device)
print(shift(x))
"""
HELPER = """\
import torch


def shift(x):
    offset = torch.ones(3)
    return x + offset
"""


@pytest.fixture
def files(project: Path) -> Path:
    (project / "main.py").write_text(MAIN)
    (project / "helper.py").write_text(HELPER)
    return project


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--output-format", "json", *arguments], catch_exceptions=False)


def found(*arguments: str) -> list[tuple[str, str, int]]:
    findings = json.loads(check(*arguments).stdout)
    return [(finding["code"], finding["filename"], finding["location"]["row"]) for finding in findings]


def test_findings_in_files_that_are_reached_are_reported_once(files: Path) -> None:
    there = [("DEV303", "helper.py", 5)]
    assert found("main.py") == there
    assert found("main.py", "helper.py") == there
    assert found() == there


def test_excluded_files_that_are_reached_are_not_reported(files: Path) -> None:
    assert found("main.py", "--extend-exclude", "helper.py") == []


def test_files_that_are_reached_are_not_mended(files: Path) -> None:
    assert check("main.py", "--fix", "--unsafe-fixes").exit_code == 1
    assert (files / "helper.py").read_text() == HELPER
    assert check("helper.py", "main.py", "--fix", "--unsafe-fixes").exit_code == 0
    assert (files / "helper.py").read_text() == HELPER.replace("torch.ones(3)", "torch.ones(3, device=x.device)")


def test_suppressions_in_files_that_are_reached_count(files: Path) -> None:
    (files / "helper.py").write_text(HELPER.replace("ones(3)", "ones(3)  # noqa: DEV303"))
    assert found("main.py") == []


def test_the_cache_sees_a_change_in_what_is_imported(files: Path) -> None:
    assert len(found("main.py")) == 1
    assert len(found("main.py")) == 1
    (files / "helper.py").write_text(HELPER.replace("ones(3)", "ones(3, device=x.device)"))
    assert found("main.py") == []


def test_worlds_by_file(files: Path) -> None:
    (files / "pyproject.toml").write_text('[tool.devlint]\nper-file-worlds = {"helper.py" = ["cpu"]}\n')
    assert found("main.py") == []
    (files / "pyproject.toml").write_text('[tool.devlint]\nworlds = ["cpu"]\nper-file-worlds = {"h*.py" = ["gpu2"]}\n')
    (finding,) = json.loads(check("main.py").stdout)
    assert finding["worlds"] == ["gpu2"]
