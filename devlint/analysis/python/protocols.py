"""Special methods of instances: what assignment to items and operators ask of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_attribute, call_value
from devlint.analysis.dispatch import ASSIGN_ITEM, BINARY, Call, on
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.module_state import HIDDEN, ModuleState
from devlint.analysis.domain.values import Bound, Const, Instance, Value
from devlint.analysis.python.classes import modelled
from devlint.analysis.pytorch.building import parameter_of
from devlint.analysis.pytorch.modules import add_unnamed, builtin_path, is_dictionary

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

_SPECIAL: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}


def call_special(
    machine: Machine, value: Instance, name: str, arguments: list[Value], node: ir.Node, frame: Frame
) -> Value | None:
    """Call a special method of the class, or its model; None where there is neither."""
    call = Call(arguments, {}, node, frame)
    found = find(value.cls, name)
    if found is not None:
        return call_value(machine, Bound(found[0], value), call)
    return modelled(machine, value, name, call)


@on(ASSIGN_ITEM, Instance)
def assign_instance_item(
    machine: Machine, value: Instance, index: Value, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`instance[index] = new`."""
    if value.module is not None and find(value.cls, "__setitem__") is None:
        _assign_member(machine, value, value.module, index, new, node, frame)
        return
    call_special(machine, value, "__setitem__", [index, new], node, frame)


def _assign_member(
    machine: Machine, value: Instance, module: ModuleState, index: Value, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`layers[0] = layer` and `layers["name"] = layer` of a container of modules."""
    if builtin_path(value) in ("torch.nn.ParameterDict", "torch.nn.ParameterList"):
        new = parameter_of(new)
    if isinstance(index, Const) and HIDDEN in value.fields:
        assign_attribute(machine, value, str(index.value), new, node, frame)
    elif isinstance(index, Const) and isinstance(index.value, str):
        assign_attribute(machine, value, index.value, new, node, frame)
    elif isinstance(index, Const) and isinstance(index.value, int) and module.children is not None:
        if -len(module.children) <= index.value < len(module.children):
            children = list(module.children)
            children[index.value] = new
            machine.store.set(module, "children", children)
    else:
        machine.store.set(module, "unsure", True)
        if is_dictionary(value) and not isinstance(index, Const):
            add_unnamed(machine, value, new, node, frame)


@on(BINARY, Instance)
def instance_operator(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """`left operator right` by `__add__` of the left side, else by `__radd__` of the right one."""
    name = _SPECIAL.get(operator)
    if name is None:
        return None
    if isinstance(left, Instance):
        found = call_special(machine, left, f"__{name}__", [right], node, frame)
        if found is not None:
            return found
    if isinstance(right, Instance):
        return call_special(machine, right, f"__r{name}__", [left], node, frame)
    return None
