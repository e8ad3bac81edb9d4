"""numpy arrays: they are on the host, and have no `.to()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import (
    ASSIGN_ITEM,
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
from devlint.analysis.domain.values import (
    HOST_DATA,
    NONE,
    NUMBER,
    NUMPY_DTYPE,
    SIZE,
    SLICE,
    SOME_RANK,
    UNKNOWN,
    Array,
    Const,
    External,
    Instance,
    Mapping,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)
from devlint.analysis.events import MoveOnArray
from devlint.analysis.flow.narrowing import is_for_tensors
from devlint.analysis.python.lacking import is_told_apart, receiver_of
from devlint.analysis.pytorch.array_ranks import array_product_rank, array_rank, reduced_array_rank
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.host import read_pending, read_through, to_host
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.pytorch.results import may_be_module
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
_ALIKE = frozenset("argsort astype clip conj conjugate copy round swapaxes transpose".split())
_VIEWS = frozenset("diagonal ravel reshape squeeze swapaxes transpose view".split())
_MOVES = frozenset({"to", "cuda", "cpu"})


@models("numpy.isscalar")
def isscalar(machine: Machine, call: Call) -> Value | None:
    """`numpy.isscalar(x)`: no for what has parts, and for tensors, which are none of numpy's."""
    given = call.argument(0, "element")
    if isinstance(given, Const):
        return Const(isinstance(given.value, (bool, int, float, complex, str, bytes)))
    return Const(False) if isinstance(given, (Tensor, Array, Sequence, Mapping, Instance)) else None


@on(METHOD, Array)
def array_method(machine: Machine, value: Array, name: str, call: Call) -> Value:
    """`array.name(...)`; a move is an error in every world."""
    if name in _MOVES:
        if is_told_apart(machine, call.node, call.frame) or is_for_tensors(machine, call.node, call.frame):
            return UNKNOWN
        machine.crash(
            MoveOnArray,
            machine.site(call.node, call.frame),
            error=errors.message("no-attribute", type="numpy.ndarray", name=name),
            text=source_text(machine, machine.site(receiver_of(call.node), call.frame)),
            method=name,
        )
    if name not in _METHODS:
        return UNKNOWN
    if name not in _VIEWS:
        read_through(machine, value, f".{name}()", call.node, call.frame)
    if name in _NOTHING:
        return NONE
    if name in _SCALARS:
        return NUMBER
    if name in _REDUCTIONS and not call.open:
        left = reduced_array_rank(value, call.given(0, "axis"), call.keywords.get("keepdims"))
        return NUMBER if left == 0 else Array(left, None, True)
    if name == "view" and call.positional and not isinstance(call.positional[0], (Const, External)):
        return UNKNOWN
    if name == "tolist":
        return Sequence("list", [], True)
    shared = value.source if name in _VIEWS else None
    if name in ("flatten", "ravel"):
        return Array(1, shared)
    if name == "reshape":
        return Array(_shape_rank(call), shared)
    if name in ("cumsum", "cumprod", "repeat"):
        axis = call.argument(1 if name == "repeat" else 0, "axis")
        return Array(1 if axis is None or is_none(axis) else value.rank)
    if name in _ALIKE:
        return Array(value.rank, shared, value.may_be_number)
    return Array(None, shared, name in _REDUCTIONS or name == "take")


def _shape_rank(call: Call) -> int | None:
    """How many dimensions `a.reshape(2, 3)`, `a.reshape((2, 3))` has."""
    sizes = call.positional
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        return None if sizes[0].open else len(sizes[0].items)
    known = bool(sizes) and not call.open and all(isinstance(size, (Const, Scalar)) for size in sizes)
    return len(sizes) if known else None


@on(ATTRIBUTE, Array)
def array_attribute(machine: Machine, value: Array, name: str, node: ir.Node, frame: Frame) -> Value:
    """`array.name`."""
    if name == "shape":
        return Sequence("tuple", [SIZE, SIZE], True)
    if name in ("size", "ndim", "nbytes"):
        return SIZE
    if name == "dtype":
        return NUMPY_DTYPE
    if name in ("T", "real", "imag", "flat"):
        return Array(1 if name == "flat" else value.rank, value.source, value.may_be_number)
    return Method(value, name)


