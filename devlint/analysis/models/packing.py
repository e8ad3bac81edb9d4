"""`torch.nn.utils.rnn`: packed sequences hold their data on a device, and their sizes on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    POISON,
    SOME_RANK,
    UNKNOWN,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
)
from devlint.analysis.pytorch.module_calls import call_builtin
from devlint.analysis.pytorch.results import derived
from devlint.analysis.pytorch.rows import apply_row
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

_RNN: Final = "torch.nn.utils.rnn"
_PACKED: Final = f"{_RNN}.PackedSequence"
_PARTS: Final = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
_ORDER: Final = _PARTS[2:]


def _packed(machine: Machine, data: Value, order: dict[str, Value], call: Call) -> Instance:
    """A packed sequence of this data."""
    made = Instance(External(_PACKED), machine.site(call.node, call.frame))
    sizes = Tensor("cpu", 1, machine.origin("host", call.node, call.frame, "cpu", _PACKED))
    made.fields.update(data=data, batch_sizes=sizes, **order)
    made.state["names"] = _PARTS
    return made


def _is_packed(value: Value | None) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == _PACKED


def _part(value: Instance, name: str) -> Value:
    """A part of a packed sequence; that of a class of the user's own may not be known."""
    return value.fields.get(name, UNKNOWN)


def _order(value: Instance) -> dict[str, Value]:
    return {name: _part(value, name) for name in _ORDER}


def _by_row(machine: Machine, name: str, call: Call) -> Value:
    """What the tables say of a function of this module."""
    row = table.lookup(f"{_RNN}.{name}")
    assert row is not None
    return apply_row(machine, row, call)


@models(f"{_RNN}.pack_padded_sequence", f"{_RNN}.pack_sequence")
def pack(machine: Machine, call: Call) -> Value:
    """`pack_padded_sequence(input, lengths)`, `pack_sequence(sequences)`: packed where the input is."""
    of_parts = call.argument(0, "sequences") if "input" not in call.keywords else None
    if isinstance(of_parts, Sequence):
        result, source = _by_row(machine, "pack_sequence", call), _first_tensor(of_parts)
        sorting = call.argument(1, "enforce_sorted")
    else:
        result, source = _by_row(machine, "pack_padded_sequence", call), call.argument(0, "input")
        sorting = call.argument(3, "enforce_sorted")
    if isinstance(result, Tensor) and result.device == POISON:
        return result
    if not isinstance(source, Tensor):
        return UNKNOWN
    is_sorted = (sorting is None and not call.open) or constant(sorting) is True
    order: Value = NONE if is_sorted else derived(source, 1) if constant(sorting) is False else UNKNOWN
    return _packed(machine, derived(source, SOME_RANK), dict.fromkeys(_ORDER, order), call)


def _first_tensor(value: Sequence) -> Value | None:
    return value.items[0] if value.items else None


@models(_PACKED)
def packed_sequence(machine: Machine, call: Call) -> Value:
    """`PackedSequence(data, batch_sizes)`."""
    data = call.argument(0, "data")
    if call.open or data is None:
        return UNKNOWN
    order = {name: call.argument(2 + number, name) or NONE for number, name in enumerate(_ORDER)}
    return _packed(machine, data, order, call)


@models(f"{_RNN}.pad_packed_sequence", f"{_RNN}.unpack_sequence")
def unpack(machine: Machine, call: Call) -> Value | None:
    """`pad_packed_sequence(sequence)`: where the data is."""
    packed = call.argument(0, "sequence") or call.keywords.get("packed_sequences")
    if not isinstance(packed, Instance) or not _is_packed(packed):
        return None
    name = "unpack_sequence" if "packed_sequences" in call.keywords else "pad_packed_sequence"
    keywords = {key: value for key, value in call.keywords.items() if value is not packed}
    return _by_row(machine, name, call.with_arguments([_part(packed, "data"), *call.positional[1:]], keywords))


# -- methods


def _moved(name: str) -> None:
    @method_models(_PACKED, name)
    def move(machine: Machine, value: Instance, call: Call) -> Value:
        """`packed.to(device)`: another packed sequence."""
        data = call_method(machine, _part(value, "data"), name, call)
        order = _order(value)
        if isinstance(data, Tensor):
            order = {part: derived(data, 1) if isinstance(old, Tensor) else old for part, old in order.items()}
        return _packed(machine, data, order, call)


for _name in ("to", "cuda", "cpu", "float", "double", "half", "long", "int", "pin_memory"):
    _moved(_name)


@method_models(_PACKED, "_replace")
def replace(machine: Machine, value: Instance, call: Call) -> Value:
    """`packed._replace(data=...)`: the same order of other data."""
    made = _packed(machine, _part(value, "data"), _order(value), call)
    made.fields.update(call.keywords)
    return made


@method_models(_PACKED, "_asdict")
def as_dict(machine: Machine, value: Instance, call: Call) -> Value:
    """`packed._asdict()`."""
    return Mapping({name: _part(value, name) for name in _PARTS})


@on(INSTANCE_ATTRIBUTES, _PACKED)
def attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`packed.is_cuda`."""
    data = _part(value, "data")
    if name != "is_cuda":
        return None
    known = isinstance(data, Tensor) and data.device not in (None, POISON)
    return const(str(data.device).startswith("cuda")) if known and isinstance(data, Tensor) else BOOL


# -- recurrent layers


@method_models("torch.nn.RNN", "forward")
@method_models("torch.nn.LSTM", "forward")
@method_models("torch.nn.GRU", "forward")
def run_packed(machine: Machine, value: Instance, call: Call) -> Value | None:
    """A recurrent layer gives a packed sequence for one; None where its input is a tensor."""
    given = call.argument(0, "input")
    if not isinstance(given, Instance) or not _is_packed(given):
        return None
    keywords = {key: part for key, part in call.keywords.items() if part is not given}
    result = call_builtin(machine, value, call.with_arguments([_part(given, "data"), *call.positional[1:]], keywords))
    if not isinstance(result, Sequence) or len(result.items) != 2:
        return result
    order = _order(given)
    return Sequence("tuple", [_packed(machine, result.items[0], order, call), result.items[1]])
