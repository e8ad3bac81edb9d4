"""How many rows a tensor has: none, any number, or a known one. Programs ask whether there are any, and go another way
where nothing was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.values import (
    ANY_SIZE,
    COUNT,
    SIZE,
    SOME_RANK,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
)
from devlint.syntax import ir
from devlint.syntax.walk import last_name

if TYPE_CHECKING:
    from devlint.semantics.table import Row


# -- what programs ask for


def first_size(value: Tensor) -> Value:
    """The length of the first dimension; it may be 0 only where rows were picked."""
    return SIZE if value.size is None else COUNT if value.size == ANY_SIZE else const(value.size)


_OF_SIZES: Final = frozenset({"zeros", "ones", "empty", "rand", "randn"})
"""Factories that are given nothing but sizes by position."""


def other_size(value: Tensor, index: int | None = None) -> Value:
    """The length of a dimension behind the first: of an empty tensor it is what was written, or may be 0, too."""
    if value.size != 0:
        return SIZE
    made = None if value.origin is None else value.origin.first()
    if made is None or made.kind not in ("factory", "placed") or index is None:
        return COUNT
    called = made.node.function if isinstance(made.node, ir.Call) else None
    written = made.node.args if isinstance(made.node, ir.Call) and last_name(called) in _OF_SIZES else []
    if len(written) == 1 and isinstance(written[0], ir.Display):
        written = written[0].items
    part = written[index] if -len(written) <= index < len(written) == value.rank else None
    return const(part.value) if isinstance(part, ir.Const) and isinstance(part.value, int) else COUNT


def shape(value: Tensor) -> Value:
    """`tensor.shape`."""
    rank = value.rank
    if rank is not None and rank < SOME_RANK:
        items: list[Value] = [other_size(value, index) for index in range(rank)]
        if rank:
            items[0] = first_size(value)
        made = Sequence("tuple", items)
    else:
        made = Sequence("tuple", [COUNT if value.size == ANY_SIZE else SIZE, other_size(value)], True)
    made.is_shape = True
    return made


# -- what operations give


def result_size(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """How many rows the result of an operation has, as far as it is known."""
    if row.effect == "keep" and row.rank == "keep" and row.short not in _TURNS:
        return main.size
    if row.effect == "keep" and main.size == ANY_SIZE and row.rank in _RESHAPED:
        return main.size
    if row.rank == "broadcast":
        return elementwise_size(main, [bound.get(name) for name, _ in row.demands])
    if row.rank == "reduce":
        return ANY_SIZE if main.size == ANY_SIZE and _is_behind_first(bound.get("dim"), main.rank) else None
    if row.rank == "more":
        return 1 if constant(bound.get("dim")) == 0 else None
    if row.rank.startswith("joined"):
        return ANY_SIZE if main.size in _LACKING and constant(bound.get("dim")) not in (None, 0) else None
    if row.rank == "product" or row.short in ("mm", "bmm"):
        return product_size(*(bound.get(name) for name in row.concerned[:2]))
    if row.rank == "many":
        return _paired_size(*(bound.get(name) for name in row.concerned[:2]))
    if row.rank == "summed":
        return _summed_size(bound)
    if row.rank == "keep" and row.family in ("linear", "conv"):
        return _batch_size(bound.get("input"))
    return None


def elementwise_size(main: Tensor, operands: list[Value | None]) -> int | None:
    """Of what takes the numbers of its operands one by one: none where the first has none."""
    if main.size == 0:
        return 0
    return ANY_SIZE if may_lack_rows(operands) else None


def _is_behind_first(dimension: Value | None, rank: int | None) -> bool:
    """Whether a dimension is surely not the first."""
    number = constant(dimension)
    if not isinstance(number, int) or isinstance(number, bool):
        return False
    return number > 0 or (number < 0 and (number > -2 if rank is None or rank >= SOME_RANK else number > -rank))


def may_lack_rows(operands: list[Value | None]) -> bool:
    """Whether the rows of what operands broadcast to were picked in one of them, so that there may be none."""
    tensors = [value for value in operands if isinstance(value, Tensor) and value.rank != 0]
    ranks = [value.rank for value in tensors if value.rank is not None]
    if all(value.size != ANY_SIZE for value in tensors) or len(ranks) != len(tensors):
        return False
    widest = max(ranks)
    surely = widest if widest < SOME_RANK else widest - SOME_RANK + 1
    if any(surely < value.rank < widest for value in tensors if value.rank is not None):
        return False
    rows = [value.size for value in tensors if value.rank == widest]
    return ANY_SIZE in rows and all(size in (None, 0, 1, ANY_SIZE) for size in rows)


_LACKING: Final = (0, ANY_SIZE)


def product_size(left: Value | None = None, right: Value | None = None) -> int | None:
    """Of `left @ right`: the rows of the left one, or the products of a batch. Where there are none, there may be any
    number for what is told of the result, for its other lengths are not those of what has no rows."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return None
    if left.rank is None or right.rank is None or max(left.rank, right.rank) >= SOME_RANK or left.rank < 2:
        return None
    if left.rank > 2 and right.rank > 2:
        return _batch_size(left, right)
    return _batch_size(left if right.rank < 3 else right)


def _paired_size(left: Value | None = None, right: Value | None = None) -> int | None:
    """Of distances between the rows of two tensors, or of those in a batch."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor) or left.rank != right.rank:
        return None
    return _batch_size(left) if left.rank == 2 else _batch_size(left, right) if left.rank == 3 else None


def _summed_size(bound: dict[str, Any]) -> int | None:
    """Of `einsum`: the rows of the operand whose first letter comes first."""
    equation, operands = constant(bound.get("equation")), bound.get("operands")
    if not isinstance(equation, str) or "->" not in equation or not isinstance(operands, list):
        return None
    given, _, made = equation.replace(" ", "").partition("->")
    for letters, operand in zip(given.split(","), operands, strict=False):
        if made and letters[:1] == made[0] != "." and _batch_size(operand) is not None:
            return ANY_SIZE
    return None


def _batch_size(*given: Value | None) -> int | None:
    """Of layers and products: they are given a batch, which may have no rows."""
    lacks = False
    for part in given:
        if not isinstance(part, Tensor) or part.rank is None or part.rank < 2:
            return None
        if part.size not in (None, 0, 1, ANY_SIZE):
            return None
        lacks = lacks or part.size in _LACKING
    return ANY_SIZE if lacks else None


_RESHAPED = frozenset({"some", "unknown", "kept", "more", "less", "flat", "squeezed", "along"})
"""Ranks of what is given another form, and stays empty if it was."""
_TURNS = frozenset(
    "adjoint constant_pad_nd moveaxis movedim multinomial narrow narrow_copy permute rot90 split swapaxes swapaxes_ "
    "swapdims swapdims_ t t_ tensor_split topk transpose transpose_ unravel_index T mT H mH".split()
)
"""What keeps the number of dimensions, but not the length of the first."""
