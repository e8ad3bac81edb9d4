"""Builtins that ask values what they are: types, attributes, names."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME, assign_attribute, attribute, call_method, has_attribute, path_of
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.ancestry import is_module_class, is_open_class, is_subclass, mro, whole_order
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    Scalar,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.machine import text_of
from devlint.analysis.python.attribute_names import own_attributes
from devlint.analysis.python.classes import bare_instance, note_any_name, truth_of_isinstance
from devlint.analysis.python.instances import class_of, fields_as_dict
from devlint.analysis.python.module_names import names_of_module
from devlint.analysis.python.parsed_options import is_whole, lacks_option
from devlint.analysis.python.unions import Union
from devlint.analysis.pytorch.standing import forget_others
from devlint.analysis.pytorch.unnamed import register_unnamed
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

# -- types


def type_of(value: Value) -> Value:
    """Return the class of a value."""
    if isinstance(value, Const):
        name = type(value.value).__name__
        return External(f"builtins.{name}")
    if isinstance(value, Instance):
        return class_of(value)
    if isinstance(value, Sequence):
        known = hasattr(builtins, value.kind)
        return External(f"builtins.{value.kind}" if known else f"collections.{value.kind}")
    if isinstance(value, Mapping):
        if value.kind == "state_dict" and value.open:
            return UNKNOWN  # what a file holds: weights by name, or a whole model
        return External("builtins.dict" if value.kind in ("dict", "state_dict") else f"collections.{value.kind}")
    if isinstance(value, Tensor):
        return External("torch.nn.Parameter" if value.is_parameter else "torch.Tensor")
    if isinstance(value, DeviceValue):
        return External("torch.device")
    if isinstance(value, Array):
        return External("numpy.ndarray")
    if isinstance(value, Class):
        return External("builtins.type")
    if isinstance(value, Function):
        return External("types.FunctionType")
    return UNKNOWN


@models("builtins.type")
def type_call(machine: Machine, call: Call) -> Value | None:
    """`type(x)`, and `type(name, bases, fields)`, which makes a class."""
    if len(call.positional) == 1:
        return type_of(call.positional[0])
    if len(call.positional) == 3:
        name, bases, fields = call.positional
        known = text_of(name)
        if known is not None and isinstance(bases, Sequence) and isinstance(fields, Mapping) and not bases.open:
            members = {key: item for key, item in fields.items.items() if isinstance(key, str)}
            made = make_class(call, known, list(bases.items), members)
            note_heir(machine, made)
            return made
        machine.state.strangers = True
    return UNKNOWN


def make_class(call: Call, name: str, bases: list[Value], members: dict[str, Value]) -> Class:
    """Return a class that no class statement made."""
    node = ir.Class(name, [], [], [], [], False, call.node.at)
    return Class(name, bases, members, call.frame, node)


def note_heir(machine: Machine, cls: Class) -> None:
    """Tell the classes that a new class derives from that it does."""
    for base in cls.bases:
        if isinstance(base, Class):
            machine.store.set(base, "heirs", [*base.heirs, cls])


@models("builtins.type.__subclasses__")
def subclasses(machine: Machine, call: Call) -> Value | None:
    """`Base.__subclasses__()`: those that were defined so far. There may be more where code that is not in sight may
    have defined some, as in code that nobody in sight calls; who asks a class of which no heir is in sight, and which
    is itself none, expects some."""
    cls = call.positional[0] if call.positional else None
    if not isinstance(cls, Class):
        return None
    is_open = machine.run.protocol or machine.state.strangers
    if not cls.heirs and (is_open or not any(isinstance(base, Class) for base in cls.bases)):
        return None
    return Sequence("list", list(cls.heirs), is_open)


@models("builtins.type.mro")
def order_of_classes(machine: Machine, call: Call) -> Value | None:
    """`C.mro()`."""
    cls = call.positional[0] if call.positional else None
    if not isinstance(cls, Class):
        return None
    order = whole_order(cls)
    return Sequence("list", order.items, order.open)


@models("builtins.isinstance")
def is_instance_call(machine: Machine, call: Call) -> Value | None:
    """`isinstance(x, C)`."""
    if len(call.positional) != 2:
        return BOOL
    return truth_of_isinstance(machine, call.positional[0], call.positional[1])


@models("builtins.issubclass")
def is_subclass_call(machine: Machine, call: Call) -> Value | None:
    """`issubclass(C, D)`."""
    if len(call.positional) != 2:
        return BOOL
    cls, others = call.positional
    choices = others.items if isinstance(others, Sequence) and not others.open else [others]
    choices = others.members if isinstance(others, Union) else choices
    answers = [is_subclass(cls, other) for other in choices]
    return const(True) if True in answers else BOOL if None in answers else const(False)


@models("builtins.callable")
def is_callable(machine: Machine, call: Call) -> Value | None:
    """`callable(x)`."""
    value = call.positional[0] if call.positional else UNKNOWN
    if isinstance(value, (Function, Bound, Class, Method)):
        return const(True)
    if isinstance(value, (Const, Scalar, Sequence, Mapping, Tensor, DeviceValue, Array)):
        return const(False)
    if isinstance(value, Instance):
        answer = True if value.module is not None else has_attribute(machine, value, "__call__")
        return BOOL if answer is None else const(answer)
    return BOOL


@models("builtins.super")
def super_call(machine: Machine, call: Call) -> Value | None:
    """`super(Class, self)`."""
    if len(call.positional) == 2 and isinstance(call.positional[0], Class):
        return Super(call.positional[0], call.positional[1])
    return UNKNOWN


@models("builtins.object")
def object_call(machine: Machine, call: Call) -> Value | None:
    """`object()`."""
    return Instance(External("builtins.object"), machine.site(call.node, call.frame))


@models("builtins.object.__new__")
def bare_object(machine: Machine, call: Call) -> Value | None:
    """`object.__new__(cls)`: an instance of which `__init__` has not run."""
    cls = call.positional[0] if call.positional else UNKNOWN
    if not isinstance(cls, Class) or (is_open_class(cls) and not is_module_class(cls)):
        return UNKNOWN
    return bare_instance(machine, cls, call)


@models("builtins.object.__setattr__")
def object_setattr(machine: Machine, call: Call) -> Value | None:
    """`object.__setattr__(x, name, value)`: past the class's own `__setattr__`."""
    if len(call.positional) != 3:
        return UNKNOWN
    receiver, name, new = call.positional
    if isinstance(receiver, Instance) and isinstance(name, Const) and isinstance(name.value, str):
        machine.store.put(receiver.fields, name.value, new)
    return NONE


