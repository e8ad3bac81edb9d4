"""How many dimensions a result has: one function for each word that a table row may say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.dtypes import is_dtype
from devlint.analysis.domain.values import (
    MANY_RANK,
    SOME_RANK,
    Const,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)

if TYPE_CHECKING:
    from devlint.semantics.table import Row

_ELLIPSIS = "..."


def product_rank(left: Value, right: Value) -> int | None:
    """The rank of `left @ right`: of two vectors a number, else at least one dimension."""
    one, other = _rank(left), _rank(right)
    if one is None or other is None:
        return None
    if not 0 < one < SOME_RANK or not 0 < other < SOME_RANK:
        return SOME_RANK
    return max(max(one, other) - (one == 1) - (other == 1), 0)


def broadcast_rank(values: list[Value]) -> int | None:
    """The rank of an elementwise result."""
    ranks = [value.rank for value in values if isinstance(value, Tensor)]
    if any(rank is None for rank in ranks) or any(isinstance(value, Unknown) for value in values):
        known = [rank for rank in ranks if rank]
        return SOME_RANK if known else None
    return max((rank for rank in ranks if rank is not None), default=None)


def one_more(rank: int | None) -> int:
    """The rank of several tensors of this rank together."""
    if rank is None:
        return SOME_RANK
    return MANY_RANK if rank >= SOME_RANK else rank + 1


def result_rank(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """The rank of a result; `main` is the tensor on whose device it is."""
    rank = row.rank
    if rank == "keep":
        return _with_dimension(main.rank, bound)
    if rank == "some":
        return SOME_RANK
    rule = _RULES.get(rank)
    if rule is not None:
        return rule(row, main, bound)
    if rank.isdigit():
        return int(rank)
    return SOME_RANK if main.rank == SOME_RANK and "inplace" in row.flags else None


def created_rank(row: Row, bound: dict[str, Any], template: Tensor | None) -> int | None:
    """The rank of what a factory makes."""
    if row.rank == "size":
        return _from_sizes(bound)
    if row.rank.isdigit():
        return int(row.rank)
    if row.rank == "zero":
        return 0
    if row.rank == "some":
        return SOME_RANK
    if row.rank == "keep" and template is not None:
        return template.rank
    return SOME_RANK if row.effect == "create" else None


def _from_sizes(bound: dict[str, Any]) -> int | None:
    """As many dimensions as sizes were given."""
    size = bound.get("size", bound.get("shape", bound.get("repeats")))
    if size is None and isinstance(bound.get("high"), Sequence):
        size = bound["high"]  # `torch.randint(high, size)`
    if isinstance(size, list):
        if len(size) == 1 and isinstance(size[0], Sequence):
            size = size[0]
        elif len(size) == 1 and isinstance(size[0], Unknown):
            return SOME_RANK
        else:
            return len(size)
    if isinstance(size, Sequence):
        return len(size.items) if not size.open else SOME_RANK if size.items else None
    return None if size is None else SOME_RANK


# -- arguments


def _rank(value: Any) -> int | None:
    return value.rank if isinstance(value, Tensor) else None


def _whole(row: Row, main: Tensor, bound: dict[str, Any]) -> Value:
    """What the operation takes first: the receiver of a method, or the first argument."""
    whole = bound.get("self")
    if not isinstance(whole, Tensor) and row.parameters:
        whole = bound.get(row.parameters[0].name)
    return whole if isinstance(whole, Value) else main


def _parts(row: Row, bound: dict[str, Any]) -> tuple[list[Value], bool]:
    """The tensors of the first argument concerned, and whether there may be others."""
    given = bound.get(row.concerned[0])
    if isinstance(given, list):
        given = given[0] if len(given) == 1 and isinstance(given[0], Sequence) else Sequence("tuple", given)
    if isinstance(given, Sequence):
        return given.items, given.open
    return [], True


def _dimensions(given: Any) -> list[Any] | None:
    """The dimensions that an argument names, as far as their numbers are known; None if nobody knows how many."""
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else Sequence("tuple", given)
    if isinstance(given, Sequence):
        return None if given.open else [constant(part) for part in given.items]
    return None if given is None or isinstance(given, Unknown) else [constant(given)]


def _changed(rank: int | None, by: int) -> int | None:
    """A rank with more or fewer dimensions: of a tensor that has some, nobody knows whether fewer leave any."""
    if rank is None or rank >= SOME_RANK:
        if by > 0:
            return one_more(rank)
        return SOME_RANK if by == -1 and rank == MANY_RANK else None
    return max(rank + by, 0)


def _with_dimension(rank: int | None, bound: dict[str, Any]) -> int | None:
    """What is known of the rank of a tensor of which an operation takes a dimension: `x.topk(3, dim=1)`."""
    dimension = constant(bound["dim"]) if isinstance(bound.get("dim"), Value) else None
    if type(dimension) is not int or (rank is not None and rank != SOME_RANK):
        return rank
    return MANY_RANK if dimension >= 1 or dimension <= -2 else rank


# -- rules


def _many(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the argument with the most, at least two."""
    widest = _widest(row, main, bound)
    return MANY_RANK if widest is None or not 2 <= widest < SOME_RANK else widest


