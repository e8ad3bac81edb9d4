"""What `torch.nn.DataParallel` is made of: scatter, replicate and gather between devices, and replicas run in turn."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parallel import comm

from devlint.simulated import devices

Tensor = torch.Tensor


def _device(device: Any) -> torch.device:
    if isinstance(device, (str, torch.device)) and torch.device(device).type == "cpu":
        return torch.device("cpu")
    return torch.device("cuda", devices.index_of(device))


def broadcast(tensor: Tensor, targets: Sequence[Any]) -> list[Tensor]:
    """Return the tensor on each device; the same object where it is there already."""
    return [tensor.to(_device(target)) for target in targets]


def broadcast_coalesced(tensors: Sequence[Tensor], targets: Sequence[Any], buffer_size: int = 0) -> list[list[Tensor]]:
    """Return, for each device, the tensors on it."""
    return [[tensor.to(_device(target)) for tensor in tensors] for target in targets]


def scatter(
    tensor: Any, targets: Sequence[Any], chunk_sizes: Sequence[int] | None, dim: int = 0, streams: Any = None
) -> tuple[Tensor, ...]:
    """Split a tensor along `dim` and put the parts on the devices."""
    parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(len(targets), dim)
    return tuple(part.to(_device(target)) for part, target in zip(parts, targets, strict=False))


def gather(tensors: Sequence[Tensor], dim: int, destination: Any) -> Tensor:
    """Concatenate tensors along `dim` on one device; -1 is the CPU."""
    target = torch.device("cpu") if destination == -1 else _device(destination)
    return torch.cat([tensor.to(target) for tensor in tensors], dim)


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """Return the sum of tensors on one device."""
    target = _device(destination)
    return functools.reduce(torch.add, [tensor.to(target) for tensor in inputs])


def _numbering(wrapper: type[Any]) -> type[Any]:
    """What `parallel_apply` wraps exceptions in: torch takes each replica for the only one, `number` is its place."""

    class Numbered(wrapper):  # type: ignore[misc]
        number = 0

        def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
            super().__init__(exc_info, where.replace("in replica 0", f"in replica {self.number}", 1))

    return Numbered


def _in_turn(original: Any, numbered: type[Any]) -> Any:
    """Run the replicas of `parallel_apply` one after the other: its threads would work on tensors lent to the CPU."""

    @functools.wraps(original)
    def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
        results = []
        around = numbered.number
        try:
            for number, module in enumerate(modules):
                numbered.number = number
                keywords = (kwargs_tup[number],) if kwargs_tup is not None else None
                where = [devices[number]] if devices is not None else None
                results += original([module], [inputs[number]], keywords, where)
        finally:
            numbered.number = around
        return results

    return parallel_apply


def install() -> None:
    """Give `torch.nn.parallel` its communication."""
    c: Any = torch._C
    c._broadcast = broadcast
    c._broadcast_coalesced = broadcast_coalesced
    c._scatter = scatter
    c._gather = gather
    module: Any = comm
    module.reduce_add = reduce_add
    names = ("torch.nn.parallel.parallel_apply", "torch.nn.parallel.data_parallel", "torch.nn.parallel")
    users: list[Any] = [importlib.import_module(name) for name in names]
    users[0].ExceptionWrapper = _numbering(users[0].ExceptionWrapper)
    wrapped = _in_turn(users[0].parallel_apply, users[0].ExceptionWrapper)
    for user in users:
        user.parallel_apply = wrapped
