"""What `collections.abc` gives classes of the program that derive from a mapping: methods made of their own.

https://docs.python.org/3/library/collections.abc.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_item, call_method, item, iterate
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.domain.ancestry import external_bases, find
from devlint.analysis.domain.plain import pair, value_of_key
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    SCALAR,
    UNKNOWN,
    Const,
    External,
    Instance,
    Sequence,
    Unknown,
    Value,
    const,
)
from devlint.analysis.python.containers import contains
from devlint.analysis.python.mappings import build
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_CHANGING: Final = ("collections.abc.MutableMapping", "typing.MutableMapping")
_MAPPINGS: Final = (*_CHANGING, "collections.abc.Mapping", "typing.Mapping")
_VIEWS: Final = {
    "keys": "collections.abc.KeysView",
    "values": "collections.abc.ValuesView",
    "items": "collections.abc.ItemsView",
}


def _is_mapping(value: Instance) -> bool:
    """Whether an object is asked for its items by `__iter__` and `__getitem__` of the program."""
    return find(value.cls, "__iter__") is not None and find(value.cls, "__getitem__") is not None


# -- views


def _view(path: str) -> Callable[[Machine, Instance, Call], Value | None]:
    def method(machine: Machine, instance: Instance, call: Call) -> Value | None:
        """`keys()`, `values()` and `items()`: what they give follows the mapping."""
        if not _is_mapping(instance):
            return None
        made = Instance(External(path), machine.site(call.node, call.frame))
        made.state["of"] = instance
        return made

    return method


def _each_key(machine: Machine, view: Instance, call: Call) -> Value | None:
    """`for key in keys`."""
    keys = iterate(machine, view.state["of"], call.node, call.frame)
    return None if keys is None else Sequence("list", list(keys.items), keys.open)


def _each_value(machine: Machine, view: Instance, call: Call) -> Value | None:
    """`for value in values`."""
    of: Instance = view.state["of"]
    keys = iterate(machine, of, call.node, call.frame)
    if keys is None:
        return None
    return Sequence("list", [item(machine, of, key, call.node, call.frame) for key in keys.items], keys.open)


def _each_item(machine: Machine, view: Instance, call: Call) -> Value | None:
    """`for key, value in items`."""
    return _pairs(machine, view.state["of"], call)


def _pairs(machine: Machine, mapping: Instance, call: Call) -> Sequence | None:
    keys = iterate(machine, mapping, call.node, call.frame)
    if keys is None:
        return None
    made: list[Value] = [pair(key, item(machine, mapping, key, call.node, call.frame)) for key in keys.items]
    return Sequence("list", made, keys.open)


def _size(machine: Machine, view: Instance, call: Call) -> Value | None:
    """`len(keys)`."""
    return call_method(machine, view.state["of"], "__len__", call.with_arguments([]))


def _has_key(machine: Machine, view: Instance, call: Call) -> Value | None:
    """`key in keys`."""
    if not call.positional:
        return BOOL
    there = contains(machine, view.state["of"], call.positional[0], call.node, call.frame)
    return BOOL if there is None else const(there)


# -- one item


def _get(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`get(key, default)`: the item, where it is known that there is one."""
    key = call.argument(0, "key")
    if not isinstance(key, Const) or find(instance.cls, "__getitem__") is None:
        return None
    found = _under(machine, instance, key, call)
    return _default(call) or NONE if found is None else None if isinstance(found, Unknown) else found


def _default(call: Call) -> Value | None:
    """What is given for a key that is not there; None: nothing."""
    return call.argument(1, "default") or (UNKNOWN if call.open else None)


def _under(machine: Machine, instance: Instance, key: Value, call: Call) -> Value | None:
    """What stands under a key; None where a KeyError is raised instead, which alone means that it is not there."""
    expected = len(machine.run.expected)
    machine.run.expected.append("KeyError")
    machine.run.raised = ""
    try:
        return item(machine, instance, key, call.node, call.frame)
    except Crash as raised:
        if raised.kind != "KeyError" and (raised.kind or machine.run.raised != "builtins.KeyError"):
            raise
        return None
    finally:
        del machine.run.expected[expected:]


def _pop(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`pop(key, default)`: the item, which is taken out, or the default, where there is none."""
    key, default = call.argument(0, "key"), _default(call)
    if not isinstance(key, Const) or find(instance.cls, "__getitem__") is None:
        return None
    if default is None:
        found = item(machine, instance, key, call.node, call.frame)
    else:
        there = _under(machine, instance, key, call)
        if there is None:
            return default
        if isinstance(there, Unknown):
            return None
        found = there
    if find(instance.cls, "__delitem__") is not None:
        call_method(machine, instance, "__delitem__", Call([key], {}, call.node, call.frame))
    return found


# -- many items


def _update(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`update(mapping, name=value)`: as many assignments of items; under any key where more may be given."""
    if find(instance.cls, "__setitem__") is None:
        return None
    positional = [_as_pairs(machine, given, call) for given in call.positional[:1]]
    given = build(machine, call.with_arguments(positional, call.keywords))
    for key, value in given.items.items():
        assign_item(machine, instance, value_of_key(key), value, call.node, call.frame)
    if given.open:
        assign_item(machine, instance, SCALAR, given.rest or UNKNOWN, call.node, call.frame)
    return NONE


def _as_pairs(machine: Machine, given: Value, call: Call) -> Value:
    """What `update` is given, with the pairs of a mapping of the program's own for it."""
    if not isinstance(given, Instance) or not _is_mapping(given):
        return given
    if find(given.cls, "keys") is None and not any(path in _MAPPINGS for path in external_bases(given.cls)):
        return given
    return _pairs(machine, given, call) or given


for _name, _path in _VIEWS.items():
    for _base in _MAPPINGS:
        method_models(_base, _name)(_view(_path))
    method_models(_path, "__len__")(_size)
method_models(_VIEWS["keys"], "__iter__")(_each_key)
method_models(_VIEWS["keys"], "__contains__")(_has_key)
method_models(_VIEWS["values"], "__iter__")(_each_value)
method_models(_VIEWS["items"], "__iter__")(_each_item)
for _base in _MAPPINGS:
    method_models(_base, "get")(_get)
for _base in _CHANGING:
    method_models(_base, "pop")(_pop)
    method_models(_base, "update")(_update)
