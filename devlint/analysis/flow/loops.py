"""Loops: a first round, the ones that show what changes, one that stands for all later ones, and a last one."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.lattice import unbound
from devlint.analysis.domain.plain import texts
from devlint.analysis.domain.values import (
    COUNT,
    NUMBER,
    SCALAR,
    Array,
    Class,
    Const,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    birth,
)
from devlint.analysis.events import Site
from devlint.analysis.flow.counting import BORN, is_weighed, later, widen_counted
from devlint.analysis.signals import BREAK, CONTINUE, RAISE, Signal
from devlint.analysis.store import MISSING, differ
from devlint.syntax import ir
from devlint.syntax.walk import walk
from devlint.worlds import WORLDS

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.store import Delta, Entry

from devlint.analysis.flow.control import keep_sides, one_way
from devlint.analysis.flow.visiting import (
    MAX_ROUNDS,
    MAX_ROUNDS_PLACED,
    forget_others,
    held,
    indexed,
    is_cheap,
    is_named,
)

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
    weighed, machine.weighed = machine.weighed, False
    passing, machine.passing = machine.passing, False
    weighs, machine.weighs = machine.weighs, frozenset()
    staying, machine.staying = machine.staying, []
    frame.loops.append(node)
    left: list[tuple[str, Delta, bool]] = []
    began, guards = machine.round_began, machine.guards
    try:
        try:
            signal = _rounds(machine, items, is_open, body, node, frame)
        finally:
            frame.loops.pop()
            frame.rounds.pop(node, None)
            machine.round_began, machine.guards = began, guards
            left, frame.leaving = frame.leaving, outer
            machine.weighed = machine.weighed or weighed or (bool(machine.weighs) and not frame.loops)
            machine.weighs |= weighs
            machine.staying = staying + machine.staying
            machine.passing = machine.passing or passing
        if signal is BREAK:
            return None
        return machine.block(node.orelse, frame) if signal is None and node.orelse else signal
    finally:
        _come_back(machine, left, "break")
        if opened:
            store.close()


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
    start, first, steps, bounded = store.mark(), birth(), machine.steps, machine.loss.bounded
    changing = False
    resized: set[tuple[int, Any]] = set()
    count = 0
    for item in items[:most]:
        if count >= limit and not is_cheap(machine, steps):
            changing = _settle(machine, start, first, False, resized)[1]
            break
        count += 1
        mark, began, grown = store.mark(), birth(), machine.grown
        machine.round_began = began
        frame.rounds[node] = start, mark
        signal = body(item)
        if signal is not None and signal is not CONTINUE:
            return signal
        _end_round(machine, frame)
        if runs_all:
            continue  # numbers stay as they are
        carried, widened = _settle(machine, mark, began, machine.grown != grown and count == 1, resized)
        carried = carried or machine.grown != grown
        changing = changing or widened
        if not carried and not distinct:
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
        if machine.passing:
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
        machine.thrown = None
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
    for receiver in _growing(machine, node):
        grown = held(receiver, frame)
        if not isinstance(grown, Sequence) or grown.kind != "list":
            continue
        if grown.at_end():
            machine.store.set(grown, "items", list(grown.items))  # others may follow what stood at its end
        if not grown.open:
            machine.store.set(grown, "open", True)
    return grows


def _growing(machine: Machine, node: ir.Node) -> list[ir.Expr]:
    """What a loop appends to somewhere in its body, also where it did not come in the rounds that were run."""
    growing = machine.project.growing
    known = growing.get(node)
    if known is None:
        known = growing[node] = [
            call.function.value
            for call in walk(getattr(node, "body", []))
            if isinstance(call, ir.Call) and isinstance(call.function, ir.Attribute) and call.function.name in _GROW
        ]
    return known


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


def _settle(machine: Machine, mark: int, began: int, grew: bool, resized: set[tuple[int, Any]]) -> tuple[bool, bool]:
    """Widen the numbers that the round changed; tell whether something changed that carries a device, and whether
    numbers did.

    What the round made itself (variables, containers, activations of functions) is no change. Where a module `grew`
    numbers stay for another round: they may be its size. A list that stands where one of another length stood
    (`xs = xs[-n:]`) gets another round (`resized`), and is of unknown length where it has changed again.
    """
    store = machine.store
    log = store.log
    assert log is not None
    carried = widened = False
    seen: set[tuple[int, Any]] = set()
    for target, key, is_slot, old in log[mark:]:
        if target.__class__ in BORN and target.born > began:
            continue
        identity = (id(target), key)
        if identity in seen:
            continue
        seen.add(identity)
        if old is MISSING:
            continue
        now = getattr(target, key) if is_slot else target.get(key, MISSING)
        if now is old:
            continue
        if is_slot:
            if key == "device":
                carried = True
            elif key == "pending":  # the next round may read what this one has let come
                carried = carried or (old is None and now == machine.state.synchronizations)
            elif key == "items":
                carried = carried or _weight(now) != _weight(old)
                items = _widened_items(old, now)
                if items is not None:
                    widened = True
                    if not grew:
                        store.set(target, key, items)
            elif key == "children" and target.device is not None:
                carried = carried or not _are_same(old, now)  # a module grows that has been moved already
            elif key in ("default_device", "default_type", "current_device"):
                carried = True
            elif key == "yields":
                carried = carried or any(map(_is_numbered, now[len(old or ()) :]))
        elif _is_moved(old, now):
            widened = True
        elif now.__class__ is Scalar and now.among is not None and old.__class__ in (Const, Scalar):
            if texts(old) != now.among:
                carried = widened = True  # the next round may go another way, and make it yet another
        elif isinstance(old, Const):
            if isinstance(now, Const):
                if now.value != old.value:
                    if isinstance(old.value, str) or old.value is None:
                        carried = True
                    elif not isinstance(old.value, bool):
                        widened = True
                        if not grew:
                            store.put(target, key, _widened(old, now))
            elif not isinstance(now, (Scalar, Unknown, Array)):
                carried = True
        elif isinstance(old, Tensor) and isinstance(now, Tensor):
            carried = carried or old.device != now.device or old.is_parameter != now.is_parameter
        elif isinstance(old, (Sequence, Mapping)) and isinstance(now, (Sequence, Mapping)):
            carried = carried or _weight(now.items) != _weight(old.items)
            if _is_resized(log[mark:], old, now):
                if identity in resized:
                    widened = True
                    store.set(now, "open", True)
                else:
                    carried = True
                    resized.add(identity)
        elif old.__class__ is dict and now.__class__ is dict:
            carried = carried or not old.items() <= now.items()  # notes of a first time may be added
        elif isinstance(old, Instance) and isinstance(now, Instance):
            carried = carried or not _are_alike(old, now)
        elif isinstance(old, (Unknown, Scalar, Array)) and isinstance(now, (Unknown, Scalar, Const, Array)):
            pass
        elif now.__class__ is not Site:  # where something was put
            carried = True
    return carried, widened


def _is_resized(written: list[Entry], old: Value, now: Value) -> bool:
    """Whether a list of known length stands where one stood that had another length before all this was written."""
    if not isinstance(old, Sequence) or not isinstance(now, Sequence) or now.open:
        return False
    before = (entry[3] for entry in written if entry[0] is old and entry[1] == "items")
    return len(next(before, old.items)) != len(now.items)


def _is_numbered(value: Value) -> bool:
    """Whether it is an object of the program's that holds a number: the next one may hold another."""
    return isinstance(value, Instance) and value.module is None and any(map(_is_number, value.fields.values()))


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and value.value.__class__ in (int, float)


