"""The yardstick that leaves out one move of a program at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import broken
from benchmarks.moves import moves, try_out
from tests.rules.machines import Machines

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x):
        return self.layer(x) * self.scale


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
unused = torch.zeros(3).to(device)
x = torch.rand(3, 2, device=device)
print(net(x), "é", net(torch.rand(1, 2).to(device)))
"""


def test_each_move_is_left_out_and_put_back(tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text(PROGRAM, encoding="utf-8")
    found = sorted(moves(program), key=lambda move: move.start)
    assert [move.row for move in found] == [9, 16, 17, 18, 19]
    new = {move.row: sorted({code for code, _, _ in told}) for move, told in try_out(tmp_path, found)}
    assert new == {9: ["DEV501"], 16: ["DEV302"], 17: [], 18: ["DEV302"], 19: ["DEV302"]}
    assert program.read_text(encoding="utf-8") == PROGRAM


def test_what_stands_when_a_move_is_left_out(tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text(PROGRAM, encoding="utf-8")
    changed = {move.row: move.left_out().decode("utf-8").splitlines()[move.row - 1].strip() for move in moves(program)}
    assert changed == {
        9: "self.scale = torch.ones(2)",
        16: "net = Net()",
        17: "unused = torch.zeros(3)",
        18: "x = torch.rand(3, 2)",
        19: 'print(net(x), "é", net(torch.rand(1, 2)))',
    }


@pytest.mark.parametrize(
    ("call", "is_move"),
    [
        ("x.to('cuda')", True),
        ("x.to('cuda:1')", True),
        ("x.to('cpu')", True),
        ("x.to(args.device)", True),
        ("x.cuda()", True),
        ("x.to('cuda', torch.half)", False),
        ("x.to('float16')", False),
        ("x.to('cudart')", False),
        ("x.to(torch.float16)", False),
        ("x.to(0)", False),
    ],
)
def test_what_is_a_move(tmp_path: Path, call: str, is_move: bool) -> None:
    program = tmp_path / "main.py"
    program.write_text(f"y = {call}\n", encoding="utf-8")
    assert [move.left_out() for move in moves(program)] == ([b"y = x\n"] if is_move else [])


def test_a_file_that_does_not_parse_has_none(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = torch.zeros(3).to(device\n")
    assert list(moves(tmp_path / "main.py")) == []


def test_what_raises_without_a_move_is_told(tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text(PROGRAM, encoding="utf-8")
    machines = Machines()
    trials = {trial.move.row: trial for trial in broken.try_out(program, list(moves(program)), machines)}
    machines.close()
    assert {row: trial.verdict for row, trial in trials.items()} == {
        **dict.fromkeys((9, 16, 18, 19), "told"),
        17: "silent, and does not raise",
    }


def test_a_program_that_fails_as_it_is_is_left_alone(tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text("import torch\nx = torch.zeros(2).to('cuda').numpy()\n", encoding="utf-8")
    found, machines = list(moves(program)), Machines()
    assert [move.row for move in found] == [2]
    assert list(broken.try_out(program, found, machines)) == []
    machines.close()
