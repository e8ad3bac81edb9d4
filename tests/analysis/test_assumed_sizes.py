"""Something of which nothing is known is taken to hold items, but no program to raise for that alone."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed

HEAD = """\
import torch
from elsewhere import find
model = torch.nn.Linear(2, 2)
missing, unexpected = model.load_state_dict(find("weights"), strict=False)
found = find("faults")
"""
CLASH = "torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu') + torch.zeros(2)\n"


def goes_on(text: str) -> bool:
    return any(isinstance(event, MixedDevices) for event in analysed(HEAD + text + CLASH).events)


@pytest.mark.parametrize(
    "text",
    [
        "assert len(unexpected) == 0\n",
        "assert len(missing) == 0 and len(unexpected) == 0\n",
        "assert len(found.all) < 1, 'there are some'\n",
        "if len(unexpected) > 0:\n    raise RuntimeError(unexpected)\n",
        "if len(missing) > 0 or len(unexpected) > 0:\n    print(missing)\n    raise RuntimeError(unexpected)\n",
        "if len(found) == 0:\n    print('none')\nelse:\n    raise ValueError(found)\n",
        "if len(found) == 0:\n    raise ValueError(found)\n",
        "def check():\n    if len(found) != 0:\n        raise ValueError(found)\ncheck()\n",
    ],
)
def test_a_program_that_raises_where_it_finds_something_goes_on(text: str) -> None:
    """It usually finds nothing."""
    assert goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "assert len([1, 2]) == 0\n",
        "if len('faults') > 0:\n    raise ValueError\n",
        "names = ['a']\nif len(names):\n    raise ValueError(names)\n",
    ],
)
def test_what_is_known_to_hold_items_is_counted(text: str) -> None:
    """Nobody comes past that."""
    assert not goes_on(text)
