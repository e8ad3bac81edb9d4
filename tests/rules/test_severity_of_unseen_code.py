"""What is told of code that nothing in sight calls may hang on its callers: it is advice, where experience says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

HEAD = """\
import numpy as np
import torch
from torch import nn
HAS_CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_CUDA else "cpu")
"""

RAYS = """
def rays(focus, steps, device):
    return torch.linspace(0, 1, steps, device=device) - focus
def directions(matrix, device):
    return rays(torch.as_tensor(np.zeros(4)).float(), 4, device)
"""
AGENT = """
class Agent:
    def __init__(self, place):
        self.net = nn.Linear(2, 1).to(place)
    def returns(self, rewards):
        return torch.Tensor(list(reversed(rewards)))
    def values(self):
        return self.net(torch.ones(4, 2, device=self.net.weight.device)).reshape(4)
    def update(self, rewards):
        return self.loss(self.values(), self.returns(rewards))
    def loss(self, values, targets):
        return nn.functional.smooth_l1_loss(values, targets)
"""
UNBOUND = """
if HAS_CUDA:
    def fast(x):
        return x
class Net(nn.Module):
    def forward(self, x):
        return fast(x)
"""
NO_DEVICE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x.to(self.device))
"""
ARRAY = """
class Boxes(nn.Module):
    def corners(self, rows):
        return np.zeros(4)
    def forward(self, x):
        return self.corners(x).to(DEVICE)
"""

UNSEEN = {
    "a device that is given": (RAYS, "directions(np.eye(3), DEVICE)", "DEV301"),
    "a device that the constructor is given": (AGENT, "Agent(DEVICE).update([1.0, 2.0, 3.0, 4.0])", "DEV301"),
    "a name that is bound with CUDA alone": (UNBOUND, "Net()(torch.ones(2))", "DEV105"),
    "a device that a module lacks": (NO_DEVICE, "Net()(torch.ones(2))", "DEV112"),
    "an array that is moved": (ARRAY, "Boxes()(torch.ones(2))", "DEV403"),
}


def _found(text: str, folder: Path, name: str = "program.py") -> list[tuple[str, str]]:
    (folder / name).write_text(HEAD + text)
    return [(item.code, item.severity) for item in check([folder / name], Config(root=folder))]


@pytest.mark.parametrize(("text", "call", "code"), UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_calls_is_advice(text: str, call: str, code: str, tmp_path: Path) -> None:
    assert _found(text, tmp_path) in ([(code, "advice")], [])


@pytest.mark.parametrize(("text", "call", "code"), UNSEEN.values(), ids=UNSEEN)
def test_what_a_program_calls_is_an_error(text: str, call: str, code: str, tmp_path: Path) -> None:
    assert _found(f"{text}{call}\n", tmp_path) == [(code, "error")]


CALLED_BY_TESTS = {name: told for name, told in UNSEEN.items() if told[2] != "DEV105"}  # tests may all need a GPU


@pytest.mark.parametrize(("text", "call", "code"), CALLED_BY_TESTS.values(), ids=CALLED_BY_TESTS)
def test_so_is_what_a_test_calls(text: str, call: str, code: str, tmp_path: Path) -> None:
    assert _found(
        f"{text}def test_it():\n    assert torch.cuda.device_count() < 9\n    {call}\n", tmp_path, "test_program.py"
    ) == [(code, "error")]


def test_so_is_what_the_code_itself_puts_on_a_gpu(tmp_path: Path) -> None:
    """Nobody's callers decide where the network of this agent is."""
    own = AGENT.replace(".to(place)", ".to(DEVICE)")
    assert _found(own, tmp_path) == [("DEV301", "error")]


def test_what_is_made_without_a_device_meets_inputs_of_any_caller(tmp_path: Path) -> None:
    text = "class Net(nn.Module):\n    def forward(self, x):\n        return x.relu() + torch.zeros(2)\n"
    assert _found(text, tmp_path) == [("DEV303", "error")]
