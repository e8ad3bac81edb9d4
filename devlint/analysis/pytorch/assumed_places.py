"""Where inputs of an entry by protocol are is assumed: what the code itself says against it."""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import TYPE_CHECKING

from devlint.analysis.programs.callers import moved_at_once
from devlint.analysis.pytorch.roots import made_in_entry

if TYPE_CHECKING:
    from devlint.analysis.domain.values import Tensor
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


def stays_with_its_module(machine: Machine, operands: Items[tuple[Tensor, object]]) -> bool:
    """Whether a function that nobody calls brings a module that it builds, and leaves on the CPU, together with what
    another that it calls has put where an input is said to be: it asks for no place itself, so that its inputs are
    where its module is, and what it calls serves any."""
    run = machine.run
    if not run.protocol or not run.asking or not run.stack or run.stack[0] in run.asking:
        return False
    asked = False
    for tensor, _ in operands:
        first = None if tensor.origin is None else tensor.origin.first()
        made_by = None if first is None or first.frame is None else first.frame.function
        if tensor.device == "cpu":
            built = None if tensor.origin is None else tensor.origin.find("parameter")
            if built is None or not made_in_entry(machine, built):
                return False
        elif first is not None and first.kind == "placed" and made_by in run.asking:
            asked = True
        else:
            return False
    return asked


def is_moved_at_once(machine: Machine, node: ir.Node) -> bool:
    """Whether the running function moves what an operation gives in the same row."""
    return bool(machine.run.stack) and node in moved_at_once(machine.project, machine.run.stack[-1])
