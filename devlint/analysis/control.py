"""Branches that the world does not decide, loops, and `try`: how one run covers several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devlint.analysis.choices import Decision
from devlint.analysis.events import Choice
from devlint.analysis.frames import Locals
from devlint.analysis.machine import BREAK, CONTINUE, RAISE, Crash, Signal
from devlint.analysis.plain import ancestors
from devlint.analysis.store import MISSING, differ
from devlint.analysis.values import (
    COUNT,
    NUMBER,
    SCALAR,
    Array,
    Const,
    DeviceValue,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    birth,
    constant,
    is_none,
)
from devlint.syntax import ir
from devlint.syntax.walk import walk
from devlint.worlds import WORLDS

if TYPE_CHECKING:
    from devlint.analysis.choices import ChoiceKey, Decision
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.store import Delta, Entry

MAX_ROUNDS_OPEN = 3
MAX_ROUNDS_KNOWN = 8
MOST_DEVICES = max(world.device_count for world in WORLDS)


def fork(
    machine: Machine,
    decision: Decision,
    yes: Callable[[], Signal | None],
    no: Callable[[], Signal | None],
    frame: Frame,
) -> Signal | None:
    """Run both sides from the same state and join them.

    Where the join loses a device the condition is promoted: the entry point will be run again with each answer.
    """
    store, loss = machine.store, machine.loss
    opened = store.open()
    mark = store.mark()
    if decision.default is not None:
        signal = one_way(machine, yes if decision.default else no)
        if signal is None or (signal.kind == "return" and not is_none(signal.value)):
            _try_other(machine, decision, no if decision.default else yes, mark)
            note_either(machine, frame)
            if opened:
                store.close()
            return signal
        store.undo(mark)  # without arguments it ends here
    depth = len(machine.path)
    lost_before, loss.lost = loss.lost, False
    guards = machine.guards
    choice = decision.choice
    assert choice is not None
    machine.path.append(decision.chosen(True))
    machine.guards += decision.guards(True)
    first = one_way(machine, yes)
    first_delta = store.rollback(mark)
    machine.guards = guards + decision.guards(False)
    machine.path[depth:] = [decision.chosen(False)]
    second = one_way(machine, no)
    second_delta = store.rollback(mark)
    del machine.path[depth:]
    machine.guards = guards
    loss.behind = behind(decision)
    signal = _rejoin(machine, frame, decision, first, second, first_delta, second_delta)
    loss.behind = None
    if first is None and second is None and _varies(machine, decision, frame):
        _keep_sides(machine, first_delta, {identity: entry[3] for identity, entry in second_delta.items()})
    if loss.lost and decision.is_free:
        _note_behind(machine, decision, first_delta)
        _note_behind(machine, decision, second_delta)
        machine.promoted.setdefault(decision.key, choice)
    loss.lost = lost_before or loss.lost
    note_either(machine, frame)
    if opened:
        store.close()
    return signal


def _note_behind(machine: Machine, decision: Decision, delta: Delta) -> None:
    """Tensors that one side moved in place lost their device behind the condition."""
    for target, key, is_slot, _ in delta.values():
        if is_slot and key == "device" and isinstance(target, Tensor) and target.device is None:
            machine.store.set(target, "behind", target.behind or decision.key)


def _try_other(machine: Machine, decision: Decision, other: Callable[[], Signal | None], mark: int) -> None:
    """The program is started without arguments. Run what it does with them, too, and see whether that is worth a run
    of its own; nothing of it stays, and after another such condition nothing is told, for that would have differed."""
    assert decision.choice is not None and decision.default is not None
    store, loss, choice = machine.store, machine.loss, decision.choice
    taken = store.rollback(mark)
    lost, loss.lost = loss.lost, False
    follows = bool(machine.defaults)
    machine.quiet += follows
    depth, guards = len(machine.path), machine.guards
    machine.path.append(decision.chosen(not decision.default))
    machine.guards += decision.guards(not decision.default)
    one_way(machine, other)
    del machine.path[depth:]
    machine.guards = guards
    machine.quiet -= follows
    left = store.rollback(mark)
    store.merge(taken, left, loss.join)
    store.undo(mark)
    store.apply(taken)
    if loss.lost or follows:
        machine.promoted.setdefault(decision.key, choice)
    loss.lost = lost
    machine.defaults[decision.key] = decision.default is decision.polarity


def behind(decision: Decision) -> tuple[ChoiceKey, bool] | None:
    """The condition that stands before a join, and the answer to it on the side where it holds."""
    return (decision.key, decision.polarity) if decision.is_free else None


def note_either(machine: Machine, frame: Frame) -> None:
    """A program that chooses between the CPU and CUDA, by whatever condition, means to run without a GPU."""
    if machine.loss.either:
        machine.loss.either = False
        machine.testify("branch", frame)


def one_way(machine: Machine, run: Callable[[], Signal | None]) -> Signal | None:
    """Run one of several ways; a crash ends it alone."""
    stack, activations = len(machine.stack), len(machine.activations)
    trying, quiet, worker = machine.trying, machine.quiet, machine.worker
    try:
        return run()
    except Crash:
        del machine.stack[stack:]
        del machine.activations[activations:]
        machine.trying, machine.quiet, machine.worker = trying, quiet, worker
        return RAISE


def _rejoin(
    machine: Machine,
    frame: Frame,
    decision: Decision,
    first: Signal | None,
    second: Signal | None,
    first_delta: Delta,
    second_delta: Delta,
) -> Signal | None:
    store, join = machine.store, machine.loss.join
    if first is None and second is None:
        store.merge(first_delta, second_delta, join)
        return None
    if first is not None and second is not None:
        if first is RAISE:
            store.apply(second_delta)
            return second
        if second is RAISE:
            store.apply(first_delta)
            return first
        store.merge(first_delta, second_delta, join)
        if first.kind == second.kind == "return":
            return Signal("return", join(first.value, second.value))
        returned = first if first.kind == "return" else second
        _keep_return(machine, frame, decision, returned)
        return second if returned is first else first
    left, delta_left, delta_stays = (
        (first, first_delta, second_delta) if first is not None else (second, second_delta, first_delta)
    )
    assert left is not None
    takes_device = left is not RAISE and any(_carries_device(entry) for entry in delta_left.values())
    store.apply(delta_stays)
    _settle_choice(machine, frame, decision, left, first is not None)
    _keep_return(machine, frame, decision, left)
    if left is BREAK or left is CONTINUE:
        frame.leaving.append((left.kind, delta_left, _varies(machine, decision, frame)))
    if takes_device:
        machine.loss.lost = True
    return None


def _settle_choice(machine: Machine, frame: Frame, decision: Decision, left: Signal, first_left: bool) -> None:
    """Where one side left for good, the rest of the path has the other answer: `if not args.cuda: return`."""
    if not isinstance(decision.key, str) or left.kind not in ("return", "raise"):
        return
    if decision.key not in machine.settled:
        machine.store.put(machine.settled, decision.key, decision.polarity is not first_left)
        if left.kind == "return":
            machine.store.set(frame, "settled", frame.settled | {decision.key})


def _keep_return(machine: Machine, frame: Frame, decision: Decision, signal: Signal) -> None:
    if signal.kind != "return":
        return
    machine.loss.behind = None  # what returned before stood behind another
    value = signal.value
    joined = value if frame.returns is None else machine.loss.join(frame.returns, value)
    machine.store.set(frame, "returns", joined)
    machine.store.set(frame, "return_keys", [*frame.return_keys, (decision.key, decision.choice)])


def _carries_device(entry: Entry) -> bool:
    """Whether a way wrote something that has a device; that a test told what was there is no write."""
    target, key, is_slot, value = entry
    if isinstance(value, (Tensor, DeviceValue, Instance)):
        before = None if is_slot else target.get(key)
        return not (isinstance(before, Maybe) and before.value is value)
    return isinstance(value, str) and (value == "cpu" or value.startswith("cuda"))


def loop(
    machine: Machine,
    items: list[Value],
    is_open: bool,
    body: Callable[[Value], Signal | None],
    node: ir.For | ir.While,
    frame: Frame,
) -> Signal | None:
    """Run a loop body until nothing that carries a device and lived before the round changes any more, then `else`.

    Known items that are objects or strings are all visited (at most 8). A loop is taken to run at least once. Where a
    round compared numbers and these change from round to round, one more stands for all later ones.
    Returns a signal other than break and continue of this loop.
    """
    store = machine.store
    opened = store.open()
    outer, frame.leaving = frame.leaving, []
    weighed, machine.weighed = machine.weighed, False
    frame.loops.append(node)
    left: list[tuple[str, Delta, bool]] = []
    began = machine.round_began
    try:
        try:
            signal = _rounds(machine, items, is_open, body, node, frame)
        finally:
            frame.loops.pop()
            machine.round_began = began
            left, frame.leaving = frame.leaving, outer
            machine.weighed = machine.weighed or weighed
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
    distinct = any(_is_distinct(item) if not is_open else _is_named(item) for item in items)
    distinct = distinct or (not is_open and len(items) == MOST_DEVICES)  # the numbers of the devices, perhaps
    limit = MAX_ROUNDS_OPEN if is_open and not distinct else MAX_ROUNDS_KNOWN
    start = store.mark()
    changing = False
    count = 0
    for item in items[:limit]:
        count += 1
        mark, began = store.mark(), birth()
        machine.round_began = began
        signal = body(item)
        if signal is not None and signal is not CONTINUE:
            return signal
        _end_round(machine, frame)
        carried, widened = _settle(machine, mark, began)
        changing = changing or widened
        if not carried and not distinct:
            break
    if not is_open and count == len(items):
        return None
    _leave_open(machine, start, node, frame)
    later = _later(items[count - 1]) if is_open else _between(items)
    if not machine.weighed or not (changing or later is not items[count - 1]):
        return None
    left = _later_round(machine, later, body, frame)
    if left is not None or is_open or later is items[count - 1]:
        return left
    return _later_round(machine, items[-1], body, frame)  # what is done in the last round alone


def _end_round(machine: Machine, frame: Frame) -> None:
    _come_back(machine, frame.leaving, "continue")
    frame.leaving = [entry for entry in frame.leaving if entry[0] != "continue"]


def _later(item: Value) -> Value:
    """What stands for the items of all later rounds."""
    if isinstance(item, Const) and isinstance(item.value, (int, float)) and not isinstance(item.value, bool):
        return COUNT if item.value >= 0 else NUMBER
    if isinstance(item, Sequence) and item.kind == "tuple" and not item.open:
        parts = [_later(part) for part in item.items]
        return item if all(a is b for a, b in zip(parts, item.items, strict=True)) else Sequence("tuple", parts)
    return item


def _between(items: list[Value]) -> Value:
    """What stands for the items between the first and the last."""
    numbers = [item.value if isinstance(item, Const) else None for item in items[1:-1] or items[1:]]
    known = [number for number in numbers if number.__class__ is int]
    return Scalar(min(known), "number", max(known)) if known and len(known) == len(numbers) else _later(items[-1])


def _later_round(machine: Machine, item: Value, body: Callable[[Value], Signal | None], frame: Frame) -> Signal | None:
    """One round that stands for all later ones; what surely crashes there leaves no trace behind the loop."""
    mark = machine.store.mark()
    signal = one_way(machine, lambda: body(item))
    if signal is RAISE:
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
            machine.store.merge(delta, {}, machine.loss.join)
            if varies:
                _keep_sides(machine, delta, stayed)
    machine.loss.lost = lost


def _varies(machine: Machine, decision: Decision, frame: Frame) -> bool:
    """Whether a condition may have another answer in each round of the running loop: it asks for what a round binds."""
    if decision.test is None or not frame.loops:
        return False
    bound = _bound(machine, frame.loops[-1])
    return any(isinstance(part, ir.Name) and part.id in bound for part in walk(decision.test))


def _bound(machine: Machine, loop: ir.Node) -> frozenset[str]:
    """The names that a loop binds in each round."""
    known = machine.project.bound.get(loop)
    if known is None:
        targets = [getattr(loop, "target", None)]
        for part in walk(getattr(loop, "body", [])):
            if isinstance(part, (ir.Assign, ir.For)):
                targets += part.targets if isinstance(part, ir.Assign) else [part.target]
        names = (part.id for part in walk([part for part in targets if part is not None]) if isinstance(part, ir.Name))
        known = machine.project.bound[loop] = frozenset(names)
    return known


def _keep_sides(machine: Machine, first: Delta, second: dict[tuple[int, Any], Any]) -> None:
    """Where lists that were there before the round got tensors of two devices, one a way, they come to hold both."""
    for identity, (target, key, is_slot, one) in first.items():
        other = second.get(identity)
        if not is_slot or key != "items" or one.__class__ is not list or other.__class__ is not list:
            continue
        if target.born > machine.round_began or len(one) != len(other):
            continue
        for a, b, joined in zip(one, other, target.items, strict=False):
            if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(joined, Tensor):
                if joined.device is None and a.device is not None and b.device is not None:
                    joined.sides = (a, b)


def _leave_open(machine: Machine, start: int, node: ir.Node, frame: Frame) -> None:
    """Containers that grow in a loop of which not every round was run may hold more than was seen."""
    log = machine.store.log
    assert log is not None
    seen: set[int] = set()
    for target, key, is_slot, old in log[start:]:
        if is_slot and key == "items" and id(target) not in seen:
            seen.add(id(target))
            if not target.open and differ(old, target.items):
                machine.store.set(target, "open", True)
    for receiver in _growing(machine, node):
        held = _held(receiver, frame)
        if isinstance(held, Sequence) and held.kind == "list" and not held.open:
            machine.store.set(held, "open", True)


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


def _held(node: ir.Expr, frame: Frame) -> Value | None:
    """What a name or a chain of attributes holds, if that takes no evaluation."""
    if isinstance(node, ir.Name):
        return frame.names.get(node.id) or frame.namespace.names.get(node.id)
    base = _held(node.value, frame) if isinstance(node, ir.Attribute) else None
    return base.fields.get(node.name) if isinstance(base, Instance) and isinstance(node, ir.Attribute) else None


def _is_named(value: Value) -> bool:
    """Whether an item of an open sequence is one of its own: a module, a pair with one, or a tensor with its name."""
    if isinstance(value, Sequence) and value.kind == "tuple":
        if [part.__class__ for part in value.items] == [Const, Tensor]:
            return isinstance(constant(value.items[0]), str)
        return any(_is_named(part) for part in value.items)
    return isinstance(value, Instance) and value.module is not None


def _is_distinct(value: Value) -> bool:
    return not isinstance(value, (Scalar, Unknown, Array)) and not (
        isinstance(value, Const) and not isinstance(value.value, str)
    )


def _settle(machine: Machine, mark: int, began: int) -> tuple[bool, bool]:
    """Widen the numbers that the round changed; tell whether something changed that carries a device, and whether
    numbers did.

    What the round made itself (variables, containers, activations of functions) is no change.
    """
    store = machine.store
    log = store.log
    assert log is not None
    carried = widened = False
    seen: set[tuple[int, Any]] = set()
    for target, key, is_slot, old in log[mark:]:
        if target.__class__ in _BORN and target.born > began:
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
            elif key == "items":
                carried = carried or _weight(now) != _weight(old)
                items = _widened_items(old, now)
                if items is not None:
                    widened = True
                    store.set(target, key, items)
            elif key in ("default_device", "default_type", "current_device"):
                carried = True
        elif isinstance(old, Const):
            if isinstance(now, Const):
                if now.value != old.value:
                    if isinstance(old.value, str) or old.value is None:
                        carried = True
                    elif not isinstance(old.value, bool):
                        widened = True
                        store.put(target, key, _widened(old, now))
            elif not isinstance(now, (Scalar, Unknown, Array)):
                carried = True
        elif isinstance(old, Tensor) and isinstance(now, Tensor):
            carried = carried or old.device != now.device or old.is_parameter != now.is_parameter
        elif isinstance(old, (Sequence, Mapping)) and isinstance(now, (Sequence, Mapping)):
            carried = carried or _weight(now.items) != _weight(old.items)
        elif old.__class__ is dict and old == now:
            continue
        elif not (isinstance(old, (Unknown, Scalar, Array)) and isinstance(now, (Unknown, Scalar, Const, Array))):
            carried = True
    return carried, widened


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


_BORN = (Locals, Sequence, Mapping)


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


_GUARDING = frozenset(
    "Exception BaseException RuntimeError AssertionError TypeError AttributeError NameError ValueError "
    "AcceleratorError CudaError UnboundLocalError StandardError NotImplementedError".split()
)


def guards(handler: ir.Handler) -> bool:
    """Whether a handler would catch what torch raises about devices, and doesn't raise it again.

    One that ends the program, or says in words of its own that a GPU is needed, was meant: an assertion does the same.
    """
    last = handler.body[-1] if handler.body else None
    if isinstance(last, ir.Raise):
        again = isinstance(last.value, ir.Name) and handler.name is not None and last.value.id == handler.name.id
        if last.value is None or again:
            return False
    if handler.type is None:
        return True
    return any(name in _GUARDING for name in caught_names(handler))


_TELLING = frozenset("print warn warning error info debug critical exception print_exc write".split())


def only_tells(handler: ir.Handler) -> bool:
    """Whether a handler says what was raised and does nothing about it: the program goes on without what failed."""
    told = False
    for statement in handler.body:
        call = statement.value if isinstance(statement, ir.ExprStatement) else None
        if not isinstance(call, ir.Call) or not isinstance(call.function, (ir.Name, ir.Attribute)):
            return False
        name = call.function.id if isinstance(call.function, ir.Name) else call.function.name
        if name not in _TELLING:
            return False
        told = told or name in ("exception", "print_exc") or _names(handler.name, call)
    return told


def _names(name: ir.Name | None, call: ir.Call) -> bool:
    """Whether a call is given what the name stands for."""
    written = walk([*call.args, *(value for _, value in call.keywords)])
    return name is not None and any(isinstance(part, ir.Name) and part.id == name.id for part in written)


def caught_names(handler: ir.Handler) -> list[str]:
    """The names of the exceptions that a handler catches."""
    if handler.type is None:
        return ["BaseException"]
    types = handler.type.items if isinstance(handler.type, ir.Display) else [handler.type]
    names = [kind.name if isinstance(kind, ir.Attribute) else getattr(kind, "id", "") for kind in types]
    return [name for name in names if name]


def catches(handler: ir.Handler, kind: str) -> bool:
    """Whether a handler catches a builtin exception (or, for "", what torch raises about devices)."""
    return not ancestors(kind).isdisjoint(caught_names(handler)) if kind else guards(handler)


_ABSENT = frozenset({"FileNotFoundError", "OSError", "IOError", "EnvironmentError"})


def run_try(machine: Machine, node: ir.Try, frame: Frame) -> Signal | None:
    """`try`: where a handler has an answer to a missing file, both ways are possible."""
    absent = next((handler for handler in node.handlers if not _ABSENT.isdisjoint(caught_names(handler))), None)
    if absent is None or not any(isinstance(statement, ir.Assign) for statement in absent.body):
        return _run_try(machine, node, frame)
    site = machine.site(node, frame)
    key = site.key
    machine.asked.add(key)
    assumed = machine.assume.get(key)

    def missing() -> Signal | None:
        signal = machine.block(absent.body, frame)
        final = machine.block(node.final, frame) if node.final else None
        return signal if final is None else final

    if assumed is not None:
        return _run_try(machine, node, frame) if assumed else missing()
    decision = Decision(None, key, Choice("", True, machine.site(absent, frame)))
    return fork(machine, decision, lambda: _run_try(machine, node, frame), missing, frame)


def _run_try(machine: Machine, node: ir.Try, frame: Frame) -> Signal | None:
    """try/except/else/finally: a handler that would catch a device error makes the body silent and is its way out."""
    guard = next((handler for handler in node.handlers if guards(handler)), None)
    guarding, telling = guard is not None, guard is not None and only_tells(guard)
    expected = len(machine.expected)
    machine.expected += [name for handler in node.handlers for name in caught_names(handler)]
    machine.trying += guarding
    machine.telling += telling
    crash: Crash | None = None
    signal: Signal | None = None
    stack, activations = len(machine.stack), len(machine.activations)
    try:
        signal = machine.block(node.body, frame)
    except Crash as raised:
        crash = raised
        del machine.stack[stack:]
        del machine.activations[activations:]
    finally:
        machine.trying -= guarding
        machine.telling -= telling
        del machine.expected[expected:]
    if crash is not None and not any(catches(handler, crash.kind) for handler in node.handlers):
        if node.final:
            machine.block(node.final, frame)
        raise crash
    if (crash is not None or signal is RAISE) and node.handlers:
        kind = "" if crash is None else crash.kind
        chosen = next((h for h in node.handlers if catches(h, kind)), node.handlers[0])
        if chosen.name is not None:
            machine.store.put(frame.names, chosen.name.id, Unknown())
        signal = machine.block(chosen.body, frame)
    elif signal is None:
        if node.orelse:
            signal = machine.block(node.orelse, frame)
    final = machine.block(node.final, frame) if node.final else None
    return signal if final is None else final
