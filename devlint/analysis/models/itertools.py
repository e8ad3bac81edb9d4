"""`itertools`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import binary, call_value, truth
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.plain import index_number, join_all
from devlint.analysis.domain.values import MAX_ITEMS, UNKNOWN, Const, Sequence, Value, const, is_none
from devlint.analysis.python.iterables import items_of, lazy
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

MAX_PRODUCT: Final = 16


@models("itertools.chain")
def chain(machine: Machine, call: Call) -> Value | None:
    """`chain(xs, ys)`."""
    parts = [items_of(machine, value, call) for value in call.positional]
    return lazy([one for part in parts for one in part.items], call.open or any(part.open for part in parts))


@models("itertools.chain.from_iterable")
def chain_from_iterable(machine: Machine, call: Call) -> Value | None:
    """`chain.from_iterable(xss)`."""
    if not call.positional:
        return UNKNOWN
    outer = items_of(machine, call.positional[0], call)
    parts = [items_of(machine, value, call) for value in outer.items]
    return lazy([one for part in parts for one in part.items], outer.open or any(part.open for part in parts))


@models("itertools.cycle")
def cycle(machine: Machine, call: Call) -> Value | None:
    """`cycle(xs)`: the items over and over."""
    return lazy(items_of(machine, call.positional[0], call).items, True) if call.positional else UNKNOWN


@models("itertools.repeat")
def repeat(machine: Machine, call: Call) -> Value | None:
    """`repeat(x, times)`."""
    if not call.positional:
        return UNKNOWN
    times = None if len(call.positional) < 2 else index_number(call.positional[1])
    if times is None:
        return lazy([call.positional[0]], True)
    return lazy(call.positional[:1] * min(max(times, 0), MAX_ITEMS), times > MAX_ITEMS)


@models("itertools.count")
def count(machine: Machine, call: Call) -> Value | None:
    """`count(start, step)`: the first numbers, and more."""
    start = index_number(call.argument(0, "start") or const(0))
    step = index_number(call.argument(1, "step") or const(1))
    if start is None or step is None:
        return lazy([], True)
    return lazy([const(start + step * position) for position in range(4)], True)


@models("itertools.islice")
def islice(machine: Machine, call: Call) -> Value | None:
    """`islice(xs, stop)` and `islice(xs, start, stop, step)`."""
    if len(call.positional) < 2:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    limits: list[int | None] = []
    for value in call.positional[1:]:
        if not isinstance(value, Const) or not (value.value is None or isinstance(value.value, int)):
            return lazy([join_all(machine, found.items)], True)
        limits.append(value.value)
    cut = slice(limits[0]) if len(limits) == 1 else slice(*limits)
    try:
        items = found.items[cut]
    except ValueError:
        raise Crash("ValueError") from None
    if found.open and not items:
        items = [join_all(machine, found.items)]
    whole = cut.stop is not None and cut.stop <= len(found.items)
    return lazy(items, found.open and not whole)


@models("itertools.tee")
def tee(machine: Machine, call: Call) -> Value | None:
    """`tee(xs, n)`: iterators over the same items."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    times = index_number(call.argument(1, "n") or const(2)) or 2
    return Sequence("tuple", [lazy(list(found.items), found.open) for _ in range(min(times, MAX_PRODUCT))])


@models("itertools.product")
def product(machine: Machine, call: Call) -> Value | None:
    """`product(xs, ys)`: all tuples while they are few, else the first of them."""
    columns = [items_of(machine, value, call) for value in call.positional]
    times = index_number(call.keywords.get("repeat", const(1))) or 1
    columns = columns * min(times, 4)
    is_open = any(column.open for column in columns) or times > 4
    rows: list[list[Value]] = [[]]
    for column in columns:
        rows = [[*row, one] for row in rows for one in column.items][:MAX_ITEMS]
    total = math.prod(len(column.items) for column in columns)
    return lazy([Sequence("tuple", row) for row in rows], is_open or total > len(rows))


@models(
    "itertools.combinations", "itertools.permutations", "itertools.pairwise", "itertools.combinations_with_replacement"
)
def combinations(machine: Machine, call: Call) -> Value | None:
    """Tuples of items: one for all of them."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    size = 2 if len(call.positional) < 2 else index_number(call.positional[1])
    if size is None or size > MAX_PRODUCT:
        return lazy([], True)
    if not found.open and len(found.items) == size:
        return lazy([Sequence("tuple", list(found.items))], True)
    return lazy([Sequence("tuple", [join_all(machine, found.items)] * size)], True)


@models("itertools.groupby")
def groupby(machine: Machine, call: Call) -> Value | None:
    """`groupby(xs, key)`: pairs of a key, which is an item or made of one, and of items; which, is not known."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    made = call.argument(1, "key")
    key = join_all(machine, found.items) if found.items else UNKNOWN
    if made is not None and not is_none(made):
        key = call_value(machine, made, call.with_arguments([key]))
    group = [join_all(machine, found.items)] if found.items else []
    return lazy([Sequence("tuple", [key, lazy(group, True)])], True)


@models("itertools.accumulate")
def accumulate(machine: Machine, call: Call) -> Value | None:
    """`accumulate(xs)`: running totals."""
    if not call.positional:
        return UNKNOWN
    found = items_of(machine, call.positional[0], call)
    function = call.argument(1, "func")
    totals: list[Value] = []
    for one in found.items:
        if not totals:
            totals.append(one)
        elif function is None:
            totals.append(binary(machine, "+", totals[-1], one, call.node, call.frame))
        else:
            totals.append(call_value(machine, function, call.with_arguments([totals[-1], one])))
    return lazy(totals, found.open)


@models("itertools.compress")
def compress(machine: Machine, call: Call) -> Value | None:
    """`compress(xs, selectors)`: the items at which a selector is true."""
    if len(call.positional) != 2:
        return UNKNOWN
    found, chosen = (items_of(machine, value, call) for value in call.positional)
    answers = [truth(machine, value) for value in chosen.items]
    if found.open or chosen.open or None in answers:
        return _some_of(machine, found.items)
    return lazy([one for one, answer in zip(found.items, answers, strict=False) if answer], False)


@models("itertools.takewhile")
def takewhile(machine: Machine, call: Call) -> Value | None:
    """`takewhile(f, xs)`: the items before the first of which `f` is false."""
    return _while_true(machine, call, True)


@models("itertools.dropwhile")
def dropwhile(machine: Machine, call: Call) -> Value | None:
    """`dropwhile(f, xs)`: that item, and those behind it."""
    return _while_true(machine, call, False)


def _while_true(machine: Machine, call: Call, takes: bool) -> Value | None:
    if len(call.positional) != 2:
        return UNKNOWN
    function, value = call.positional
    found = items_of(machine, value, call)
    first = len(found.items)
    for position, one in enumerate(found.items):
        answer = truth(machine, call_value(machine, function, call.with_arguments([one])))
        if answer is None:
            return _some_of(machine, found.items)
        if not answer:
            first = position
            break
    if found.open and first == len(found.items):
        return _some_of(machine, found.items)
    return lazy(found.items[:first] if takes else found.items[first:], found.open and not takes)


def _some_of(machine: Machine, items: list[Value]) -> Value:
    return lazy([join_all(machine, items)] if items else [], True)
