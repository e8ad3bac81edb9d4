"""Inputs of functions that nobody in sight calls, and that may be anywhere: the function asks one where it is, and
makes others there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Function, Tensor, Value
from devlint.analysis.memo import memoized
from devlint.analysis.programs.applied import tensors_among
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def placed_inputs(machine: Machine, function: Function, device: str, frame: Frame) -> dict[str, Value]:
    """The parameters without a default that surely are tensors, and of which it asks where they are, on `device`."""
    names = function.node.parameters.positional[function.owner is not None and function.kind != "staticmethod" :]
    asked = _asked(function.node) & {name for name in names if name not in function.defaults}
    asked -= looked_up_on_the_host(machine.project, function.node)
    return {
        name: Tensor(device, None, machine.origin("input", function.node, frame, device, name), assumed=True)
        for name in sorted(tensors_among(function.node, frozenset(asked)) if asked else ())
    }


@memoized
def looked_up_on_the_host(project: Project, node: ir.Function) -> frozenset[str]:
    """The names of which another parameter is asked for more, and numpy reads what it gives, as it is: `rows, _ =
    graph.find(edges)`, `rows.numpy()`. Both are on the host, and what is made where the one is."""
    names = node.parameters.positional
    sources: dict[str, set[str]] = {}
    read: set[str] = set()
    for part in walk(node.body.statements):
        if isinstance(part, ir.Assign) and isinstance(part.value, ir.Call) and _is_method_of(part.value, names):
            given = {arg.id for arg in part.value.args if isinstance(arg, ir.Name)}
            for target in walk(part.targets):
                if isinstance(target, ir.Name):
                    sources.setdefault(target.id, set()).update(given)
        elif isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute) and part.function.name == "numpy":
            if isinstance(part.function.value, ir.Name):
                read.add(part.function.value.id)
    return frozenset(source for name in read for source in sources.get(name, ()))


def _is_method_of(call: ir.Call, names: list[str]) -> bool:
    """Whether a call is one of a method of a parameter."""
    function = call.function
    return isinstance(function, ir.Attribute) and isinstance(function.value, ir.Name) and function.value.id in names


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
