"""Modules that are registered under names which nobody knows: `self.add_module(name, layers[i])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.plain import index_number
from devlint.analysis.domain.values import MAX_ITEMS, Sequence, Value
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.domain.module_state import ModuleState
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def register_unnamed(
    machine: Machine, module: ModuleState, new: Value, call: Call, kinds: tuple[type[Value], ...]
) -> None:
    """Register `new`, an argument of the call, if it is of these kinds: it moves with the module, and no name leads to
    it."""
    added = [one for one in _stood_for(machine, new, call) if isinstance(one, kinds)]
    if added:
        machine.store.set(module, "children", [*(module.children or []), *added][:MAX_ITEMS])


def _stood_for(machine: Machine, new: Value, call: Call) -> list[Value]:
    """`new`, and what else it stands for where it was written as an item at an unknown index, `self.layers[i]`, or as a
    part of one, `self.pairs[i][0]`."""
    args = call.node.args if isinstance(call.node, ir.Call) else []
    if not call.positional or call.positional[-1] is not new or len(args) != len(call.positional):
        return [new]
    return [new, *(item for item in _meant(machine, args[-1], call.frame) if item is not new)]


def _meant(machine: Machine, node: ir.Expr, frame: Frame) -> list[Value]:
    """All that an item at an unknown index, or a part of such an item, may be; none where every index is known."""
    if not isinstance(node, ir.Subscript) or not isinstance(node.value, (ir.Name, ir.Attribute, ir.Subscript)):
        return []
    number = index_number(machine.evaluate(node.index, frame))
    if number is None:
        among = machine.evaluate(node.value, frame)
        return list(among.items) if isinstance(among, Sequence) else []
    owners = [owner for owner in _meant(machine, node.value, frame) if isinstance(owner, Sequence)]
    return [owner.items[number] for owner in owners if -len(owner.items) <= number < len(owner.items)]
