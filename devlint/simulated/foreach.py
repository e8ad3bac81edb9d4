"""`torch._foreach_*` on lists that are not all on one device: torch leaves its fast path and does them one by one
(aten/src/ATen/native/ForeachUtils.h, can_use_fast_route)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__tracebackhide__ = True  # pytest shows the line of the program, not the kernel

PREFIX = "_foreach_"
COPY = "_foreach_copy_"


def one_by_one(op: torch._ops.OpOverload, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the `kernel` of an operator on lists, which is called for each tensor if they are on several devices."""
    in_place = not op._schema.returns

    def call(*args: Any, **kwargs: Any) -> Any:
        lists = [value for value in (*args, *kwargs.values()) if _holds_tensors(value)]
        if len({tensor.device for tensors in lists for tensor in tensors}) < 2:
            return kernel(*args, **kwargs)
        count = len(lists[0])
        for tensors in lists:
            if len(tensors) != count:
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(tensors)}")
        if name == COPY:
            _copy(*args, **kwargs)
            return None
        if count == 1:
            return kernel(*args, **kwargs)
        rows = [
            op(*(_row(value, at, count) for value in args), **{k: _row(v, at, count) for k, v in kwargs.items()})
            for at in range(count)
        ]
        return None if in_place else [row[0] for row in rows]

    return call


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], torch.Tensor)


def _row(value: Any, at: int, count: int) -> Any:
    """What one tensor gets of an argument: its own part of a list, or a value for all."""
    return [value[at]] if isinstance(value, (list, tuple)) and len(value) == count else value


def _copy(targets: list[torch.Tensor], sources: list[torch.Tensor], non_blocking: bool = False) -> None:
    """Copy between any devices, as `Tensor.copy_` does."""
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source, non_blocking)
