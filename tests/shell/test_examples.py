"""The example programs and what the README shows of them, through the real interpreter and rules."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devlint.cli import cli
from tests.shell import readme

ROOT = Path(__file__).parents[2]

EXPECTED = {
    "ensemble.py": ["DEV502", "DEV303"],
    "gan.py": ["DEV101", "DEV102", "DEV303", "DEV302"],
    "quickstart.md": ["DEV302"],
    "radar_encoder.py": ["DEV501"],
    "serve.py": ["DEV106", "DEV701", "DEV304", "DEV107"],
    "train_classifier.py": ["DEV201", "DEV401"],
}


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--no-cache", "--isolated", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_file()))
def test_each_example_has_its_bugs(name: str) -> None:
    findings = json.loads(check("--output-format", "json", str(ROOT / "examples" / name)).stdout)
    assert [finding["code"] for finding in findings] == EXPECTED[name]


def test_both_front_ends_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # what loads weights asks all files of its project
    monkeypatch.chdir(tmp_path)
    arguments = ("--output-format", "json", "examples")
    assert check("--front-end", "libcst", *arguments).stdout == check("--front-end", "ast", *arguments).stdout


def test_fixed_examples_stay_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    first = check("--fix", "--unsafe-fixes", "--output-format", "json", "examples")
    assert re.search(r"Fixed \d+ findings in 4 files\.", first.stderr)
    texts = {path.name: path.read_bytes() for path in Path("examples").iterdir() if path.is_file()}
    second = check("--fix", "--unsafe-fixes", "--output-format", "json", "examples")
    assert second.stderr == ""
    assert second.stdout == first.stdout
    assert {path.name: path.read_bytes() for path in Path("examples").iterdir() if path.is_file()} == texts
    assert all(finding["fix"] is None for finding in json.loads(second.stdout))


def test_the_readme_shows_real_output() -> None:
    """`make readme` writes it anew."""
    assert readme.split(readme.README.read_text(encoding="utf-8"))[1] == readme.real_output()
