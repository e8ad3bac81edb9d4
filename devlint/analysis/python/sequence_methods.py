"""Methods of lists, tuples, sets and iterators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value, truth
from devlint.analysis.dispatch import METHOD, Call, on
from devlint.analysis.domain.plain import LAZY, SETS, NotConstant, equal, index_number, join_all, lower, set_of
from devlint.analysis.domain.plain_types import type_name
from devlint.analysis.domain.values import BOOL, COUNT, NONE, SIZE, UNKNOWN, Sequence, Value, const, constant
from devlint.analysis.python.arguments import Arguments
from devlint.analysis.python.lacking import LACKED, read_lacking
from devlint.analysis.python.sequences import any_item, append, extend, items_of, position_of, rewrite, sequence_item
from devlint.analysis.python.sets import combine_sets, compare_sets
from devlint.analysis.pytorch.loads import take_for_data
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


Method = Callable[["Machine", Sequence, Call], Value]
METHODS: Final[dict[str, Method]] = {}


@on(METHOD, Sequence, Arguments)
def sequence_method(machine: Machine, value: Sequence, name: str, call: Call) -> Value:
    """`xs.name(...)`."""
    function = METHODS.get(name)
    if function is None:
        if name in LACKED:
            return read_lacking(machine, value, name, call.node, call.frame)
        if type_name(value) == "tuple" and not hasattr(tuple, name) and not machine.run.protocol:
            raise Crash("AttributeError")
        return UNKNOWN
    return function(machine, value, call)


@on(METHODS, "append")
def _append(machine: Machine, value: Sequence, call: Call) -> Value:
    append(machine, value, call.positional[:1], call.open)
    return NONE


@on(METHODS, "appendleft")
def _appendleft(machine: Machine, value: Sequence, call: Call) -> Value:
    rewrite(machine, value, [*call.positional[:1], *value.items])
    return NONE


@on(METHODS, "extend")
def _extend(machine: Machine, value: Sequence, call: Call) -> Value:
    for other in call.positional[:1]:
        extend(machine, value, other, call.node, call.frame)
    return NONE


@on(METHODS, "extendleft")
def _extendleft(machine: Machine, value: Sequence, call: Call) -> Value:
    for other in call.positional[:1]:
        more = items_of(machine, other, call.node, call.frame)
        rewrite(machine, value, [*reversed(more.items), *value.items], value.open or more.open)
    return NONE


@on(METHODS, "insert")
def _insert(machine: Machine, value: Sequence, call: Call) -> Value:
    if len(call.positional) == 2:
        position = index_number(call.positional[0])
        items = list(value.items)
        if position is None or (value.open and position < 0):
            append(machine, value, [call.positional[1]], True)
        else:
            items.insert(position, call.positional[1])
            rewrite(machine, value, items)
    return NONE


@on(METHODS, "pop")
def _pop(machine: Machine, value: Sequence, call: Call) -> Value:
    if value.kind in SETS:
        taken = any_item(machine, value)
        if not value.open and not value.items:
            raise Crash("KeyError")
        rewrite(machine, value, [] if len(value.items) == 1 else list(value.items), len(value.items) > 1 or value.open)
        return taken
    index = call.argument(0, "index")
    position = -1 if index is None else index_number(index)
    if value.open or position is None:
        if value.open and position is not None and 0 <= position < len(value.items):
            taken = value.items[position]
            rewrite(machine, value, value.items[:position] + value.items[position + 1 :])
            return taken
        rewrite(machine, value, list(value.items), True)
        return any_item(machine, value)
    if not -len(value.items) <= position < len(value.items):
        raise Crash("IndexError")
    items = list(value.items)
    taken = items.pop(position)
    rewrite(machine, value, items)
    return taken


@on(METHODS, "popleft")
def _popleft(machine: Machine, value: Sequence, call: Call) -> Value:
    return _pop(machine, value, call.with_arguments([const(0)]))


def _without(machine: Machine, value: Sequence, call: Call) -> bool | None:
    """Take an item out; False where it surely isn't there."""
    position = position_of(value, call.positional[0]) if call.positional else None
    if position is None:
        rewrite(machine, value, list(value.items), True)
        return None
    if position < 0:
        return False
    rewrite(machine, value, value.items[:position] + value.items[position + 1 :])
    return True


@on(METHODS, "remove")
def _remove(machine: Machine, value: Sequence, call: Call) -> Value:
    if _without(machine, value, call) is False:
        raise Crash("ValueError")
    return NONE


@on(METHODS, "discard")
def _discard(machine: Machine, value: Sequence, call: Call) -> Value:
    _without(machine, value, call)
    return NONE


@on(METHODS, "index")
def _index(machine: Machine, value: Sequence, call: Call) -> Value:
    if len(call.positional) != 1:
        return COUNT
    position = position_of(value, call.positional[0])
    if position == -1:
        raise Crash("ValueError")
    return COUNT if position is None else const(position)


@on(METHODS, "count")
def _count(machine: Machine, value: Sequence, call: Call) -> Value:
    answers: list[bool | None] = [equal(item, call.positional[0]) if call.positional else None for item in value.items]
    return COUNT if value.open or None in answers else const(answers.count(True))


@on(METHODS, "copy", "__copy__")
def _copy(machine: Machine, value: Sequence, call: Call) -> Value:
    return Sequence(value.kind, list(value.items), value.open)


@on(METHODS, "clear")
def _clear(machine: Machine, value: Sequence, call: Call) -> Value:
    rewrite(machine, value, [], False)
    return NONE


@on(METHODS, "reverse")
def _reverse(machine: Machine, value: Sequence, call: Call) -> Value:
    rewrite(machine, value, value.items[::-1])
    return NONE


