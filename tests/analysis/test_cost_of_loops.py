"""Loops in loops: in which rounds of the outer ones conditions on numbers may have other answers."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.test_cost import run as analysed
from tests.analysis.test_cost import steps, worlds

NESTED = (
    """
import torch
from somewhere import batches, save
model = torch.nn.Linear(2, 2).cuda()
parts = 4
def train(parts, net):
    BEFORE
    for number, x in enumerate(batches()):
        loss = model(torch.ones(2, device="cuda")).sum()
        INSIDE
class Net(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.first = torch.nn.Linear(2, 2)
    def forward(self, x):
        for layer in range(self.depth):
            x = self.first(x)
            METHOD
        return x
net = Net(3).cuda()
for epoch in range(100):
"""
    + 60 * "    loss = epoch * 2\n"
    + """
    AROUND
    train(parts, net)
    net(torch.ones(2, device="cuda"))
"""
)
"""Another round of the outer loop takes more than a hundred steps."""


def nested(**parts: str) -> str:
    text = NESTED
    for place in ("BEFORE", "INSIDE", "METHOD", "AROUND"):
        text = text.replace(place, parts.get(place, "pass"))
    return text


ONE_ROUND = 100


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"INSIDE": "save(loss if number % 10 == 0 else loss * 2)"}, id="a number that the loop counts"),
        pytest.param({"METHOD": "x = x if layer == self.depth - 1 else x * 2"}, id="the last layer"),
        pytest.param({"INSIDE": "save(loss if net.depth > 2 else loss * 2)"}, id="an attribute that stays"),
        pytest.param({"METHOD": "x = x if parts > 2 else x * 2"}, id="a global name that stays"),
    ],
)
def test_the_rounds_of_an_inner_loop_are_like_those_of_the_first_time(parts: dict[str, str]) -> None:
    assert steps(nested(**parts)) - steps(nested()) < ONE_ROUND


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"AROUND": "if epoch == 5: loss = torch.ones(3).cuda() + torch.ones(3)"}, id="the outer count"),
        pytest.param({"AROUND": "parts = epoch", "INSIDE": "if parts == 7: loss + torch.ones(3)"}, id="what is given"),
        pytest.param(
            {"AROUND": "net.depth = epoch", "INSIDE": "if net.depth == 7: loss + torch.ones(3)"},
            id="an attribute that changes",
        ),
        pytest.param(
            {"AROUND": "parts = epoch", "METHOD": "if parts == 7: x + torch.ones(3)"}, id="a global name that changes"
        ),
        pytest.param(
            {
                "AROUND": "parts = epoch",
                "BEFORE": "for part in range(1 + parts):\n        if part == 7: model(torch.ones(2))",
            },
            id="how often it is run",
        ),
        pytest.param(
            {
                "AROUND": "parts = epoch",
                "BEFORE": "for part in range(parts, parts + 2):\n        if part == 7: model(torch.ones(2))",
            },
            id="from where it counts",
        ),
        pytest.param(
            {"INSIDE": "number = number + epoch\n        if number == 7: loss + torch.ones(3)"},
            id="a number that is more than the count",
        ),
    ],
)
def test_what_the_outer_loop_changes_is_asked_again(parts: dict[str, str]) -> None:
    assert worlds(analysed(nested(**parts)), MixedDevices) == {"gpu1", "gpu2"}
