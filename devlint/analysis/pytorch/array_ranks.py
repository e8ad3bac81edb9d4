"""How many dimensions numpy arrays have, and what may become one. For tensors `ranks.py` says it."""

from __future__ import annotations

import re
from typing import Any, Final

from devlint.analysis.domain.values import (
    SOME_RANK,
    Array,
    Const,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)


def array_rank(value: Value | None) -> int | None:
    """How many dimensions an array has, or what becomes one; None if that is not known."""
    return value.rank if isinstance(value, Array) else nesting(value) if value is not None else None


def reduced_array_rank(whole: Value | None, axis: Value | None, kept: Value | None = None) -> int | None:
    """How many dimensions a reduction of an array leaves, along an axis or several; behind the first axis there is
    another one. `kept`: whether those that are reduced stay, with one item each."""
    rank = array_rank(whole)
    if kept is not None and constant(kept) is not False:
        return rank if constant(kept) is True else None
    if axis is None or is_none(axis):
        return 0
    several = len(axis.items) if isinstance(axis, Sequence) and not axis.open else 1
    if rank is not None and several <= rank < SOME_RANK:
        return rank - several
    along = constant(axis)
    return 1 if isinstance(along, int) and along > 0 else None


def array_product_rank(left: int | None, right: int | None) -> int | None:
    """How many dimensions `left @ right` of two arrays has; None if that is not known."""
    if left is None or right is None or SOME_RANK in (left, right):
        return None
    return max(left, right) if min(left, right) > 1 else left + right - 2


def shape_rank(size: Any) -> int | None:
    """How many dimensions a numpy shape has: a number, a tuple, or several numbers. Of what is not known there may be
    none."""
    if isinstance(size, list):
        return len(size) if all(isinstance(part, (Const, Scalar)) for part in size) else None
    if isinstance(size, Sequence):
        return len(size.items) if not size.open else SOME_RANK if size.items else None
    return 1 if isinstance(size, (Const, Scalar)) else None


def nesting(value: Value) -> int | None:
    """How many dimensions a nested list of numbers has; None when that is not known."""
    if isinstance(value, Sequence):
        if not value.items:
            return SOME_RANK
        inner = nesting(value.items[0])
        return SOME_RANK if inner is None or inner >= SOME_RANK else inner + 1
    if isinstance(value, (Const, Scalar)) or _is_dimension(value):
        return 0
    if isinstance(value, (Tensor, Array)):
        return value.rank
    return None


def _is_dimension(value: Value) -> bool:
    """Whether it is an entry of a shape of what nobody knows: `x.shape[0]`, also taken out by its place in a tuple."""
    return isinstance(value, Unknown) and value.path is not None and _DIMENSION.search(value.path) is not None


_DIMENSION: Final = re.compile(r"\.shape\[-?\d+\]$")
