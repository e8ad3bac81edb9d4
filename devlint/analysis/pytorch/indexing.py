"""Indexing and iterating tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import ASSIGN_ITEM, ITEM, ITERATE, Iteration, on
from devlint.analysis.domain.values import (
    ANY_SIZE,
    MANY_RANK,
    POISON,
    SLICE,
    SOME_RANK,
    UNKNOWN,
    Array,
    Const,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_none,
)
from devlint.analysis.pytorch.meeting import Part, clash, meet
from devlint.analysis.pytorch.results import derived
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


@on(ITEM, Tensor)
def tensor_item(machine: Machine, value: Tensor, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`tensor[index]`: a CPU index is welcome, a CUDA index into a CPU tensor is not."""
    indices = _index_tensors(index)
    if value.device == POISON or any(t.device == POISON for t in indices):
        return Tensor(POISON)
    if value.size == 0 and not isinstance(index, Sequence):
        return Tensor(None)  # an empty tensor keeps the place for what comes later
    if value.rank == 0 and (isinstance(index, Scalar) or (isinstance(index, Const) and type(index.value) is int)):
        raise Crash("IndexError")  # it was a number before there were tensors without dimensions
    if isinstance(index, Const) and isinstance(index.value, str):
        if value.assumed:
            return UNKNOWN  # it is no tensor, and who knows where what it holds has been put
        if value.rank is not None:
            raise Crash("TypeError" if value.rank else "IndexError")
    if value.device is not None:
        for used in indices:
            if used.device not in (None, "cpu", value.device) and not _is_number(used):
                clash_index(machine, value, used, node, frame)
                return Tensor(POISON)
    if isinstance(index, (Const, Scalar, Tensor, Unknown, Sequence, Array)):
        made = derived(value, indexed_rank(value, index))
        made.is_element = made.rank is None and _takes_one(index)
    else:
        made = derived(value)
    if _is_picked(value, index, indices):
        made.size = ANY_SIZE
    elif is_none(_first(index)):
        made.size = 1
    if value.pinned and not indices:
        made.pinned, made.base = True, value
    return made


def _takes_one(index: Value) -> bool:
    """Whether an index is a number, or an array that may be one, or nothing but such."""
    if isinstance(index, Sequence) and index.kind == "tuple":
        return bool(index.items) and all(map(_takes_one, index.items))
    return index.may_be_number if isinstance(index, Array) else isinstance(index, (Const, Scalar))


def _is_picked(value: Tensor, index: Value, indices: list[Tensor]) -> bool:
    """Whether it depends on contents how many rows an index takes: a mask does, or where they were picked before."""
    for used in indices:
        if used.size == ANY_SIZE or (used.dtype == "torch.bool" and used.rank != 0):
            return True
    first = _first(index)
    return value.size in (0, ANY_SIZE) and (first is SLICE or (isinstance(first, Const) and first.value is ...))


def _first(index: Value) -> Value:
    """What is taken of the first dimension."""
    return index.items[0] if isinstance(index, Sequence) and index.kind == "tuple" and index.items else index


def _is_number(index: Tensor) -> bool:
    """Whether an index has no dimensions, or may have none: it is then read as a number, wherever it is."""
    return (index.is_element and index.rank is None) or (index.rank == 0 and index.dtype != "torch.bool")


def clash_index(machine: Machine, value: Tensor, used: Tensor, node: ir.Node, frame: Frame) -> None:
    """A tensor indexed by a CUDA tensor of another device."""
    receiver = node.value if isinstance(node, ir.Subscript) else None
    index_node = node.index if isinstance(node, ir.Subscript) else None
    if used.assumed and value.origin is None:
        return
    parts = [(value, Part(value, "strict", receiver)), (used, Part(used, "index", index_node))]
    clash(machine, parts, "index", node, frame, cause="index")


def _index_tensors(index: Value) -> list[Tensor]:
    if isinstance(index, Tensor):
        return [index]
    if isinstance(index, Sequence):
        return [t for part in index.items for t in _index_tensors(part)]
    return []


