"""What pytest's fixtures give to tests, by the names of their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

HEAD = """
import pytest
import torch

class Where:
    def __init__(self, device="cuda:0"):
        self.device = torch.device(device)

class State:
    def __init__(self, place):
        self.place = place

    @classmethod
    def zeros(cls, size, where):
        return cls(torch.zeros(size, device=where.device))
"""
IN_A_CLASS = """
class TestState:
    @pytest.fixture{called}
    def where(self{more}):
        {gives} Where({device})

    @pytest.fixture
    def state(self, where):
        return State.zeros(3, where)

    def test_zeros(self, where):
        assert torch.allclose(State.zeros(3, where).place, torch.zeros(3))

    def test_given(self, state):
        assert torch.allclose(state.place, torch.zeros(3))
"""
IN_THE_FILE = """
@pytest.fixture
def where():
    return Where({device})

def test_zeros(where):
    assert torch.allclose(State.zeros(3, where).place, torch.zeros(3))
"""


def rows(tmp_path: Path, text: str) -> list[int]:
    program = tmp_path / "test_state.py"
    program.write_text(HEAD + text)
    found = check([program], Config(root=tmp_path))
    return [one.location.start.row for one in found if one.code == "DEV303"]


@pytest.mark.parametrize(("device", "told"), [("'cpu'", []), ("'cuda'", [27, 30])])
def test_of_its_class(tmp_path: Path, device: str, told: list[int]) -> None:
    assert rows(tmp_path, IN_A_CLASS.format(called="", more="", gives="return", device=device)) == told


@pytest.mark.parametrize(("device", "told"), [("'cpu'", []), ("'cuda'", [22])])
def test_of_its_file(tmp_path: Path, device: str, told: list[int]) -> None:
    assert rows(tmp_path, IN_THE_FILE.format(device=device)) == told


@pytest.mark.parametrize(
    ("called", "more", "gives"),
    [
        ("(params=['cpu', 'cuda'])", ", request", "return"),
        ("", "", "yield"),
        ("(scope='class')", ", request", "return"),
    ],
)
def test_what_hangs_on_a_request(tmp_path: Path, called: str, more: str, gives: str) -> None:
    """Where a fixture has several values, or is not followed, what it gives is not known."""
    assert rows(tmp_path, IN_A_CLASS.format(called=called, more=more, gives=gives, device="'cuda'")) == []
