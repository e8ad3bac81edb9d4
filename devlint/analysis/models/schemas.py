"""pydantic and msgspec: classes whose instances take their fields by keyword, as their annotations say.

https://docs.pydantic.dev/latest/concepts/models/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.domain.ancestry import external_bases, find, mro
from devlint.analysis.domain.plain import LAZY
from devlint.analysis.domain.values import UNKNOWN, Bound, Class, Const, Instance, Mapping, Sequence, Unknown, Value
from devlint.analysis.models.copying import copied
from devlint.analysis.python.fields import Field, field_default, record_of
from devlint.analysis.python.lookup import imported_word
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

MODELS: Final = (
    "pydantic.BaseModel",
    "pydantic.main.BaseModel",
    "pydantic.v1.BaseModel",
    "pydantic.generics.GenericModel",
    "sqlmodel.SQLModel",
    "msgspec.Struct",
)
SETTINGS: Final = ("pydantic.BaseSettings", "pydantic.v1.BaseSettings", "pydantic_settings.BaseSettings")
"""Models that take what is not given from the environment."""

_KEEPING: Final = ("msgspec.Struct",)
"""Classes that take what they are given as it is."""

_CHANGES_ONE: Final = ("field_validator", "validator")
_CHANGES_ALL: Final = ("model_validator", "root_validator")

_PLAIN: Final = frozenset({"str", "int", "float", "bool", "bytes", "Any", "Optional", "Union", "Literal", "object"})
"""What an annotation may be made of for a plain value to stay what it is."""


def _initialise(machine: Machine, made: Instance, call: Call) -> Value:
    """`C(name=value, ...)`: what is given, or the default of the field."""
    cls = made.cls
    if not isinstance(cls, Class):
        return made
    fields = record_of(cls).fields
    changed = _changed(cls)
    by_other_name = bool(call.positional) or not call.keywords.keys() <= {field.parameter for field in fields}
    from_outside = call.open or any(path in SETTINGS for path in external_bases(cls))
    keeps = any(path in _KEEPING for path in external_bases(cls))
    for field in fields:
        name, value = field.name, call.keywords.get(field.name)
        if changed is None or (name in changed and (value is not None or changed[name])):
            value = UNKNOWN
        elif value is not None:
            value = value if keeps else _as_annotated(value, field.annotation)
        else:
            value = UNKNOWN if from_outside or by_other_name else _default(machine, field, call)
        machine.store.put(made.fields, name, value)
    context: list[Value] = [UNKNOWN]
    for after in ("model_post_init", "__post_init__"):
        found = find(cls, after)
        if found is not None:
            given = context if after == "model_post_init" else []
            call_value(machine, Bound(found[0], made), call.with_arguments(given))
    return made


def _names(annotation: ir.Expr | None) -> set[str]:
    return {
        part.id if isinstance(part, ir.Name) else part.name
        for part in walk(annotation)
        if isinstance(part, (ir.Name, ir.Attribute))
    }


def _changed(cls: Class) -> dict[str, bool] | None:
    """The fields that a validator of the program may change, each with whether it may change its default, too; None
    where it may be any."""
    changed: dict[str, bool] = {}
    for word, decorator, method in _decorators(cls):
        hidden = not word and isinstance(method, Unknown)
        if hidden or word in _CHANGES_ALL:
            return None
        if word in _CHANGES_ONE and isinstance(decorator, ir.Call):
            named = [part.value for part in decorator.args if isinstance(part, ir.Const)]
            if len(named) < len(decorator.args) or "*" in named:
                return None
            always = any(keyword not in ("mode", "pre") for keyword, _ in decorator.keywords)
            changed.update({str(part): always or changed.get(str(part), False) for part in named})
    return changed


def _decorators(cls: Class) -> Iterator[tuple[str, ir.Expr, Value | None]]:
    """The decorators of the methods of a class and its bases: the word by which a library has it, the decorator, and
    what it made of the method."""
    for ancestor in (one for one in mro(cls) if isinstance(one, Class)):
        for method in (one for one in ancestor.node.body if isinstance(one, ir.Function)):
            for decorator in method.decorators:
                called = decorator.function if isinstance(decorator, ir.Call) else decorator
                yield imported_word(dotted(called), ancestor.frame), decorator, ancestor.fields.get(method.name)


def _as_annotated(value: Value, annotation: ir.Expr | None) -> Value:
    """What a field is that was given a value: a model may be made of a dict, a member of an enumeration of a text, and
    a list is made anew."""
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and any(isinstance(v, Mapping) for v in value.items)):
        return UNKNOWN
    if isinstance(value, Const) and value.value is not None:
        named = _names(annotation)
        if not named <= _PLAIN or not named & {type(value.value).__name__, "Any", "Literal", "object"}:
            return UNKNOWN  # it is converted
    return value if "Any" in _names(annotation) else _anew(value)


def _anew(value: Value) -> Value:
    """Another list of the same things, with the lists in it; what is no list is itself."""
    if value.__class__ is not Sequence or value.kind == LAZY:
        return value
    made = Sequence(value.kind, [_anew(item) for item in value.items], value.open)
    made.is_shape, made.counted, made.sifted = value.is_shape, value.counted, value.sifted
    made.tail = (made.items, value.at_end())
    return made


def _default(machine: Machine, field: Field, call: Call) -> Value:
    if field.default is None:
        return UNKNOWN
    value = field_default(machine, field.default, call)
    if isinstance(value, Const) and value.value is Ellipsis:
        return UNKNOWN  # it is required
    return copied(value, {})


for _path in (*MODELS, *SETTINGS):
    method_models(_path, "__init__")(_initialise)
