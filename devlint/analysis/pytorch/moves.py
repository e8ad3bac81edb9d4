"""Moves that move nothing, and what they leave for a later crash to find: marks on the values that stayed behind."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import (
    POISON,
    Const,
    Function,
    Instance,
    Mapping,
    Method,
    Sequence,
    Tensor,
    Value,
    is_none,
)
from devlint.analysis.events import DroppedMove, Transfer
from devlint.analysis.frames import held
from devlint.analysis.python.names import assigned_in, is_read_again
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.modules import device_of_module, registered
from devlint.analysis.pytorch.results import may_be_module
from devlint.syntax import ir
from devlint.syntax.walk import dotted

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def note_uncalled(machine: Machine, target: ir.Expr, written: ir.Expr, value: Value, frame: Frame) -> None:
    """`x = x.cuda`: what takes the tensor's place is the method, which nobody calls."""
    if isinstance(target, ir.Display) and isinstance(written, ir.Display) and isinstance(value, Sequence):
        if len(target.items) == len(written.items) == len(value.items):
            for inner, side, part in zip(target.items, written.items, value.items, strict=True):
                note_uncalled(machine, inner, side, part, frame)
        return
    if not isinstance(value, Method) or value.name not in ("cuda", "cpu") or not isinstance(written, ir.Attribute):
        return
    if not isinstance(value.receiver, Tensor) or not dotted(target) or dotted(target) != dotted(written.value):
        return
    machine.emit(
        DroppedMove,
        machine.site(written, frame),
        error="TypeError: argument must be Tensor, not builtin_function_or_method",
        text=dotted(target),
        source=value.receiver.device or "",
        kind="uncalled",
    )


def nothing_of_move(machine: Machine, target: ir.Expr, written: ir.Expr, value: Value, frame: Frame) -> Value:
    """`model = model.to(device)`, where a `.to()` of the program's own gives None back: that None knows where it comes
    from, for it is told if it is asked for something. `target`: what it stands for."""
    if not is_none(value) or not isinstance(target, ir.Name) or not isinstance(written, ir.Call):
        return value
    if not isinstance(written.function, ir.Attribute) or written.function.name not in ("to", "cuda", "cpu"):
        return value
    nothing = Const(None)
    machine.nothings[nothing] = machine.site(written, frame), target.id
    return nothing


def note_dropped(machine: Machine, node: ir.ExprStatement, result: Value, frame: Frame, since: int) -> None:
    """A statement, begun at the moment `since`, whose value is a moved copy: the tensor stays where it is."""
    for made in _made(result) or _in_copy(result, node, frame):
        origin = made.origin
        if origin is None or origin.kind not in ("moved", "async-copy") or origin.product is not made:
            continue
        if origin.tick <= since:
            continue
        source = origin.source
        if source is None or (source.origin is not None and source.origin.tick > since):
            continue  # made on the way: nothing that stays behind
        site = machine.site(node, frame)
        if POISON in (source.device, made.device):
            continue  # a move to what this world lacks has raised
        if source.device == made.device or (source.device is None and made.device == "cpu"):
            continue
        if _goes_with_module(source) or _is_decided(machine, source):
            continue
        if may_be_module(source):
            machine.store.set(source, "device", None)
            continue
        if source.device is not None:
            mark = Origin("dropped", site, frame, machine.tick(), source.device, made.device or "", source.origin)
            machine.store.set(source, "origin", mark)
        if isinstance(node.value, ir.Call) and origin.node is node.value:
            receiver = node.value.function.value if isinstance(node.value.function, ir.Attribute) else None
            if (
                isinstance(receiver, (ir.Name, ir.Attribute, ir.Subscript))
                and not _is_part_of_tensor(receiver, frame)
                and not _is_shown(machine, node, frame)
                and not (made.device == "cpu" and _is_done_with(receiver, node, frame))
            ):
                machine.emit(
                    DroppedMove,
                    site,
                    text=source_text(machine, machine.site(receiver, frame)),
                    source=source.device or "",
                    target=made.device or "",
                )


def _is_part_of_tensor(receiver: ir.Expr, frame: Frame) -> bool:
    """Whether a tensor is indexed: what that gives was made for the move and is gone after it, as where it is timed."""
    return isinstance(receiver, ir.Subscript) and isinstance(held(receiver.value, frame), Tensor)


def _is_done_with(receiver: ir.Expr, node: ir.Node, frame: Frame) -> bool:
    """Whether a name is not read any more: where it stands makes no difference then."""
    if not isinstance(receiver, ir.Name) or receiver.id in (frame.globals or ()):
        return False
    body = frame.namespace.module.body if frame.function is None else frame.function.body.statements
    return not is_read_again(body, node, receiver.id)


def _goes_with_module(source: Tensor) -> bool:
    """Whether a tensor is where its module was moved, or is an input that is taken to be on a GPU, and on which nobody
    says: there already, for all that is known."""
    origin = source.origin
    if origin is None or (source.device is not None and not source.assumed):
        return False
    return origin.kind == "module-moved" or (origin.kind == "input" and source.device != "cpu")


