"""Methods of `nn.ModuleDict` and `nn.ParameterDict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import item
from devlint.analysis.dispatch import Call, on
from devlint.analysis.domain.values import NONE, UNKNOWN, Instance, Sequence, Value, constant, present
from devlint.analysis.pytorch.building import given_by_name, parameter_of
from devlint.analysis.pytorch.module_methods import BASE
from devlint.analysis.pytorch.modules import (
    add_unnamed,
    builtin_path,
    has_member,
    is_dictionary,
    name_of_member,
    register_attribute,
)

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


def _put(machine: Machine, value: Instance, key: str, part: Value, call: Call) -> None:
    part = parameter_of(part) if builtin_path(value) == "torch.nn.ParameterDict" else part
    register_attribute(machine, value, key, part, call.node, call.frame)
    machine.store.epoch += 1
    machine.store.put(value.fields, key, part)


@on(BASE, "get", "setdefault")
def _get(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`table.get(key)` and `table.setdefault(key, new)`, which a ParameterDict has."""
    key = call.argument(0, "key")
    if builtin_path(value) != "torch.nn.ParameterDict" or key is None:
        return UNKNOWN
    has = has_member(value, key)
    if has is not False:
        return item(machine, value, key, call.node, call.frame) if has else UNKNOWN
    default = call.argument(1, "default") or NONE
    word = constant(key)
    if name == "setdefault" and isinstance(word, str):
        _put(machine, value, word, default, call)
        return present(value.fields[word])
    return default


@on(BASE, "update")
def _update(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`ModuleDict.update` and `ParameterDict.update`: as many assignments of items."""
    assert value.module is not None
    told = call.argument(0, "modules") or call.argument(0, "parameters")
    if not is_dictionary(value) or builtin_path(value) is None or told is None:
        return UNKNOWN  # `update` of a collection of metrics takes data
    given = given_by_name(machine, told, call)
    for key, part in given.items.items():
        _put(machine, value, str(key), part, call)
    if given.open:
        machine.store.set(value.module, "unsure", True)
    if given.rest is not None:
        rest = parameter_of(given.rest) if builtin_path(value) == "torch.nn.ParameterDict" else given.rest
        add_unnamed(machine, value, rest, call.node, call.frame)
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
