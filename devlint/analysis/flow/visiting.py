"""Which items a loop visits one by one, and what it leaves unknown of those that it did not come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.values import MAX_ITEMS, Const, Instance, Mapping, Sequence, Tensor, Value
from devlint.analysis.frames import held
from devlint.analysis.memo import memoized
from devlint.analysis.pytorch.modules import registered
from devlint.analysis.store import differ
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

MAX_ROUNDS = 8
"""How many rounds a loop has in which nothing stays that a later item could undo."""
MAX_ROUNDS_PLACED = MAX_ITEMS
"""How many it has whose items have a place of their own, as long as it is cheap."""
_SHARE = 8
"""The part of its budget of steps that a run spends on the later rounds of one loop."""
_SHARE_LATE = 24
"""The part that it spends on them where much of its budget is spent already."""


def is_cheap(machine: Machine, began: int) -> bool:
    """Whether a loop that began at that step may go on past its first rounds."""
    is_early = machine.run.steps * 2 <= machine.run.budget
    return (machine.run.steps - began) * (_SHARE if is_early else _SHARE_LATE) <= machine.run.budget


def holds_placed(value: Value | None, depth: int = 3) -> bool:
    """Whether a value is a tensor or module, or holds one."""
    if isinstance(value, (Sequence, Mapping)):
        parts = value.items if isinstance(value, Sequence) else value.items.values()
        return depth > 0 and any(holds_placed(part, depth - 1) for part in parts)
    return isinstance(value, Tensor) or (isinstance(value, Instance) and value.module is not None)


def indexed(machine: Machine, node: ir.For | ir.While, frame: Frame) -> list[Value]:
    """The containers and modules of which a loop takes parts by the numbers or names that it goes over."""
    found = (_content(_reached(part, frame)) for part in _by_target(machine.project, node))
    return [value for value in found if value is not None and (holds_placed(value) or _is_record(value))]


def _content(value: Value | None) -> Value | None:
    """What an object of a class that derives from list or dict holds; other values are what they are."""
    data = value.state.get("data") if isinstance(value, Instance) and value.module is None else None
    return data if isinstance(data, (Sequence, Mapping)) else value


def _is_record(value: Value) -> bool:
    """Whether it is an object, no module, that has tensors among its attributes."""
    if not isinstance(value, Instance) or value.module is not None:
        return False
    return any(isinstance(field, Tensor) for field in value.fields.values())


@memoized
def _by_target(project: Project, node: ir.For | ir.While) -> list[ir.Expr]:
    """The expressions in a loop's body to which an index is applied, or `getattr`, that names the loop's target."""
    if not isinstance(node, ir.For):
        return []
    names = {part.id for part in walk(node.target) if isinstance(part, ir.Name)}
    found = []
    for part in walk(node.body):
        if isinstance(part, ir.Assign) and part.value.__class__ in _COMPUTED and says(part.value, names):
            names.update(target.id for target in part.targets if isinstance(target, ir.Name))
        access = _access(part)
        if access is not None and says(access[1], names):
            found.append(access[0])
    return found


_COMPUTED = (ir.Binary, ir.FString)


def says(node: ir.Expr, names: set[str]) -> bool:
    """Whether an expression has one of the names in it."""
    return any(isinstance(part, ir.Name) and part.id in names for part in walk(node))


def _access(node: ir.Node) -> tuple[ir.Expr, ir.Expr] | None:
    """What an expression takes a part of, and by which place."""
    if isinstance(node, ir.Subscript):
        return node.value, node.index
    if isinstance(node, ir.Call) and isinstance(node.function, ir.Name) and node.function.id in _BY_NAME:
        return (node.args[0], node.args[1]) if len(node.args) > 1 else None
    return None


_BY_NAME = frozenset({"getattr", "setattr"})


def _reached(node: ir.Expr, frame: Frame) -> Value | None:
    """What an expression holds, or the container or object of which it is a part that takes an evaluation."""
    while isinstance(node, ir.Subscript):
        node = node.value
    found = held(node, frame)
    return held(node.value, frame) if found is None and isinstance(node, ir.Attribute) else found


def forget_others(machine: Machine, start: int, items: list[Value], count: int, holders: list[Value]) -> None:
    """What a loop that began at the mark `start` placed anew in the rounds that were run it may have placed in others:
    of the items after the first `count`, and in what it goes over by index. Nobody knows where these are."""
    log = machine.store.log
    assert log is not None
    for holder in holders:
        if isinstance(holder, Instance) and holder.module is None:
            _forget_fields(
                machine, holder, [(key, old) for target, key, _, old in log[start:] if target is holder.fields]
            )
    moved: set[int] = set()
    before: dict[int, Any] = {}
    for target, key, is_slot, old in log[start:]:
        if is_slot and key == "device" and isinstance(target, Tensor):
            moved.add(id(target))
        elif is_slot and key in ("items", "children"):
            before.setdefault(id(target), old)
    for holder in holders:
        if isinstance(holder, (Sequence, Mapping)) and id(holder) in before:
            _forget_items(machine, holder, before[id(holder)])
        _forget_tensors(machine, _tensors(holder), moved, _has_new_members(holder, before))
    if moved and count < len(items):
        others = [tensor for item in items[count:] for tensor in _tensors(item)]
        visited = (tensor for item in items[:count] for tensor in _tensors(item))
        _forget_tensors(machine, others, moved, any(id(tensor) in moved for tensor in visited))


def _forget_tensors(machine: Machine, tensors: list[Tensor], moved: set[int], is_moved: bool) -> None:
    """Where some of these tensors were moved, or others like them, the rest may be anywhere."""
    if is_moved or any(id(tensor) in moved for tensor in tensors):
        for tensor in tensors:
            if id(tensor) not in moved and tensor.device is not None:
                machine.store.set(tensor, "device", None)


def _has_new_members(holder: Value, before: dict[int, Any]) -> bool:
    """Whether members of a module were replaced."""
    module = holder.module if isinstance(holder, Instance) else None
    if module is None or not module.children or id(module) not in before:
        return False
    old = before[id(module)]
    return bool(old) and len(old) == len(module.children)


def _forget_items(machine: Machine, container: Sequence | Mapping, before: Any) -> None:
    """Where a loop put tensors at some places of a container, those at the other places may be anywhere."""
    if differ(before, container.items):
        return
    if isinstance(container, Sequence) and isinstance(before, list):
        pairs = list(zip(before, container.items, strict=True))
        if _is_replaced(pairs):
            machine.store.set(container, "items", [_anywhere(old, new) for old, new in pairs])
    elif isinstance(container, Mapping) and isinstance(before, dict):
        pairs = [(before[key], value) for key, value in container.items.items()]
        if _is_replaced(pairs):
            anywhere = {key: _anywhere(before[key], value) for key, value in container.items.items()}
            machine.store.set(container, "items", anywhere)


def _forget_fields(machine: Machine, holder: Instance, written: list[tuple[Any, Any]]) -> None:
    """Where a loop put tensors into some attributes of an object by their names, the others may be anywhere."""
    first: dict[Any, Any] = {}
    for name, old in written:
        first.setdefault(name, old)
    if _is_replaced([(old, holder.fields[name]) for name, old in first.items() if name in holder.fields]):
        for name, value in list(holder.fields.items()):
            if isinstance(value, Tensor) and name not in first:
                machine.store.put(holder.fields, name, Tensor(None, value.rank))


def _is_replaced(pairs: list[tuple[Value, Value]]) -> bool:
    """Whether a tensor stands for another one, elsewhere."""
    return any(
        isinstance(new, Tensor) and isinstance(old, Tensor) and new is not old and new.device != old.device
        for old, new in pairs
    )


def _anywhere(old: Value, new: Value) -> Value:
    """The tensor that a place has kept, of which nobody knows whether it did."""
    return Tensor(None, new.rank) if new is old and isinstance(new, Tensor) else new


def _tensors(value: Value, depth: int = 3) -> list[Tensor]:
    """The tensors that a value is made of."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Instance):
        return [tensor for tensor, _, _ in registered(value)]
    if isinstance(value, (Sequence, Mapping)) and depth:
        parts = value.items if isinstance(value, Sequence) else value.items.values()
        return [tensor for part in parts for tensor in _tensors(part, depth - 1)]
    return []


def is_named(value: Value) -> bool:
    """Whether an item of an open sequence is one of its own: a module, a pair with one, or a tensor with its name."""
    if isinstance(value, Sequence) and value.kind == "tuple":
        if [part.__class__ for part in value.items] == [Const, Tensor]:
            return isinstance(value.items[0], Const) and isinstance(value.items[0].value, str)
        return any(is_named(part) for part in value.items)
    return isinstance(value, Instance) and value.module is not None
