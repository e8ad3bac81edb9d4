"""numpy arrays: they are on the host, and have no `.to()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.devices import source_text
from devlint.analysis.dispatch import (
    ATTRIBUTE,
    BINARY,
    ITEM,
    ITERATE,
    METHOD,
    Call,
    Iteration,
    method_models,
    models,
    on,
)
from devlint.analysis.events import MoveOnArray
from devlint.analysis.host import to_host
from devlint.analysis.values import (
    DTYPE,
    NONE,
    NUMBER,
    SIZE,
    SLICE,
    SOME_RANK,
    UNKNOWN,
    Array,
    Const,
    External,
    Instance,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_none,
)
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_SCALARS = frozenset("item all any".split())
_REDUCTIONS = frozenset("sum mean std var min max argmin argmax prod ptp".split())
_NOTHING = frozenset("fill sort tofile dump put setflags itemset partition".split())
_METHODS = (
    _SCALARS
    | _REDUCTIONS
    | _NOTHING
    | frozenset(
        "argpartition argsort astype byteswap choose clip compress conj conjugate copy cumprod cumsum diagonal dot "
        "flatten getfield nonzero ravel repeat reshape resize round searchsorted squeeze swapaxes take tobytes tolist "
        "trace transpose view".split()
    )
)
_MOVES = frozenset({"to", "cuda", "cpu"})


@on(METHOD, Array)
def array_method(machine: Machine, value: Array, name: str, call: Call) -> Value:
    """`array.name(...)`; a move is an error in every world."""
    if name in _MOVES:
        node = call.node
        receiver = (
            node.function.value if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute) else node
        )
        machine.crash(
            MoveOnArray,
            machine.site(node, call.frame),
            error=errors.message("no-attribute", type="numpy.ndarray", name=name),
            text=source_text(machine, machine.site(receiver, call.frame)),
            method=name,
        )
    if name not in _METHODS:
        return UNKNOWN
    if name in _NOTHING:
        return NONE
    if name in _SCALARS or (name in _REDUCTIONS and not call.positional and not call.keywords):
        return NUMBER
    if name == "view" and call.positional and not isinstance(call.positional[0], (Const, External)):
        return UNKNOWN
    if name == "tolist":
        return Sequence("list", [], True)
    return Array(value.rank if name in ("astype", "copy", "clip", "round") else None, value.source)


@on(ATTRIBUTE, Array)
def array_attribute(machine: Machine, value: Array, name: str, node: ir.Node, frame: Frame) -> Value:
    """`array.name`."""
    if name == "shape":
        return Sequence("tuple", [SIZE, SIZE], True)
    if name in ("size", "ndim", "nbytes"):
        return SIZE
    if name == "dtype":
        return DTYPE
    if name in ("T", "real", "imag", "flat"):
        return Array()
    return Method(value, name)


@on(ITEM, Array)
def array_item(machine: Machine, value: Array, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`array[index]`: an array or a number."""
    if isinstance(index, Tensor):
        to_host(machine, index, "numpy indexing", node, frame, "library")
    rank = _part_rank(value.rank, index)
    return NUMBER if rank == 0 and value.rank != 0 else Array(rank, value.source)


def _part_rank(rank: int | None, index: Value) -> int | None:
    """How many dimensions the part of an array at an index has."""
    parts = index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]
    sliced = any(part is SLICE for part in parts)
    if rank is None or rank >= SOME_RANK:
        numbered = any(not isinstance(part, (Array, Sequence)) for part in parts)
        return SOME_RANK if sliced or not numbered else None
    for part in parts:
        if part is SLICE or (isinstance(part, Const) and part.value is Ellipsis):
            continue
        if not isinstance(part, (Const, Scalar)):
            return SOME_RANK if sliced or isinstance(part, (Array, Sequence)) else None
        rank += 1 if is_none(part) else -1
    return max(rank, 0)


@on(ITERATE, Array)
def iterate_array(machine: Machine, value: Array, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """Rows, or numbers."""
    part: Value = NUMBER if value.rank == 1 else Array()
    return Iteration([part] * max(wanted, 2), True)


@on(BINARY, Array)
def array_binary(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """Arithmetic gives arrays."""
    if all(isinstance(side, (Array, Const, Scalar)) for side in (left, right)):
        ranks = [side.rank for side in (left, right) if isinstance(side, Array)]
        known = [rank for rank in ranks if rank]
        return Array(max(known) if known else None)
    return None


@models("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")
def random_generator(machine: Machine, call: Call) -> Value:
    """A numpy generator."""
    return Instance(External("numpy.random.Generator"))


@method_models(
    "numpy.random.Generator",
    *"random rand randn normal uniform integers randint standard_normal permutation choice".split(),
)
def draw(machine: Machine, instance: Instance, call: Call) -> Value:
    """Numbers drawn: an array where a size is given."""
    if not call.positional and "size" not in call.keywords:
        return NUMBER
    return Array(SOME_RANK)
