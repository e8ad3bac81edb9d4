"""`devlint reveal`: what is known about the names on a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.cli import cli

PROGRAM = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 4).to(device)
x = torch.randn(2, 3)
y = model(x)
if not torch.cuda.is_available():
    print(y)
for name in ("a", "b"):
    print(name)
"""


def reveal(*arguments: str) -> list[str]:
    result = CliRunner().invoke(cli, ["reveal", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture
def program(project: Path) -> Path:
    file = project / "a.py"
    file.write_text(PROGRAM)
    return file


def test_worlds_that_agree_share_a_line(program: Path) -> None:
    assert reveal("a.py:7") == [
        "a.py:7: y = model(x)",
        "  model",
        "    cpu               module torch.nn.Linear on cpu, moved at line 5",
        "    gpu1, gpu2        module torch.nn.Linear on cuda:0, moved at line 5",
        "  x",
        "    cpu, gpu1, gpu2   Tensor on cpu, created at line 6",
        "  y",
        "    cpu               Tensor on cpu, created at line 6",
        "    gpu1, gpu2        Tensor that took part in a reported error",
    ]


def test_a_line_that_is_not_reached(program: Path) -> None:
    assert reveal("a.py:9")[-1] == "  not reached on gpu1, gpu2"


def test_a_line_without_variables(program: Path) -> None:
    assert reveal("a.py:1")[-1] == "  nothing is told of this line: no variable is read or given a value"


def test_several_values_of_a_name(program: Path) -> None:
    assert "    gpu1              'a' | 'b'" in reveal("a.py:11", "--world", "gpu1")


def test_a_cell_of_a_notebook(project: Path) -> None:
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in PROGRAM.split("x =", 1)]
    cells[1]["source"] = "x =" + str(cells[1]["source"])
    (project / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    lines = reveal("a.ipynb:2", "--cell", "2", "--world", "gpu1")
    assert "    gpu1              module torch.nn.Linear on cuda:0, moved at cell 1 line 5" in lines
    assert "    gpu1              Tensor on cpu, created at cell 2 line 1" in lines
    result = CliRunner().invoke(cli, ["reveal", "a.ipynb:2"])
    assert result.exit_code == 2 and "--cell" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("place", ["a.py", "a.py:0", "a.py:x", "a.py:99", "nowhere.py:1"])
def test_wrong_usage(program: Path, place: str) -> None:
    assert CliRunner().invoke(cli, ["reveal", place]).exit_code == 2
