"""When the CPU has no kernel for what CUDA can do: half precision in single precision, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from devlint.simulated.errors import cannot_simulate
from devlint.simulated.operators import Operator

NO_KERNEL = (
    "Could not run '{}' with arguments from the 'CUDA' backend. This could be because the operator doesn't exist for "
    "this backend, or was omitted during the selective/custom build process (if using custom build)."
)
NO_HALF = re.compile(r"not implemented for '(Half|BFloat16)'")
LINEAR_ALGEBRA = re.compile("linalg|cholesky|lu_|triangular|geqrf|ormqr|svd|eig")  # CUDA has no half precision there
NO_MEMORY = "can't allocate memory"
REDUCED = {"Half": torch.float16, "BFloat16": torch.bfloat16}


def instead(
    error: RuntimeError,
    op: torch._ops.OpOverload,
    operator: Operator | None,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return what CUDA would have returned where the CPU raised `error`, if it is one that only the CPU raises.

    Raises:
        SimulationError: the CPU lacks what CUDA has.
        RuntimeError: `error` itself, which CUDA raises too.
    """
    text = str(error)
    if "Could not run" in text:
        if operator and (operator.has_cuda_kernel or operator.other_keys):
            raise cannot_simulate(f"the operator {op._schema.name}, which the CPU build lacks") from error
        raise NotImplementedError(text.replace("CPU' backend", "CUDA' backend")) from None
    if NO_MEMORY in text:
        raise cannot_simulate("an allocation that this machine's memory can't hold", "use a smaller problem") from error
    found = NO_HALF.search(text)
    if LINEAR_ALGEBRA.search(op._schema.name):
        raise error
    if found is None or any(argument.alias_info and argument.alias_info.is_write for argument in op._schema.arguments):
        if found:
            raise cannot_simulate(f"{op._schema.name} in half precision, in place") from error
        raise error
    reduced = REDUCED[found.group(1)]
    return _with_dtype(
        call(*_with_dtype(args, reduced, torch.float32), **_with_dtype(kwargs, reduced, torch.float32)),
        torch.float32,
        reduced,
    )


def _with_dtype(values: Any, old: torch.dtype, new: torch.dtype) -> Any:
    def converted(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype is old:
            return leaf.to(new)
        return new if leaf is old else leaf

    return tree_map(converted, values)
