"""Conditions that rest on a length that is merely taken to be at least 1, as a loop is taken to run.

`if len(boxes) == 0: return empty` is not the usual way. But a program that raises where there is something
(`if len(unexpected) > 0: raise`, `assert len(missing) == 0`) usually finds nothing, and goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import SIZE
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def rests_on_size(machine: Machine, test: ir.Expr, frame: Frame) -> bool:
    """Whether the length of something of which nothing is known is asked for in a condition."""
    return any(_is_assumed(machine, part, frame) for part in walk(test) if isinstance(part, ir.Call))


def _is_assumed(machine: Machine, call: ir.Call, frame: Frame) -> bool:
    if not isinstance(call.function, ir.Name) or call.function.id != "len" or len(call.args) != 1:
        return False
    asked: ir.Expr = call.args[0]
    while isinstance(asked, ir.Attribute):
        asked = asked.value
    if not isinstance(asked, ir.Name):
        return False
    machine.run.quiet += 1
    try:
        return machine.evaluate(call, frame) is SIZE
    finally:
        machine.run.quiet -= 1