def _is_moved(old: Any, now: Any) -> bool:
    """Whether a number has other bounds than before the round."""
    if now.__class__ is not Scalar or now.high is None:
        return False
    return old.__class__ is Const or (old.__class__ is Scalar and (old.low, old.high) != (now.low, now.high))


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


def _widened(old: Const, now: Const) -> Value:
    """What a constant may become that changes from round to round."""
    if not isinstance(old.value, (int, float)):
        return SCALAR
    counts_up = isinstance(now.value, (int, float)) and 0 <= old.value <= now.value
    return COUNT if counts_up else NUMBER


def _widened_items(old: Any, now: Any) -> Any:
    """The items of a container with the numbers widened that a round changed; None where there are none."""
    if old.__class__ is not now.__class__ or now.__class__ not in (list, dict) or len(old) != len(now):
        return None
    places = now.keys() if now.__class__ is dict else range(len(now))
    changed = {
        place: _widened(old[place], now[place])
        for place in places
        if (now.__class__ is list or place in old)
        and isinstance(old[place], Const)
        and isinstance(now[place], Const)
        and isinstance(old[place].value, (int, float))
        and not isinstance(old[place].value, bool)
        and old[place].value != now[place].value
    }
    if not changed:
        return None
    if now.__class__ is dict:
        return {**now, **changed}
    return [changed.get(place, value) for place, value in enumerate(now)]


def _are_alike(old: Instance, now: Instance) -> bool:
    """Whether two objects of a class of the program's hold the same, as far as devices go."""
    if old.cls is not now.cls or not isinstance(old.cls, Class) or old.module is not now.module:
        return False
    if old.fields.keys() != now.fields.keys() or _weight(old.fields) != _weight(now.fields):
        return False
    one, other = ([kept.value for kept in held.fields.values() if isinstance(kept, Const)] for held in (old, now))
    return one == other


def _are_same(old: Any, now: Any) -> bool:
    """Whether the children of a module are the same objects."""
    return old.__class__ is now.__class__ and len(old or ()) == len(now or ()) and all(map(is_, old or (), now or ()))


def _weight(items: Any) -> list[Any]:
    """What a container holds, as far as devices go."""
    if items.__class__ not in (list, dict):
        return []
    values = items.values() if items.__class__ is dict else items
    found: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value.device)
        elif isinstance(value, (Sequence, Mapping)):
            found.extend(_weight(value.items))
        elif not isinstance(value, (Const, Unknown, Scalar, Array)):
            found.append(id(value))
    return found
