"""Settings of a file: global names that its functions set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.values import UNKNOWN, Const, DeviceValue
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Namespace
    from devlint.analysis.machine import Machine


def forget_settings(machine: Machine, namespace: Namespace, entered: ir.Function | ir.Class) -> None:
    """Before code is entered by protocol: whoever calls it may have called what sets a device, a flag or None before.

    What the entered function sets itself (a value that it makes once) stays as it is.
    """
    own = entered.body.globals if isinstance(entered, ir.Function) else ()
    spaces = machine.with_settings if namespace in machine.with_settings else [namespace, *machine.with_settings]
    for space in spaces:
        for name in _settable(machine, space.module):
            if name not in own and isinstance(space.names.get(name), (Const, DeviceValue)):
                machine.store.put(space.names, name, UNKNOWN)


def _settable(machine: Machine, module: ir.Module) -> frozenset[str]:
    """The names that functions and methods of a file declare as `global`."""
    known = machine.project.settable.get(module)
    if known is None:
        found: set[str] = set()
        for statement in module.body if may_have_settings(module) else ():
            for part in statement.body if isinstance(statement, ir.Class) else [statement]:
                if isinstance(part, ir.Function):
                    found |= part.body.globals
        known = machine.project.settable[module] = frozenset(found)
    return known


def may_have_settings(module: ir.Module) -> bool:
    """Whether a function of a file may declare a name as `global`: else no body need be lowered to see which."""
    return "global " in module.text
