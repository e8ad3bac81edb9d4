"""What `collections.abc` gives classes of the program that derive from a mapping: methods made of their own.

https://docs.python.org/3/library/collections.abc.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_item, call_method, item, iterate
from devlint.analysis.classes import find
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.machine import Crash
from devlint.analysis.plain import pair
from devlint.analysis.values import NONE, Const, Instance, Mapping, Sequence, Unknown, Value, const, is_none

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_MAPPINGS: Final = (
    "collections.abc.Mapping",
    "collections.abc.MutableMapping",
    "typing.Mapping",
    "typing.MutableMapping",
)


def _pairs(machine: Machine, instance: Instance, call: Call) -> Sequence | None:
    """The pairs that such a class gives by its `__iter__` and `__getitem__`; None where it has none of its own."""
    if find(instance.cls, "__iter__") is None or find(instance.cls, "__getitem__") is None:
        return None
    found = iterate(machine, instance, call.node, call.frame)
    if found is None:
        return None
    made: list[Value] = [pair(key, item(machine, instance, key, call.node, call.frame)) for key in found.items]
    return Sequence("list", made, found.open)


def _part(index: int | None) -> Callable[[Machine, Instance, Call], Value | None]:
    def method(machine: Machine, instance: Instance, call: Call) -> Value | None:
        """`keys()`, `values()` and `items()`."""
        if index == 0:
            keys = iterate(machine, instance, call.node, call.frame)
            return None if keys is None else Sequence("list", list(keys.items), keys.open)
        pairs = _pairs(machine, instance, call)
        if pairs is None or index is None:
            return pairs
        parts = [one.items[index] for one in pairs.items if isinstance(one, Sequence)]
        return Sequence("list", parts, pairs.open)

    return method


def _get(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`get(key, default)`: the item, where it is known that there is one."""
    if not call.positional or not isinstance(call.positional[0], Const) or find(instance.cls, "__getitem__") is None:
        return None
    expected, machine.expected = machine.expected, ["KeyError", "LookupError", "Exception"]
    try:
        found = item(machine, instance, call.positional[0], call.node, call.frame)
    except Crash:
        return call.positional[1] if len(call.positional) > 1 else call.keywords.get("default", NONE)
    finally:
        machine.expected = expected
    return None if isinstance(found, Unknown) else found


def _pop(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`pop(key)`: the item, where it is known that there is one, which is taken out."""
    found = _get(machine, instance, call)
    if found is None or is_none(found):
        return None
    if find(instance.cls, "__delitem__") is not None:
        call_method(machine, instance, "__delitem__", call.with_arguments(call.positional[:1]))
    return found


def _update(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`update(mapping, name=value)`: as many assignments of items."""
    given = call.positional[0] if call.positional else None
    if find(instance.cls, "__setitem__") is None or not (given is None or isinstance(given, Mapping)):
        return None
    items = {} if given is None else dict(given.items)
    for key, value in {**items, **call.keywords}.items():
        assign_item(machine, instance, const(key), value, call.node, call.frame)
    return NONE


for _path in _MAPPINGS:
    for _name, _index in (("keys", 0), ("values", 1), ("items", None)):
        method_models(_path, _name)(_part(_index))
    method_models(_path, "get")(_get)
    method_models(_path, "pop")(_pop)
    method_models(_path, "update")(_update)
