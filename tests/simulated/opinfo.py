"""Torch's own operator database (OpInfo) on a simulated device: are values and gradients those of the CPU?

`python tests/simulated/opinfo.py [NAME_PART]` compares all operators, each in a forked process, and prints what
differs.
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from devlint import simulated

SAMPLES = 6
SECONDS = 60
UNINITIALISED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
HOST_ARGUMENTS = {"tensor_split": 1}  # of the tensors in arguments, which is wanted on the CPU
TOLERANCE = {"atol": 1e-5, "rtol": 1e-4, "equal_nan": True}


def name_of(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def copied(values: Any, device: str, stays: int | None = None) -> Any:
    """Copy arguments to a device, as leaves of a new graph; the tensor with the number `stays` stays on the CPU."""
    number = itertools.count()

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return torch.device(device) if isinstance(leaf, torch.device) else leaf
        target = "cpu" if next(number) == stays else device
        return leaf.detach().clone().to(target).requires_grad_(leaf.requires_grad)

    return tree_map(copy, values)


def run(op: Any, sample: Any, device: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return results and gradients, on the CPU. Fails when a result is not on `device`."""
    torch.manual_seed(0)
    first, args, kwargs = copied(
        (sample.input, tuple(sample.args), sample.kwargs), device, HOST_ARGUMENTS.get(getattr(op, "name", ""))
    )
    results = tensors(op(first, *args, **kwargs))
    leaves = [leaf for leaf in tensors((first, args, kwargs)) if leaf.requires_grad]
    roots = [result for result in results if result.requires_grad]
    gradients: list[torch.Tensor] = []
    if leaves and roots:
        sums = [root.abs().sum() if root.is_complex() else root.sum() for root in roots]
        found = torch.autograd.grad(sums, leaves, allow_unused=True)
        gradients = [gradient for gradient in found if gradient is not None]
    return [result.detach().cpu() for result in results], [gradient.cpu() for gradient in gradients]


def equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype or first.layout != second.layout:
        return False
    if first.layout is not torch.strided:
        first, second = first.to_dense(), second.to_dense()
    if first.is_floating_point() or first.is_complex():
        return torch.allclose(first, second, **TOLERANCE)
    return torch.equal(first, second)


def compare(op: Any) -> dict[str, Any]:
    """Return how many samples were compared, how many with gradients, and what differs (`error: ...` or `value`)."""
    dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
    wants_grad = bool(op.supports_autograd and dtype.is_floating_point)
    outcome: dict[str, Any] = {"samples": 0, "gradients": 0, "trouble": [], "refused": []}
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=wants_grad)):
        if number >= SAMPLES:
            break
        try:
            values, gradients = run(op, sample, "cpu")
        except Exception:  # a sample that the CPU refuses says nothing about CUDA
            continue
        try:
            found, found_gradients = run(op, sample, "cuda")
        except (simulated.SimulationError, NotImplementedError) as error:
            outcome["refused"].append(str(error).splitlines()[0][:120])
            continue
        except Exception as error:
            outcome["trouble"].append(f"{type(error).__name__}: {error}".splitlines()[0][:200])
            continue
        outcome["samples"] += 1
        outcome["gradients"] += bool(gradients)
        pairs = list(zip(values + gradients, found + found_gradients, strict=True))
        same = (lambda first, second: first.shape == second.shape) if op.name in UNINITIALISED else equal
        if not all(same(first, second) for first, second in pairs):
            outcome["trouble"].append("value")
    return outcome


def in_fork(action: Callable[[], Any]) -> Any:
    """Return what `action` returns in a forked child, as JSON; None when the child crashed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        try:
            answer = action()
        except BaseException as error:
            answer = {"samples": 0, "gradients": 0, "trouble": [], "refused": [f"no samples on the CPU: {error}"[:120]]}
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"samples": 0, "gradients": 0, "trouble": [f"crash {status}"], "refused": []}


def compare_all(ops: Iterable[Any]) -> dict[str, dict[str, Any]]:
    def compared(op: Any) -> dict[str, Any]:
        simulated.activate(1)
        return compare(op)

    return {name_of(op): in_fork(lambda op=op: compared(op)) for op in ops}


def main() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    simulated.preload()
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    results = compare_all(op for op in op_db if part in name_of(op))
    kinds = collections.Counter(
        "differs" if r["trouble"] else "refused" if r["refused"] else "equal" if r["samples"] else "nothing to compare"
        for r in results.values()
    )
    for name, result in results.items():
        if result["trouble"] or result["refused"]:
            print(name, result["trouble"][:2], result["refused"][:1])
    samples, gradients = (sum(r[key] for r in results.values()) for key in ("samples", "gradients"))
    print(f"torch {torch.__version__}: {len(results)} OpInfos, {dict(kinds)}")
    print(f"{samples} samples compared, {gradients} of them with gradients")


if __name__ == "__main__":
    main()
