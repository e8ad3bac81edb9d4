"""What a fix names as the tensor to follow is a tensor whenever the program comes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.files import FoundFile
from devlint.linter import lint
from tests.rules.expectations import config_for

HEAD = """\
import torch


def place():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


"""

FOLLOWS = {
    "a parameter": "def f(n, past):\n    return torch.arange(n) + past\nf(3, torch.ones(1, device=place()))\n",
    "a parameter that may be None where that fails": (
        "def f(n, past=None):\n    return torch.arange(n) + past\nf(3, torch.ones(1, device=place()))\n"
    ),
    "a parameter that is asked for": (
        "def f(n, past=None):\n    x = 0\n    if past is not None:\n        x = torch.arange(n)\n        x = x + past\n"
        "    return x\nf(3)\nf(3, torch.ones(1, device=place()))\n"
    ),
    "a local variable": (
        "def f(n, past):\n    seen = past * 2\n    return torch.arange(n) + seen\nf(3, torch.ones(1, device=place()))\n"
    ),
}

FOLLOWS_NOT = {
    "a number in another call": (
        "def f(n, past):\n    return torch.arange(n) + past\nf(3, 1)\nf(3, torch.ones(1, device=place()))\n"
    ),
    "a number in a later call": (
        "def f(n, past):\n    return torch.arange(n) + past\nf(3, torch.ones(1, device=place()))\nf(3, 1)\n"
    ),
    "a number by default": (
        "def f(n, past=0):\n    return torch.arange(n) + past\nf(3, torch.ones(1, device=place()))\n"
    ),
    "None in another call": (
        "def f(n, past=None):\n    x = torch.arange(n)\n    if past is not None:\n        x = x + past\n    return x\n"
        "f(3)\nf(3, torch.ones(1, device=place()))\n"
    ),
    "None by default, and no call of that kind": (
        "def f(n, past=None):\n    x = torch.arange(n)\n    if past is not None:\n        x = x + past\n    return x\n"
        "f(3, torch.ones(1, device=place()))\n"
    ),
    "a local variable that may be a number": (
        "def g(past):\n    return past\ndef f(n, past):\n    seen = g(past)\n    return torch.arange(n) + seen\n"
        "f(3, 1)\nf(3, torch.ones(1, device=place()))\n"
    ),
    "a field that is a number in another object": (
        "class Cache:\n    def __init__(self, seen):\n        self.seen = seen\n"
        "    def count(self, n):\n        return torch.arange(n) + self.seen\n"
        "Cache(0).count(3)\nCache(torch.ones(1, device=place())).count(3)\n"
    ),
}


def messages(text: str, folder: Path) -> list[str]:
    """The fixes that are offered for DEV303."""
    path = folder / "program.py"
    path.write_text(HEAD + text, encoding="utf-8")
    checked = lint([FoundFile(path, config_for("DEV303", folder), named=True)]).checked
    assert [item.finding.code for item in checked] == ["DEV303"]
    return [item.mend.message for item in checked if item.mend is not None]


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_is_a_tensor_is_followed(name: str, tmp_path: Path) -> None:
    (message,) = messages(FOLLOWS[name], tmp_path)
    assert ".device" in message


@pytest.mark.parametrize("name", FOLLOWS_NOT)
def test_what_may_be_none_is_not(name: str, tmp_path: Path) -> None:
    assert not any(".device" in message for message in messages(FOLLOWS_NOT[name], tmp_path))
