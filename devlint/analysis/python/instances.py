"""Instances of user and external classes: attributes, methods, items, iteration, `super()`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import (
    ASSIGN_ATTRIBUTE,
    ATTRIBUTE,
    CALL,
    INSTANCE_ATTRIBUTES,
    ITEM,
    ITERATE,
    METHOD,
    METHODS,
    TRUTH,
    UNBOUND,
    Call,
    Iteration,
    on,
)
from devlint.analysis.domain.ancestry import external_bases, find, is_named_tuple, is_open_class, mro
from devlint.analysis.domain.derived import Unbuilt
from devlint.analysis.domain.module_state import CONVERTED, HIDDEN, TABLES
from devlint.analysis.domain.values import (
    NONE,
    OWN_CLASS,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Lost,
    Mapping,
    Method,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    const,
    present,
)
from devlint.analysis.models import distributions, library
from devlint.analysis.python.attribute_dicts import HELD, keep_in_dict, replace_dict
from devlint.analysis.python.classes import annotations_of, ask, bind, construct, initialise_external
from devlint.analysis.python.descriptors import comes_first, write
from devlint.analysis.python.metaclasses import metaclass_of
from devlint.analysis.python.parsed_options import is_whole
from devlint.analysis.python.replacing import replaced
from devlint.analysis.python.sequences import sequence_item
from devlint.analysis.python.unset_attributes import note_unset
from devlint.analysis.python.unwritten import end_if_unwritten
from devlint.analysis.pytorch.meeting import spoilt
from devlint.analysis.pytorch.missing import read_lost
from devlint.analysis.pytorch.module_calls import call_module
from devlint.analysis.pytorch.module_methods import base_method, module_method
from devlint.analysis.pytorch.modules import (
    CONTAINERS,
    class_name,
    forget_places,
    iterate_module,
    members,
    module_attribute,
    module_item,
    note_wrapped,
    register_attribute,
    replace_table,
    table_of,
)
from devlint.analysis.pytorch.placeholders import was_replaced
from devlint.analysis.pytorch.results import as_tensor
from devlint.analysis.pytorch.standing import forget_others
from devlint.analysis.signals import Crash
from devlint.analysis.state import SCRIPTED, TRACE
from devlint.semantics import errors

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

_FOLLOWED: Final = 2
"""How many items of an iterator of the program's own are looked at."""


@on(ATTRIBUTE, Instance)
def instance_attribute(machine: Machine, value: Instance, name: str, node: ir.Node, frame: Frame) -> Value:
    """`instance.name`: fields, then classes, then what the model of an external class knows."""
    field = value.fields.get(name)
    if isinstance(field, Lost):
        error = errors.message("no-attribute", type=class_name(value), name=name)
        return read_lost(machine, field, "set", error, name, node, frame)
    if field is not None and not comes_first(value, name):
        if name == "module" and value.module is not None:
            note_wrapped(machine, value, node, frame)
        if field.__class__ is Tensor and was_replaced(machine, value, name, field):
            return Tensor(None)
        return field
    found = find(value.cls, name)
    if found is not None:
        attribute = bind(machine, found[0], value, node, frame)
        if isinstance(attribute, Tensor) and attribute.size == 0:
            return Tensor(None)  # a placeholder of the class: instances put theirs in its place
        if attribute is not None:
            return attribute
    if name == "__class__":
        return class_of(value)
    if name == "__dict__":
        return fields_as_dict(value, not is_whole(value))
    if name == "__dataclass_fields__":
        from devlint.analysis.models.records import fields_by_name

        return fields_by_name(value) or UNKNOWN
    if name == "__annotations__" and isinstance(value.cls, Class):
        return annotations_of(value.cls)
    if distributions.ROW in value.state:
        held = distributions.read(machine, value, name, node, frame)
        if held is not None:
            return held
    if value.module is not None:
        return module_attribute(machine, value, name, node, frame)
    for path in external_bases(value.cls):
        reads = INSTANCE_ATTRIBUTES.get(path)
        if reads is not None:
            try:
                known = reads(machine, value, name, machine.site(node, frame))
            except Unbuilt:
                return UNKNOWN
            if known is not None:
                return known
        methods = METHODS.get(path)
        if methods is not None and (name in methods or "*" in methods):
            return Method(value, name)
    getter = find(value.cls, "__getattr__")
    if getter is not None:
        return call_value(machine, Bound(getter[0], value), Call([const(name)], {}, node, frame))
    if value.cls.__class__ is External:
        known = library.attribute_by_base(machine, value, name, machine.site(node, frame))
        if known is not None:
            return known
    note_unset(machine, value, name, node, frame)
    end_if_unwritten(machine, value, name, frame)
    inner = value.state.get("path")
    return Unknown(f"{inner}.{name}", bool(value.state.get("named"))) if inner else UNKNOWN


