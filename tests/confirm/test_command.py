"""`devlint confirm` and `pytest --devlint` as they are started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

MIXED = (
    'import torch\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    "weight = torch.ones(3, device=device)\nprint(weight + torch.ones(3))\n"
)


def devlint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devlint", "confirm", "--on", "simulated", *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "SECRET_TOKEN": "x"},
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(MIXED, encoding="utf-8")
    return tmp_path


def test_text_report_and_kept_program(project: Path) -> None:
    done = devlint(project, "--keep", "kept")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "RUNS the code" in lines[0]
    assert lines[1].startswith("train.py:4 DEV")
    assert lines[-1].startswith("1 finding: 1 confirmed, 0 refuted, 0 could not run.")
    assert "simulated CUDA, torch" in done.stdout
    (kept,) = (project / "kept").iterdir()
    text = kept.read_text(encoding="utf-8")
    assert "# gpu1: predicted breaks, observed breaks" in text
    again = subprocess.run(
        [sys.executable, "-m", "devlint", "run", "--world", "gpu1", str(kept)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert again.returncode == 1
    assert "same device" in again.stderr


NEEDS_ARGUMENTS = (
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('data')\n"
    "parser.add_argument('--steps', type=int, required=True)\nargs = parser.parse_args()\n"
    "print(open(args.data).read())\n"
) + MIXED.replace("torch.ones(3))", "torch.ones(args.steps))")


def test_a_program_that_needs_arguments(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(NEEDS_ARGUMENTS, encoding="utf-8")
    (tmp_path / "data.txt").write_text("1 2 3", encoding="utf-8")
    done = devlint(tmp_path, "--output-format", "json")
    (item,) = json.loads(done.stdout)
    assert item["status"] == "could not run"
    assert "the following arguments are required: data, --steps" in item["reason"]
    done = devlint(tmp_path, "--output-format", "json", "--args", "data.txt --steps '3'")
    (item,) = json.loads(done.stdout)
    assert (item["status"], item["how"]) == ("confirmed", "whole program")
    assert devlint(tmp_path, "--args", "'").returncode == 2


def test_json_and_junit(project: Path) -> None:
    done = devlint(project, "--output-format", "json", "--world", "cpu", "--world", "gpu1")
    (item,) = json.loads(done.stdout)
    assert "RUNS the code" in done.stderr.splitlines()[0]
    assert (item["status"], item["how"], list(item["worlds"])) == ("confirmed", "whole program", ["cpu", "gpu1"])
    assert item["worlds"]["gpu1"]["machine"] == "simulated"
    assert item["finding"]["code"].startswith("DEV")
    done = devlint(project, "--output-format", "junit", "--world", "gpu1")
    suite = ElementTree.fromstring(done.stdout)
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")


def test_nothing_found_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text("open('proof', 'w').write('ran')\n", encoding="utf-8")
    done = devlint(tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("0 findings")
    assert not (tmp_path / "proof").exists()


def test_wrong_usage(project: Path) -> None:
    assert devlint(project, "--world", "gpu9").returncode == 2
    assert devlint(project, "missing.py").returncode == 2
    assert devlint(project, "--select", "DEV999").returncode == 2


def test_pytest_items(project: Path) -> None:
    marker = project / "imported"
    (project / "train.py").write_text(f"{MIXED}open({str(marker)!r}, 'w')\n", encoding="utf-8")
    (project / "advice.md").write_text("```python\nimport torch\ntorch.load('model.pt')\n```\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--devlint", "-v", "-p", "no:cacheprovider", "train.py", "advice.md"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    assert "RUNS the code" in done.stdout
    assert "train.py::DEV" in done.stdout and "PASSED" in done.stdout
    assert not marker.exists()