def _zero(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """No dimensions."""
    return 0


def _kept(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the first argument, which has some."""
    return _rank(_whole(row, main, bound)) or SOME_RANK


def _more(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """One more than the first argument."""
    return _changed(_rank(_whole(row, main, bound)), 1)


def _less(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """One fewer than the first argument, unless it is kept at length 1."""
    rank = _rank(_whole(row, main, bound))
    kept = bound.get("keepdim")
    if kept is None or constant(kept) is False:
        return _changed(_with_dimension(rank, bound), -1)
    return rank if constant(kept) is True else None


def _second(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the last argument concerned, whose form the result has."""
    return _rank(bound.get(row.concerned[-1]))


def _flat(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `flatten`: those outside of the ones that become one."""
    rank = _rank(_whole(row, main, bound))
    start = constant(bound["start_dim"]) if "start_dim" in bound else 0
    end = constant(bound["end_dim"]) if "end_dim" in bound else -1
    if type(start) is not int or type(end) is not int:
        return SOME_RANK
    if end == -1 and start >= 0:
        return start + 1
    if rank is None or rank >= SOME_RANK:
        return SOME_RANK
    return max(rank - (end % rank - start % rank), 1) if rank else 1


def _along(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the first argument where a dimension is named, else one: everything is made flat."""
    dimension = bound.get("dim")
    if dimension is None or is_none(dimension):
        return 1
    return _kept(row, main, bound) if isinstance(constant(dimension), int) else SOME_RANK


def _squeezed(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `squeeze(dim)`: what is not of length 1 stays; without `dim` any number of dimensions may be left."""
    whole = _whole(row, main, bound)
    rank = _rank(whole)
    if rank == 0:
        return 0
    dimensions = _dimensions(bound.get("dim"))
    if rank == MANY_RANK and dimensions is not None and len(dimensions) == 1:
        return SOME_RANK
    if rank is None or rank >= SOME_RANK or not dimensions or None in dimensions:
        return None
    if len(dimensions) == 1 and dimensions[0] in (0, -rank) and isinstance(whole, Tensor) and whole.size is not None:
        if whole.size > 0:
            return rank - (whole.size == 1)
    if rank == len(dimensions) == 1 and isinstance(whole, Tensor) and whole.size is None:
        is_made = whole.origin is None or whole.origin.kind in ("factory", "placed")
        return None if is_made else SOME_RANK  # a batch has not always one; what is made for a batch may have
    left = rank - len(dimensions)
    return MANY_RANK if left > 1 else SOME_RANK if left else None


def _stacked(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `stack`: one more than each of the tensors."""
    parts, _ = _parts(row, bound)
    known = [rank for rank in map(_rank, parts) if rank is not None]
    return one_more(min(known)) if known else SOME_RANK


def _diagonal(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `diag`: a matrix of a vector, a vector of a matrix."""
    return {1: 2, 2: 1}.get(_rank(_whole(row, main, bound)) or 0, SOME_RANK)


def _inner(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `diagonal`: one fewer, of at least two."""
    return _changed(_rank(_whole(row, main, bound)), -1) or SOME_RANK


def _unfolded(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `unflatten`: as many as sizes are given stand in the place of one."""
    rank, sizes = _rank(_whole(row, main, bound)), _dimensions(bound.get("sizes"))
    return MANY_RANK if rank is None or rank >= SOME_RANK or not sizes else rank + len(sizes) - 1


def _joined(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `cat`: as many as each of the tensors, but for those that are empty, which may have one; `joined-2`: at least
    two."""
    parts, is_open = _parts(row, bound)
    least = int(row.rank.partition("-")[2] or 1)
    known = [rank for rank in map(_rank, parts) if rank is not None and rank < SOME_RANK]
    widest = max([*known, least])
    return widest if widest > 1 or (known and not is_open and len(known) == len(parts)) else SOME_RANK


def _tiled(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `tile`: as many as it is repeated along, at least those that there are."""
    rank, dimensions = _rank(_whole(row, main, bound)), _dimensions(bound.get("dims"))
    return None if rank is None or dimensions is None else max(rank, len(dimensions))


def _widest(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the argument with the most, which has some."""
    ranks = [_rank(bound.get(name)) for name in row.concerned]
    return SOME_RANK if None in ranks else max((rank for rank in ranks if rank is not None), default=0) or SOME_RANK


def _product(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `matmul`."""
    left, right = (bound.get(name) for name in row.concerned[:2])
    return product_rank(left, right) if isinstance(left, Value) and isinstance(right, Value) else None


def _summed(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `einsum`: a letter behind the arrow each; without an arrow, each letter that stands there once."""
    equation = constant(bound.get("equation"))
    if not isinstance(equation, str):
        return None
    given, arrow, made = equation.replace(" ", "").partition("->")
    if not arrow:
        count = Counter(given.replace(",", "").replace(_ELLIPSIS, ""))
        made = "".join(letter for letter, times in count.items() if times == 1) + (_ELLIPSIS if "." in given else "")
    if _ELLIPSIS in made:
        return SOME_RANK if len(made) > len(_ELLIPSIS) else None
    return len(made)


def _contracted(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of `tensordot`: those of both that were not summed over."""
    one, other = (_rank(bound.get(name)) for name in row.concerned[:2])
    dims = constant(bound["dims"]) if "dims" in bound else 2
    if one is None or other is None or max(one, other) >= SOME_RANK or type(dims) is not int:
        return None
    return max(one + other - 2 * dims, 0)


def _reduced(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of reductions: none, or those that were not reduced."""
    given, keepdim = bound.get("dim"), constant(bound.get("keepdim"))
    if isinstance(given, Tensor):
        return broadcast_rank([main, given])  # `torch.max(input, other)`
    if isinstance(given, Const) and isinstance(given.value, bool):
        given = None  # `x.std(False)`: that is `unbiased`
    dimensions = _dimensions(given)
    if given is None or given == [] or is_none(given) or dimensions == []:
        return 0 if keepdim is not True else main.rank
    if keepdim is True:
        return main.rank
    if main.rank is None:
        return None
    if dimensions is None or main.rank >= SOME_RANK:
        return SOME_RANK if main.rank >= SOME_RANK else None
    return max(main.rank - len(dimensions), 0)


def _loss(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """Of losses: one number, unless a reduction is asked for that may be none."""
    return 0 if _is_reduced(bound) else None


def _is_reduced(bound: dict[str, Any]) -> bool:
    """Whether a loss surely comes back as one number."""
    reduction = bound.get("reduction")
    if any(isinstance(bound.get(name), Value) for name in ("reduce", "size_average")):
        return False
    return reduction is None or constant(reduction) in ("mean", "sum", "batchmean", "elementwise_mean")


def _sized(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as sizes were given; with a dtype instead, as before; of what needs none, as its arguments."""
    if "creates" in row.flags and bound.get("size") is None:
        return _broadcast(row, main, bound)
    return main.rank if is_dtype(bound.get("size")) else _from_sizes(bound)


def _broadcast(row: Row, main: Tensor, bound: dict[str, Any]) -> int | None:
    """As many as the argument with the most."""
    values = [value for name, _ in row.demands for value in [bound.get(name)] if isinstance(value, Value)]
    return broadcast_rank([main, *values])


_RULES: dict[str, Callable[[Row, Tensor, dict[str, Any]], int | None]] = {
    "zero": _zero,
    "many": _many,
    "kept": _kept,
    "more": _more,
    "less": _less,
    "second": _second,
    "flat": _flat,
    "diagonal": _diagonal,
    "inner": _inner,
    "unfolded": _unfolded,
    "along": _along,
    "squeezed": _squeezed,
    "stacked": _stacked,
    "joined": _joined,
    "joined-2": _joined,
    "joined-3": _joined,
    "tiled": _tiled,
    "widest": _widest,
    "product": _product,
    "summed": _summed,
    "contracted": _contracted,
    "reduce": _reduced,
    "loss": _loss,
    "size": _sized,
    "broadcast": _broadcast,
}