def class_of(value: Instance) -> Value:
    """The class of an object; compilers and parametrizations give layers of torch another."""
    if isinstance(value.cls, Class):
        return value.cls
    own: Value = value.state.get(OWN_CLASS, value.cls)
    return own if _CONVERTED.isdisjoint(value.state) else UNKNOWN


_CONVERTED: Final = frozenset({CONVERTED, SCRIPTED, TRACE})


def fields_as_dict(value: Instance, is_open: bool) -> Mapping:
    """`instance.__dict__`: what is written there are fields; what a module registers stands in tables of its own."""
    fields = Mapping(dict(value.fields), None, is_open)
    if value.module is not None:
        kinds = value.module.kinds
        plain = {name: field for name, field in value.fields.items() if not kinds.get(name) and name != HIDDEN}
        fields.items = {**{name: table_of(value, name) for name in TABLES}, **plain}
    fields.of = value
    return fields


@on(ASSIGN_ATTRIBUTE, Instance)
def assign_instance_attribute(
    machine: Machine, value: Instance, name: str, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`instance.name = new`: property setters run, modules register; an object of a class of the program's own may be
    given another."""
    if name == "__class__" and isinstance(new, Class) and isinstance(value.cls, Class):
        machine.store.set(value, "cls", new)
        return
    found = find(value.cls, name)
    if found is not None and isinstance(found[0], Function) and found[0].kind in ("property", "setter"):
        setter = found[0].attributes.get("setter")
        if setter is not None:
            call_value(machine, Bound(setter, value), Call([new], {}, node, frame))
        return
    if found is not None and write(machine, found[0], value, new, node, frame):
        return
    own = find(value.cls, "__setattr__")
    if own is not None and isinstance(own[0], External) and own[0].path in UNBOUND:
        call_value(machine, Bound(own[0], value), Call([const(name), new], {}, node, frame))
        return
    if own is not None and isinstance(own[0], Function) and own[0].node not in machine.run.stack:
        before = value.fields.get(name)
        call_value(machine, Bound(own[0], value), Call([const(name), new], {}, node, frame))
        if value.fields.get(name) is before and find(value.cls, "__getattr__") is None:
            machine.store.put(value.fields, name, UNKNOWN)
        return
    if value.module is not None:
        if name in TABLES:
            replace_table(machine, value, name, new)
            return
        if value.module.kinds.get(name) == "buffer":
            new = as_tensor(new)
        if machine.run.standing:
            forget_others(machine, value, name)
        register_attribute(machine, value, name, new, node, frame)
    elif name == "__dict__" and replace_dict(machine, value, new):
        return
    elif new.__class__ is Tensor:
        value.places = {**value.places, name: machine.site(node, frame)}
    machine.store.epoch += 1
    if HELD in value.state:
        keep_in_dict(machine, value, name, new)
    machine.store.put(value.fields, name, new)


@on(METHOD, Instance)
def instance_method(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`instance.name(...)`."""
    field = value.fields.get(name)
    if field is not None:
        return call_value(machine, field, call)
    return _class_method(machine, value, name, call)


def _class_method(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """A method that the class of an instance gives it."""
    found = find(value.cls, name)
    if found is not None:
        attribute = bind(machine, found[0], value, call.node, call.frame)
        return UNKNOWN if attribute is None else call_value(machine, attribute, call)
    if value.module is not None:
        own = replaced(machine, "torch.nn.Module", name) if machine.state.replaced else None
        if own is not None:
            return call_value(machine, own, call.with_arguments([value, *call.positional], call.keywords))
        return module_method(machine, value, name, call)
    getter = _getter_of(value, name)
    if getter is not None:
        taken = call_value(machine, Bound(getter, value), Call([const(name)], {}, call.node, call.frame))
        return call_value(machine, taken, call)
    if name in ("to", "cuda", "cpu") and is_open_class(value.cls):
        _lose_modules(machine, value)
    if name in _GIVES_ITSELF and is_open_class(value.cls) and any(_held_modules(value)):
        return value
    end_if_unwritten(machine, value, name, call.frame)
    return model_method(machine, value, name, call, external_bases(value.cls))


def _getter_of(value: Instance, name: str) -> Value | None:
    """The `__getattr__` that an object is asked for a method, if no class of it may have that method.

    Those that Python itself calls are looked up in the classes alone.
    """
    getter = find(value.cls, "__getattr__")
    if getter is None or (name.startswith("__") and name.endswith("__")) or is_open_class(value.cls):
        return None
    paths = external_bases(value.cls)
    modelled = (METHODS.get(path, {}) for path in paths)
    if not _WITH_METHODS.isdisjoint(paths) or any(name in methods or "*" in methods for methods in modelled):
        return None
    return getter[0]


_WITH_METHODS: Final = frozenset({"builtins.Exception", "typing.NamedTuple", "torch.autograd.Function"})
"""Classes with methods that no model answers for."""


_GIVES_ITSELF: Final = frozenset("train eval requires_grad_ float double half bfloat16 apply".split())
"""Methods by which a module gives itself: what holds modules, and derives from a class that nobody can look into, may
be one, and is moved by `network.eval().to(device)`."""


def _lose_modules(machine: Machine, value: Instance) -> None:
    """A base class that nobody can look into may be a module, and move what it holds."""
    for part in _held_modules(value):
        forget_places(machine, part)


def _held_modules(value: Instance) -> Iterator[Instance]:
    """The modules in the attributes of an object that may be none itself."""
    for part in map(present, list(value.fields.values())):
        if isinstance(part, Instance) and part.module is not None:
            yield part


def model_method(machine: Machine, value: Instance, name: str, call: Call, paths: list[str]) -> Value:
    """A method of an instance of external classes, by their models."""
    for path in paths:
        methods = METHODS.get(path)
        if methods is not None:
            if "__init__" in methods and name != "__init__" and not value.state:
                return UNKNOWN  # a class of the user's own that did not call it
            model = methods.get(name) or methods.get("*")
            if model is not None:
                answer = ask(model, machine, value, call if name in methods else _named(call, name))
                if answer is not None:
                    return answer
    return library.method(machine, value, name, call, paths)


def _named(call: Call, name: str) -> Call:
    call.keywords = {"__name__": const(name), **call.keywords}
    return call


@on(CALL, Instance)
def call_instance(machine: Machine, value: Instance, call: Call) -> Value:
    """`instance(...)`."""
    found = find(value.cls, "__call__")
    if value.module is not None and found is None:
        return call_module(machine, value, call)
    if found is not None:
        return call_value(machine, Bound(found[0], value), call)
    made = model_method(machine, value, "__call__", call, external_bases(value.cls))
    return spoilt(call) if made is UNKNOWN else made


@on(ITEM, Instance)
def instance_item(machine: Machine, value: Instance, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`instance[index]`."""
    if "names" in value.state and isinstance(value.cls, External):
        return sequence_item(machine, Sequence("tuple", _named_parts(value)), index, node, frame)
    found = find(value.cls, "__getitem__")
    if found is not None:
        return call_value(machine, Bound(found[0], value), Call([index], {}, node, frame))
    if value.module is not None:
        return module_item(machine, value, index, node, frame)
    return model_method(machine, value, "__getitem__", Call([index], {}, node, frame), external_bases(value.cls))


def _named_parts(value: Instance) -> list[Value]:
    """The parts of what torch gives as a tuple with names: `x.max(1)`."""
    return [value.fields[name] for name in value.state["names"]]


_MADE_TRUE: Final = re.compile(r".*(?:Compose|Transform|Pipeline|Model|Network|Processor|Tokenizer|Logger|Writer|Loss)")
"""Classes of other libraries whose objects are made to do something, and hardly ever empty."""


@on(TRUTH, Instance)
def instance_truth(machine: Machine, value: Instance) -> bool | None:
    """An instance is true unless it has a length; a container of modules has as many as it holds."""
    if isinstance(value.cls, External) and value.module is not None:
        if value.cls.path not in CONTAINERS:
            return True
        return bool(members(value)) if value.module.children is not None else None
    if isinstance(value.cls, External):
        name = value.cls.path.rpartition(".")[2]
        return True if value.cls.path.startswith(("torch", "re.")) or _MADE_TRUE.fullmatch(name) else None
    if find(value.cls, "__len__") or find(value.cls, "__bool__"):
        return None
    return None if is_open_class(value.cls) and value.module is None else True


@on(ITERATE, Instance)
def iterate_instance(machine: Machine, value: Instance, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """Iterating an instance: its `__iter__`, `__getitem__`, or what a model says."""
    own = find(value.cls, "__iter__")
    if own is not None:
        call = Call([], {}, node, frame)
        result = call_value(machine, Bound(own[0], value), call)
        if result is value:
            following = find(value.cls, "__next__")
            if following is None:
                return None
            return _following(machine, Bound(following[0], value), call)
        return iterate(machine, result, node, frame, wanted)
    if "names" in value.state and isinstance(value.cls, External):
        return Iteration(_named_parts(value), False)
    if isinstance(value.cls, Class) and is_named_tuple(value.cls):
        return Iteration([value.fields.get(name, UNKNOWN) for name in value.cls.dataclass_fields or ()], False)
    indexing = find(value.cls, "__getitem__")
    if indexing is not None:
        item = call_value(machine, Bound(indexing[0], value), Call([const(0)], {}, node, frame))
        return Iteration([item, item], True)
    if value.module is not None:
        return iterate_module(machine, value)
    result = model_method(machine, value, "__iter__", Call([], {}, node, frame), external_bases(value.cls))
    return None if result is UNKNOWN else iterate(machine, result, node, frame, wanted)


def _following(machine: Machine, following: Bound, call: Call) -> Iteration:
    """The first items that `__next__` gives; where it ends before, there are no more."""
    items: list[Value] = []
    while len(items) < _FOLLOWED:
        machine.run.raised = ""
        try:
            items.append(call_value(machine, following, call))
        except Crash as raised:
            if raised.kind != "StopIteration" and machine.run.raised != "builtins.StopIteration":
                raise
            return Iteration(items, False)
    return Iteration(items, True)


# -- super


@on(ATTRIBUTE, Super)
def super_attribute(machine: Machine, value: Super, name: str, node: ir.Node, frame: Frame) -> Value:
    """`super().name`."""
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    if not isinstance(cls, Class):
        return UNKNOWN
    if isinstance(receiver, Class) and value.owner not in mro(cls):
        metaclass = metaclass_of(cls)  # of which the class is an object
        cls = metaclass if metaclass is not None and value.owner in mro(metaclass) else cls
    for ancestor in _ancestors_after(cls, value.owner):
        if isinstance(ancestor, Class) and name in ancestor.fields:
            if name == "__new__":
                return ancestor.fields[name]  # is given the class
            found = bind(machine, ancestor.fields[name], receiver, node, frame)
            return UNKNOWN if found is None else found
    return Method(value, name)


def _ancestors_after(cls: Class, owner: Class) -> list[Value]:
    """The classes in which `super()` looks."""
    order = mro(cls)
    return order[order.index(owner) + 1 :] if owner in order else order[1:]


@on(METHOD, Super)
def super_method(machine: Machine, value: Super, name: str, call: Call) -> Value:
    """`super().name(...)`."""
    found = super_attribute(machine, value, name, call.node, call.frame)
    if not isinstance(found, Method):
        return call_value(machine, found, call)
    receiver = value.receiver
    if name == "__new__":
        return call_value(machine, External("builtins.object.__new__"), call)
    if isinstance(receiver, Class) and name == "__call__":
        return construct(machine, receiver, call)  # in a metaclass
    if not isinstance(receiver, Instance):
        return UNKNOWN
    if receiver.module is not None:
        return _method_of_module(machine, value, receiver, name, call)
    if name == "__setattr__" and len(call.positional) == 2 and isinstance(call.positional[0], Const):
        machine.store.put(receiver.fields, str(call.positional[0].value), call.positional[1])
        return NONE
    if name == "__init__":
        initialise_external(machine, receiver.cls, receiver, call) if isinstance(receiver.cls, Class) else None
        return NONE
    return model_method(machine, receiver, name, call, external_bases(receiver.cls))


def _method_of_module(machine: Machine, value: Super, receiver: Instance, name: str, call: Call) -> Value:
    """`super().name(...)` in a module; what comes before `nn.Module` among the bases has its own `__init__`."""
    if name == "__init__" and isinstance(receiver.cls, Class):
        following = _ancestors_after(receiver.cls, value.owner)
        first = next((base.path for base in following if isinstance(base, External)), "")
        if distributions.initialise(machine, receiver, first, call):
            return NONE
    return base_method(machine, receiver, name, call)


@on(CALL, Method)
def call_taken_method(machine: Machine, value: Method, call: Call) -> Value:
    """A method that was taken from its receiver before it is called; what the receiver was given since is another."""
    if isinstance(value.receiver, Instance):
        return _class_method(machine, value.receiver, value.name, call)
    return call_method(machine, value.receiver, value.name, call)
