"""dataclasses, enum and typing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.classes import FIELD, own_fields
from devlint.analysis.dispatch import Call, models
from devlint.analysis.enumerations import AUTO
from devlint.analysis.models.copying import copied
from devlint.analysis.values import (
    BOOL,
    UNKNOWN,
    Class,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    const,
)

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models(
    FIELD,
    "attr.ib",
    "attr.field",
    "attrs.field",
    "pydantic.Field",
    "pydantic.v1.Field",
    "sqlmodel.Field",
    "msgspec.field",
)
def field(machine: Machine, call: Call) -> Value | None:
    """`field(default=..., default_factory=...)`: what a field is when it is not given."""
    made = Instance(External(FIELD), machine.site(call.node, call.frame))
    default = call.keywords.get("default") or (call.positional[0] if call.positional else None)
    factory = call.keywords.get("default_factory") or call.keywords.get("factory")
    if factory is not None:
        made.state["default_factory"] = factory
    elif default is not None:
        made.state["default"] = default
    return made


@models("dataclasses.dataclass", "attr.s", "attrs.define", "attr.define", "attrs.frozen")
def dataclass(machine: Machine, call: Call) -> Value | None:
    """`dataclass(C)` called as a function, and `dataclass(frozen=True)`."""
    if call.positional and isinstance(call.positional[0], Class):
        cls = call.positional[0]
        inherited = cls.dataclass_fields or []
        own = [name for name in own_fields(cls) if name not in inherited]
        machine.store.set(cls, "dataclass_fields", [*inherited, *own])
        return cls
    return External("dataclasses.dataclass")


def _names(value: Value) -> list[str] | None:
    cls = value.cls if isinstance(value, Instance) else value
    return cls.dataclass_fields if isinstance(cls, Class) else None


@models("dataclasses.asdict", "attr.asdict", "attrs.asdict")
def as_dict(machine: Machine, call: Call) -> Value | None:
    """`asdict(x)`: a dict of copies."""
    value = call.positional[0] if call.positional else UNKNOWN
    names = _names(value)
    if names is None or not isinstance(value, Instance):
        return UNKNOWN
    return Mapping({name: _plain(value.fields.get(name, UNKNOWN)) for name in names})


def _plain(value: Value, depth: int = 8) -> Value:
    names = _names(value)
    if names is not None and isinstance(value, Instance):
        if not depth:
            return UNKNOWN
        return Mapping({name: _plain(value.fields.get(name, UNKNOWN), depth - 1) for name in names})
    return copied(value, {})


@models("dataclasses.astuple")
def as_tuple(machine: Machine, call: Call) -> Value | None:
    """`astuple(x)`."""
    value = call.positional[0] if call.positional else UNKNOWN
    names = _names(value)
    if names is None or not isinstance(value, Instance):
        return UNKNOWN
    return Sequence("tuple", [_plain(value.fields.get(name, UNKNOWN)) for name in names])


@models("dataclasses.fields")
def fields(machine: Machine, call: Call) -> Value | None:
    """`fields(x)`: their names."""
    names = _names(call.positional[0]) if call.positional else None
    if names is None:
        return Sequence("tuple", [], True)
    items: list[Value] = []
    for name in names:
        one = Instance(External("dataclasses.Field"))
        one.fields["name"] = const(name)
        items.append(one)
    return Sequence("tuple", items)


@models("dataclasses.replace")
def replace(machine: Machine, call: Call) -> Value | None:
    """`replace(x, name=value)`: the class is built anew; of names that are not known any may be meant."""
    value = call.positional[0] if call.positional else UNKNOWN
    names = _names(value)
    if names is None or not isinstance(value, Instance):
        return UNKNOWN
    keywords = {name: UNKNOWN if call.open else value.fields[name] for name in names if name in value.fields}
    return call_value(machine, value.cls, call.with_arguments([], {**keywords, **call.keywords}))


@models("dataclasses.is_dataclass")
def is_dataclass(machine: Machine, call: Call) -> Value | None:
    """`is_dataclass(x)`."""
    if not call.positional or not isinstance(call.positional[0], (Instance, Class, Tensor, Mapping, Sequence)):
        return BOOL
    return const(_names(call.positional[0]) is not None)


@models("typing.cast", "torch.jit.annotate", "typing_extensions.cast")
def cast(machine: Machine, call: Call) -> Value | None:
    """`cast(T, x)` is x."""
    return call.positional[1] if len(call.positional) == 2 else UNKNOWN


@models("typing.NewType")
def new_type(machine: Machine, call: Call) -> Value | None:
    """`NewType(name, T)` called is the identity: as good as its base."""
    return call.positional[1] if len(call.positional) == 2 else UNKNOWN


@models("typing.TypeVar", "typing.ParamSpec", "typing.Generic")
def type_variable(machine: Machine, call: Call) -> Value | None:
    """Only for annotations."""
    return External("typing.Any")


@models(AUTO)
def auto(machine: Machine, call: Call) -> Value | None:
    """`auto()`: some value of its own."""
    return Instance(External(AUTO), machine.site(call.node, call.frame))


@models("typing.get_type_hints")
def hints(machine: Machine, call: Call) -> Value | None:
    """Nothing is known of annotations."""
    return UNKNOWN
