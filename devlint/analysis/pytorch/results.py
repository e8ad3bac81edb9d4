"""What an operation gives: tensors derived from others, and the forms of results that table rows name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.dtypes import dtype_of, is_dtype, is_floating
from devlint.analysis.domain.values import (
    ANY_SIZE,
    BOOL,
    DTYPE,
    MANY_RANK,
    NONE,
    NUMBER,
    POISON,
    SIZE,
    SOME_DEVICE,
    SOME_RANK,
    STRING,
    UNKNOWN,
    Array,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Maybe,
    Sequence,
    Tensor,
    Value,
    is_none,
    present,
)
from devlint.analysis.pytorch.array_ranks import array_rank, nesting, reduced_array_rank, shape_rank
from devlint.analysis.pytorch.ranks import result_rank
from devlint.analysis.pytorch.sizes import result_size

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row


def derived(tensor: Tensor, rank: int | None = -1) -> Tensor:
    """A new tensor on the same device, which came from that one. A rank of -1 keeps the rank."""
    made = Tensor(tensor.device, tensor.rank if rank == -1 else rank, tensor.origin, assumed=tensor.assumed)
    made.requires_grad = True if tensor.is_parameter else tensor.requires_grad
    made.keeps_grad = made.requires_grad is not True
    made.pending = tensor.pending
    made.dtype = tensor.dtype
    made.is_element = rank == -1 and tensor.is_element
    if tensor.device is None:
        made.behind = tensor.behind
    return made


def is_any_content(value: Tensor) -> bool:
    """Whether the tensor stands for anything that a file of unknown content holds: a dict, a number, a name."""
    origin = value.origin
    if origin is not None and origin.kind == "left-behind":
        origin = origin.previous
    return value.rank is None and origin is not None and origin.kind == "loaded"


def may_be_module(value: Tensor) -> bool:
    """Whether something that was loaded, or moved without being known, was taken for a tensor: it may move in place."""
    if value.rank is not None or value.origin is None:
        return False
    first = value.origin.first()
    return first.kind == "loaded" or (first.kind in ("moved", "async-copy") and first.source is None)


def loaded_tensor(value: Value) -> Tensor | None:
    """The tensor that a file may hold that was taken for a dict of them: what it is only its use can tell."""
    if not isinstance(value, Mapping) or value.kind != "state_dict" or value.items:
        return None
    return value.rest if isinstance(value.rest, Tensor) and is_any_content(value.rest) else None


def as_tensor(value: Value) -> Value:
    """What was loaded, in a place that takes a tensor or None and nothing else; any other value as it is."""
    loaded = loaded_tensor(present(value))
    if loaded is None:
        return value
    return Maybe(derived(loaded), value.key, value.there) if isinstance(value, Maybe) else derived(loaded)


def device_of(value: Tensor) -> Value:
    """`tensor.device`: always with an index on CUDA."""
    if value.device is None or value.device == POISON:
        return SOME_DEVICE
    kind, _, index = value.device.partition(":")
    made = DeviceValue(kind, int(index) if index else None)
    made.of = value
    return made


# -- results of table rows


_DTYPES: dict[str, str | None] = {
    **dict.fromkeys(
        "eq ge greater gt isclose isfinite isin isinf isnan isneginf isposinf isreal le less logical_and logical_not "
        "logical_or logical_xor lt ne not_equal signbit".split(),
        "torch.bool",
    ),
    **dict.fromkeys(
        "argmax argmin argsort argwhere count_nonzero multinomial nonzero one_hot".split(),
        "torch.int64",
    ),
    **dict.fromkeys(
        "abs all angle any bincount bucketize complex imag polar real searchsorted stft view_as_complex "
        "view_as_real".split()
    ),
}
"""What operations give that have a dtype of their own; None where it depends."""


_ONLY_ARRANGES = frozenset(
    "as_strided broadcast_to cat chunk clone concat concatenate contiguous cpu cuda detach diagonal expand expand_as "
    "flatten flip gather hstack index_select masked_select movedim narrow permute pin_memory ravel repeat "
    "repeat_interleave reshape reshape_as roll select split squeeze stack swapaxes t take to transpose tril triu "
    "unbind unflatten unsqueeze view view_as vstack".split()
)


def _result_dtype(row: Row, main: Tensor, bound: dict[str, Any]) -> str | None:
    """The dtype of a result, where it is known."""
    name = row.short
    if "dtype" in bound:
        return dtype_of(bound["dtype"])
    if name in _DTYPES:
        return _DTYPES[name]
    if main.dtype is None or is_dtype(bound.get("size")) or row.name.startswith("torch.fft."):
        return None
    if not is_floating(main.dtype) and name not in _ONLY_ARRANGES:
        return None
    if row.effect == "keep":
        return main.dtype
    others = [bound.get(name) for name, _ in row.demands]
    return main.dtype if all(other.dtype == main.dtype for other in others if isinstance(other, Tensor)) else None


def _open_rank(row: Row, rank: int | None) -> int | None:
    """The rank where nobody knows how many arguments there are: `x.view(2, *shape)` has at least two dimensions."""
    if row.rank == "loss":
        return None
    if row.rank not in ("size", "tiled") or rank is None or rank >= SOME_RANK:
        return rank
    return MANY_RANK if rank > 1 else SOME_RANK


def row_result(machine: Machine, row: Row, main: Tensor | None, bound: dict[str, Any], call: Call) -> Value:
    """The result of an operation on tensors."""
    result = _form(row, bound)
    if result == "same":
        value = bound.get("self") or bound.get(row.concerned[0] if row.concerned else "self")
        return value if isinstance(value, Value) else UNKNOWN
    if result in _NO_TENSORS:
        return plain_result(row, bound)
    if main is None:
        return Tensor(None) if result == "tensor" else build(result, Tensor(None), None)
    out = bound.get("out")
    if isinstance(out, Value) and not is_none(out) and result == "tensor":
        return out if isinstance(out, Tensor) else Tensor(None)
    rank = result_rank(row, main, bound)
    if call.open:
        rank = _open_rank(row, rank)
    if result == "tensors" and result != row.result:
        rank = SOME_RANK  # `nonzero(as_tuple=True)`, `unique(return_inverse=True)`
    made = _a_part_for_each_gpu(machine, bound.get("chunks"), main, rank) or build(result, main, rank)
    if result.endswith(", lengths)") and isinstance(made, Sequence):
        made.items[-1] = Tensor("cpu", 1, machine.origin("host", call.node, call.frame, "cpu", row.name))
    if isinstance(made, Tensor):
        made.dtype = _result_dtype(row, main, bound)
        made.is_element = main.is_element and made.rank is None and row.rank in ("keep", "broadcast")
        made.size = result_size(row, main, bound)
    elif isinstance(made, Instance) and row.rank in ("keep", "reduce"):  # `x.max(dim=1)`, `x.sort()`
        for part in made.fields.values():
            if isinstance(part, Tensor):
                part.size = result_size(row, main, bound)
    if row.short in _OF_DIMENSIONS and "dim" in bound:  # of one column, or of the one image of a batch, there is one
        found = made.fields.get("indices") if isinstance(made, Instance) else made
        if isinstance(found, Tensor):
            found.is_element = True
    picks = "picks" in row.flags and result in (row.result, "tensors")
    follows = main.requires_grad is False and may_require_grad(bound.values())
    if picks or follows:
        for part in made.items if isinstance(made, Sequence) else (made,):
            if isinstance(part, Tensor):
                part.size = ANY_SIZE if picks else part.size
                part.requires_grad = None if follows else part.requires_grad
    return made


def may_require_grad(operands: Iterable[object]) -> bool:
    """Whether one of several operands may require a gradient, so that what is made of them may, too."""
    tensors = [value for value in operands if isinstance(value, Tensor)]
    return any(value.is_parameter or value.requires_grad is not False for value in tensors)


def _a_part_for_each_gpu(machine: Machine, count: Value | None, main: Tensor, rank: int | None) -> Sequence | None:
    """The parts of `x.chunk(torch.cuda.device_count())`."""
    if not isinstance(count, Const) or count.site is None or count.site.key not in machine.places.counts:
        return None
    if not isinstance(count.value, int) or count.value < 1:
        return None
    made = Sequence("tuple", [derived(main, rank) for _ in range(count.value)])
    made.counted = True
    return made


def _form(row: Row, bound: dict[str, Any]) -> str:
    """The form in which a result comes back, with these arguments."""
    for name, alternative in row.result_if:
        given = bound.get(name)
        if (
            given is None
            or (isinstance(given, Tensor) and alternative != "tensor")
            or (isinstance(given, Const) and (given.value is None or given.value is False))
        ):
            continue
        return alternative
    return row.result


_NO_TENSORS = frozenset({"none", "scalar", "bool", "string", "list", "shape", "dtype", "device"})
_OF_DIMENSIONS = frozenset({"argmax", "argmin", "max", "min"})


def row_named(row: Row, made: Tensor, bound: dict[str, Any], call: Call) -> Value:
    """A created tensor in the form that the row says it comes back in."""
    form = _form(row, bound)
    if call.open and row.result_if and form == row.result:
        return UNKNOWN  # what asks for another form may be given
    return made if form in ("tensor", "unknown", "same") else build(form, made, None)


def build(form: str, main: Tensor, rank: int | None) -> Value:
    """A result of this form on the device of `main`."""
    if form == "tensor":
        return derived(main, rank)
    if form == "array":
        return Array()
    if form == "tensors":
        return Sequence("tuple", [derived(main, rank), derived(main, rank)], True)
    if form.startswith("tuple("):
        return Sequence("tuple", [_without_dtype(build(part, main, rank)) for part in _split(form[6:-1])])
    if form.startswith("mapping("):
        return Mapping({name: _without_dtype(derived(main, rank)) for name in _split(form[8:-1])}, None, True)
    if form == "outputs":
        outputs = Instance(External("transformers.ModelOutput"))
        outputs.state["like"] = derived(main, None)
        return outputs
    if form.startswith("named("):
        names = [name.strip() for name in form[6:-1].split(",")]
        made = Instance(External("torch.return_types"))
        for name in names:
            made.fields[name] = _without_dtype(derived(main, rank))
        made.state["names"] = tuple(names)
        return made
    if form in _PLAIN:
        return _PLAIN[form]
    return UNKNOWN


def _without_dtype(part: Value) -> Value:
    """One of several results, which may be positions."""
    if isinstance(part, Tensor):
        part.dtype = None
    return part


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = 0
    current = ""
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts


_PLAIN: dict[str, Value] = {
    "scalar": NUMBER,
    "bool": BOOL,
    "string": STRING,
    "none": NONE,
    "dtype": DTYPE,
    "list": Sequence("list", [], True),
    "shape": Sequence("tuple", [SIZE, SIZE], True),
}


def plain_result(row: Row, bound: dict[str, Any]) -> Value:
    """A result that is no tensor."""
    if row.result == "list":
        return Sequence("list", [], True)
    if row.result == "tensor":
        return Tensor(None)
    if row.result == "array":
        # What a function computes may have no dimensions; what it reads or makes is an array.
        return _array(row, bound) if row.rank != "unknown" else Array(None, None, row.effect == "host-library")
    if row.result.startswith("tuple("):
        return Sequence("tuple", [_PLAIN.get(part, UNKNOWN) for part in _split(row.result[6:-1])])
    return _PLAIN.get(row.result, UNKNOWN)


def _array(row: Row, bound: dict[str, Any]) -> Value:
    """A numpy array; what is drawn or computed without dimensions is a number."""
    if row.rank == "size":
        given = bound.get("size", bound.get("shape"))
        rank = 0 if given is None or is_none(given) else shape_rank(given)
    elif row.rank == "broadcast":
        values = [value for part in bound.values() for value in (part if isinstance(part, list) else [part])]
        ranks = [value.rank if isinstance(value, Array) else nesting(value) for value in values]
        known = [rank for rank in ranks if rank is not None]
        rank = max(known) if known and (len(known) == len(ranks) or max(known) > 0) else None
    elif row.rank == "reduce":
        rank = reduced_array_rank(bound.get("a", bound.get("x")), bound.get("axis"), bound.get("keepdims"))
    elif row.rank == "along":
        rank = 1 if bound.get("axis") is None or is_none(bound["axis"]) else array_rank(bound.get("a"))
        rank = SOME_RANK if rank is None else rank
    else:
        rank = SOME_RANK if row.rank == "some" else int(row.rank)
    is_number = rank == 0 and (row.rank in ("broadcast", "reduce") or row.name.startswith("numpy.random."))
    return NUMBER if is_number else Array(rank, None, row.rank in ("broadcast", "reduce"))
