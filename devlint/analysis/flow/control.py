"""Branches that the world does not decide: both ways run from the same state, and are joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.carrying import carries_device
from devlint.analysis.domain.values import Maybe, Sequence, Tensor, Value, is_none
from devlint.analysis.flow.option_names import counts_gpus
from devlint.analysis.frames import Locals
from devlint.analysis.memo import memoized
from devlint.analysis.signals import BREAK, CONTINUE, RAISE, Crash, Signal
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey, Decision
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project
    from devlint.analysis.store import Delta, Entry


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
    store = machine.store
    opened = store.open()
    mark = store.mark()
    if decision.default is not None:
        signal = _side(machine, decision, yes if decision.default else no, decision.default)
        if signal is None or (signal.kind == "return" and not is_none(signal.value)):
            _try_other(machine, decision, no if decision.default else yes, mark)
            machine.run.thrown = None
            note_either(machine, frame)
            if opened:
                store.close()
            return signal
        store.undo(mark)  # without arguments it ends here
    signal = _both(machine, decision, yes, no, frame, mark)
    if opened:
        store.close()
    return signal


def _both(
    machine: Machine,
    decision: Decision,
    yes: Callable[[], Signal | None],
    no: Callable[[], Signal | None],
    frame: Frame,
    mark: int,
) -> Signal | None:
    """Run both sides from the state at `mark`, join them, and see what the join has lost."""
    store, loss = machine.store, machine.loss
    depth = len(machine.run.path)
    guards, grown = machine.run.guards, machine.run.grown
    choice = decision.choice
    assert choice is not None
    machine.run.path.append(decision.chosen(True))
    machine.run.guards += decision.guards(machine, True)
    first = _side(machine, decision, yes, True)
    first_delta = store.rollback(mark)
    machine.run.guards = guards + decision.guards(machine, False)
    machine.run.path[depth:] = [decision.chosen(False)]
    second = _side(machine, decision, no, False)
    second_delta = store.rollback(mark)
    del machine.run.path[depth:]
    machine.run.guards = guards
    if choice.site is not None and (first is RAISE) is not (second is RAISE):
        machine.run.one_sided.add(choice.site.key)
    lost_before, loss.lost = loss.lost, False  # what a side has lost within itself lies behind another condition
    loss.behind, loss.exact = behind(decision), not decision.beside
    loss.sides = (decision.chosen(True), decision.chosen(False)) if decision.is_free else None
    loss.counts_gpus = counts_gpus(decision.key)
    around, loss.parameters = loss.parameters, {}
    signal = _rejoin(machine, frame, decision, first, second, first_delta, second_delta)
    loss.parameters = around
    if signal is not RAISE:
        machine.run.thrown = None
    loss.behind, loss.sides, loss.counts_gpus = None, None, False
    loss.lost = loss.lost or machine.run.grown != grown  # with a layer more it is another network
    if first is None and second is None and _varies(machine, decision, frame):
        keep_sides(machine, first_delta, {identity: entry[3] for identity, entry in second_delta.items()})
    if loss.lost and decision.is_free:
        _note_behind(machine, decision, first_delta)
        _note_behind(machine, decision, second_delta)
        machine.run.promoted.setdefault(decision.key, choice)
    loss.lost = lost_before or loss.lost
    note_either(machine, frame)
    if signal is None and (first is None) is not (second is None):
        machine.run.guards += decision.guards(machine, first is None)  # it is left where the option says no
    return signal


def either(
    machine: Machine, decision: Decision, yes: Callable[[], Value], no: Callable[[], Value], frame: Frame
) -> Value:
    """The value of a conditional expression that the world does not decide: that of both sides, joined.

    Raises:
        Crash: neither side gives one.
    """
    results: dict[bool, Value] = {}

    def side(compute: Callable[[], Value], holds: bool) -> None:
        results[holds] = compute()

    signal = fork(machine, decision, lambda: side(yes, True), lambda: side(no, False), frame)
    if not results:
        raise Crash
    if signal is not None or len(results) == 1:
        return next(iter(results.values()))
    before, machine.loss.lost = machine.loss.lost, False
    machine.loss.behind, machine.loss.exact = behind(decision), not decision.beside
    machine.loss.counts_gpus = counts_gpus(decision.key)
    joined = machine.loss.values(results[True], results[False])
    machine.loss.behind, machine.loss.counts_gpus = None, False
    if machine.loss.lost and decision.is_free and decision.choice is not None:
        machine.run.promoted.setdefault(decision.key, decision.choice)
    note_either(machine, frame)
    if decision.default is not None and decision.key in machine.run.defaults:
        machine.loss.lost = before
        return results[decision.default]
    machine.loss.lost = machine.loss.lost or before
    return joined


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
    follows = bool(machine.run.defaults)
    machine.run.quiet += follows
    depth, guards = len(machine.run.path), machine.run.guards
    machine.run.path.append(decision.chosen(not decision.default))
    machine.run.guards += decision.guards(machine, not decision.default)
    _side(machine, decision, other, not decision.default)
    del machine.run.path[depth:]
    machine.run.guards = guards
    machine.run.quiet -= follows
    left = store.rollback(mark)
    store.merge(taken, left, loss.join)
    store.undo(mark)
    store.apply(taken)
    if loss.lost or follows:
        machine.run.promoted.setdefault(decision.key, choice)
    loss.lost = lost
    machine.run.defaults[decision.key] = decision.default is decision.polarity


def behind(decision: Decision) -> tuple[ChoiceKey, bool] | None:
    """The condition that stands before a join, and the answer to it on the side where it holds."""
    return (decision.key, decision.polarity) if decision.is_free else None


def note_either(machine: Machine, frame: Frame) -> None:
    """A program that chooses between the CPU and CUDA, by whatever condition, means to run without a GPU."""
    if machine.loss.either:
        machine.loss.either = False
        machine.testify("branch", frame)


def _side(machine: Machine, decision: Decision, run: Callable[[], Signal | None], holds: bool) -> Signal | None:
    """Run the side of a branch where the condition holds (or does not): asked again there by its name, it does, too."""
    key = decision.key
    if not isinstance(key, str) or key in machine.run.within:
        return one_way(machine, run)
    machine.run.within[key] = decision.polarity is holds
    try:
        return one_way(machine, run)
    finally:
        del machine.run.within[key]


def one_way(machine: Machine, run: Callable[[], Signal | None]) -> Signal | None:
    """Run one of several ways; a crash ends it alone."""
    trying, quiet, worker = machine.run.trying, machine.run.quiet, machine.run.worker
    machine.run.thrown = None
    try:
        return run()
    except Crash:
        machine.run.trying, machine.run.quiet, machine.run.worker = trying, quiet, worker
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
    ended = frame.names.born if left.kind == "return" and isinstance(frame.names, Locals) else None
    takes_device = left is not RAISE and any(_takes_device(entry, ended) for entry in delta_left.values())
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
    if decision.key not in machine.run.settled:
        machine.store.put(machine.run.settled, decision.key, decision.polarity is not first_left)
        if left.kind == "return":
            machine.store.set(frame, "settled", frame.settled | {decision.key})


def _keep_return(machine: Machine, frame: Frame, decision: Decision, signal: Signal) -> None:
    if signal.kind != "return":
        return
    machine.loss.behind = None  # what returned before stood behind another
    value = signal.value
    if frame.loops and not frame.returns_in_loop:
        machine.store.set(frame, "returns_in_loop", True)
    join = machine.loss.without_bounds if frame.returns_in_loop else machine.loss.join
    joined = value if frame.returns is None else join(frame.returns, value)
    machine.store.set(frame, "returns", joined)
    choice = decision.choice if decision.is_free and not decision.is_cut else None
    machine.store.set(frame, "return_keys", [*frame.return_keys, (decision.key, choice)])


def _takes_device(entry: Entry, ended: int | None) -> bool:
    """Whether a way wrote something that has a device; that a test told what was there is no write.

    Nor are the variables of the activations that ended with that way: of those that began at `ended` or later.
    """
    target, key, is_slot, value = entry
    if ended is not None and target.__class__ is Locals and target.born >= ended:
        return False
    if carries_device(value):
        before = None if is_slot else target.get(key)
        return not (isinstance(before, Maybe) and before.value is value)
    return isinstance(value, str) and (value == "cpu" or value.startswith("cuda"))


def _varies(machine: Machine, decision: Decision, frame: Frame) -> bool:
    """Whether a condition may have another answer in each round of the running loop: it asks for what a round binds."""
    if decision.test is None or not frame.loops:
        return False
    bound = _bound(machine.project, frame.loops[-1])
    return any(isinstance(part, ir.Name) and part.id in bound for part in walk(decision.test))


@memoized
def _bound(project: Project, loop: ir.Node) -> frozenset[str]:
    """The names that a loop binds in each round."""
    targets = [getattr(loop, "target", None)]
    for part in walk(getattr(loop, "body", [])):
        if isinstance(part, (ir.Assign, ir.For)):
            targets += part.targets if isinstance(part, ir.Assign) else [part.target]
    named = walk([part for part in targets if part is not None])
    return frozenset(part.id for part in named if isinstance(part, ir.Name))


def keep_sides(machine: Machine, first: Delta, second: dict[tuple[int, Any], Any]) -> None:
    """Where lists that were there before the round got tensors of two devices, one a way, they come to hold both."""
    for identity, (target, key, is_slot, one) in first.items():
        other = second.get(identity)
        if not is_slot or key != "items" or one.__class__ is not list or other.__class__ is not list:
            continue
        if target.born > machine.run.round_began or len(one) != len(other):
            continue
        for a, b, joined in zip(one, other, target.items, strict=False):
            _keep_both(a, b, joined)


def _keep_both(a: Value, b: Value, joined: Value) -> None:
    if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(joined, Tensor):
        if joined.device is None and a.device is not None and b.device is not None:
            joined.sides = (a, b)
    elif isinstance(a, Sequence) and isinstance(b, Sequence) and isinstance(joined, Sequence):
        if joined.kind == "tuple" and len(a.items) == len(b.items) == len(joined.items):
            for parts in zip(a.items, b.items, joined.items, strict=True):
                _keep_both(*parts)