def _function_of_kind(kind: str) -> Callable[[Machine, Call], Value]:
    def make(machine: Machine, call: Call) -> Value:
        function = call.argument(0, "fget")
        if not isinstance(function, Function):
            return UNKNOWN
        made = Function(function.node, function.frame, function.defaults, function.owner)
        made.kind = kind
        made.attributes = dict(function.attributes)
        setter = call.given(1, "fset") if kind == "property" else None
        if setter is not None:
            made.attributes["setter"] = setter
        return made

    return make


for _kind in ("property", "staticmethod", "classmethod"):
    models(f"builtins.{_kind}")(_function_of_kind(_kind))


# -- attributes


_PYTHON_TYPES: Final[dict[str, type]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def knows_attribute(machine: Machine, value: Value, name: str) -> bool | None:
    """Whether a value has an attribute, plain containers included."""
    if isinstance(value, Mapping):
        return hasattr(dict, name) if value.kind == "dict" else None
    if isinstance(value, Sequence):
        kind = _PYTHON_TYPES.get(value.kind)
        return None if kind is None else hasattr(kind, name)
    if isinstance(value, Scalar):
        return (
            hasattr(str, name) if value.kind == "string" else False if not hasattr(0.0, name) and value.kind else None
        )
    return False if lacks_option(machine, value, name) else has_attribute(machine, value, name)


@models("builtins.hasattr")
def has_attribute_call(machine: Machine, call: Call) -> Value | None:
    """`hasattr(x, name)`."""
    if len(call.positional) != 2:
        return BOOL
    name = text_of(call.positional[1])
    if name is None:
        return BOOL
    if name == "cuda" and path_of(call.positional[0]) == "torch":
        machine.testify("availability", call.frame)  # each build has the module: it was to ask for a GPU
    answer = knows_attribute(machine, call.positional[0], name)
    if answer is not None:
        return const(answer)
    path = path_of(call.positional[0]) if isinstance(call.positional[0], Unknown) else None
    return Unknown(f"hasattr({path}, {name!r})") if path else BOOL


@models("builtins.getattr")
def get_attribute_call(machine: Machine, call: Call) -> Value | None:
    """`getattr(x, name, default)`."""
    if len(call.positional) < 2:
        return UNKNOWN
    value, name = call.positional[0], text_of(call.positional[1])
    if name is None:
        return UNKNOWN
    if len(call.positional) == 3 and knows_attribute(machine, value, name) is False:
        return call.positional[2]
    found = attribute(machine, value, name, call.node, call.frame)
    if isinstance(found, Unknown) and found.path is not None and found.default is None and len(call.positional) == 3:
        return Unknown(found.path, found.named, call.positional[2])
    return found


@models("builtins.setattr")
def set_attribute_call(machine: Machine, call: Call) -> Value | None:
    """`setattr(x, name, value)`. An unknown name makes what a module registers unsure, and a record's flags choices."""
    if len(call.positional) != 3:
        return NONE
    value, name, new = call.positional
    known = text_of(name)
    if known is not None:
        assign_attribute(machine, value, known, new, call.node, call.frame)
    elif isinstance(value, Instance) and value.module is not None:
        machine.store.set(value.module, "unsure", True)
        forget_others(machine, value, None)
        if not isinstance(new, Instance) or new.module is not None:
            register_unnamed(machine, value.module, new, call, (Instance,))
    elif isinstance(value, Function):
        machine.store.put(value.attributes, ANY_NAME, UNKNOWN)
    elif isinstance(value, Instance) and isinstance(value.cls, Class):
        note_any_name(machine, value)
        _free_flags(machine, value, value.cls, call)
    elif isinstance(value, Class):
        machine.store.put(value.properties, ANY_NAME, True)
    return NONE


def _free_flags(machine: Machine, value: Instance, own: Class, call: Call) -> None:
    """`for k, v in kwargs.items(): setattr(options, k, v)`: what the class says of a flag is a default only."""
    node = call.node.args[0] if isinstance(call.node, ir.Call) and call.node.args else None
    shown = node.id if isinstance(node, ir.Name) else own.node.name
    for cls in mro(own):
        if not isinstance(cls, Class):
            continue
        for name, field in cls.fields.items():
            if isinstance(field, Const) and isinstance(field.value, bool) and name not in value.fields:
                machine.store.put(value.fields, name, Unknown(f"{shown}.{name}", True, field))


@models("builtins.delattr")
def delete_attribute_call(machine: Machine, call: Call) -> Value | None:
    """`delattr(x, name)`."""
    if len(call.positional) == 2 and isinstance(call.positional[0], Instance):
        known = text_of(call.positional[1])
        if known is not None:
            machine.store.remove(call.positional[0].fields, known)
    return NONE


@models("builtins.vars")
def fields_of(machine: Machine, call: Call) -> Value | None:
    """`vars(x)`: the fields as they are now."""
    if not call.positional:
        return Mapping(dict(call.frame.names), None, True)
    value = call.positional[0]
    if isinstance(value, Instance):
        is_open = isinstance(value.cls, External) and not is_whole(value)
        return fields_as_dict(value, is_open or value.module is not None)
    if isinstance(value, Class):
        return own_attributes(value)
    if isinstance(value, (External, ModuleValue)):
        return names_of_module(value)
    return Unknown(value.path, value.named) if isinstance(value, Unknown) else Mapping({}, None, True)


GLOBALS: Final = "builtins.globals"


@models(GLOBALS)
def global_names(machine: Machine, call: Call) -> Value | None:
    """`globals()`: a dict through which the names of the module can be changed."""
    made = Instance(External(GLOBALS))
    made.state["namespace"] = call.frame.namespace
    return made


def _names(instance: Instance) -> dict[str, Value]:
    names: dict[str, Value] = instance.state["namespace"].names
    return names


@method_models(GLOBALS, "__getitem__", "get", "pop", "setdefault")
def global_item(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`globals()[name]`: a class or function found by its name."""
    return _names(instance).get(text_of(call.argument(0, "key")) or "", UNKNOWN)


@method_models(GLOBALS, "__setitem__")
def global_assigned(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`globals()[name] = value`; after an unknown name, any name may be bound."""
    if len(call.positional) == 2:
        name = text_of(call.positional[0])
        if name is None:
            _bind_any(machine, instance)
        else:
            machine.store.put(_names(instance), name, call.positional[1])
    return NONE


@method_models(GLOBALS, "update")
def globals_updated(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`globals().update(...)`."""
    other = call.positional[0] if call.positional else None
    items = {**(other.items if isinstance(other, Mapping) else {}), **call.keywords}
    for name, value in items.items():
        if isinstance(name, str):
            machine.store.put(_names(instance), name, value)
    if call.open or (other is not None and (not isinstance(other, Mapping) or other.open)):
        _bind_any(machine, instance)
    return NONE


def _bind_any(machine: Machine, instance: Instance) -> None:
    names = _names(instance)
    if "*" not in names:
        machine.store.put(names, "*", Sequence("list", []))


@method_models(GLOBALS, "__contains__")
def global_there(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`name in globals()`."""
    name = text_of(call.positional[0]) if call.positional else None
    return BOOL if name is None else const(name in _names(instance))


def _all_globals(name: str) -> Callable[[Machine, Instance, Call], Value]:
    def run(machine: Machine, instance: Instance, call: Call) -> Value:
        items = {key: value for key, value in _names(instance).items() if key != "*"}
        return call_method(machine, Mapping(dict(items), None, True), name, call.with_arguments([]))

    return run


for _name in ("items", "keys", "values", "copy", "__iter__"):
    method_models(GLOBALS, _name)(_all_globals(_name))


@models("builtins.locals")
def local_names(machine: Machine, call: Call) -> Value | None:
    """`locals()`."""
    return Mapping(dict(call.frame.names), None, True)
