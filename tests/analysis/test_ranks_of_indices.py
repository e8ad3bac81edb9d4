"""How many dimensions what an index takes has, compared with torch's own answer."""

from __future__ import annotations

import random
from typing import Any

import torch

from devlint.analysis.domain.values import SLICE, SOME_RANK, Const, Sequence, Tensor, Value
from devlint.analysis.pytorch.indexing import indexed_rank


def tensor(rank: int, dtype: str) -> Tensor:
    made = Tensor("cpu", rank)
    made.dtype = dtype
    return made


def part(kind: str) -> tuple[Any, Value]:
    """An index, and what stands for it."""
    if kind == "number":
        return 0, Const(0)
    if kind == "slice":
        return slice(None), SLICE
    if kind == "new":
        return None, Const(None)
    if kind == "rest":
        return ..., Const(...)
    if kind == "list":
        return [0, 1], Sequence("list", [Const(0), Const(1)])
    rank = int(kind[-1])
    if kind.startswith("mask"):
        return torch.ones([2] * rank, dtype=torch.bool), tensor(rank, "torch.bool")
    return torch.zeros([2] * rank, dtype=torch.long), tensor(rank, "torch.int64")


KINDS = ("number", "slice", "new", "rest", "list", "mask 1", "mask 2", "places 0", "places 1", "places 2")


def test_as_torch_does() -> None:
    chosen = random.Random(0)
    compared = 0
    for _ in range(600):
        rank = chosen.randint(1, 4)
        kinds = chosen.choices(KINDS, k=chosen.randint(1, 4))
        parts = [part(kind) for kind in kinds]
        try:
            expected = torch.zeros([2] * rank)[tuple(given for given, *_ in parts)].dim()
        except IndexError:
            continue  # too many dimensions, or places of other numbers than a mask has
        found = indexed_rank(Tensor("cpu", rank), Sequence("tuple", [value for _, value in parts]))
        assert found == expected or found is None or found >= SOME_RANK, kinds
        compared += 1
    assert compared > 200
