"""How many items a set has is known where they can be told apart."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed

HEAD = """\
import torch
def first(n):
    return torch.rand(n, 2)
n = int(input())
a, b = first(n), first(n)
sizes = [t.shape[0] for t in (a, b)]
"""
CLASH = "torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu') + torch.zeros(2)\n"


def goes_on(text: str) -> bool:
    return any(isinstance(event, MixedDevices) for event in analysed(HEAD + text + CLASH).events)


@pytest.mark.parametrize(
    "text",
    [
        "assert len(set(sizes)) == 1\n",
        "assert len({a.size(0), b.size(0)}) == 1\n",
        "assert len({len(t) for t in (a, b)}) == 1\n",
        "assert len(frozenset(map(len, (a, b)))) == 1\n",
        "if len(set(sizes)) > 1:\n    raise ValueError\n",
        "size, = set(sizes)\n",
        "(size,) = {len(t) for t in (a, b)}\n",
        "seen = set()\nfor t in (a, b):\n    seen.add(t.size(1))\nassert len(seen) == 1\n",
        "seen = {len(a)}\nseen.update([len(b)])\nassert len(seen) == 1\n",
        "assert len({len(a)} | {len(b)}) == 1\n",
    ],
)
def test_numbers_that_are_not_known_may_be_equal(text: str) -> None:
    """A program that asserts that all are equal goes on."""
    assert goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "assert len({1, 2}) == 1\n",
        "assert len(set([1, 2, 2])) == 3\n",
        "size, = {'a', 'b'}\n",
        "assert len({t.device for t in (a, b)}) == 2\n",
    ],
)
def test_items_that_are_known_are_counted(text: str) -> None:
    """Equal ones once."""
    assert not goes_on(text)
