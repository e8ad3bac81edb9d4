"""Modules that are registered under names which nobody knows: `self.add_module(name, layers[i])`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call
from devlint.analysis.plain import index_number
from devlint.analysis.values import MAX_ITEMS, Sequence, Value
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.module_state import ModuleState


def register_unnamed(machine: Machine, module: ModuleState, new: Value, call: Call) -> None:
    """Register `new`, an argument of the call: it moves with the module, and no name leads to it."""
    added = _stood_for(machine, new, call)
    machine.store.set(module, "children", [*(module.children or []), *added][:MAX_ITEMS])


def _stood_for(machine: Machine, new: Value, call: Call) -> list[Value]:
    """`new`, and what else it stands for where it was written as an item at an unknown index: `self.layers[i]`."""
    args = call.node.args if isinstance(call.node, ir.Call) else []
    if not call.positional or call.positional[-1] is not new or len(args) != len(call.positional):
        return [new]
    written = args[-1]
    if isinstance(written, ir.Subscript) and isinstance(written.value, (ir.Name, ir.Attribute)):
        among = machine.evaluate(written.value, call.frame)
        if isinstance(among, Sequence) and index_number(machine.evaluate(written.index, call.frame)) is None:
            return [new, *(item for item in among.items if item is not new)]
    return [new]
