"""Loops: a first round, the ones that show what changes, one that stands for all later ones, and a last one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.lattice import unbound
from devlint.analysis.domain.values import (
    Array,
    Const,
    Scalar,
    Sequence,
    Unknown,
    Value,
    birth,
)
from devlint.analysis.flow.counting import is_weighed, later, leave_loop, widen_counted
from devlint.analysis.flow.settling import settle
from devlint.analysis.memo import memoized
from devlint.analysis.signals import BREAK, CONTINUE, RAISE, Signal
from devlint.analysis.store import differ
from devlint.syntax import ir
from devlint.syntax.walk import walk
from devlint.worlds import WORLDS

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project
    from devlint.analysis.store import Delta

from devlint.analysis.flow.choices import decide
from devlint.analysis.flow.control import keep_sides, one_way
from devlint.analysis.flow.visiting import MAX_ROUNDS, MAX_ROUNDS_PLACED, forget_others, indexed, is_cheap, is_named
from devlint.analysis.frames import held

MAX_ROUNDS_OPEN = 3
MOST_DEVICES = max(world.device_count for world in WORLDS)


def loop(
    machine: Machine,
    items: list[Value],
    is_open: bool,
    body: Callable[[Value], Signal | None],
    node: ir.For | ir.While,
    frame: Frame,
) -> Signal | None:
    """Run a loop body until nothing that carries a device and lived before the round changes any more, then `else`.

    Known items that are objects or strings, or the places of such, are all visited (of many, as long as it is cheap).
    A loop is taken to run at least once. Where a round compared numbers and these change from round to round, one more
    stands for all later ones.
    Returns a signal other than break and continue of this loop.
    """
    store = machine.store
    opened = store.open()
    outer, frame.leaving = frame.leaving, []
    weighed, machine.run.weighed = machine.run.weighed, False
    passing, machine.run.passing = machine.run.passing, False
    weighs, machine.run.weighs = machine.run.weighs, frozenset()
    staying, machine.run.staying = machine.run.staying, []
    frame.loops.append(node)
    left: list[tuple[str, Delta, bool]] = []
    began, guards = machine.run.round_began, machine.run.guards
    try:
        try:
            signal = _rounds(machine, items, is_open, body, node, frame)
        finally:
            frame.loops.pop()
            frame.rounds.pop(node, None)
            machine.run.round_began, machine.run.guards = began, guards
            left, frame.leaving = frame.leaving, outer
            leave_loop(machine, node, is_open, frame)
            machine.run.weighed = machine.run.weighed or weighed
            machine.run.weighs |= weighs
            machine.run.staying = staying + machine.run.staying
            machine.run.passing = machine.run.passing or passing
        if signal is BREAK:
            return None
        return machine.block(node.orelse, frame) if signal is None and node.orelse else signal
    finally:
        _come_back(machine, left, "break")
        if opened:
            store.close()


def never_ends(machine: Machine, node: ir.While, asked: int, frame: Frame) -> bool:
    """Whether a loop goes on for as long as a condition on data has the answer that this run gives it in each round:
    `while not done: if found(): done = True`. In the program one round has the other, so that nothing is known of what
    lies behind. `asked`: how many answers the path had before the loop."""
    if not any(not choice.condition for choice in machine.run.path[asked:]) or _is_left(machine.project, node):
        return False
    test = node.test
    while isinstance(test, ir.Unary) and test.operator == "not":
        test = test.value
    if isinstance(test, ir.Compare) and isinstance(test.right, ir.Const) and test.right.value in (None, True, False):
        test = test.left
    flag = held(test, frame)
    if not isinstance(flag, Const) or not (flag.value is None or flag.value.__class__ is bool):
        return False  # numbers may change in rounds that were not run
    return decide(machine, node.test, frame).truth is True


@memoized
def _is_left(project: Project, node: ir.While) -> bool:
    """Whether something else than its condition may end a loop."""
    return any(isinstance(part, (ir.Break, ir.Return, ir.Raise, ir.Yield, ir.YieldFrom)) for part in walk(node.body))


def _rounds(
    machine: Machine,
    items: list[Value],
    is_open: bool,
    body: Callable[[Value], Signal | None],
    node: ir.For | ir.While,
    frame: Frame,
) -> Signal | None:
    """The rounds of a loop. Returns BREAK where the loop was surely left by it."""
    store = machine.store
    holders = indexed(machine, node, frame)
    distinct = _are_distinct(items, is_open, bool(holders))
    limit = MAX_ROUNDS_OPEN if is_open and not distinct else MAX_ROUNDS
    most = MAX_ROUNDS_PLACED if distinct else limit
    runs_all = distinct and not is_open and len(items) <= most
    start, first, steps, bounded = store.mark(), birth(), machine.run.steps, machine.loss.bounded
    changing = False
    resized: set[tuple[int, Any]] = set()
    count = 0
    for item in items[:most]:
        if count >= limit and not is_cheap(machine, steps):
            changing = settle(machine, start, first, False, resized).widened
            break
        count += 1
        mark, began, grown = store.mark(), birth(), machine.run.grown
        machine.run.round_began = began
        frame.rounds[node] = start, mark
        signal = body(item)
        if signal is not None and signal is not CONTINUE:
            return signal
        _end_round(machine, frame)
        if runs_all:
            continue  # numbers stay as they are
        told = settle(machine, mark, began, machine.run.grown != grown and count == 1, resized)
        changing = changing or told.widened
        if not (told.carried or machine.run.grown != grown or distinct):
            break
    if not is_open and count == len(items):
        return None
    changing = _leave_open(machine, start, node, frame) or changing
    forget_others(machine, start, items, count, holders)
    if machine.loss.bounded != bounded:
        _forget_bounds(machine, start)
    stands = later(items[count - 1]) if is_open else _between(items)
    if not changing and stands is items[count - 1]:
        return None
    if not is_weighed(machine, start):
        if machine.run.passing:
            widen_counted(machine, node, start, frame)
        return None
    frame.rounds[node] = start, store.mark()
    left = _later_round(machine, stands, body, frame)
    if left is not None or is_open or stands is items[count - 1]:
        return left
    frame.rounds[node] = start, store.mark()
    return _later_round(machine, items[-1], body, frame)  # what is done in the last round alone


def _end_round(machine: Machine, frame: Frame) -> None:
    _come_back(machine, frame.leaving, "continue")
    frame.leaving = [entry for entry in frame.leaving if entry[0] != "continue"]


def _between(items: list[Value]) -> Value:
    """What stands for the items between the first and the last."""
    numbers = [item.value if isinstance(item, Const) else None for item in items[1:-1] or items[1:]]
    known = [number for number in numbers if number.__class__ is int]
    return Scalar(min(known), "number", max(known)) if known and len(known) == len(numbers) else later(items[-1])


def _later_round(machine: Machine, item: Value, body: Callable[[Value], Signal | None], frame: Frame) -> Signal | None:
    """One round that stands for all later ones; what surely crashes there leaves no trace behind the loop."""
    mark = machine.store.mark()
    signal = one_way(machine, lambda: body(item))
    if signal is RAISE:
        machine.run.thrown = None
        machine.store.undo(mark)
        return None
    if signal is not None and signal is not CONTINUE:
        return signal
    _end_round(machine, frame)
    return None


def _come_back(machine: Machine, left: list[tuple[str, Delta, bool]], kind: str) -> None:
    """Join what was written on the ways that left by `break` (`continue`) into the state after the loop (round)."""
    lost = machine.loss.lost
    for way, delta, varies in left:
        if way == kind:
            stayed = {identity: getattr(entry[0], entry[1]) for identity, entry in delta.items() if entry[2]}
            machine.store.merge(delta, {}, machine.loss.join if way == "continue" else machine.loss.without_bounds)
            if varies:
                keep_sides(machine, delta, stayed)
    machine.loss.lost = lost


def _leave_open(machine: Machine, start: int, node: ir.Node, frame: Frame) -> bool:
    """Containers that grow in a loop of which not every round was run may hold more than was seen. Tells whether one
    does: its length is a number that changes from round to round."""
    log = machine.store.log
    assert log is not None
    seen: set[int] = set()
    grows = False
    for target, key, is_slot, old in log[start:]:
        if is_slot and key == "items" and id(target) not in seen:
            seen.add(id(target))
            if not target.open and differ(old, target.items):
                machine.store.set(target, "open", True)
                grows = grows or len(old) < len(target.items)
    for receiver in _growing(machine.project, node):
        grown = held(receiver, frame)
        if not isinstance(grown, Sequence) or grown.kind != "list":
            continue
        if grown.at_end():
            machine.store.set(grown, "items", list(grown.items))  # others may follow what stood at its end
        if not grown.open:
            machine.store.set(grown, "open", True)
    return grows


@memoized
def _growing(project: Project, node: ir.Node) -> list[ir.Expr]:
    """What a loop appends to somewhere in its body, also where it did not come in the rounds that were run."""
    return [
        call.function.value
        for call in walk(getattr(node, "body", []))
        if isinstance(call, ir.Call) and isinstance(call.function, ir.Attribute) and call.function.name in _GROW
    ]


_GROW = frozenset({"append", "extend", "insert"})


def _are_distinct(items: list[Value], is_open: bool, are_places: bool) -> bool:
    """Whether the items of a loop are objects or strings, each of its own, or the places of such.

    As many as there may be GPUs are perhaps the numbers of these.
    """
    if is_open:
        is_long = len(items) > MAX_ROUNDS_OPEN
        return any(map(is_named, items)) or (is_long and (are_places or any(map(_is_distinct, items))))
    return are_places or len(items) == MOST_DEVICES or any(map(_is_distinct, items))


def _is_distinct(value: Value) -> bool:
    return not isinstance(value, (Scalar, Unknown, Array)) and not (
        isinstance(value, Const) and not isinstance(value.value, str)
    )


def _forget_bounds(machine: Machine, start: int) -> None:
    """The numbers that a loop wrote of which bounds are known: in rounds that were not run they may go beyond."""
    store = machine.store
    log = store.log
    assert log is not None
    for target, key, is_slot, _ in log[start:]:
        now = getattr(target, key) if is_slot else target.get(key)
        if now.__class__ is Scalar:
            if now.high is not None or now.among is not None:
                store.set(target, key, unbound(now)) if is_slot else store.put(target, key, unbound(now))
        elif is_slot and key == "items" and now.__class__ is list:
            if any(item.__class__ is Scalar and unbound(item) is not item for item in now):
                store.set(target, key, [unbound(item) if item.__class__ is Scalar else item for item in now])
