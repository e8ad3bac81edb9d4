"""A sample of torch's operator database: values and gradients on a simulated device are the CPU's.

The whole database takes a minute: `python tests/simulated/opinfo.py`, with the result in docs/simulated-cuda.md.
"""

from __future__ import annotations

import types

import pytest
import torch

from devlint import simulated
from tests.simulated import opinfo
from tests.simulated.forked import on_machine_with

NAMES = (
    "add", "addmm", "bmm", "cat", "cumsum", "einsum", "gather", "index_put", "linalg.inv", "logsumexp", "masked_select",
    "max", "nn.functional.conv2d", "nn.functional.cross_entropy", "nn.functional.ctc_loss", "nn.functional.dropout",
    "nn.functional.embedding", "nn.functional.interpolate", "nn.functional.layer_norm", "nn.functional.rms_norm",
    "nn.functional.scaled_dot_product_attention", "norm", "scatter_add", "softmax", "sort", "sparse.sampled_addmm",
    "split", "std", "take", "to_sparse", "topk", "unique", "where",
)  # fmt: skip


def test_sampled_operators() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    simulated.preload()
    chosen = {op.name: op for op in op_db if op.name in NAMES}
    assert set(chosen) == set(NAMES)
    results = opinfo.compare_all(chosen.values())
    assert {
        name: found["trouble"] + found["refused"]
        for name, found in results.items()
        if found["trouble"] or found["refused"]
    } == {}
    assert all(found["samples"] for found in results.values())
    assert sum(found["gradients"] for found in results.values()) > 50


@on_machine_with(1)
def test_the_comparison_can_fail() -> None:
    assert not opinfo.equal(torch.ones(2), torch.tensor([1.0, 1.1]))
    assert not opinfo.equal(torch.ones(2), torch.ones(2, dtype=torch.float64))
    sample = types.SimpleNamespace(input=torch.ones(3), args=(), kwargs={})
    with pytest.raises(RuntimeError, match="same device"):
        opinfo.run(lambda value: value + torch.ones(3), sample, "cuda")
