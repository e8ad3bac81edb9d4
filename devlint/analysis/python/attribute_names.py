"""What `dir()` and the `__dict__` of a class say of the attributes that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME, has_attribute, is_of_modules, path_of
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.ancestry import external_bases, find, mro
from devlint.analysis.domain.module_state import HIDDEN, UNNAMED
from devlint.analysis.domain.values import (
    BOOL,
    STRING,
    UNKNOWN,
    Class,
    External,
    Instance,
    Mapping,
    ModuleValue,
    Sequence,
    Value,
    const,
)
from devlint.analysis.machine import text_of
from devlint.analysis.python.classes import is_given_by_others

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

DIR: Final = "builtins.dir"
"""The class of what `dir(x)` gives: a list that knows of `x` which names are in it."""
_DIR_CLASS: Final = External(DIR)
_MODULE: Final = "torch.nn.Module"
_PLAIN: Final = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", _MODULE})
"""Classes whose public attributes are all known."""
_STAND_INS: Final = frozenset({HIDDEN, UNNAMED})
"""Fields that stand for others of a module, of which nobody knows the names."""
_OF_CLASSES: Final = ("__module__", "__dict__", "__weakref__", "__doc__")


@models(DIR)
def names_of(machine: Machine, call: Call) -> Value | None:
    """`dir(x)`: the names of the fields are known, and what a class has besides stays where it is."""
    value = call.positional[0] if call.positional else UNKNOWN
    if not isinstance(value, (Instance, Class, ModuleValue)):
        return Sequence("list", [STRING], True)
    made = Instance(_DIR_CLASS, machine.site(call.node, call.frame))
    made.state["of"] = value
    return made


@method_models(DIR, "__contains__")
def is_name(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`name in dir(x)`."""
    name = text_of(call.positional[0]) if call.positional else None
    answer = None if name is None else _is_listed(machine, instance.state["of"], name)
    return BOOL if answer is None else const(answer)


@method_models(DIR, "__iter__", "copy")
def all_names(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`for name in dir(x)`."""
    value = instance.state["of"]
    if isinstance(value, Instance) and value.fields and _STAND_INS.isdisjoint(value.fields):
        return Sequence("list", [const(name) for name in value.fields], False)
    return Sequence("list", [STRING], True)


def _is_listed(machine: Machine, value: Value, name: str) -> bool | None:
    """Whether `dir()` of an object, class or file has a name; None where that is not known.

    What a class gives by `__getattr__` is not in it.
    """
    cls = value.cls if isinstance(value, Instance) else value
    if find(cls, "__dir__") is not None:
        return None
    if isinstance(value, Instance) and name in value.fields:
        return True
    if not isinstance(cls, Class):
        return True if has_attribute(machine, value, name) else None
    if find(cls, name) is not None:
        return None if _is_taken_away(cls, name) else True
    if _MODULE in external_bases(cls) and is_of_modules(name):
        return True
    is_known = _is_in_sight(cls) and not (isinstance(value, Instance) and _may_have_any(value))
    by_heir = machine.run.protocol and is_given_by_others(machine, cls, name)
    return None if not is_known or by_heir or name.startswith("_") else False


def _may_have_any(value: Instance) -> bool:
    """Whether an object was given attributes whose names are not known."""
    return ANY_NAME in value.state or (value.module is not None and value.module.unsure)


def _is_in_sight(cls: Class) -> bool:
    """Whether all that a class and its ancestors define is seen."""
    return all(
        _is_plain(ancestor) if isinstance(ancestor, Class) else path_of(ancestor) in _PLAIN for ancestor in mro(cls)
    )


def _is_plain(cls: Class) -> bool:
    """Whether a class has the attributes that its body gives it, and no others."""
    return cls.dataclass_fields is None and not cls.properties and not cls.node.decorators


def _is_taken_away(cls: Class, name: str) -> bool:
    """Whether a dataclass may have made a field of what its body says, and keeps no default."""
    return any(isinstance(ancestor, Class) and name in (ancestor.dataclass_fields or ()) for ancestor in mro(cls))


def own_attributes(cls: Class) -> Mapping:
    """`cls.__dict__`: what the class itself defines; some names are in each."""
    given: dict[str, Value] = dict.fromkeys(_OF_CLASSES, UNKNOWN)
    own = {name: field for name, field in cls.fields.items() if name not in (cls.dataclass_fields or ())}
    return Mapping({**given, **own}, None, not _is_plain(cls))
