"""Lists, tuples, sets and generators: items, iteration, operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import ASSIGN_ITEM, BINARY, ITEM, ITERATE, TRUTH, Iteration, on
from devlint.analysis.domain.circles import as_part
from devlint.analysis.domain.likeness import representative
from devlint.analysis.domain.plain import LAZY, SETS, equal, index_number, is_moderate, join_all, missing, sequence
from devlint.analysis.domain.values import (
    MAX_ITEMS,
    NONE,
    NUMBER,
    SCALAR,
    STRING,
    UNKNOWN,
    Const,
    Mapping,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.python.arguments import Arguments
from devlint.analysis.python.names import visits_all
from devlint.analysis.python.sets import combine_sets
from devlint.analysis.python.unvisited import unvisited
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

LISTS: Final = frozenset({"list", "deque"})


@on(TRUTH, Sequence, Arguments)
def sequence_truth(machine: Machine, value: Sequence) -> bool | None:
    """Whether there are items."""
    if value.kind == LAZY:
        return True
    return None if value.open else bool(value.items)


@on(ITERATE, Sequence)
def iterate_sequence(machine: Machine, value: Sequence, node: ir.Node, frame: Frame, wanted: int) -> Iteration:
    """The items. An iterator is used up: how much of it is left after that is not known."""
    found = Iteration(list(value.items), value.open)
    if value.kind == LAZY:
        rewrite(machine, value, [], True)
    return found


def rewrite(machine: Machine, value: Sequence, items: list[Value], open: bool | None = None) -> None:
    """Replace the items."""
    kept = items[:MAX_ITEMS]
    if any(isinstance(item, (Sequence, Mapping)) for item in kept):
        there = set(map(id, value.items))
        kept = [item if id(item) in there else as_part(item, value) for item in kept]
    machine.store.set(value, "items", kept)
    open = value.open if open is None else open
    if len(items) > MAX_ITEMS:
        open = True
    if open != value.open:
        machine.store.set(value, "open", open)


def items_of(machine: Machine, value: Value, node: ir.Node, frame: Frame) -> Iteration:
    """What iterating a value gives; nothing known is an open iteration without items."""
    return iterate(machine, value, node, frame) or Iteration([], True)


def append(machine: Machine, value: Sequence, items: list[Value], open: bool = False) -> None:
    """Add items at the end."""
    known = value.items
    if value.open and not known and value.kind == "list":
        known = [UNKNOWN]
    rewrite(machine, value, [*known, *items], value.open or open)


def extend(machine: Machine, value: Sequence, other: Value, node: ir.Node, frame: Frame) -> None:
    """Add the items of another value at the end (`xs += other`)."""
    more = items_of(machine, other, node, frame)
    append(machine, value, more.items, more.open)


# -- items


@on(ITEM, Sequence)
def sequence_item(machine: Machine, value: Sequence, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`xs[i]` and `xs[a:b]`."""
    inside = getattr(node, "index", None)
    if isinstance(inside, ir.Slice):
        return _slice(machine, value, inside, frame)
    position = index_number(index)
    if position is None:
        if isinstance(index, Tensor) and index.rank != 0:
            return UNKNOWN
        if isinstance(index, Const) and isinstance(index.value, str):
            if value.kind in ("list", "tuple"):
                raise Crash("TypeError")
            return UNKNOWN
        return _any_left(machine, value, node, frame)
    if value.open:
        tail = value.at_end()
        known = 0 <= position < len(value.items) - tail or -tail <= position < 0
        return value.items[position] if known else _any_left(machine, value, node, frame)
    if not -len(value.items) <= position < len(value.items):
        if value.counted:
            too_few(machine, max(position, 0), "IndexError", f"{value.kind} index out of range", node, frame)
            return UNKNOWN
        raise Crash("IndexError")
    return value.items[position]


