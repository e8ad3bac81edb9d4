"""The fields of records (dataclasses, attrs, pydantic, named tuples): which a class has, and how `__init__` takes them.

https://docs.python.org/3/library/dataclasses.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.values import UNKNOWN, Bound, Class, External, Instance, Value, constant
from devlint.analysis.python.classes import annotated
from devlint.analysis.python.lookup import imported_word
from devlint.syntax import ir
from devlint.syntax.walk import dotted

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

FIELD: Final = "dataclasses.field"
"""What the model of a field makes, whichever library's it is."""
RECORD: Final = "record"
"""Under this key of its properties, a class keeps what a decorator has made of its fields."""

_AUTOMATIC: Final = {"s": False, "attrs": False, "attributes": False, "dataclass": True}
"""By the name of a decorator of attrs: whether what is annotated is a field; what isn't named here takes annotations
unless there is an `attr.ib()` without one."""


class Field:
    """A field of a record.

    `parameter`: its name in `__init__`, None where it has none there; `by_keyword`: it is given by that name alone.
    `default`: what the class says of it, None if nothing. `is_kept`: objects have it; `__post_init__` is handed what
    they haven't.
    """

    __slots__ = ("name", "annotation", "default", "parameter", "by_keyword", "is_kept")

    def __init__(
        self,
        name: str,
        annotation: ir.Expr | None,
        default: Value | None,
        parameter: str | None,
        by_keyword: bool = False,
        is_kept: bool = True,
    ) -> None:
        self.name = name
        self.annotation = annotation
        self.default = default
        self.parameter = parameter
        self.by_keyword = by_keyword
        self.is_kept = is_kept


class Record:
    """The fields of a class, those of its bases first, and the method that is called when they are set."""

    __slots__ = ("fields", "afterwards")

    def __init__(self, fields: list[Field], afterwards: str) -> None:
        self.fields = fields
        self.afterwards = afterwards


def record_of(cls: Class) -> Record:
    """The fields of a class, by its decorator or that of the nearest base; of a named tuple by its names, and of a
    model of pydantic by what it and its bases annotate."""
    for ancestor in mro(cls):
        made = ancestor.properties.get(RECORD) if isinstance(ancestor, Class) else None
        if isinstance(made, Record):
            return made
    if cls.dataclass_fields is not None:
        return Record([Field(name, None, _said_of(cls, name), name) for name in cls.dataclass_fields], "")
    fields: dict[str, Field] = {}
    for ancestor in reversed(mro(cls)):
        for name, annotation in annotated(ancestor.node) if isinstance(ancestor, Class) else ():
            is_field = not name.startswith("_") and name != "model_config"
            if is_field and isinstance(ancestor, Class) and _meant(annotation, ancestor.frame) != "ClassVar":
                fields[name] = Field(name, annotation, _said_of(cls, name), name, by_keyword=True)
            else:
                fields.pop(name, None)
    return Record(list(fields.values()), "")


def make_record(machine: Machine, cls: Class, decorator: str, options: Mapping[str, Value]) -> Class:
    """What a decorator of dataclasses or attrs makes of a class, by its dotted name and what it was given."""
    of_attrs = decorator.partition(".")[0] in ("attr", "attrs")
    fields: dict[str, Field] = {}
    for ancestor in reversed(mro(cls)[1:]):
        made = ancestor.properties.get(RECORD) if isinstance(ancestor, Class) else None
        fields.update({field.name: field for field in made.fields} if isinstance(made, Record) else {})
    by_keyword = constant(options.get("kw_only")) is True
    for name, annotation in _of_attrs(cls, decorator, options) if of_attrs else annotated(cls.node):
        meant = "" if annotation is None else _meant(annotation, cls.frame)
        if meant == "KW_ONLY":
            by_keyword = True
            continue
        if of_attrs or meant == "ClassVar":
            fields.pop(name, None)  # what attrs finds again comes last
        if meant != "ClassVar":
            fields[name] = _field(cls, name, annotation, by_keyword, of_attrs)
            fields[name].is_kept = meant != "InitVar"
    record = Record(list(fields.values()), "__attrs_post_init__" if of_attrs else "__post_init__")
    machine.store.put(cls.properties, RECORD, record)
    machine.store.set(cls, "dataclass_fields", [field.name for field in record.fields if field.is_kept])
    return cls


def _of_attrs(cls: Class, decorator: str, options: Mapping[str, Value]) -> Iterator[tuple[str, ir.Expr | None]]:
    """The fields in the body of a class of attrs: what is annotated, or what is an `attr.ib()`."""
    named = dict(annotated(cls.node))
    marked = [name for name, value in cls.fields.items() if _is_field(value)]
    asked = constant(options.get("auto_attribs"))
    automatic = asked if isinstance(asked, bool) else _AUTOMATIC.get(decorator.rpartition(".")[2])
    if automatic is None:
        automatic = named.keys() >= set(marked)
    yield from named.items() if automatic else ((name, named.get(name)) for name in marked)


def _field(cls: Class, name: str, annotation: ir.Expr | None, by_keyword: bool, of_attrs: bool) -> Field:
    """A field by its line in the class: `field(init=False)`, `field(kw_only=True)`, `attr.ib(alias="name")`."""
    own = cls.fields.get(name)
    said = own.state if isinstance(own, Instance) and _is_field(own) else {}
    parameter = str(said.get("alias", name.lstrip("_"))) if of_attrs else name
    is_given = bool(said.get("init", True))
    alone = bool(said.get("kw_only", by_keyword))
    return Field(name, annotation, _said_of(cls, name), parameter if is_given else None, alone)


def _said_of(cls: Class, name: str) -> Value | None:
    found = find(cls, name)
    return None if found is None else found[0]


def _meant(annotation: ir.Expr, frame: Frame) -> str:
    """What an annotation is, or is one of: "ClassVar" for `ClassVar[str]` and `Annotated[ClassVar[str], ...]`."""
    text = annotation.value if isinstance(annotation, ir.Const) and isinstance(annotation.value, str) else None
    head = annotation.value if isinstance(annotation, ir.Subscript) else annotation
    meant = imported_word(dotted(head) if text is None else text.partition("[")[0].strip(), frame)
    if meant == "Annotated" and isinstance(annotation, ir.Subscript) and isinstance(annotation.index, ir.Display):
        return _meant(annotation.index.items[0], frame)
    return meant


def construct_record(machine: Machine, cls: Class, instance: Instance, call: Call) -> None:
    """`C(...)`: each field is what is given for it, or else what the class says of it."""
    record = record_of(cls)
    position = 0
    handed: list[Value] = []
    for field in record.fields:
        value: Value | None = None
        if field.parameter is not None:
            value = call.argument(-1 if field.by_keyword else position, field.parameter)
            position += not field.by_keyword
        if value is None:
            may_be_given = call.open and field.parameter is not None
            value = UNKNOWN if may_be_given or field.default is None else field_default(machine, field.default, call)
        if field.is_kept:
            machine.store.put(instance.fields, field.name, value)
        else:
            handed.append(value)
    after = find(cls, record.afterwards)
    if after is not None:
        call_value(machine, Bound(after[0], instance), Call(handed, {}, call.node, call.frame))


def _is_field(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == FIELD


def field_default(machine: Machine, value: Value, call: Call) -> Value:
    """What a field is that is not given, by what the class says of it."""
    if not isinstance(value, Instance) or not _is_field(value):
        return value
    factory = value.state.get("default_factory")
    if factory is not None:
        return call_value(machine, factory, Call([], {}, call.node, call.frame))
    default: Value = value.state.get("default", UNKNOWN)
    return default
