"""Builtins that go over iterables. What passes through keeps its identity: tensors stay the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from devlint.analysis.access import call_method, call_value, iterate, truth
from devlint.analysis.dispatch import Call, Iteration, models
from devlint.analysis.domain.plain import LAZY, ancestors, compute, equal, index_number, join_all, pair, sequence
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    MAX_ITEMS,
    NONE,
    NUMBER,
    POISON,
    SIZE,
    UNKNOWN,
    Array,
    Const,
    Instance,
    Scalar,
    Sequence,
    Tensor,
    Value,
    const,
    is_none,
)
from devlint.analysis.events import ParallelDevice
from devlint.analysis.python.sequence_methods import in_order, take
from devlint.analysis.pytorch.devices import counts_devices
from devlint.analysis.pytorch.loads import made_of_loads
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.pytorch.ranks import broadcast_rank
from devlint.analysis.pytorch.tensors import combine
from devlint.analysis.signals import Crash
from devlint.analysis.trial import quietly

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

FEW = 8
"""How many numbers of a long range are kept: a loop visits no more of them."""


def items_of(machine: Machine, value: Value, call: Call) -> Iteration:
    """What iterating an argument gives: one unknown item and maybe more, where nothing is known."""
    found = iterate(machine, value, call.node, call.frame)
    if found is None or (found.open and not found.items):
        return Iteration([UNKNOWN], True)
    return found


def lazy(items: list[Value], open: bool = False) -> Sequence:
    """Return an iterator."""
    return sequence(LAZY, items, open)


@models("builtins.range", "builtins.xrange")
def range_call(machine: Machine, call: Call) -> Value | None:
    """`range(n)`; of a long one only the first numbers are known, of an unknown one only that they are numbers."""
    numbers = [index_number(value) for value in call.positional]
    if not numbers or None in numbers or call.open:
        if any(
            index_number(value) is None and not is_none(value) for value in call.positional if isinstance(value, Const)
        ):
            raise Crash("TypeError")
        start = numbers[0] if len(numbers) > 1 else 0
        return Sequence("range", [COUNT if start == 0 else SIZE if start is not None and start > 0 else NUMBER], True)
    try:
        values = range(*[number for number in numbers if number is not None])
    except ValueError:
        raise Crash("ValueError") from None
    if len(values) > MAX_ITEMS:
        return Sequence("range", [const(number) for number in values[:FEW]], True)
    made = Sequence("range", [const(number) for number in values])
    made.counted = len(call.positional) == 1 and counts_devices(machine, call.positional[0])
    return made


@models("builtins.enumerate")
def enumerate_call(machine: Machine, call: Call) -> Value | None:
    """`enumerate(xs, start)`."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    start = call.argument(1, "start")
    first = 0 if start is None else index_number(start)
    items = found.items * 2 if found.open and len(found.items) == 1 else found.items  # the second has another number
    return lazy(
        [pair(NUMBER if first is None else const(first + number), item) for number, item in enumerate(items)],
        found.open,
    )


@models("builtins.zip")
def zip_call(machine: Machine, call: Call) -> Value | None:
    """`zip(xs, ys)`: as long as the shortest whose length is known."""
    columns = [items_of(machine, value, call) for value in call.positional]
    if not columns:
        return lazy([], call.open)
    closed = [len(column.items) for column in columns if not column.open]
    rows = min(closed) if closed else max(len(column.items) for column in columns)
    filled = [
        column.items[:rows] + [join_all(machine, column.items)] * max(0, rows - len(column.items)) for column in columns
    ]
    items: list[Value] = [Sequence("tuple", list(row), call.open) for row in zip(*filled, strict=True)]
    return lazy(items, len(closed) < len(columns) and not closed)


@models("itertools.zip_longest")
def zip_longest_call(machine: Machine, call: Call) -> Value | None:
    """`zip_longest(xs, ys, fillvalue=z)`: as long as the longest, if all lengths are known."""
    columns = [items_of(machine, value, call) for value in call.positional]
    fill = call.keywords.get("fillvalue", NONE)
    if not columns or call.open or any(column.open for column in columns):
        return lazy([], True)
    longest = max(len(column.items) for column in columns)
    filled = [column.items + [fill] * (longest - len(column.items)) for column in columns]
    return lazy([Sequence("tuple", list(row)) for row in zip(*filled, strict=True)], False)


