"""What stands for the arguments of a constructor which nobody gives. A number is known again: that it says `noise=0.0`
is the first answer to `if self.noise > 0:` in what its instances do, not the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Class, Const, Instance, Unknown, Value, const
from devlint.semantics.devices import parse_device
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def by_default(machine: Machine, name: str, default: Value | None) -> Value:
    """What stands for an argument that nobody gives: a flag may be answered either way, and so may what is asked of a
    number. An object of the program's own that is the default keeps its settings: that it is given with another device
    than the one it has elsewhere nobody knows."""
    if isinstance(default, Instance) and isinstance(default.cls, Class) and default.module is None:
        return Unknown()
    if default is None or not _is_plain(name, default):
        return Unknown(name, True)
    if isinstance(default, Const) and isinstance(default.value, bool):
        return Unknown(name, True, default)
    if isinstance(default, Const) and isinstance(default.value, (int, float)):
        return _preset(machine, name, default)
    return default


def _preset(machine: Machine, name: str, default: Const) -> Const:
    """A number that is the default of an argument, known again wherever it is kept."""
    made = Const(default.value, default.site)
    machine.presets[made] = name
    return made


def compared(machine: Machine, left: Const, right: Const, node: ir.Compare, answer: bool) -> Unknown | None:
    """What a comparison of such a number with one that is written down gives, where it would give `answer`."""
    if machine.run.building or not machine.run.protocol:
        return None
    if left in machine.presets and _is_written(node.right):
        return Unknown(f"{machine.presets[left]} {node.operator} {right.value!r}", True, const(answer))
    if right in machine.presets and _is_written(node.left):
        return Unknown(f"{left.value!r} {node.operator} {machine.presets[right]}", True, const(answer))
    return None


def tested(machine: Machine, value: Const) -> Unknown | None:
    """Such a number as a condition: `if self.noise:`."""
    if machine.run.building or not machine.run.protocol or value not in machine.presets:
        return None
    return Unknown(machine.presets[value], True, const(bool(value.value)))


def _is_written(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) or (isinstance(node, ir.Unary) and isinstance(node.value, ir.Const))


def _is_plain(name: str, value: Value) -> bool:
    """Whether a default says nothing of devices: it may then stand for what callers pass."""
    if not isinstance(value, Const) or value.value is None:
        return False
    lowered = name.lower()
    if any(word in lowered for word in ("device", "cuda", "gpu", "cpu")):
        return False
    return not (isinstance(value.value, str) and parse_device(value.value) is not None)
