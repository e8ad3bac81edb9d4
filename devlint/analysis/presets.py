"""Numbers that stand for arguments which nobody gives: that a constructor says `noise=0.0` is the first answer to
`if self.noise > 0:` in what its instances do, not the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.values import Const, Unknown, const
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def preset(machine: Machine, name: str, default: Const) -> Const:
    """A number that is the default of an argument, known again wherever it is kept."""
    made = Const(default.value, default.site)
    machine.presets[made] = name
    return made


def compared(machine: Machine, left: Const, right: Const, node: ir.Compare, answer: bool) -> Unknown | None:
    """What a comparison of such a number with one that is written down gives, where it would give `answer`."""
    if machine.building or not machine.protocol:
        return None
    if left in machine.presets and _is_written(node.right):
        return Unknown(f"{machine.presets[left]} {node.operator} {right.value!r}", True, const(answer))
    if right in machine.presets and _is_written(node.left):
        return Unknown(f"{left.value!r} {node.operator} {machine.presets[right]}", True, const(answer))
    return None


def tested(machine: Machine, value: Const) -> Unknown | None:
    """Such a number as a condition: `if self.noise:`."""
    if machine.building or not machine.protocol or value not in machine.presets:
        return None
    return Unknown(machine.presets[value], True, const(bool(value.value)))


def _is_written(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) or (isinstance(node, ir.Unary) and isinstance(node.value, ir.Const))