@models("builtins.map")
def map_call(machine: Machine, call: Call) -> Value | None:
    """`map(f, xs)`: `f` is called for each item that is asked for, and for none if nobody takes the iterator. What
    moves it would have made shows what stays behind."""
    if len(call.positional) < 2:
        return UNKNOWN
    if call.unused:
        return lazy(quietly(machine, lambda: _mapped(machine, call)[0]) or [], True)
    items, is_open = _mapped(machine, call)
    return lazy(items, is_open)


def _mapped(machine: Machine, call: Call) -> tuple[list[Value], bool]:
    """What `map` gives when it is asked for everything, and whether there may be more."""
    columns = [items_of(machine, value, call) for value in call.positional[1:]]
    is_open = any(column.open for column in columns)
    rows = [list(row) for row in zip(*(column.items for column in columns), strict=False)]
    function = call.positional[0]
    return [call_value(machine, function, call.with_arguments(row)) for row in rows], is_open


@models("itertools.starmap")
def starmap_call(machine: Machine, call: Call) -> Value | None:
    """`starmap(f, rows)`: `f` is called with the items of each row, as `map` calls it."""
    if len(call.positional) < 2:
        return UNKNOWN
    if call.unused:
        return lazy([], True)
    found = items_of(machine, call.positional[1], call)
    rows = [items_of(machine, row, call) for row in found.items]
    given = [Call(list(row.items), {}, call.node, call.frame, row.open) for row in rows]
    return lazy([call_value(machine, call.positional[0], one) for one in given], found.open)


@models("builtins.filter")
def filter_call(machine: Machine, call: Call) -> Value | None:
    """`filter(f, xs)`: an item that may be left out leaves the length open."""
    return _filtered(machine, call, False)


@models("itertools.filterfalse")
def filter_false_call(machine: Machine, call: Call) -> Value | None:
    """`filterfalse(f, xs)`: those that `filter` leaves out."""
    return _filtered(machine, call, True)


def _filtered(machine: Machine, call: Call, unwanted: bool) -> Value:
    """The items but those for which the answer is `unwanted`."""
    if len(call.positional) < 2:
        return UNKNOWN
    if call.unused:
        return lazy([], True)
    function, found = call.positional[0], items_of(machine, call.positional[1], call)
    kept: list[Value] = []
    is_open = found.open
    for item in found.items:
        is_plain = isinstance(function, Const) and function.value is None
        answer = truth(machine, item if is_plain else call_value(machine, function, call.with_arguments([item])))
        if answer is not unwanted:
            kept.append(item)
            is_open = is_open or answer is None
    return lazy(kept, is_open)


@models("builtins.sorted")
def sorted_call(machine: Machine, call: Call) -> Value | None:
    """`sorted(xs)`."""
    if not call.positional:
        return UNKNOWN
    found = iterate(machine, call.positional[0], call.node, call.frame)
    if found is None:
        return Sequence("list", [], True)
    return Sequence("list", found.items if found.open else in_order(machine, found.items, call), found.open)


