"""What a program writes into objects of which nothing else is known."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed

HEAD = """\
import torch
from elsewhere import read
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
config = read("settings")
"""
USE = "torch.zeros(2, device=config.device) + torch.zeros(2)\n"


def clashes(text: str) -> bool:
    return any(isinstance(event, MixedDevices) for event in analysed(HEAD + text).events)


@pytest.mark.parametrize(
    "text",
    [
        "config.device = device\n" + USE,
        "config.device = 'cuda' if torch.cuda.is_available() else 'cpu'\n" + USE,
        "config['device'] = device\ntorch.zeros(2, device=config['device']) + torch.zeros(2)\n",
        "config['device'] = device\ntorch.zeros(2, device=config.get('device', 'cpu')) + torch.zeros(2)\n",
        "config.train.device = device\ntorch.zeros(2, device=config.train.device) + torch.zeros(2)\n",
        "def prepare(settings):\n    settings.device = device\nprepare(config)\n" + USE,
        "def prepare(n, settings=None):\n    settings.device = device\n"
        "def start(c):\n    prepare(1, settings=c)\nstart(config)\n" + USE,
        "def prepare():\n    config.device = device\nprepare()\n" + USE,
        "class Run:\n    def __init__(self):\n        self.config = read('x')\n        self.config.device = device\n"
        "torch.zeros(2, device=Run().config.device) + torch.zeros(2)\n",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--gpu', action='store_true')\n"
        "args = parser.parse_args()\nif args.gpu:\n    config.device = device\n"
        "else:\n    config.device = 'cpu'\n" + USE,
        "config.device = device\nconfig.freeze()\n" + USE,
    ],
)
def test_what_was_written_is_read_again(text: str) -> None:
    """By name or key, whoever has written it, and under all names in sight."""
    assert clashes(text)


@pytest.mark.parametrize(
    "text",
    [
        USE,
        "config.other = device\n" + USE,
        "config['device'] = device\n" + USE,
        "config.device = device\nconfig.device = config.chosen\n" + USE,
        "config.device = device\nconfig = config.clone()\n" + USE,
        "config.device = device\nconfig.merge_from_file('x')\n" + USE,
        "config.other = device\nif config.first:\n    config.device = device\n" + USE,
        "config['device'] = device\nconfig[read('key')] = 1\n"
        "torch.zeros(2, device=config['device']) + torch.zeros(2)\n",
        "def prepare(settings):\n    settings = read('y')\n    settings.device = device\nprepare(config)\n" + USE,
    ],
)
def test_what_may_be_another_is_not_known(text: str) -> None:
    """Other keys, other objects, and what somebody may have written over."""
    assert not clashes(text)
