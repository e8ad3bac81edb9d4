"""Of products with what may have no rows, `if len(x) == 0:` is asked both ways; what nothing is known of has rows."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed

HEAD = """\
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
some = torch.rand(4, 3, device=device)
kept = some[some[:, 0] > 0.5]
none = torch.zeros(0, 3, device=device)
batch = torch.zeros(0, 2, 3, device=device)
layer = torch.nn.Linear(3, 5).to(device)
"""
ASK = """\
if {question}:
    torch.zeros(2) + torch.zeros(2, device=device)
"""


REDUCED = ["(kept @ some.t()).max(dim=1)[0]", "torch.min(kept @ some.t(), 1).indices", "kept.sum(1).sort()[1]"]


def is_told(made: str, question: str) -> bool:
    text = HEAD + f"made = {made}\n" + ASK.format(question=question)
    return any(isinstance(event, MixedDevices) for event in analysed(text).events)


MADE = [
    "kept @ some.t()",
    "kept.matmul(some.t())",
    "torch.mm(none, some.t())",
    "torch.bmm(batch, batch.transpose(1, 2))",
    "batch @ some.t()",
    "torch.cdist(kept, some)",
    "-torch.cdist(none, some)",
    "torch.einsum('nd,md->nm', kept, some)",
    "torch.nn.functional.linear(none, layer.weight)",
    "torch.relu(layer(kept))",
    "(kept @ some.t()) > 0.5",
    "(kept @ some.t()).sort(dim=1).indices",
]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("question", ["len(made) == 0", "made.shape[0] == 0", "made.numel() == 0", "not made.size(0)"])
def test_there_may_be_no_rows(made: str, question: str) -> None:
    """Neither in the product."""
    assert is_told(made, question)


@pytest.mark.parametrize("made", MADE)
def test_there_are_columns(made: str) -> None:
    """They are those of the other factor."""
    assert not is_told(made, "made.shape[-1] == 0")
    assert not is_told(made, "made.shape[1] == 0")


@pytest.mark.parametrize(
    "made",
    [
        "some @ kept.t()",
        "torch.cdist(some, kept)",
        "torch.einsum('nd,md->mn', kept, some)",
        "torch.einsum('nd,md->', kept, some)",
        "layer(some)",
        "some @ some.t()",
    ],
)
def test_there_are_rows(made: str) -> None:
    """Those of the other factor, and of a sum over all."""
    assert not is_told(made, "len(made) == 0")


@pytest.mark.parametrize("made", REDUCED)
def test_of_each_row_there_is_one(made: str) -> None:
    """So that there may be none."""
    assert is_told(made, "len(made) == 0")


@pytest.mark.parametrize("made", ["(kept @ some.t()).max(dim=0)[0]", "some.max(dim=1)[0]", "some.sort(dim=1)[1]"])
def test_of_each_column_there_is_one(made: str) -> None:
    """And of what has rows."""
    assert not is_told(made, "len(made) == 0")
