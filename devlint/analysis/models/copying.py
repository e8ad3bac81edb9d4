"""`copy.copy` and `copy.deepcopy`: copies of the object graph, device by device as the originals are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.module_state import ModuleState
from devlint.analysis.domain.values import (
    UNKNOWN,
    Array,
    Bound,
    Instance,
    Mapping,
    Maybe,
    Method,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.python.attribute_dicts import HELD
from devlint.analysis.python.enumerations import is_member

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

MAX_OBJECTS = 2_000


@models("copy.deepcopy")
def deepcopy(machine: Machine, call: Call) -> Value | None:
    """`copy.deepcopy(x)`."""
    if not call.positional:
        return UNKNOWN
    value = call.positional[0]
    if isinstance(value, Instance):
        own = find(value.cls, "__deepcopy__")
        if own is not None:
            return call_value(machine, Bound(own[0], value), call.with_arguments([Mapping({})]))
    return copied(value, {})


def copied(value: Value, memo: dict[int, Value]) -> Value:
    """Copy an object and all it refers to, each once: aliases inside stay aliases. Code and constants are shared."""
    kind = value.__class__
    if kind not in _COPIES:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    if len(memo) > MAX_OBJECTS:
        return value
    made: Value = _COPIES[kind](value, memo)
    return made


def copy_tensor(value: Tensor, memo: dict[int, Value]) -> Tensor:
    """A tensor with the same device and the origin of the original."""
    made = Tensor(
        value.device,
        value.rank,
        value.origin,
        is_parameter=value.is_parameter,
        assumed=value.assumed,
        requires_grad=value.requires_grad,
        dtype=value.dtype,
        size=value.size,
    )
    made.pending = value.pending
    memo[id(value)] = made
    return made


def _copy_maybe(value: Maybe, memo: dict[int, Value]) -> Value:
    return Maybe(copied(value.value, memo), value.key, value.there)


def _copy_array(value: Array, memo: dict[int, Value]) -> Value:
    return memo.setdefault(id(value), Array(value.rank))


def _copy_sequence(value: Sequence, memo: dict[int, Value]) -> Value:
    made = Sequence(value.kind, [], value.open)
    memo[id(value)] = made
    made.items = [copied(item, memo) for item in value.items]
    return made


def _copy_mapping(value: Mapping, memo: dict[int, Value]) -> Value:
    made = Mapping({}, None, value.open, value.kind, value.factory)
    memo[id(value)] = made
    made.items = {key: copied(item, memo) for key, item in value.items.items()}
    made.rest = None if value.rest is None else copied(value.rest, memo)
    return made


def _copy_instance(value: Instance, memo: dict[int, Value]) -> Value:
    if is_member(value):
        return value
    made = Instance(value.cls, value.site)
    memo[id(value)] = made
    made.fields = {name: copied(item, memo) for name, item in value.fields.items()}
    made.state = Kept({name: _copy_raw(item, memo) for name, item in value.state.items() if name != HELD})
    if value.module is not None:
        made.module = copy_module_state(value.module, memo)
    return made


def copy_module_state(state: ModuleState, memo: dict[int, Value]) -> ModuleState:
    """What makes the copy of a module a module."""
    made = ModuleState()
    made.kinds = dict(state.kinds)
    made.places = dict(state.places)
    made.children = None if state.children is None else [copied(child, memo) for child in state.children]
    made.row, made.forward = state.row, state.forward
    made.unsure = state.unsure
    made.device = state.device
    made.moved_at = state.moved_at
    made.placed_itself = state.placed_itself
    if state.family is not None:
        made.family = [tensor for tensor in (copied(part, memo) for part in state.family) if isinstance(tensor, Tensor)]
    return made


def _copy_raw(item: Any, memo: dict[int, Value]) -> Any:
    if isinstance(item, Value):
        return copied(item, memo)
    if item.__class__ in (list, tuple):
        return item.__class__(_copy_raw(part, memo) for part in item)
    if item.__class__ is dict:
        return {key: _copy_raw(part, memo) for key, part in item.items()}
    return item


def _copy_bound(value: Bound, memo: dict[int, Value]) -> Value:
    return Bound(value.function, copied(value.receiver, memo))


def _copy_method(value: Method, memo: dict[int, Value]) -> Value:
    return Method(copied(value.receiver, memo), value.name)


_COPIES: dict[type, Any] = {
    Tensor: copy_tensor,
    Array: _copy_array,
    Maybe: _copy_maybe,
    Sequence: _copy_sequence,
    Mapping: _copy_mapping,
    Instance: _copy_instance,
    Bound: _copy_bound,
    Method: _copy_method,
}


@models("copy.copy")
def shallow_copy(machine: Machine, call: Call) -> Value | None:
    """`copy.copy(x)`: a new object with the same parts."""
    value = call.positional[0] if call.positional else UNKNOWN
    if isinstance(value, Sequence):
        return Sequence(value.kind, list(value.items), value.open)
    if isinstance(value, Mapping):
        return Mapping(dict(value.items), value.rest, value.open, value.kind, value.factory)
    if isinstance(value, Tensor):
        return copy_tensor(value, {})
    if isinstance(value, Instance):
        own = find(value.cls, "__copy__")
        if own is not None:
            return call_value(machine, Bound(own[0], value), call.with_arguments([]))
        made = Instance(value.cls, value.site)
        made.fields = dict(value.fields)
        made.state = Kept(value.state)
        if value.module is not None:
            made.module = copy_module_state(value.module, {id(c): c for c in value.module.children or ()})
        return made
    return value
