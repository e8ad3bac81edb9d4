"""One mistake that is met several times is told where it is first met."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.events import MixedDevices
from devlint.config import Config
from devlint.linter import check
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


ONE_ROW = """\
import numpy as np
import torch

points = torch.rand(4, 2).to("cuda" if torch.cuda.is_available() else "cpu")
print(points[0].numpy(), np.ones_like(points[1]), points[1].numpy())
print(points[1].numpy())
"""

NEVER_MOVED = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Agent:
    def __init__(self):
        self.actor = nn.Linear(4, 2)
        self.critic = nn.Linear(4, 1)

    def act(self, x):
        return self.actor(x.to(device))

    def rate(self, x):
        return self.critic(x.to(device))

    def test(self, x):
        return self.actor(x.to(device)).argmax()

agent = Agent()
if input() == "test":
    agent.test(torch.rand(3, 4))
else:
    agent.act(torch.rand(3, 4))
agent.rate(torch.rand(3, 4))
"""


def test_one_row_that_reads_what_one_move_put_there_is_one_mistake(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ONE_ROW)
    found = check([program], Config(root=tmp_path))
    assert [(one.code, one.location.start.row) for one in found] == [("DEV401", 5), ("DEV401", 6)]
    assert found[0].message.endswith("and so do 2 more calls in this row")


def test_a_module_that_nobody_moves_is_told_where_it_is_first_called(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(NEVER_MOVED)
    found = check([program], Config(root=tmp_path))
    told = {one.location.start.row: one.message for one in found}
    assert sorted(told) == [15, 18]
    assert told[18].endswith("and 1 more call meets that module")
