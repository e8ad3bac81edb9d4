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
    for space in {id(space): space for space in (namespace, *machine.namespaces.values())}.values():
        for name in _settable(machine, space.module):
            if name not in own and isinstance(space.names.get(name), (Const, DeviceValue)):
                machine.store.put(space.names, name, UNKNOWN)


def _settable(machine: Machine, module: ir.Module) -> frozenset[str]:
    """The names that functions and methods of a file declare as `global`."""
    known = machine.project.settable.get(module)
    if known is None:
        found: set[str] = set()
        if "global " in module.text:  # else there are none, and no body need be lowered for it
            for statement in module.body:
                inside = statement.body if isinstance(statement, ir.Class) else [statement]
                for part in inside:
                    if isinstance(part, ir.Function):
                        found |= part.body.globals
        known = machine.project.settable[module] = frozenset(found)
    return known