def _is_decided(machine: Machine, source: Tensor) -> bool:
    """Whether the path has an answer to the condition behind which a tensor was lost: with it the tensor is on one
    side's device, which the run for that answer knows."""
    return source.device is None and source.behind is not None and source.behind in machine.run.within


def forget_dropped(machine: Machine, tensor: Tensor, device: str | None) -> None:
    """A move that was thrown away is no loss where the tensor is moved there with its module, with nothing between."""
    dropped = tensor.origin
    if dropped is not None and dropped.kind == "dropped" and dropped.note == device:
        machine.entry.events.pop((DroppedMove, dropped.site.key, None, None), None)


def note_brought(machine: Machine, tensor: Tensor, device: str, wrapper: str) -> None:
    """A wrapper takes its input to a device: moves there that were thrown away before made no difference to it."""
    dropped = None if tensor.origin is None else tensor.origin.find("dropped")
    while dropped is not None:
        key = (DroppedMove, dropped.site.key, None, None)
        told = machine.entry.events.get(key)
        if isinstance(told, DroppedMove) and dropped.note == device:
            machine.entry.events[key] = dataclasses.replace(told, brought=wrapper)
        dropped = None if dropped.previous is None else dropped.previous.find("dropped")


def _is_shown(machine: Machine, node: ir.ExprStatement, frame: Frame) -> bool:
    """Whether a statement is the last of a notebook's cell, which shows its value: it is looked at, not thrown away."""
    source = machine.project.source(frame.namespace.path)
    if source is None or source.kind != "notebook" or frame.names is not frame.namespace.names:
        return False
    cell = source.segment(node.at.lineno)
    rows = [statement.at.lineno for statement in frame.namespace.module.body]
    return all(row <= node.at.lineno for row in rows if source.segment(row) == cell)


def _made(result: Value, depth: int = 2) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if depth and isinstance(result, Sequence):
        return [t for part in result.items[:16] for t in _made(part, depth - 1)]
    if depth and isinstance(result, Mapping):
        return [t for part in list(result.items.values())[:16] for t in _made(part, depth - 1)]
    return []


def _in_copy(result: Value, node: ir.ExprStatement, frame: Frame) -> list[Tensor]:
    """The moved tensors of a copy that a method or a function of the program makes of an object which it is given."""
    if not isinstance(result, Instance) or result.module is not None or not isinstance(node.value, ir.Call):
        return []
    call = node.value
    written = [call.function.value] if isinstance(call.function, ir.Attribute) else []
    given = [held(side, frame) for side in (*written, *call.args) if isinstance(side, ir.Expr)]
    if any(value is result for value in given):
        return []
    alike = [value for value in given if isinstance(value, Instance) and value.cls is result.cls]
    kept = [tensor for value in alike for part in value.fields.values() for tensor in _made(part)]
    moved = [tensor for part in result.fields.values() for tensor in _made(part)]
    return [t for t in moved if t.origin is not None and any(t.origin.source is old for old in kept)]


def note_transfer(machine: Machine, value: Tensor, device: str | None, call: Call) -> None:
    """A tensor is copied to another device."""
    if Transfer in machine.wanted and device is not None and value.device is not None and not machine.run.protocol:
        site = machine.site(call.node, call.frame)
        origin = value.origin
        receiver = (
            call.node.function.value
            if isinstance(call.node, ir.Call) and isinstance(call.node.function, ir.Attribute)
            else None
        )
        fresh = (
            isinstance(receiver, ir.Call)
            and origin is not None
            and origin.kind == "factory"
            and origin.site.key
            == (
                call.frame.namespace.path,
                receiver.at.lineno,
                receiver.at.col_offset,
            )
        )
        back = (
            origin is not None
            and origin.kind == "moved"
            and value.device == "cpu"
            and origin.source is not None
            and origin.source.device == device
        )
        if fresh and isinstance(receiver, ir.Call) and any(name == "generator" for name, _ in receiver.keywords):
            fresh = False
        loop = call.frame.loops[-1] if call.frame.loops else None
        invariant = False
        if loop is not None and origin is not None and isinstance(receiver, (ir.Name, ir.Attribute)):
            at = origin.site.at
            inside = origin.site.path == call.frame.namespace.path and loop.at.lineno <= at.lineno <= loop.at.end_lineno
            invariant = (
                not inside and origin.kind in ("factory", "placed", "moved", "host") and not _changes(loop, receiver)
            )
        machine.emit(
            Transfer,
            site,
            text=source_text(machine, site),
            source=value.device,
            target=device,
            fresh=fresh,
            created=origin.site if fresh and origin is not None else None,
            invariant=invariant,
            round_trip=back,
            loop=machine.site(loop, call.frame) if loop is not None else None,
        )


def _changes(loop: ir.Node, receiver: ir.Expr) -> bool:
    """Whether something in the loop assigns to the name or attribute (also through an item, or in place)."""
    name = dotted(receiver)
    return not name or name in assigned_in(loop)


