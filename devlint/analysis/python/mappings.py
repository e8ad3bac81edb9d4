"""Dicts and their kin: `OrderedDict`, `defaultdict`, `Counter`, `UserDict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import attribute, call_method, call_value, iterate
from devlint.analysis.dispatch import ASSIGN_ITEM, ATTRIBUTE, BINARY, ITEM, ITERATE, METHOD, TRUTH, Call, Iteration, on
from devlint.analysis.domain.circles import as_part
from devlint.analysis.domain.module_state import TABLES
from devlint.analysis.domain.plain import (
    NotConstant,
    index_number,
    join_all,
    key_of,
    length,
    missing,
    pair,
    value_of_key,
)
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    SCALAR,
    SIZE,
    TEXT_OF_DEVICE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Function,
    Instance,
    Mapping,
    Maybe,
    Method,
    OneOf,
    Sequence,
    Tensor,
    Value,
    const,
    is_none,
)
from devlint.analysis.flow.conditions import named_unknown
from devlint.analysis.flow.other_values import note_other_entries
from devlint.analysis.python.classes import note_any_name
from devlint.analysis.python.lacking import LACKED, read_lacking
from devlint.analysis.python.names import visits_all
from devlint.analysis.python.parsed_options import doubt
from devlint.analysis.pytorch.device_names import misses_by_index, tell_missing_key
from devlint.analysis.pytorch.loads import are_weights, of_weights, part_of_load, take_for_data, take_for_weights
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.pytorch.results import derived, is_any_content, loaded_tensor
from devlint.analysis.signals import Crash
from devlint.semantics.devices import parse_device
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

Model = Callable[["Machine", Mapping, Call], Value]
METHODS: Final[dict[str, Model]] = {}


@on(METHOD, Mapping)
def mapping_method(machine: Machine, value: Mapping, name: str, call: Call) -> Value:
    """`d.name(...)`."""
    function = METHODS.get(name)
    if function is None:
        loaded = loaded_tensor(value)
        if loaded is not None:
            return call_method(machine, loaded, name, call)
        return read_lacking(machine, value, name, call.node, call.frame) if name in LACKED else UNKNOWN
    return function(machine, value, call)


@on(ATTRIBUTE, Mapping)
def mapping_attribute(machine: Machine, value: Mapping, name: str, node: ir.Node, frame: Frame) -> Value:
    """`d.name` is a method; what was loaded may be a tensor."""
    loaded = loaded_tensor(value) if name in _OF_TENSORS else None
    if loaded is not None:
        return attribute(machine, loaded, name, node, frame)
    return read_lacking(machine, value, name, node, frame) if name in LACKED else Method(value, name)


_OF_TENSORS: Final = frozenset({"device", "dtype", "is_cuda", "ndim", "shape", "T"})


@on(TRUTH, Mapping)
def mapping_truth(machine: Machine, value: Mapping) -> bool | None:
    """Whether there are keys."""
    return None if value.open else bool(value.items)


@on(ITERATE, Mapping)
def iterate_mapping(machine: Machine, value: Mapping, node: ir.Node, frame: Frame, wanted: int) -> Iteration:
    """The keys. Those that are not known are no tensors, unless it may be one that was loaded."""
    loaded = loaded_tensor(value)
    if loaded is not None and (wanted or loaded.device == "cpu"):
        return Iteration([derived(loaded) for _ in range(max(wanted, 2))], not wanted)
    keys = [value_of_key(key) for key in value.items]
    return Iteration([*keys, SCALAR] if value.rest is not None else keys, value.open)


def rewrite(machine: Machine, value: Mapping, items: dict[Any, Value]) -> None:
    """Replace the items; those of a `__dict__` (or of a module's `_modules`) are the fields of its object."""
    if value.of is not None:
        for name, new in items.items():
            if value.items.get(name) is not new:
                _write_field(machine, value.of, value.holds, name, new)
        for name in value.items.keys() - items.keys():
            machine.store.remove(value.of.fields, name)
    machine.store.set(value, "items", items)


def _write_field(machine: Machine, owner: Instance, holds: str, name: Any, new: Value) -> None:
    """A field that is written by way of a dict: a module registers what its tables hold, and nothing else."""
    module = owner.module
    if module is not None:
        if not holds and name in TABLES:
            machine.store.set(module, "unsure", True)
            return
        kind = holds if isinstance(new, Instance if holds == "module" else Tensor) else ""
        if module.kinds.get(name, "") != kind:
            machine.store.put(module.kinds, name, kind)
            machine.run.grown += kind == "module" and module.device is not None
    machine.store.put(owner.fields, name, new)


def put(machine: Machine, value: Mapping, key: Value, new: Value, in_loop: bool = False) -> None:
    """Execute `d[key] = new`. At unknown keys, a loop is taken to visit all of them."""
    if are_weights(value):
        take_for_weights(machine, new)
    try:
        known = key_of(key)
        rewrite(machine, value, {**value.items, known: as_part(new, value)})
        if value.optional is not None and known in value.optional:
            others = {other: kept for other, kept in value.optional.items() if other != known}
            machine.store.set(value, "optional", others)
    except (NotConstant, TypeError):
        rest = new if value.rest is None or in_loop else join_all(machine, (value.rest, new))
        machine.store.set(value, "rest", as_part(rest, value))
        _open(machine, value)
        _fill_in(machine, value)


def _fill_in(machine: Machine, value: Mapping) -> None:
    """What is written under keys that nobody knows may stand where None was: a None among settings is there to be
    replaced."""
    if any(is_none(kept) for kept in value.items.values()):
        rewrite(machine, value, {key: UNKNOWN if is_none(kept) else kept for key, kept in value.items.items()})


def _open(machine: Machine, value: Mapping) -> None:
    """There may be more keys now; those of a `__dict__` are attributes of its object."""
    if value.of is not None:
        note_any_name(machine, value.of)
        doubt(value.of)
        if value.of.module is not None:
            machine.store.set(value.of.module, "unsure", True)
    if not value.open:
        machine.store.set(value, "open", True)


def get(machine: Machine, value: Mapping, key: Value) -> Value | None:
    """Return what stands under a key; None when it is surely absent."""
    try:
        known = key_of(key)
    except NotConstant:
        if value.rest is not None and (key is SCALAR or not value.items or _may_be_key(key)):
            return value.rest
        values = list(value.items.values()) + ([] if value.rest is None else [value.rest])
        if not values:
            return UNKNOWN if value.open else None
        return values[0] if len(values) == 1 else _one_of(value, key) or join_all(machine, values)
    try:
        found = value.items.get(known)
    except TypeError:
        return UNKNOWN
    if found is not None:
        return found
    return value.rest if value.rest is not None else UNKNOWN if value.open else None


def _may_be_key(value: Value) -> bool:
    """Whether a tensor is one only if what was loaded is: it may as well be a key of it."""
    return isinstance(value, Tensor) and is_any_content(value)


def _one_of(value: Mapping, key: Value) -> OneOf | None:
    """A table of user functions or classes under names that are no devices, asked for one that is not known."""
    names = all(isinstance(key, str) and parse_device(key) is None for key in value.items)
    options = list(value.items.values())
    if not names or len(options) > MAX_OPTIONS or not all(isinstance(one, _USER_CODE) for one in options):
        return None
    named = [named_unknown(key, "==", const(name)) for name in value.items] if len(options) <= _MOST_CHOSEN else []
    asked = [question for question in named if question is not None]
    return OneOf(options, value.open, asked if len(asked) == len(options) else None)


_MOST_CHOSEN: Final = 3
"""Among so many the user's choice is followed: for each answer an entry is run once more."""

_USER_CODE: Final = (Function, Bound, Class)
MAX_OPTIONS: Final = 8


@on(ITEM, Mapping)
def mapping_item(machine: Machine, value: Mapping, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`d[key]`; a defaultdict makes what is missing."""
    take_for_data(machine, index)
    if machine.run.from_options:
        note_other_entries(machine, value, index, node, frame)
    found = get(machine, value, index)
    if isinstance(found, Tensor) and _is_of_a_device(index):
        return Tensor(None, found.rank)  # of the items that are kept it is the one for this device
    if found is not None:
        return of_weights(machine, found) if isinstance(found, Tensor) and are_weights(value) else found
    if value.factory is not None:
        made = call_value(machine, value.factory, Call([], {}, node, frame))
        put(machine, value, index, made)
        return made
    if value.kind == "Counter":
        return const(0)
    if value.kind == "defaultdict":
        return UNKNOWN
    number = index_number(index)
    if value.counted and not value.open and number == len(value.items):
        too_few(machine, number, "KeyError", str(number), node, frame)
        return UNKNOWN
    if isinstance(node, ir.Subscript) and misses_by_index(value, index):
        tell_missing_key(machine, node.index, node.value, node, frame, f"KeyError: {key_of(index)!r}")
    if isinstance(index, Const) and not value.open and _holds_keywords(machine, node, frame):
        raise Crash("KeyError")
    return missing(machine)


def _is_of_a_device(index: Value) -> bool:
    """Whether a key is made of a device, and is not known: `f"{n}_{x.device}"`, by itself or in a tuple."""
    return index is TEXT_OF_DEVICE or (isinstance(index, Sequence) and TEXT_OF_DEVICE in index.items)


def _holds_keywords(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether a dict is that of the keywords a call was given, which no code out of sight has filled."""
    function = frame.function
    if (
        function is None
        or machine.run.protocol
        or not isinstance(node, ir.Subscript)
        or not isinstance(node.value, ir.Name)
    ):
        return False
    return node.value.id == function.parameters.variadic_keyword


@on(ASSIGN_ITEM, Mapping)
def assign_mapping_item(
    machine: Machine, value: Mapping, index: Value, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`d[key] = new`."""
    put(machine, value, index, new, visits_all(machine, node, frame))


def delete_mapping_item(machine: Machine, value: Mapping, index: Value, node: ir.Node, frame: Frame) -> None:
    """`del d[key]`."""
    if get(machine, value, index) is None:
        missing(machine)
    remove(machine, value, index)


def remove(machine: Machine, value: Mapping, key: Value) -> None:
    """Take a key out; one that is not known leaves all of them in doubt."""
    try:
        known = key_of(key)
        rewrite(machine, value, {k: v for k, v in value.items.items() if k != known})
        if value.counted:
            machine.store.set(value, "counted", False)
    except NotConstant:
        machine.store.set(value, "open", True)


def contains_key(value: Mapping, key: Value) -> bool | None:
    """Whether the key is there; None when that is not known."""
    try:
        known = key_of(key)
        if known in value.items:
            return None if value.may_lack(known) else True
    except (NotConstant, TypeError):
        return None if value.items or value.open else False
    return None if value.open else False


def update(machine: Machine, value: Mapping, other: Value, node: ir.Node, frame: Frame) -> None:
    """Execute `d.update(other)`."""
    if are_weights(value):
        take_for_weights(machine, other)
    if isinstance(other, Mapping):
        rewrite(machine, value, {**value.items, **{key: as_part(new, value) for key, new in other.items.items()}})
        if other.rest is not None:
            rest = other.rest if value.rest is None else join_all(machine, (value.rest, other.rest))
            machine.store.set(value, "rest", as_part(rest, value))
        if other.open:
            _open(machine, value)
        return
    part = part_of_load(machine, other)
    if part is not None:
        rest = part if value.rest is None else join_all(machine, (value.rest, part))
        machine.store.set(value, "rest", as_part(rest, value))
    found = iterate(machine, other, node, frame)
    if found is None or found.open:
        _open(machine, value)
        _fill_in(machine, value)
    for item in found.items if found is not None else ():
        if isinstance(item, Sequence) and length(item) == 2:
            put(machine, value, item.items[0], item.items[1])
        else:
            _open(machine, value)


def build(machine: Machine, call: Call, kind: str = "dict", factory: Value | None = None) -> Mapping:
    """Return the dict of `dict(...)` and the constructors like it."""
    made = Mapping({}, None, call.open, kind, factory)
    for other in call.positional[:1]:
        update(machine, made, other, call.node, call.frame)
    for name, value in call.keywords.items():
        put(machine, made, const(name), value)
    return made


@on(METHODS, "__getitem__")
def _getitem(machine: Machine, value: Mapping, call: Call) -> Value:
    return mapping_item(machine, value, call.positional[0], call.node, call.frame) if call.positional else UNKNOWN


@on(METHODS, "__setitem__")
def _setitem(machine: Machine, value: Mapping, call: Call) -> Value:
    if len(call.positional) == 2:
        put(machine, value, call.positional[0], call.positional[1], bool(call.frame.loops))
    return NONE


@on(METHODS, "__contains__", "has_key")
def _contains(machine: Machine, value: Mapping, call: Call) -> Value:
    answer = contains_key(value, call.positional[0]) if call.positional else None
    return BOOL if answer is None else const(answer)


@on(METHODS, "__len__")
def _len(machine: Machine, value: Mapping, call: Call) -> Value:
    return SIZE if value.open else const(len(value.items))


@on(METHODS, "get")
def _get(machine: Machine, value: Mapping, call: Call) -> Value:
    if not call.positional:
        return UNKNOWN
    default = call.argument(1, "default") or NONE
    if machine.run.from_options:
        note_other_entries(machine, value, call.positional[0], call.node, call.frame)
    try:
        key = key_of(call.positional[0])
        if key in value.items:
            here = value.items[key]
            return join_all(machine, (here, default)) if value.may_lack(key) else here
        if not value.open:
            return default
    except (NotConstant, TypeError):
        if not value.items and not value.open:
            return default
        found = get(machine, value, call.positional[0])
        if isinstance(found, (OneOf, *_USER_CODE)) and is_none(default):
            return Maybe(found)
        if isinstance(found, OneOf) and isinstance(default, _USER_CODE):
            return OneOf([*found.options, default], found.open, found.asked)
        return default if found is None else join_all(machine, (found, default))
    return UNKNOWN if value.rest is None else value.rest


@on(METHODS, "setdefault")
def _setdefault(machine: Machine, value: Mapping, call: Call) -> Value:
    if not call.positional:
        return UNKNOWN
    key = call.positional[0]
    found = get(machine, value, key)
    if found is None or (found is UNKNOWN and contains_key(value, key) is None):
        found = call.argument(1, "default") or NONE
        put(machine, value, key, found)
    return found


@on(METHODS, "pop")
def _pop(machine: Machine, value: Mapping, call: Call) -> Value:
    if not call.positional:
        return UNKNOWN
    key = call.positional[0]
    there = contains_key(value, key)
    default = call.argument(1, "default")
    if there is False:
        return missing(machine) if default is None else default
    found = get(machine, value, key) or UNKNOWN
    remove(machine, value, key)
    return found


@on(METHODS, "popitem")
def _popitem(machine: Machine, value: Mapping, call: Call) -> Value:
    if value.open:
        return pair(SCALAR, UNKNOWN)
    if not value.items:
        raise Crash("KeyError")
    key = next(iter(value.items)) if "last" in call.keywords else next(reversed(value.items))
    found = pair(value_of_key(key), value.items[key])
    rewrite(machine, value, {k: v for k, v in value.items.items() if k != key})
    return found


@on(METHODS, "items", "iteritems", "viewitems")
def _items(machine: Machine, value: Mapping, call: Call) -> Value:
    items: list[Value] = [pair(value_of_key(key), item) for key, item in value.items.items()]
    if value.rest is not None:
        items.append(pair(SCALAR, _under_any_key(value)))
    return Sequence("dict_items", items, value.open)


def _under_any_key(value: Mapping) -> Value:
    """What stands under a key that is not known. Arrays seen there say nothing of the other keys, which programs tell
    apart by name; that a tensor is on a device says where its neighbours are."""
    assert value.rest is not None
    return UNKNOWN if value.open and isinstance(value.rest, Array) else value.rest


@on(METHODS, "keys", "iterkeys", "viewkeys", "__iter__")
def _keys(machine: Machine, value: Mapping, call: Call) -> Value:
    found = iterate_mapping(machine, value, call.node, call.frame, 0)
    return Sequence("dict_keys", found.items, found.open)


@on(METHODS, "values", "itervalues", "viewvalues")
def _values(machine: Machine, value: Mapping, call: Call) -> Value:
    items = list(value.items.values())
    return Sequence("dict_values", items if value.rest is None else [*items, _under_any_key(value)], value.open)


@on(METHODS, "update")
def _update(machine: Machine, value: Mapping, call: Call) -> Value:
    if call.open:
        machine.store.set(value, "open", True)
    for other in call.positional[:1]:
        update(machine, value, other, call.node, call.frame)
    for name, new in call.keywords.items():
        put(machine, value, const(name), new)
    return NONE


@on(METHODS, "copy", "__copy__")
def _copy(machine: Machine, value: Mapping, call: Call) -> Value:
    return Mapping(dict(value.items), value.rest, value.open, value.kind, value.factory)


@on(METHODS, "clear")
def _clear(machine: Machine, value: Mapping, call: Call) -> Value:
    rewrite(machine, value, {})
    machine.store.set(value, "rest", None)
    machine.store.set(value, "open", False)
    return NONE


@on(METHODS, "move_to_end")
def _move_to_end(machine: Machine, value: Mapping, call: Call) -> Value:
    try:
        key = key_of(call.positional[0])
    except (IndexError, NotConstant):
        return NONE
    if key in value.items:
        rest = {k: v for k, v in value.items.items() if k != key}
        last = call.argument(1, "last")
        moved = {key: value.items[key]}
        first = last is not None and getattr(last, "value", True) is False
        rewrite(machine, value, {**moved, **rest} if first else {**rest, **moved})
    return NONE


@on(METHODS, "fromkeys")
def _fromkeys(machine: Machine, value: Mapping, call: Call) -> Value:
    return from_keys(machine, call)


def from_keys(machine: Machine, call: Call, kind: str = "dict") -> Value:
    """`dict.fromkeys(keys, value)`."""
    made = Mapping({}, None, False, kind)
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    item = call.argument(1, "value") or NONE
    for key in found.items if found is not None else ():
        put(machine, made, key, item)
    if found is None or found.open:
        machine.store.set(made, "rest", item if made.rest is None else made.rest)
        machine.store.set(made, "open", True)
    return made


@on(METHODS, "most_common", "elements")
def _most_common(machine: Machine, value: Mapping, call: Call) -> Value:
    return Sequence("list", [], True)


@on(BINARY, Mapping)
def mapping_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """`left | right`."""
    if operator == "|" and isinstance(left, Mapping) and are_weights(left):
        take_for_weights(machine, right)
    if operator != "|" or not isinstance(left, Mapping) or not isinstance(right, Mapping):
        return None
    made = Mapping(dict(left.items), left.rest, left.open, left.kind, left.factory)
    update(machine, made, right, node, frame)
    return made
