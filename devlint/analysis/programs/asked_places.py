"""Inputs of functions that nobody in sight calls, and that may be anywhere: the function asks one where it is, and
makes others there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Function, Tensor, Value
from devlint.analysis.programs.applied import tensors_among
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def placed_inputs(machine: Machine, function: Function, device: str, frame: Frame) -> dict[str, Value]:
    """The parameters without a default that surely are tensors, and of which it asks where they are, on `device`."""
    names = function.node.parameters.positional[function.owner is not None and function.kind != "staticmethod" :]
    asked = _asked(function.node) & {name for name in names if name not in function.defaults}
    return {
        name: Tensor(device, None, machine.origin("input", function.node, frame, device, name), assumed=True)
        for name in sorted(tensors_among(function.node, frozenset(asked)) if asked else ())
    }


def _asked(node: ir.Function) -> set[str]:
    """The names of which the device is given on: to a factory, to a move, to a name."""
    given: list[ir.Expr] = []
    for part in walk(node.body.statements):
        if isinstance(part, ir.Call):
            given += [value for name, value in part.keywords if name == "device"]
            if isinstance(part.function, ir.Attribute) and part.function.name == "to":
                given += part.args[:1]
        elif isinstance(part, ir.Assign):
            given.append(part.value)
    return {
        value.value.id
        for value in given
        if isinstance(value, ir.Attribute) and value.name == "device" and isinstance(value.value, ir.Name)
    }
