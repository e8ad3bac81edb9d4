"""Which dtype a value names, and whose it is."""

from __future__ import annotations

import re
from typing import Any, Final

from devlint.analysis.domain.values import DTYPE, NUMPY_DTYPE, External, Scalar, Value
from devlint.semantics import libraries

_DTYPE: Final = re.compile(r"torch\.(u?int|b?float|complex|uint|bool|half|double|long|short)\d*(_\w+)?")


def is_dtype(size: Any) -> bool:
    """Whether a dtype stands where sizes would: `x.view(torch.int32)`."""
    only = size[0] if isinstance(size, list) and len(size) == 1 else size
    return (isinstance(only, Scalar) and only.kind == "dtype") or (
        isinstance(only, External) and _DTYPE.fullmatch(only.path) is not None
    )


def dtype_of(value: Any) -> str | None:
    """The dtype that an argument names, under its one name."""
    return libraries.dtype_named(value.path) if isinstance(value, External) else None


def is_floating(dtype: str) -> bool:
    """Whether a dtype is one of real floating-point numbers, which operations keep."""
    return dtype.startswith(("torch.float", "torch.bfloat"))


def dtype_library(value: Value) -> str | None:
    """Whose a dtype is, `numpy` or `torch`; None if it is none, or nobody knows whose."""
    if value is DTYPE or value is NUMPY_DTYPE:
        return "torch" if value is DTYPE else "numpy"
    if isinstance(value, External) and value.path.startswith("numpy."):
        return "numpy"
    return "torch" if isinstance(value, External) and is_dtype(value) else None


def are_dtypes_apart(a: Value, b: Value) -> bool:
    """Whether of two dtypes one is numpy's and the other torch's: they are never equal."""
    return {dtype_library(a), dtype_library(b)} == {"numpy", "torch"}
