"""Registries of mmcv, mmengine and fvcore: classes by their names, which a configuration builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    OneOf,
    Sequence,
    Value,
    const,
)
from devlint.analysis.models.configs import CONFIG
from devlint.analysis.python.mappings import contains_key, get, put

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

REGISTRY: Final = "mmengine.registry.Registry"
_REGISTERING: Final = "mmengine.registry.Registry.register_module"
"""What `REGISTRY.register_module()` gives: a decorator."""


@models(
    REGISTRY,
    "mmengine.Registry",
    "mmcv.utils.Registry",
    "mmcv.Registry",
    "fvcore.common.registry.Registry",
    "detectron2.utils.registry.Registry",
)
def registry(machine: Machine, call: Call) -> Value | None:
    """`Registry("models")`: an empty one; with a parent or children, there may be names that it has from those."""
    made = Instance(External(REGISTRY), machine.site(call.node, call.frame))
    made.state["table"] = Mapping({}, None, bool(call.keywords))
    made.state["own_build"] = "build_func" in call.keywords
    return made


def _table(value: Value | None) -> Mapping | None:
    table = value.state.get("table") if isinstance(value, Instance) else None
    return table if isinstance(table, Mapping) else None


def _register(machine: Machine, table: Mapping, names: Value | None, value: Value) -> Value:
    """Keep a class under its name, or those that are given; returns the class."""
    if not isinstance(value, (Class, Function)):
        return value
    if isinstance(names, Sequence):
        given = names.items
    elif names is None or (isinstance(names, Const) and names.value is None):
        given = [const(value.name if isinstance(value, Class) else value.node.name)]
    else:
        given = [names]
    for name in given:
        put(machine, table, name, value)
    return value


@method_models(REGISTRY, "register_module", "register", "_register_module")
def register(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`@REGISTRY.register_module(name=...)`, `REGISTRY.register(cls)`."""
    table = _table(instance)
    if table is None:
        return None
    named = call.argument(0, "name")
    if isinstance(named, (Class, Function)):
        return _register(machine, table, None, named)
    module = call.argument(2, "module") or call.argument(2, "obj")
    if module is not None and not (isinstance(module, Const) and module.value is None):
        return _register(machine, table, named, module)
    made = Instance(External(_REGISTERING), machine.site(call.node, call.frame))
    made.state["table"] = table
    made.state["names"] = NONE if named is None else named
    return made


@method_models(_REGISTERING, "__call__")
def registered(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The decorator."""
    table = _table(instance)
    if table is None or not call.positional:
        return UNKNOWN
    return _register(machine, table, instance.state.get("names"), call.positional[0])


@method_models(REGISTRY, "get")
def registry_get(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`REGISTRY.get(name)`: a name that is not known is one of those that are there."""
    table = _table(instance)
    if table is None or not call.positional:
        return None
    return get(machine, table, call.positional[0]) or UNKNOWN


@method_models(REGISTRY, "__contains__")
def registry_contains(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`name in REGISTRY`."""
    table = _table(instance)
    answer = contains_key(table, call.positional[0]) if table is not None and call.positional else None
    return BOOL if answer is None else const(answer)


@method_models(REGISTRY, "build")
def registry_build(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`REGISTRY.build(cfg)`: of a class of the program by the name under `type`, with the rest of it as keywords."""
    if instance.state.get("own_build"):
        return UNKNOWN
    return _built(machine, instance, call, call.positional[1:], call.keywords)


@models("mmcv.utils.build_from_cfg", "mmcv.build_from_cfg", "mmengine.registry.build_from_cfg")
def build_from(machine: Machine, call: Call) -> Value | None:
    """`build_from_cfg(cfg, REGISTRY, default_args)`."""
    defaults = call.argument(2, "default_args")
    keywords: dict[str, Value] | None = {} if defaults is None else _texts(_entries(defaults))
    return _built(machine, call.argument(1, "registry"), call, [], keywords)


def _built(
    machine: Machine,
    holder: Value | None,
    call: Call,
    positional: list[Value],
    keywords: dict[str, Value] | None,
) -> Value:
    table, given = _table(holder), _texts(_entries(call.argument(0, "cfg")))
    if table is None or given is None or keywords is None or call.open or positional:
        return UNKNOWN
    given = {**{name: value for name, value in keywords.items() if name != "cfg"}, **given}
    kind = given.pop("type", None)
    if kind is None:
        return UNKNOWN
    chosen = kind if isinstance(kind, (Class, Function)) else get(machine, table, kind)
    if not isinstance(chosen, (Class, Function, OneOf)):
        return UNKNOWN
    return call_value(machine, chosen, Call([], given, call.node, call.frame))


def _entries(value: Value | None) -> dict[Any, Value] | None:
    """What a dict or a configuration says, if that is all known."""
    if isinstance(value, Mapping) and not value.open:
        return value.items
    if isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == CONFIG:
        return None if value.state.get("open") else value.fields
    return None


def _texts(items: dict[Any, Value] | None) -> dict[str, Value] | None:
    if items is None or not all(isinstance(name, str) for name in items):
        return None
    return {str(name): value for name, value in items.items()}
