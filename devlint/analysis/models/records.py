"""dataclasses, enum and typing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import (
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
    constant,
)
from devlint.analysis.machine import text_of
from devlint.analysis.models.copying import copied
from devlint.analysis.python.enumerations import AUTO
from devlint.analysis.python.fields import FIELD, make_record

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
    """`field(default=..., default_factory=...)`: what a field is when it is not given, and how it is given."""
    made = Instance(External(FIELD), machine.site(call.node, call.frame))
    default = call.keywords.get("default") or (call.positional[0] if call.positional else None)
    factory = call.keywords.get("default_factory") or call.keywords.get("factory")
    if factory is not None:
        made.state["default_factory"] = factory
    elif default is not None:
        made.state["default"] = default
    for name in ("init", "kw_only"):
        if isinstance(constant(call.keywords.get(name)), bool):
            made.state[name] = constant(call.keywords[name])
    alias = text_of(call.keywords.get("alias"))
    if alias is not None:
        made.state["alias"] = alias
    return made


_DECORATORS: Final = (
    "dataclasses.dataclass",
    "pydantic.dataclasses.dataclass",
    *(f"attr.{name}" for name in ("s", "attrs", "attributes", "dataclass", "define", "frozen", "mutable")),
    *(f"attrs.{name}" for name in ("define", "frozen", "mutable")),
)


def _makes_records(path: str) -> None:
    """Let a decorator answer where it is called: `dataclass(C)` as a function, and `dataclass(kw_only=True)`."""

    @models(path)
    def called(machine: Machine, call: Call) -> Value | None:
        if call.positional and isinstance(call.positional[0], Class):
            return make_record(machine, call.positional[0], path, call.keywords)
        made = Instance(External(path), machine.site(call.node, call.frame))
        made.state["options"] = call.keywords
        return made

    @method_models(path, "__call__")
    def applied(machine: Machine, instance: Instance, call: Call) -> Value | None:
        cls = call.positional[0] if call.positional else UNKNOWN
        return make_record(machine, cls, path, instance.state["options"]) if isinstance(cls, Class) else cls


for _path in _DECORATORS:
    _makes_records(_path)


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
    known = fields_by_name(call.positional[0]) if call.positional else None
    return Sequence("tuple", [], True) if known is None else Sequence("tuple", list(known.items.values()))


def fields_by_name(value: Value) -> Mapping | None:
    """`x.__dataclass_fields__`: the fields of a dataclass or of an instance of one; None for what is none."""
    names = _names(value)
    if names is None:
        return None
    items: dict[Any, Value] = {}
    for name in names:
        one = Instance(External("dataclasses.Field"))
        one.fields["name"] = const(name)
        items[name] = one
    return Mapping(items)


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
