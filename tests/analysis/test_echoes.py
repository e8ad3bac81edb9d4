"""One mistake that is met several times is told where it is first met."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed

READER = """\
import torch
from torch import nn
from somewhere import settings

class Reader:
    def __init__(self):
        self.frozen = settings().frozen
        self.encoder = nn.Linear(4, 2)
        self.other = nn.Linear(4, 2)
    def read(self, rows):
        x = torch.tensor(rows).cuda()
        if self.frozen:
            return self.encoder(x)
        with torch.no_grad():
            return self.encoder(x)

print(Reader().read([[0.1, 0.2, 0.3, 0.4]]))
"""

BROUGHT_BACK = """\
import torch

def made():
    return torch.rand(3, device="cuda")

kept = [x.cpu() for x in (made(), made())]
y = torch.ones(3).cuda()
z = torch.zeros(3, device="cuda:0")
print(kept[0] + y)
print(kept[1] * z)
"""


def rows(text: str) -> list[int]:
    events = analysed(text).events
    return sorted({event.root.row for event in events if isinstance(event, MixedDevices)})


def test_a_module_that_both_sides_of_a_branch_call_was_left_behind_once() -> None:
    assert rows(READER) == [13]


def test_another_module_is_another_mistake() -> None:
    text = READER.replace(
        "        with torch.no_grad():\n            return self.encoder(x)", "        return self.other(x)"
    )
    assert rows(text) == [13, 14]


def test_what_was_brought_back_in_one_place_is_told_where_it_first_meets_the_rest() -> None:
    assert rows(BROUGHT_BACK) == [9]


@pytest.mark.parametrize("second", ["made().cpu()", "torch.zeros(3)"])
def test_what_was_left_in_another_is_told_for_itself(second: str) -> None:
    assert len(rows(BROUGHT_BACK.replace("kept[1] * z", f"{second} * z"))) == 2
