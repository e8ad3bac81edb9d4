"""Conditions on numbers that change from round to round, where the other answer makes no difference to devices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import (
    COUNT,
    NUMBER,
    SCALAR,
    Array,
    Const,
    External,
    Host,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.flow.visiting import says
from devlint.analysis.frames import Locals, held
from devlint.analysis.memo import memoized
from devlint.analysis.python.names import target_names
from devlint.analysis.store import MISSING
from devlint.syntax import ir
from devlint.syntax.walk import targets_of, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project
    from devlint.analysis.signals import Signal
    from devlint.analysis.store import Entry

BORN = (Locals, Sequence, Mapping)
"""What knows when it was made."""
_VAGUE: Final = frozenset({Unknown, Host, Scalar, Array, type(MISSING)})


def weigh(machine: Machine, test: ir.Expr, frame: Frame) -> None:
    """Note that numbers answered a question: in another round of a loop it may have another answer. If it is made of
    names and attributes alone (`.name`), it has where one of these changes."""
    roots, attributes = _asked(machine.project, test)
    if roots and (frame.loops or _asks_receiver(roots, frame)) and all(_is_kept(part, frame) for part in attributes):
        machine.run.weighs |= _names(roots, attributes)
    else:
        machine.run.weighed = True


def passes(
    machine: Machine, node: ir.If, holds: bool, signal: Signal | None, mark: int, began: int, frame: Frame
) -> bool:
    """Whether rounds in which an `if` goes the other way are like this one, in which its side was run from the mark on
    (and the birth `began`): there is no other side, and this one leaves nothing."""
    return (
        holds
        and signal is None
        and not node.orelse
        and machine.store.log is not None
        and all(_is_nothing(machine, node, entry, began, frame) for entry in machine.store.log[mark:])
    )


def leaves_nothing(machine: Machine, mark: int, began: int) -> bool:
    """Whether what was written since the mark, and the birth `began`, is of what was made since."""
    log = machine.store.log
    return log is not None and all(entry[0].__class__ in BORN and entry[0].born > began for entry in log[mark:])


def _is_nothing(machine: Machine, node: ir.If, entry: Entry, began: int, frame: Frame) -> bool:
    """Whether a write is nothing to a round in which it doesn't happen: it is of what was made since, of a file, of a
    name that has no other use, or keeps what it has until the loop ends; what it wrote says nothing of devices, or
    stands where that before did."""
    target, key, is_slot, old = entry
    if target.__class__ in BORN and target.born > began:
        return True
    if is_slot:
        return bool(key == "synchronizations" or (key == "passes" and old <= target.passes))
    now = target.get(key, MISSING)
    if target is machine.files or (old.__class__ is dict and now.__class__ is dict and old.items() <= now.items()):
        return True
    if old is MISSING and target is frame.names:
        if key in _private(machine.project, (node, frame.loops[0] if frame.loops else node)):
            return True
        if isinstance(now, Tensor):
            machine.run.staying.append((target, key, now, now.device))
            return True
    if isinstance(old, Tensor) and isinstance(now, Tensor):
        return _stand_alike(old, now)
    return old.__class__ in _VAGUE and now.__class__ in _VAGUE


def _stand_alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are on the same device, and may meet the same others."""
    return (one.device, one.rank == 0, one.is_parameter, one.pinned, one.pending) == (
        other.device,
        other.rank == 0,
        other.is_parameter,
        other.pinned,
        other.pending,
    ) and one.attributes is other.attributes


@memoized
def _private(project: Project, place: tuple[ir.If, ir.Node]) -> frozenset[str]:
    """The names in an `if` that are mentioned nowhere else in what is around it."""
    node, around = place
    mentioned = _mentions(around)
    return frozenset(name for name, times in _mentions(node).items() if mentioned[name] == times)


def _mentions(node: ir.Node) -> Counter[str]:
    """How often names stand below a node."""
    return Counter(part.id for part in walk(node) if isinstance(part, ir.Name))


@memoized
def _asked(project: Project, test: ir.Expr) -> tuple[frozenset[str], tuple[ir.Attribute, ...]]:
    """The names and attributes of which a condition is made; no names if it is made of something else, too."""
    parts = list(walk(test))
    plain = all(isinstance(part, _PLAIN) for part in parts)
    names = frozenset(part.id for part in parts if isinstance(part, ir.Name)) if plain else frozenset()
    return names, tuple(part for part in parts if isinstance(part, ir.Attribute))


def _names(roots: frozenset[str], attributes: tuple[ir.Attribute, ...]) -> frozenset[str]:
    """By which names a condition changes that is made of these: attributes by `.name`."""
    return roots.union(f".{part.name}" for part in attributes)


_PLAIN = (ir.Compare, ir.Bool, ir.Unary, ir.Binary, ir.Const, ir.Name, ir.Attribute)


def _asks_receiver(roots: frozenset[str], frame: Frame) -> bool:
    """Whether a condition in a method asks for attributes of its object alone, which is the same in every round."""
    if frame.receiver is None or frame.function is None or len(roots) != 1:
        return False
    name = next(iter(frame.function.parameters.positional), "")
    return name in roots and frame.names.get(name) is frame.receiver


def _is_kept(part: ir.Attribute, frame: Frame) -> bool:
    """Whether an attribute is none that an object of the program's computes when it is asked."""
    base = held(part.value, frame)
    return not isinstance(base, Instance) or isinstance(base.cls, External) or part.name in base.fields