def indexed_rank(value: Tensor, index: Value) -> int | None:
    parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    if value.rank is None or value.rank >= SOME_RANK:
        return _least_rank(value.rank, parts)
    rank, picked = value.rank, 0
    for part in parts:
        if isinstance(part, Const):
            if part.value is None:
                rank += 1
            elif isinstance(part.value, int) and not isinstance(part.value, bool):
                rank -= 1
        elif part is SLICE:
            continue
        elif isinstance(part, Scalar):
            rank -= 1
        elif isinstance(part, (Tensor, Array)):
            if part.rank is None:
                return None
            if part.rank == 0:
                rank -= 1
                continue
            if part.rank > 1 and not (isinstance(part, Tensor) and part.rank < SOME_RANK and part.dtype):
                return SOME_RANK
            is_mask = isinstance(part, Tensor) and part.dtype == "torch.bool"
            rank -= part.rank if is_mask else 1  # a mask takes as many dimensions as it has, and gives one
            picked = max(picked, 1 if is_mask else part.rank)
        elif isinstance(part, Sequence):
            rank, picked = rank - 1, max(picked, 1)
        else:
            return None
    return max(rank, 0) + picked


def _least_rank(rank: int | None, parts: list[Value]) -> int | None:
    """The rank of what an index takes of a tensor of which at most is known that it has some dimensions: slices keep
    theirs, and so do those behind, of which a mask may take any number."""
    kept, taken = 0, 0
    for part in parts:
        if part is SLICE or (isinstance(part, Const) and part.value is None):
            kept += 1
        elif isinstance(part, (Tensor, Array)):
            kept = max(kept, 1 if part.rank not in (0, None) else 0)
            taken = MANY_RANK
        elif isinstance(part, Sequence):
            kept = max(kept, 1)
        elif not isinstance(part, (Const, Scalar)):
            taken = MANY_RANK
        taken += not (isinstance(part, Const) and (part.value is None or part.value is ...))
    there = 0 if rank is None else rank - SOME_RANK + 1
    kept += max(there - taken, 0)
    return None if not kept else SOME_RANK if kept == 1 else MANY_RANK


@on(ASSIGN_ITEM, Tensor)
def assign_tensor_item(machine: Machine, value: Tensor, index: Value, new: Value, node: ir.Node, frame: Frame) -> None:
    """`tensor[index] = new` copies across devices; an index that picks may be anywhere, and makes the value strict,
    unless that has one element and no more than that dimension, which torch drops."""
    if not isinstance(new, Tensor) or POISON in (value.device, new.device) or new.device == value.device:
        return
    if new.rank in (0, None) or (new.rank == 1 and new.size == 1) or None in (value.device, new.device):
        return
    if _picks(index):
        parts = [
            Part(value, "strict", getattr(node, "value", None)),
            Part(new, "combine", None, "the assigned value"),
        ]
        meet(machine, parts, "index_put_", node, frame)


def _picks(index: Value) -> bool:
    """Whether an index surely picks one by one: a tensor with dimensions, a mask, an array or a list of numbers."""
    if isinstance(index, Tensor):
        return index.dtype == "torch.bool" or bool(index.rank)
    if isinstance(index, Array):
        return bool(index.rank)
    if isinstance(index, Sequence):
        if index.kind == "tuple":
            return any(_picks(part) for part in index.items)
        numbers = all(isinstance(p, Scalar) or (isinstance(p, Const) and type(p.value) is int) for p in index.items)
        return index.kind == "list" and bool(index.items) and numbers
    return False


@on(ITERATE, Tensor)
def iterate_tensor(machine: Machine, value: Tensor, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """Iterating a tensor gives its slices."""
    rank = value.rank
    inner = None if rank is None or rank >= SOME_RANK else max(rank - 1, 0)
    known = None if value.size == ANY_SIZE else value.size
    count = max(wanted, 2) if known is None else min(max(known, wanted), 8)
    parts = [derived(value, inner) for _ in range(count)]
    for part in parts:
        part.is_element = inner is None
    return Iteration([*parts], known is None)
