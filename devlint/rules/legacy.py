"""The element types of the legacy tensor types.

https://docs.pytorch.org/docs/stable/tensors.html#data-types
"""

from __future__ import annotations

from devlint.rules.base import FixContext
from devlint.rules.edits import spelling

DTYPES = {
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}


def dtype_of(type_name: str, context: FixContext) -> str | None:
    """Return the dtype of `torch.cuda.FloatTensor` as this file spells it: `torch.float32`; None if it can't."""
    dtype = DTYPES.get(type_name.rpartition(".")[2])
    return spelling(context, f"torch.{dtype}") if dtype is not None else None
