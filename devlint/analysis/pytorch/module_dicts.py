"""Methods of `nn.ModuleDict` and `nn.ParameterDict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, on
from devlint.analysis.domain.values import NONE, UNKNOWN, Instance, Mapping, Sequence, Value, constant, present
from devlint.analysis.pytorch.module_methods import BASE
from devlint.analysis.pytorch.modules import add_unnamed, is_dictionary, name_of_member, register_attribute

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@on(BASE, "keys", "values", "items")
def _dictionary(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    if not is_dictionary(value):
        return UNKNOWN
    assert value.module is not None
    pairs = [(name_of_member(n), v) for n, v in value.fields.items() if value.module.kinds.get(n)]
    if name == "keys":
        return Sequence("list", [key for key, _ in pairs], value.module.unsure)
    if name == "values":
        return Sequence("list", [part for _, part in pairs], value.module.unsure)
    return Sequence("list", [Sequence("tuple", [key, part]) for key, part in pairs], value.module.unsure)


@on(BASE, "update")
def _update(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`ModuleDict.update`: as many assignments of items."""
    assert value.module is not None
    given = call.argument(0, "modules")
    if not is_dictionary(value) or not isinstance(given, Mapping):
        return UNKNOWN
    for key, part in given.items.items():
        register_attribute(machine, value, str(key), part, call.node, call.frame)
        machine.store.epoch += 1
        machine.store.put(value.fields, str(key), part)
    if given.open:
        machine.store.set(value.module, "unsure", True)
    if given.rest is not None:
        add_unnamed(machine, value, given.rest, call.node, call.frame)
    return NONE


@on(BASE, "__delitem__", "pop")
def _take_out(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`del table[key]` and `table.pop(key)`, of a ModuleDict or ParameterDict."""
    assert value.module is not None
    key = constant(call.positional[0]) if call.positional else None
    if not is_dictionary(value) or not isinstance(key, str) or key not in value.fields:
        machine.store.set(value.module, "unsure", True)
        return UNKNOWN
    part = present(value.fields[key])
    machine.store.epoch += 1
    machine.store.remove(value.fields, key)
    machine.store.remove(value.module.kinds, key)
    return NONE if name == "__delitem__" else part