@on(ITEM, Array)
def array_item(machine: Machine, value: Array, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`array[index]`: an array or a number."""
    _convert_index(machine, index, node, frame)
    rank = None if isinstance(index, Array) and index.may_be_number else _part_rank(value.rank, index)
    if rank == 0:
        read_through(machine, value, "", node, frame)
    return NUMBER if rank == 0 and value.rank != 0 else Array(rank, value.source, rank is None)


@on(ASSIGN_ITEM, Array)
def assign_array_item(machine: Machine, value: Array, index: Value, new: Value, node: ir.Node, frame: Frame) -> None:
    """`array[index] = new`: what fills a part is converted; a single element asks a tensor for its number."""
    _convert_index(machine, index, node, frame)
    if _is_part(value.rank, index):
        for tensor in tensors_in(new, 2):
            to_host(machine, tensor, "numpy assignment", node, frame, "library")
            read_pending(machine, tensor, "numpy assignment", node, frame)


def _convert_index(machine: Machine, index: Value, node: ir.Node, frame: Frame) -> None:
    """Tensors among the indices are converted, but for one that is a number, or may be, which is asked for it."""
    for part in _index_parts(index):
        if isinstance(part, Tensor) and part.rank not in (0, None) and part.size != 1 and not part.is_element:
            to_host(machine, part, "numpy indexing", node, frame, "library")


def _index_parts(index: Value) -> list[Value]:
    return index.items if isinstance(index, Sequence) and index.kind == "tuple" else [index]


def _is_part(rank: int | None, index: Value) -> bool:
    """Whether an index surely names a part of an array with dimensions of its own, not an element."""
    parts = _index_parts(index)
    if any(part is SLICE or isinstance(part, Sequence) or _is_array(part) for part in parts):
        return True
    numbers = sum(isinstance(part, (Const, Scalar, Array, Tensor)) and not is_none(part) for part in parts)
    if numbers < len(parts) or any(isinstance(part, Const) and isinstance(part.value, str) for part in parts):
        return False
    return rank is not None and numbers < rank < SOME_RANK


def _is_array(part: Value) -> bool:
    """Whether an index is surely an array of numbers, not one."""
    return isinstance(part, Array) and bool(part.rank)


def _part_rank(rank: int | None, index: Value) -> int | None:
    """How many dimensions the part of an array at an index has."""
    parts = _index_parts(index)
    sliced = any(part is SLICE for part in parts)
    if rank is None or rank >= SOME_RANK:
        numbered = not all(isinstance(part, Sequence) or _is_array(part) for part in parts)
        return SOME_RANK if sliced or not numbered else None
    for part in parts:
        if part is SLICE or (isinstance(part, Const) and part.value is Ellipsis):
            continue
        if not isinstance(part, (Const, Scalar)):
            return SOME_RANK if sliced or isinstance(part, Sequence) or _is_array(part) else None
        rank += 1 if is_none(part) else -1
    return max(rank, 0)


@on(ITERATE, Array)
def iterate_array(machine: Machine, value: Array, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """Rows, or numbers."""
    rank = value.rank
    read_through(machine, value, "", node, frame)
    part: Value = NUMBER if rank == 1 else Array(rank - 1 if rank and rank < SOME_RANK else None, None, True)
    return Iteration([part] * max(wanted, 2), True)


@on(BINARY, Array)
def array_binary(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """Arithmetic gives arrays."""
    if all(isinstance(side, (Array, Const, Scalar)) for side in (left, right)):
        arrays = [side for side in (left, right) if isinstance(side, Array)]
        for side in arrays:
            read_through(machine, side, "", node, frame)
        if operator == "@" and len(arrays) == 2:
            return _product(arrays[0], arrays[1])
        known = [side.rank for side in arrays if side.rank]
        return Array(max(known) if known else None, None, all(side.may_be_number for side in arrays))
    if any(isinstance(side, Array) and not side.may_be_number for side in (left, right)):
        return HOST_DATA if isinstance(left, Unknown) or isinstance(right, Unknown) else None
    return None


def _product(left: Array, right: Array) -> Value:
    rank = array_product_rank(left.rank, right.rank)
    return NUMBER if rank == 0 else Array(rank, None, True)


@models("numpy.matmul", "numpy.dot")
def multiply(machine: Machine, call: Call) -> Value | None:
    """`np.matmul(a, b)`: two vectors give a number."""
    left, right = call.argument(0, "a"), call.argument(1, "b")
    return _product(left, right) if isinstance(left, Array) and isinstance(right, Array) else None


@models("numpy.einsum")
def contract(machine: Machine, call: Call) -> Value | None:
    """`np.einsum("ij,jk->ik", a, b)`: the text says how many dimensions there are."""
    text = constant(call.argument(0, "subscripts"))
    if not isinstance(text, str) or "->" not in text or any(map(tensors_in, call.positional)):
        return None
    kept = text.partition("->")[2].replace(" ", "")
    if "." in kept:
        return Array(SOME_RANK if kept.strip(".") else None, None, True)
    return Array(len(kept)) if kept else NUMBER


@models("numpy.interp", "numpy.digitize")
def look_up(machine: Machine, call: Call) -> Value | None:
    """For each number that is looked up, one."""
    given = call.argument(0, "x")
    if given is None or call.open or any(map(tensors_in, call.values())):
        return None
    rank = array_rank(given)
    return NUMBER if rank == 0 else Array(rank, None, True)


@models("numpy.float64", "numpy.double")
def as_double(machine: Machine, call: Call) -> Value | None:
    """`np.float64(x)` is a float of Python's, too: a tensor of one number is asked for it."""
    given = call.argument(0, "value")
    if isinstance(given, Tensor) and (given.rank in (0, None) or given.size == 1):
        read_pending(machine, given, "numpy.float64", call.node, call.frame)
        return NUMBER
    return None


@models("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")
def random_generator(machine: Machine, call: Call) -> Value:
    """A numpy generator."""
    return Instance(External("numpy.random.Generator"))


@models("numpy.random.permutation")
def permutation(machine: Machine, call: Call) -> Value:
    """`np.random.permutation(n)`: numbers in another order, or the rows of what is given."""
    given = call.argument(0, "x")
    if isinstance(given, (Scalar, Const)):
        return Array(1)
    if isinstance(given, Tensor):
        to_host(machine, given, "numpy.random.permutation", call.node, call.frame, "library")
    return Array(given.rank if isinstance(given, (Array, Tensor)) else None)


@method_models("numpy.random.Generator", "permutation")
def permute(machine: Machine, instance: Instance, call: Call) -> Value:
    """`rng.permutation(n)`."""
    return permutation(machine, call)


@models("numpy.where")
def where(machine: Machine, call: Call) -> Value | None:
    """`np.where(condition, x, y)`: as many dimensions as the most of the three; with a condition alone a tuple."""
    if call.open or call.keywords or len(call.positional) != 3 or any(map(tensors_in, call.positional)):
        return None
    ranks = [rank for rank in map(array_rank, call.positional) if rank is not None]
    return Array(max(ranks), None, True) if ranks and (len(ranks) == 3 or max(ranks) > 0) else None


@models("numpy.argmax")
def greatest_place(machine: Machine, call: Call) -> Value | None:
    """`np.argmax(xs)`."""
    return _extreme_place(machine, call, "argmax")


@models("numpy.argmin")
def least_place(machine: Machine, call: Call) -> Value | None:
    """`np.argmin(xs)`."""
    return _extreme_place(machine, call, "argmin")


def _extreme_place(machine: Machine, call: Call, name: str) -> Value | None:
    """Of a list with an item for each GPU: there may be none."""
    given = call.argument(0, "a")
    if isinstance(given, Sequence) and given.counted and not given.items and not given.open:
        too_few(machine, 0, "ValueError", f"attempt to get {name} of an empty sequence", call.node, call.frame)
        return NUMBER
    return None


@models("numpy.random.choice")
def choose(machine: Machine, call: Call) -> Value | None:
    """`np.random.choice(xs)` is one of them, whatever they are; with a size, or of a number, what the row says."""
    given, size = call.argument(0, "a"), call.given(1, "size")
    if isinstance(given, Sequence) and _holds_modules(given):
        return UNKNOWN
    if not isinstance(given, (Array, Sequence, Unknown)) or tensors_in(given) or not (size is None or is_none(size)):
        return None
    if isinstance(given, Unknown) or (isinstance(given, Sequence) and not _holds_plain(given)):
        return UNKNOWN  # dicts and other objects are drawn as they are
    return Array(None, None, True)


def _holds_modules(value: Sequence) -> bool:
    """Whether a list holds nothing but what was moved without being known: modules are drawn as they are."""
    held = tensors_in(value)
    return bool(held) and all(may_be_module(tensor) for tensor in held)


def _holds_plain(value: Sequence) -> bool:
    """Whether all items of a list are numbers, texts or arrays."""
    return bool(value.items) and all(isinstance(item, (Array, Const, Scalar)) for item in value.items)


def _drawn_by(path: str) -> Callable[[Machine, Instance, Call], Value]:
    """What a generator draws by a method that has a function of that path beside it: the same."""
    return lambda machine, instance, call: call_value(machine, External(path), call)


for _name in "random rand randn normal uniform randint standard_normal choice".split():
    method_models("numpy.random.Generator", _name)(_drawn_by(f"numpy.random.{_name}"))
method_models("numpy.random.Generator", "integers")(_drawn_by("numpy.random.randint"))