@on(ITEM, Arguments)
def argument(machine: Machine, value: Arguments, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`sys.argv[1]`, which is missing without arguments, and `sys.argv[1:]`."""
    inside = getattr(node, "index", None)
    if isinstance(inside, ir.Slice):
        cut = bounds(machine, inside, frame)
        if cut is not None and cut.stop is None and cut.step is None and (cut.start or 0) >= 0:
            return Arguments(value.start + (cut.start or 0))
        return Sequence("list", [STRING], True)
    position = index_number(index)
    if position is not None and position < len(value.items):
        return value.items[position] if position >= 0 else STRING
    missing(machine, "IndexError")
    return STRING


@on(ITERATE, Arguments)
def iterate_arguments(machine: Machine, value: Arguments, node: ir.Node, frame: Frame, wanted: int) -> Iteration:
    """All arguments are texts."""
    return Iteration(list(value.items) or [STRING], True)


def _any_left(machine: Machine, value: Sequence, node: ir.Node, frame: Frame) -> Value:
    """The item at an unknown position: of a list that a loop goes through, one that it has not come to."""
    before = unvisited(machine, value, node, frame)
    return any_item(machine, value if before is None else Sequence(value.kind, before, value.open))


def any_item(machine: Machine, value: Sequence) -> Value:
    """The item at an unknown position; of what is not seen, no number or text is known."""
    found = value.items[0] if len(value.items) == 1 else representative(value.items) or join_all(machine, value.items)
    if value.open and isinstance(found, Const):
        return STRING if isinstance(found.value, str) else NUMBER if isinstance(found.value, (int, float)) else SCALAR
    return found


def bounds(machine: Machine, node: ir.Slice, frame: Frame) -> slice | None:
    """Return the bounds of a slice; None when they are not known."""
    found: list[int | None] = []
    for bound in (node.lower, node.upper, node.step):
        value = NONE if bound is None else machine.evaluate(bound, frame)
        if not isinstance(value, Const) or not (value.value is None or isinstance(value.value, int)):
            return None
        found.append(value.value)
    if found[2] == 0:
        raise Crash("ValueError")
    return slice(*found)


def _slice(machine: Machine, value: Sequence, node: ir.Slice, frame: Frame) -> Sequence:
    made = _sliced(machine, value, node, frame)
    made.is_shape = value.is_shape
    return made


def _sliced(machine: Machine, value: Sequence, node: ir.Slice, frame: Frame) -> Sequence:
    kind = value.kind if value.kind in ("list", "tuple", "range") else "list"
    cut = bounds(machine, node, frame)
    if cut is None:
        return Sequence(kind, [any_item(machine, value)] if value.items else [], True)
    if not value.open:
        return Sequence(kind, value.items[cut])
    start, stop, step = cut.start or 0, cut.stop, cut.step or 1
    tail = value.at_end() if step == 1 else 0
    if -tail <= start < 0 and (stop is None or stop < 0):
        return Sequence(kind, value.items[cut])
    if start >= 0 and stop is not None and -tail <= stop < 0:
        return Sequence(kind, value.items[cut], True)
    if start >= 0 and step > 0:
        if stop is not None and 0 <= stop <= len(value.items):
            return Sequence(kind, value.items[cut])
        return Sequence(kind, value.items[start::step] if stop is None or stop < 0 else value.items[cut], True)
    return Sequence(kind, [any_item(machine, value)] if value.items else [], True)


@on(ASSIGN_ITEM, Sequence)
def assign_sequence_item(
    machine: Machine, value: Sequence, index: Value, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`xs[i] = new` and `xs[a:b] = new`. At an unknown index, a loop is taken to visit all items."""
    if value.kind not in LISTS:
        if value.kind in ("tuple", "range", "set", "frozenset"):
            raise Crash("TypeError")
        return
    inside = getattr(node, "index", None)
    if isinstance(inside, ir.Slice):
        more = items_of(machine, new, node, frame)
        cut = bounds(machine, inside, frame)
        if cut is None or value.open or more.open:
            everything = cut == slice(None)
            rewrite(
                machine, value, more.items if everything else [*value.items, *more.items], not everything or more.open
            )
            return
        items = list(value.items)
        try:
            items[cut] = more.items
        except ValueError:
            raise Crash("ValueError") from None
        rewrite(machine, value, items)
        return
    position = index_number(index)
    if position is not None and -len(value.items) <= position < len(value.items) and (position >= 0 or not value.open):
        items = list(value.items)
        items[position] = new
        rewrite(machine, value, items)
    elif position is not None and not value.open:
        raise Crash("IndexError")
    elif not value.items or (position is not None and len(value.items) <= position < MAX_ITEMS):
        rewrite(machine, value, [*value.items, new], True)
    elif (len(value.items) == 1 and not value.open) or visits_all(machine, node, frame):
        rewrite(machine, value, [new] * len(value.items))
    else:
        rewrite(machine, value, [join_all(machine, (item, new)) for item in value.items])


def delete_sequence_item(machine: Machine, value: Sequence, index: Value, node: ir.Node, frame: Frame) -> None:
    """`del xs[i]` and `del xs[a:b]`."""
    inside = getattr(node, "index", None)
    cut: slice | int | None = bounds(machine, inside, frame) if isinstance(inside, ir.Slice) else index_number(index)
    if cut is None or value.open:
        rewrite(machine, value, list(value.items), True)
        return
    items = list(value.items)
    try:
        del items[cut]
    except IndexError:
        raise Crash("IndexError") from None
    rewrite(machine, value, items)


def position_of(value: Sequence, item: Value) -> int | None:
    """Return where the item surely stands first: -1 nowhere, None not known."""
    for position, other in enumerate(value.items):
        answer = equal(other, item)
        if answer is None:
            return None
        if answer:
            return position
    return None if value.open else -1


# -- methods of lists and tuples


# -- methods of sets


# -- iterators


# -- operators


@on(BINARY, Sequence, Arguments)
def sequence_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """`+`, `*` and the operators of sets."""
    if operator == "*":
        one, times = (left, right) if isinstance(left, Sequence) else (right, left)
        if not isinstance(one, Sequence):
            return None
        number = index_number(times)
        if number is None:
            return Sequence(one.kind, list(one.items), True) if not isinstance(times, Tensor) else None
        if one.open or not is_moderate(number):
            return Sequence(one.kind, list(one.items), True)
        wanted = max(0, number) * len(one.items)
        return Sequence(one.kind, (one.items * min(max(0, number), MAX_ITEMS))[:MAX_ITEMS], wanted > MAX_ITEMS)
    if not isinstance(left, Sequence) or not isinstance(right, Sequence):
        return None
    if operator == "+" and left.kind == right.kind and left.kind in ("list", "tuple", "deque"):
        items = list(left.items)
        if left.open and not items:
            items = [UNKNOWN]
        return sequence(left.kind, [*items, *right.items], left.open or right.open)
    if operator in ("|", "&", "-", "^") and left.kind in SETS and right.kind in SETS:
        return combine_sets(operator, left, Iteration(right.items, right.open))
    return None