@models("builtins.reversed")
def reversed_call(machine: Machine, call: Call) -> Value | None:
    """`reversed(xs)`."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    return lazy(found.items[::-1], found.open)


@models("builtins.iter")
def iter_call(machine: Machine, call: Call) -> Value | None:
    """`iter(xs)`: an iterator over the items there are now; `iter(f, last)`: what `f` gives until it gives `last`."""
    if len(call.positional) == 2:
        return _until(machine, call.positional[0], call.positional[1], call)
    if len(call.positional) != 1:
        return lazy([], True)
    value = call.positional[0]
    if isinstance(value, Sequence) and value.kind == LAZY:
        return value
    found = iterate(machine, value, call.node, call.frame, 1)
    return lazy([], True) if found is None else lazy(found.items, found.open)


def _until(machine: Machine, function: Value, last: Value, call: Call) -> Value:
    given: list[Value] = []
    for _ in range(MAX_ITEMS):
        value = call_value(machine, function, call.with_arguments([]))
        same = equal(value, last)
        if same:
            return lazy(given, False)
        given.append(value)
        if same is None:
            break
    return lazy(given, True)


@models("builtins.next")
def next_call(machine: Machine, call: Call) -> Value | None:
    """`next(it, default)`."""
    if not call.positional:
        return UNKNOWN
    iterator = call.positional[0]
    if isinstance(iterator, Sequence):
        found = take(machine, iterator)
        if found is not None:
            return found
        if len(call.positional) > 1:
            return call.positional[1]
        awaited = machine.run.trying or not ancestors("StopIteration").isdisjoint(machine.run.expected)
        if iterator.kind == "replica" and not awaited:
            return _parameter_of_replica(machine, call)
        raise Crash("StopIteration")
    if isinstance(iterator, Instance):
        return call_method(machine, iterator, "__next__", call.with_arguments([]))
    return UNKNOWN


def _parameter_of_replica(machine: Machine, call: Call) -> Value:
    """`next(self.parameters())` in a replica of DataParallel: it has none, and its forward ends there."""
    if machine.run.replica_failed:
        return Tensor(POISON)
    machine.run.replica_failed = True
    machine.emit(
        ParallelDevice,
        machine.site(call.node, call.frame),
        error="StopIteration: Caught StopIteration in replica 0 on device 0.",
        kind="replica",
    )
    return Tensor(POISON)


@models("builtins.sum")
def sum_call(machine: Machine, call: Call) -> Value | None:
    """`sum(xs)`: tensors meet as in an addition."""
    if not call.positional:
        return UNKNOWN
    values = _values(machine, call.positional[0], call)
    start = call.argument(1, "start")
    if isinstance(values, Value):
        return values
    items = values.items if start is None else [start, *values.items]
    tensors: list[Value] = [item for item in items if isinstance(item, Tensor)]
    if tensors:
        summed: Value = combine(machine, tensors, call.node, call.frame, rank=broadcast_rank(items))
        return summed
    if not values.open:
        whole: list[Value] = [const(0), *items] if start is None else items
        found = compute(machine, lambda first, *others: sum(others, first), whole, call.with_arguments([]))
        if found is not None:
            return found
    if any(isinstance(item, Sequence) for item in items):
        return _flat(items, values.open)
    numbers = items and all(isinstance(item, (Const, Scalar)) for item in items)
    return NUMBER if numbers else made_of_loads(machine, UNKNOWN, *items)


def _flat(items: list[Value], is_open: bool) -> Value:
    parts = [item for item in items if isinstance(item, Sequence)]
    if len(parts) < len(items):
        return UNKNOWN
    flat = [inner for part in parts for inner in part.items]
    return sequence(parts[0].kind, flat, is_open or any(part.open for part in parts))


def _values(machine: Machine, value: Value, call: Call) -> Iteration | Value:
    """The items of the argument of a reduction; a tensor reduces to one of its items."""
    if isinstance(value, Array):
        return NUMBER
    found = iterate(machine, value, call.node, call.frame)
    return UNKNOWN if found is None else found


def _extreme(name: str) -> Callable[[Machine, Call], Value | None]:
    function = min if name == "min" else max

    def run(machine: Machine, call: Call) -> Value | None:
        if len(call.positional) == 1:
            values = _values(machine, call.positional[0], call)
            if isinstance(values, Value):
                return values
            items, is_open = list(values.items), values.open
        else:
            items, is_open = list(call.positional), call.open
        if "default" in call.keywords and not items and not is_open:
            return call.keywords["default"]
        if not items:
            if is_open:
                return UNKNOWN
            if call.positional and isinstance(call.positional[0], Sequence) and call.positional[0].counted:
                text = f"{name}() arg is an empty sequence"
                too_few(machine, 0, "ValueError", text, call.node, call.frame)
                return UNKNOWN
            raise Crash("ValueError")
        key = call.given(-1, "key")
        if not is_open:
            keys = items if key is None else [call_value(machine, key, call.with_arguments([item])) for item in items]
            place = compute(machine, lambda *known: known.index(function(known)), keys, call.with_arguments([]))
            if isinstance(place, Const):
                return items[int(place.value)]
        if all(isinstance(item, (Const, Scalar)) for item in items):
            return _bounded(items, name)
        return items[0] if len(items) == 1 else join_all(machine, items)

    return run


def _bounded(items: list[Value], name: str) -> Value:
    lows = [item.low if isinstance(item, Scalar) else item.value if isinstance(item, Const) else None for item in items]
    numbers = [low for low in lows if isinstance(low, int)]
    if name == "max" and numbers:
        return Scalar(max(numbers), "number")
    return Scalar(min(numbers), "number") if numbers and len(numbers) == len(items) else NUMBER


for _name in ("min", "max"):
    models(f"builtins.{_name}")(_extreme(_name))


def _quantifier(decisive: bool) -> Callable[[Machine, Call], Value | None]:
    def run(machine: Machine, call: Call) -> Value | None:
        found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
        if found is None:
            return BOOL
        answers = [truth(machine, item) for item in found.items]
        if decisive in answers and not found.open:
            return const(decisive)
        return BOOL if None in answers or found.open else const(not decisive)

    return run


models("builtins.any")(_quantifier(True))
models("builtins.all")(_quantifier(False))