@on(METHODS, "rotate")
def _rotate(machine: Machine, value: Sequence, call: Call) -> Value:
    steps = index_number(call.positional[0]) if call.positional else 1
    if steps is None or value.open:
        rewrite(machine, value, list(value.items), True)
    elif value.items:
        cut = -steps % len(value.items)
        rewrite(machine, value, value.items[cut:] + value.items[:cut])
    return NONE


@on(METHODS, "sort")
def _sort(machine: Machine, value: Sequence, call: Call) -> Value:
    rewrite(machine, value, in_order(machine, value.items, call))
    return NONE


def in_order(machine: Machine, items: list[Value], call: Call) -> list[Value]:
    """Sort items as `sorted` does; where their order is not known, they stay as they are, if no place tells devices."""
    keys = items
    key = call.given(-1, "key")
    if key is not None:
        keys = [call_value(machine, key, call.with_arguments([item])) for item in items]
    backwards = truth(machine, call.keywords["reverse"]) if "reverse" in call.keywords else False
    try:
        known = [_rank(one) for one in keys]
        order = sorted(range(len(items)), key=known.__getitem__, reverse=bool(backwards))
    except NotConstant:
        places = [[tensor.device for tensor in tensors_in(item)] for item in items]
        return list(items) if all(place == places[0] for place in places) else [join_all(machine, items)] * len(items)
    except TypeError:
        raise Crash("TypeError") from None
    return list(items) if backwards is None else [items[position] for position in order]


def _rank(key: Value) -> Any:
    """What a value is sorted by. Of a tuple, what is known until the first part that is not."""
    if not isinstance(key, Sequence) or key.kind != "tuple" or key.open:
        return lower(key)
    return [_Ranked(part) for part in key.items]


class _Ranked:
    """A part of a tuple that is compared only where those before it are equal."""

    __slots__ = ("part",)

    def __init__(self, part: Value) -> None:
        self.part = part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ranked) and bool(_rank(self.part) == _rank(other.part))

    def __lt__(self, other: _Ranked) -> bool:
        return bool(_rank(self.part) < _rank(other.part))

    def __hash__(self) -> int:
        return hash(_rank(self.part))


# -- sets


@on(METHODS, "add")
def _add(machine: Machine, value: Sequence, call: Call) -> Value:
    made = set_of(value.kind, [*value.items, *call.positional[:1]], value.open or call.open)
    rewrite(machine, value, made.items, made.open)
    return NONE


@on(METHODS, "update")
def _update(machine: Machine, value: Sequence, call: Call) -> Value:
    for other in call.positional:
        more = items_of(machine, other, call.node, call.frame)
        for item in more.items:
            take_for_data(machine, item)  # nobody collects weights in a set
        made = set_of(value.kind, [*value.items, *more.items], value.open or more.open)
        rewrite(machine, value, made.items, made.open)
    return NONE


_SET_METHODS = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}


def _set_operation(operator: str, in_place: bool) -> Method:
    def operate(machine: Machine, value: Sequence, call: Call) -> Value:
        result = Sequence(value.kind, list(value.items), value.open)
        for other in call.positional:
            result = combine_sets(operator, result, items_of(machine, other, call.node, call.frame))
        if in_place:
            rewrite(machine, value, result.items, result.open)
            return NONE
        return result

    return operate


for _name, _operator in _SET_METHODS.items():
    METHODS[_name] = _set_operation(_operator, in_place=False)
    METHODS[f"{_name}_update"] = _set_operation(_operator, in_place=True)


def _set_comparison(name: str) -> Method:
    def compare(machine: Machine, value: Sequence, call: Call) -> Value:
        if not call.positional:
            return BOOL
        return compare_sets(name, value, items_of(machine, call.positional[0], call.node, call.frame))

    return compare


for _name in ("issubset", "issuperset", "isdisjoint"):
    METHODS[_name] = _set_comparison(_name)


# -- iterators


@on(METHODS, "__next__")
def _next(machine: Machine, value: Sequence, call: Call) -> Value:
    found = take(machine, value)
    return UNKNOWN if found is None else found


@on(METHODS, "send", "throw")
def _send(machine: Machine, value: Sequence, call: Call) -> Value:
    """What a generator gives when it was sent something hangs on that, and generators have run by then."""
    given = call.argument(0, "value")
    if given is not None and constant(given) is None:
        return _next(machine, value, call)
    machine.store.set(value, "items", [])
    machine.store.set(value, "open", True)
    return UNKNOWN


@on(METHODS, "__iter__")
def _iter(machine: Machine, value: Sequence, call: Call) -> Value:
    return value if value.kind == LAZY else Sequence(LAZY, list(value.items), value.open)


@on(METHODS, "__len__")
def _len(machine: Machine, value: Sequence, call: Call) -> Value:
    return SIZE if value.open else const(len(value.items))


@on(METHODS, "close")
def _close(machine: Machine, value: Sequence, call: Call) -> Value:
    return NONE


@on(METHODS, "__contains__")
def _contains(machine: Machine, value: Sequence, call: Call) -> Value:
    position = position_of(value, call.positional[0]) if call.positional else None
    return BOOL if position is None else const(position >= 0)


@on(METHODS, "__getitem__")
def _getitem(machine: Machine, value: Sequence, call: Call) -> Value:
    return sequence_item(machine, value, call.positional[0], call.node, call.frame) if call.positional else UNKNOWN


@on(METHODS, "tolist")
def _tolist(machine: Machine, value: Sequence, call: Call) -> Value:
    return value


def take(machine: Machine, value: Sequence) -> Value | None:
    """Take the next item of an iterator; None when it surely has no more."""
    if not value.items:
        return UNKNOWN if value.open else None
    first = value.items[0]
    if not value.open or len(value.items) > 1:
        rewrite(machine, value, value.items[1:])
    return first