def is_weighed(machine: Machine, start: int) -> bool:
    """Whether a condition that numbers decided may matter in other rounds of the loop that began at the mark `start`:
    its names changed, or what its side wrote did after that."""
    log = machine.store.log
    assert log is not None
    names = machine.run.weighs
    return (
        machine.run.weighed
        or any(
            target.get(key) is not made or made.device != device for target, key, made, device in machine.run.staying
        )
        or (bool(names) and _changed(log[start:], names))
    )


def _changed(written: list[Entry], names: frozenset[str]) -> bool:
    """Whether something of these names was written."""
    plain = {name.removeprefix(".") for name in names}
    return any(entry[1] in plain for entry in written)


def leave_loop(machine: Machine, node: ir.For | ir.While, is_open: bool, frame: Frame) -> None:
    """After a loop: see in which rounds of the loops around it the conditions inside may have other answers.

    What the loop counts itself, from a number that is written, it counts alike whenever it is run again: its own rounds
    have had all answers. Where it was the outermost of a function, each call binds the names of that anew, to nobody
    knows what; attributes, global names, and what is asked of objects, are the same in another call if nobody writes
    them.
    """
    run = machine.run
    counted = _counts(machine.project, node) if run.weighs and isinstance(node, ir.For) else None
    if counted is not None and counted[0] in run.weighs:
        name, until = counted
        if is_open:
            run.weighs -= {name}
        elif until is not None:
            run.weighs = (run.weighs - {name}) | until
    if not frame.loops and not all(_lasts(name, frame) for name in run.weighs):
        run.weighed = True


def _lasts(name: str, frame: Frame) -> bool:
    """Whether what a condition in a function asks by this name is the same in another call, or changes by that name."""
    if name.startswith("."):
        return True
    return frame.function is not None and (name not in frame.names or isinstance(frame.names[name], Instance))


@memoized
def _counts(project: Project, node: ir.For) -> tuple[str, frozenset[str] | None] | None:
    """The name to which a loop gives 0, 1, 2, ... (or numbers from another that is written), and nothing else does, and
    the names on which it hangs how many these are; None for those where it hangs on something else."""
    call, target = node.iterable, node.target
    if not isinstance(call, ir.Call) or not isinstance(call.function, ir.Name) or call.keywords or not call.args:
        return None
    kind, until = call.function.id, call.args if len(call.args) == 1 else call.args[1:]
    if kind == "enumerate" and len(call.args) == 1:
        target = target.items[0] if isinstance(target, ir.Display) and target.items else target
    elif kind != "range" or not (until is call.args or isinstance(call.args[0], ir.Const)):
        return None
    if not isinstance(target, ir.Name) or target.id in _bound_below(node.body):
        return None
    asked = [_asked(project, part) for part in until if not isinstance(part, ir.Const)]
    if kind == "enumerate" or not all(roots for roots, _ in asked):
        return target.id, None
    return target.id, frozenset().union(*(_names(roots, attributes) for roots, attributes in asked))


def _bound_below(body: list[ir.Stmt]) -> set[str]:
    """The names that statements bind, those of functions that they define included."""
    targets: list[ir.Expr] = []
    for part in walk(body):
        if isinstance(part, (ir.Assign, ir.Augment, ir.For, ir.With, ir.Walrus)):
            targets += [part.target] if isinstance(part, ir.Walrus) else targets_of(part)
    return {name for target in targets for name in target_names(target)}


def widen_counted(machine: Machine, node: ir.For | ir.While, start: int, frame: Frame) -> None:
    """Let the numbers among the targets of a loop, and those that the rounds since `start` computed from what changes,
    stand for all later rounds."""
    names = _counted(machine.project, node)
    log = machine.store.log
    assert log is not None
    for target, key, is_slot, _ in log[start:]:
        if not is_slot and target is frame.names and key in names:
            now = target.get(key)
            if isinstance(now, Const) and now.value is not None:
                machine.store.put(target, key, _any_such(now))


def _any_such(value: Const) -> Value:
    """What a constant may be in a later round that is computed from what changes."""
    widened = later(value)
    return SCALAR if widened is value else widened


@memoized
def _counted(project: Project, node: ir.For | ir.While) -> frozenset[str]:
    """The names that a loop computes from its target, and from what it counts."""
    found = {part.id for part in walk(node.target) if isinstance(part, ir.Name)} if isinstance(node, ir.For) else set()
    parts = [part for part in walk(node.body) if isinstance(part, (ir.Assign, ir.Augment))]
    size = -1
    while size != len(found):
        size = len(found)
        for part in parts:
            targets = part.targets if isinstance(part, ir.Assign) else [part.target]
            if isinstance(part, ir.Augment) or says(part.value, found):
                found.update(*map(_mentions, targets))
    return frozenset(found)


def later(item: Value) -> Value:
    """What stands for the items of all later rounds."""
    if isinstance(item, Const) and isinstance(item.value, (int, float)) and not isinstance(item.value, bool):
        return COUNT if item.value >= 0 else NUMBER
    if isinstance(item, Sequence) and item.kind == "tuple" and not item.open:
        parts = [later(part) for part in item.items]
        return item if all(a is b for a, b in zip(parts, item.items, strict=True)) else Sequence("tuple", parts)
    return item
