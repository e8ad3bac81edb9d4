"""Branches where a setting for the device leads that its user chooses: what stands in them asks for no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Const
from devlint.analysis.flow.option_names import asks_for_gpu, is_gpu_flag
from devlint.analysis.frames import held
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def is_arm_for_gpu(machine: Machine, test: ir.Expr, frame: Frame, holds: bool) -> bool:
    """Whether a branch is where an option for the device leads that is `cuda` by its default: `args.device == "cuda"`.

    Whoever has no GPU gives the option another value. So it is with a setting that an object keeps: `if self.cuda:`.
    """
    if isinstance(test, ir.Attribute):
        is_flag = holds and not machine.device_count and is_gpu_flag(test.name) and asks_for_gpu(test.name, True)
        return is_flag and _is_setting(test.name, frame) and not _is_left_alone(machine, test, frame)
    if not isinstance(test, ir.Compare) or test.operator not in ("==", "!=") or not isinstance(test.right, ir.Const):
        return False
    named = test.right.value
    if not machine.places.options or not isinstance(named, str) or not isinstance(test.left, (ir.Attribute, ir.Name)):
        return False
    machine.run.quiet += 1
    try:
        value = machine.evaluate(test.left, frame)
    finally:
        machine.run.quiet -= 1
    if not isinstance(value, Const) or value.site is None or value.site.key not in machine.places.options:
        return False
    equal = holds is (test.operator == "==")
    return named.startswith("cuda") if equal else named == "cpu"


def _is_left_alone(machine: Machine, test: ir.Expr, frame: Frame) -> bool:
    """Whether a flag has the default of a parameter, which the program's own call has left alone."""
    value = held(test, frame)
    if not isinstance(value, Const) or value.site is None or machine.run.protocol:
        return False
    return value.site.key not in machine.places.settings and value.site.key not in machine.places.options


_READS = frozenset({"get", "pop", "getattr", "bool", "parse_args"})


def _is_setting(name: str, frame: Frame) -> bool:
    """Whether a name is given constants, or what others give, wherever its file assigns it: nothing is asked for it."""
    return not any(
        isinstance(part, (ir.Compare, ir.Unary))
        or (isinstance(part, ir.Call) and last_name(part.function) not in _READS)
        for node in walk(frame.namespace.module.body)
        if isinstance(node, ir.Assign) and name in map(last_name, node.targets)
        for part in walk(node.value)
    )
