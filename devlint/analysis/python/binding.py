"""Assigning values to targets: names where they live, unpacking, attributes and items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import assign_attribute, assign_item, path_of
from devlint.analysis.domain.values import Instance, Tensor, Value
from devlint.analysis.frames import Frame
from devlint.analysis.python.containers import unpack
from devlint.analysis.python.filled_in import opened
from devlint.analysis.pytorch.leaves import note_replaced
from devlint.analysis.pytorch.moves import note_attached, note_rebuilt, note_stored
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def bind(machine: Machine, target: ir.Expr, value: Value, node: ir.Node, frame: Frame) -> None:
    """Assign a value to a target of any form."""
    if target.__class__ is ir.Name:
        bind_name(machine, target, value, node, frame)
    elif isinstance(target, ir.Attribute):
        receiver = opened(machine, machine.evaluate(target.value, frame), target, value, frame)
        if target.name != "data" or not isinstance(receiver, Tensor):  # a move in place keeps nothing
            note_stored(machine, value, node, frame)
        old = receiver.fields.get(target.name) if isinstance(receiver, Instance) else None
        if isinstance(old, Instance) and isinstance(value, Instance) and old is not value:
            note_rebuilt(machine, old, value, node, frame)
        elif old is None and isinstance(receiver, Instance) and isinstance(value, Instance):
            note_attached(machine, receiver, value, node, frame)
        elif old.__class__ is Tensor and value.__class__ is Tensor:
            note_replaced(machine, old, value)
        assign_attribute(machine, receiver, target.name, value, node, frame)
    elif isinstance(target, ir.Subscript):
        receiver = opened(machine, machine.evaluate(target.value, frame), target, value, frame)
        note_stored(machine, value, node, frame)
        assign_item(machine, receiver, machine.evaluate(target.index, frame), value, target, frame)
    elif isinstance(target, ir.Display):
        star = next((i for i, item in enumerate(target.items) if isinstance(item, ir.Starred)), None)
        for item, part in zip(target.items, unpack(machine, value, len(target.items), star, node, frame), strict=False):
            bind(machine, item.value if isinstance(item, ir.Starred) else item, part, node, frame)
    elif isinstance(target, ir.Starred):
        bind(machine, target.value, value, node, frame)


def bind_name(machine: Machine, target: ir.Name, value: Value, node: ir.Node, frame: Frame) -> None:
    """Assign a value to a name, where that name lives."""
    names = frame.names
    name = target.id
    if frame.globals and name in frame.globals:
        names = frame.namespace.names
    elif frame.nonlocals and name in frame.nonlocals:
        outer = frame.outer
        while outer is not None and name not in outer.names:
            outer = outer.outer
        names = outer.names if outer is not None else names
    old = names.get(name)
    if old.__class__ is Instance and value.__class__ is Instance and old is not value:
        note_rebuilt(machine, old, value, node, frame)
    machine.store.put(names, name, value)
    if names is not frame.names or (frame.outer is None and old is not None and old is not value):
        machine.store.epoch += 1  # a function that reads it gives something else now


def annotated(machine: Machine, annotation: ir.Expr, frame: Frame, value: Value) -> Value:
    """What an annotation proves of an unknown value: its type, never its device."""
    name = annotation.value if isinstance(annotation, ir.Const) and isinstance(annotation.value, str) else None
    if name is None:
        if not isinstance(annotation, (ir.Name, ir.Attribute)):
            return value
        machine.run.quiet += 1
        try:
            name = path_of(machine.evaluate(annotation, frame))
        finally:
            machine.run.quiet -= 1
    if name in ("torch.Tensor", "Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor"):
        return Tensor(None)
    return value
