"""What is predicted for a line of a program is what it raises, word for word: under simulated CUDA, and on a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from words import LINES, PREAMBLE

from devlint.config import Config
from devlint.linter import check

PROGRAM = f"""
import json, sys, warnings
warnings.simplefilter("ignore")
if "simulated" in sys.argv:
    from devlint import simulated
    simulated.activate(1)
{PREAMBLE}
answers = []
for line in json.load(sys.stdin):
    try:
        exec(line)
        answers.append("")
    except Exception as error:
        answers.append(f"{{type(error).__name__}}: {{error}}".partition("\\n")[0])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What devlint says of each line in the world with one GPU."""
    folder = tmp_path_factory.mktemp("words")
    return {line: _told(folder / str(number), line) for number, line in enumerate(LINES)}


def _told(folder: Path, line: str) -> set[str]:
    folder.mkdir()
    path = folder / "program.py"
    path.write_text(PREAMBLE + line + "\n")
    found = check([path], Config(root=folder))
    errors = [finding.errors.get("gpu1") for finding in found]
    return {error.partition("\n")[0] for error in errors if error} or {""}


def _raised(*options: str) -> dict[str, str]:
    command = [sys.executable, "-c", PROGRAM, *options]
    run = subprocess.run(command, input=json.dumps(LINES), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return dict(zip(LINES, json.loads(run.stdout.splitlines()[-1]), strict=True))


@pytest.fixture(scope="module")
def simulated() -> dict[str, str]:
    if torch.version.cuda is not None:
        pytest.skip("simulated CUDA wants a CPU build of torch")
    return _raised("simulated")


@pytest.fixture(scope="module")
def real() -> dict[str, str]:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return _raised()


@pytest.mark.parametrize("line", LINES)
def test_what_simulated_cuda_says(line: str, predicted: dict[str, set[str]], simulated: dict[str, str]) -> None:
    assert simulated[line] in predicted[line]


@pytest.mark.gpu
@pytest.mark.parametrize("line", LINES)
def test_what_a_gpu_says(line: str, predicted: dict[str, set[str]], real: dict[str, str]) -> None:
    assert real[line] in predicted[line]