def note_rebuilt(machine: Machine, old: Instance, new: Instance, node: ir.Node, frame: Frame) -> None:
    """A name that held a moved module is bound to one that a call gives: its parameters remember that."""
    if old.module is None or new.module is None or not isinstance(node, ir.Assign):
        return
    if not any(isinstance(part, ir.Call) for part in getattr(node.value, "items", [node.value])):
        return  # another module that was there before
    if _hands_on(node.value, new, frame):
        return
    before, after = device_of_module(old), device_of_module(new)
    if before in (None, "cpu", POISON) or after != "cpu":
        return
    for tensor, _, _ in registered(new):
        if tensor.origin is not None and tensor.origin.kind == "layer-in-forward":
            continue
        mark = Origin("rebuilt", machine.site(node, frame), frame, machine.tick(), "cpu", "", tensor.origin)
        machine.store.set(tensor, "origin", mark)


def _hands_on(value: ir.Expr, new: Instance, frame: Frame) -> bool:
    """Whether a function of the program's gives a module that its caller has made before."""
    if not isinstance(value, ir.Call) or not isinstance(held(value.function, frame), Function):
        return False
    return any(tensor.origin is not None and tensor.origin.frame is frame for tensor, _, _ in registered(new))


def note_attached(machine: Machine, owner: Instance, new: Instance, node: ir.Node, frame: Frame) -> None:
    """A module that was moved before is given another, which a call gives: its parameters remember that they came too
    late."""
    if owner.module is None or new.module is None or not isinstance(node, ir.Assign):
        return
    moved, site = owner.module.device, owner.module.moved_at
    if moved in (None, "cpu", POISON) or site is None or not isinstance(node.value, ir.Call):
        return
    for tensor, _, _ in registered(new):
        if tensor.device == "cpu" and tensor.origin is not None and tensor.origin.kind == "parameter":
            before = Origin("owner-moved", site, frame, machine.tick(), moved, "", tensor.origin)
            mark = Origin("attached", machine.site(node, frame), frame, machine.tick(), "cpu", "", before)
            machine.store.set(tensor, "origin", mark)
            machine.run.late.setdefault(site.key, []).append(tensor)


def note_rebound(machine: Machine, node: ir.For, item: Value, iterable: Value, frame: Frame) -> None:
    """`for t in batch: t = t.to(device)`: the loop variable is a moved copy now, the container holds the old."""
    target = node.target
    names = (
        [target]
        if isinstance(target, ir.Name)
        else [part for part in getattr(target, "items", ()) if isinstance(part, ir.Name)]
    )
    items = [item] if isinstance(target, ir.Name) else item.items if isinstance(item, Sequence) else []
    for name, value in zip(names, items, strict=False):
        now = frame.names.get(name.id)
        if not isinstance(value, Tensor) or not isinstance(now, Tensor) or now is value:
            continue
        if value.device in (None, POISON) or now.device in (None, POISON, value.device):
            continue
        if now.origin is None or now.origin.previous is not value.origin or now.origin.kind != "moved":
            continue
        statement = _rebinding(node.body, name.id, now.origin.site) or node
        mark = Origin(
            "rebound", machine.site(statement, frame), frame, machine.tick(), value.device, name.id, value.origin
        )
        machine.store.set(value, "origin", mark)


def _rebinding(statements: list[ir.Stmt], name: str, move: Site) -> ir.Stmt | None:
    """The assignment in a loop's body that binds the name to what the move gives."""
    for statement in statements:
        inner: list[ir.Stmt] = []
        if isinstance(statement, (ir.If, ir.For, ir.While)):
            inner = [*statement.body, *statement.orelse]
        elif isinstance(statement, (ir.With, ir.Try)):
            inner = statement.body
        elif isinstance(statement, ir.Assign):
            binds = any(isinstance(target, ir.Name) and target.id == name for target in statement.targets)
            if binds and statement.at.lineno <= move.row <= statement.at.end_lineno:
                return statement
        found = _rebinding(inner, name, move) if inner else None
        if found is not None:
            return found
    return None


def note_stored(machine: Machine, value: Value, node: ir.Node, frame: Frame) -> None:
    """A tensor is put into an attribute or container under a condition: a cache, if a later pass finds it there."""
    if isinstance(value, Sequence):
        for part in value.items:
            if isinstance(part, Tensor):
                note_stored(machine, part, node, frame)
        return
    if not isinstance(value, Tensor) or value.origin is None or value.is_parameter or frame.function is None:
        return
    holder: Frame | None = frame if frame.branches or frame.guarded else None
    if holder is None and machine.run.activations and frame.function.name != "__init__":
        caller = machine.run.activations[-1].call.frame
        conditional = caller.branches or caller.guarded
        holder = caller if conditional and caller.function is not None else None
    if holder is not None:
        machine.store.set(value, "origin", value.origin.kept(machine.site(node, frame), holder))


def note_module_moved(machine: Machine, module: Instance, device: str | None, call: Call) -> None:
    """A module is moved in place."""
