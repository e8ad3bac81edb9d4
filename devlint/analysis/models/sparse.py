"""Sparse tensors: made of indices and values, which must be together unless the call says where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import POISON, SOME_RANK, Tensor, Value
from devlint.analysis.pytorch.devices import resolve
from devlint.analysis.pytorch.meeting import Part, meet
from devlint.analysis.pytorch.results import derived
from devlint.analysis.pytorch.rows import argument_node
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torch.sparse_coo_tensor", "torch.sparse.FloatTensor")
def coordinates(machine: Machine, call: Call) -> Value:
    """`torch.sparse_coo_tensor(indices, values, size)`."""
    return _made(machine, call, "sparse_coo_tensor", "indices", 1)


@models("torch.sparse_csr_tensor")
def compressed_rows(machine: Machine, call: Call) -> Value:
    """`torch.sparse_csr_tensor(crow_indices, col_indices, values, size)`."""
    return _made(machine, call, "sparse_csr_tensor", "crow_indices", 2)


@models("torch.sparse_csc_tensor")
def compressed_columns(machine: Machine, call: Call) -> Value:
    """`torch.sparse_csc_tensor(ccol_indices, row_indices, values, size)`."""
    return _made(machine, call, "sparse_csc_tensor", "ccol_indices", 2)


def _made(machine: Machine, call: Call, operation: str, name: str, place: int) -> Value:
    """Tensors that are given stay where they are, lists are put beside the values; `device=` moves all of them
    (torch/csrc/utils/tensor_new.cpp, "Ensuring sparse values and indices match devices"; seen on an H200)."""
    values = call.argument(place, "values")
    target = call.given(-1, "device")
    if target is not None:
        device = resolve(machine, target, call.node, call.frame, f"torch.{operation}")
        return Tensor(device, SOME_RANK, machine.origin("placed", call.node, call.frame, device))
    indices = call.argument(0, name)
    if not isinstance(values, Tensor):
        return Tensor(None, SOME_RANK)
    if isinstance(indices, Tensor):
        row = table.lookup(f"torch.{operation}")
        given = ((name, indices), ("values", values))
        parts = [Part(value, "strict", argument_node(call, row, n), parameter=n) for n, value in given]
        _, clashed = meet(machine, parts, operation, call.node, call.frame, f"torch.{operation}")
        if clashed:
            return Tensor(POISON, SOME_RANK)
    return derived(values, SOME_RANK)
