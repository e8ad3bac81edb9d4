"""The classes of `collections`, and user classes that derive from them or from builtin containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import CLASS_METHODS, Call, method_models, models
from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.plain import sequence
from devlint.analysis.domain.values import (
    NONE,
    SIZE,
    UNKNOWN,
    Class,
    External,
    Instance,
    Mapping,
    Sequence,
    Value,
    const,
    is_none,
)
from devlint.analysis.machine import text_of
from devlint.analysis.python.classes import name_fields
from devlint.analysis.python.introspection import make_class
from devlint.analysis.python.mappings import METHODS as DICT_METHODS
from devlint.analysis.python.mappings import assign_mapping_item, build, delete_mapping_item, mapping_item, put
from devlint.analysis.python.sequence_methods import METHODS as LIST_METHODS
from devlint.analysis.python.sequences import assign_sequence_item, sequence_item
from devlint.analysis.pytorch.loads import take_for_data

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

DICTS: Final = (
    "builtins.dict",
    "collections.OrderedDict",
    "collections.defaultdict",
    "collections.UserDict",
    "typing.Dict",
    "transformers.BatchEncoding",
)
LISTS: Final = ("builtins.list", "collections.UserList", "collections.deque", "builtins.set")
TUPLES: Final = ("builtins.tuple", "typing.NamedTuple")


@models("collections.OrderedDict")
def ordered_dict(machine: Machine, call: Call) -> Value | None:
    """`OrderedDict(...)`."""
    return build(machine, call, "OrderedDict")


@models("collections.ChainMap")
def chain_map(machine: Machine, call: Call) -> Value | None:
    """`ChainMap(given, defaults)`: what is asked for comes from the first that has it."""
    chained: dict[Any, Value] = {}
    for part in reversed(call.positional):
        if not isinstance(part, Mapping) or part.open:
            return UNKNOWN
        chained.update(part.items)
    return Mapping(chained)


@models("collections.UserDict", "types.MappingProxyType")
def other_dict(machine: Machine, call: Call) -> Value | None:
    """Dicts that behave as such."""
    return build(machine, call)


@models("collections.defaultdict")
def default_dict(machine: Machine, call: Call) -> Value | None:
    """`defaultdict(factory, ...)`."""
    factory = call.positional[0] if call.positional else NONE
    inner = Call(call.positional[1:], call.keywords, call.node, call.frame, call.open)
    return build(machine, inner, "defaultdict", None if is_none(factory) else factory)


@models("collections.Counter")
def counter(machine: Machine, call: Call) -> Value | None:
    """`Counter(xs)`: how often is not kept."""
    made = Mapping({}, None, False, "Counter")
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    for item in found.items if found is not None else ():
        take_for_data(machine, item)  # how often weights occur nobody asks
    if call.positional and (found is None or found.open):
        return Mapping({}, SIZE, True, "Counter")
    for item in found.items if found is not None else ():
        put(machine, made, item, SIZE)
    return made


@models("collections.deque", "collections.UserList")
def deque(machine: Machine, call: Call) -> Value | None:
    """`deque(xs, maxlen=n)`: with a bound, its length is not known."""
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    is_open = (bool(call.positional) and (found is None or found.open)) or call.given(1, "maxlen") is not None
    return sequence("deque", [] if found is None else found.items, is_open)


# -- named tuples


@models("collections.namedtuple", "typing.NamedTuple")
def named_tuple(machine: Machine, call: Call) -> Value | None:
    """`namedtuple("Point", "x y")` and `NamedTuple("Point", [("x", int)])` make classes."""
    name = text_of(call.argument(0, "typename"))
    fields = _field_names(machine, call.argument(1, "field_names") or call.argument(1, "fields"), call)
    if name is None or fields is None:
        return UNKNOWN
    members: dict[str, Value] = {}
    defaults = call.keywords.get("defaults")
    if isinstance(defaults, Sequence) and not defaults.open and len(defaults.items) <= len(fields):
        members = dict(zip(fields[len(fields) - len(defaults.items) :], defaults.items, strict=True))
    made = make_class(call, name, [External("typing.NamedTuple")], members)
    name_fields(made, fields)
    return made


def _field_names(machine: Machine, value: Value | None, call: Call) -> list[str] | None:
    text = text_of(value)
    if text is not None:
        return text.replace(",", " ").split()
    if not isinstance(value, Sequence) or value.open:
        return None
    names = [text_of(item.items[0] if isinstance(item, Sequence) and item.items else item) for item in value.items]
    return None if None in names else [name for name in names if name is not None]


def _parts(instance: Instance) -> list[Value] | None:
    """The items of an instance of a named tuple."""
    names = instance.cls.dataclass_fields if isinstance(instance.cls, Class) else None
    return None if names is None else [instance.fields.get(name, UNKNOWN) for name in names]


def _as_tuple(instance: Instance) -> Sequence | None:
    parts = _parts(instance)
    return None if parts is None else Sequence("tuple", parts)


def tuple_item(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`point[0]`."""
    whole = _as_tuple(instance)
    if whole is None or not call.positional:
        return None
    return sequence_item(machine, whole, call.positional[0], call.node, call.frame)


def tuple_items(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The items, in order."""
    return _as_tuple(instance)


def tuple_size(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`len(point)`."""
    parts = _parts(instance)
    return None if parts is None else const(len(parts))


def tuple_as_dict(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`point._asdict()`."""
    parts = _parts(instance)
    if parts is None or not isinstance(instance.cls, Class):
        return None
    return Mapping(dict(zip(instance.cls.dataclass_fields or [], parts, strict=True)))


def tuple_replace(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`point._replace(x=1)`; of names that are not known any may be meant."""
    if _parts(instance) is None:
        return None
    made = Instance(instance.cls, machine.site(call.node, call.frame))
    kept = dict.fromkeys(instance.fields, UNKNOWN) if call.open else instance.fields
    made.fields = {**kept, **call.keywords}
    return made


for _path in TUPLES:
    method_models(_path, "__getitem__")(tuple_item)
    method_models(_path, "__iter__")(tuple_items)
    method_models(_path, "__len__")(tuple_size)
    method_models(_path, "_asdict")(tuple_as_dict)
    method_models(_path, "_replace")(tuple_replace)
    CLASS_METHODS[_path] = ("_make",)


@models("typing.NamedTuple._make", "builtins.tuple._make")
def tuple_make(machine: Machine, call: Call) -> Value | None:
    """`Point._make(xs)`."""
    if len(call.positional) != 2:
        return UNKNOWN
    found = iterate(machine, call.positional[1], call.node, call.frame)
    if found is None or found.open:
        return UNKNOWN
    return call_value(machine, call.positional[0], call.with_arguments(found.items))


# -- user classes that derive from containers


def data_of(machine: Machine, instance: Instance, empty: Callable[[], Value]) -> Value:
    """The container behind an instance: its `data`."""
    known = instance.fields.get("data")
    if isinstance(known, (Mapping, Sequence)):
        return known
    kept = instance.state.get("data")
    if isinstance(kept, Value):
        return kept
    made = empty()
    machine.store.put(instance.state, "data", made)
    return made


def _dict_of(machine: Machine, instance: Instance, call: Call) -> Mapping | None:
    data = data_of(machine, instance, lambda: Mapping({}, None, False))
    return data if isinstance(data, Mapping) else None


def _list_of(machine: Machine, instance: Instance, call: Call) -> Sequence | None:
    data = data_of(machine, instance, lambda: Sequence("list", []))
    return data if isinstance(data, Sequence) else None


def dict_init(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`super().__init__(...)` of a dict."""
    made = build(machine, call)
    machine.store.put(instance.state, "data", made)
    if any(getattr(base, "path", "") == "collections.UserDict" for base in _bases(instance)):
        machine.store.put(instance.fields, "data", made)
    return NONE


def _bases(instance: Instance) -> list[Value]:
    return mro(instance.cls) if isinstance(instance.cls, Class) else [instance.cls]


def list_init(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`super().__init__(xs)` of a list."""
    found = iterate(machine, call.positional[0], call.node, call.frame) if call.positional else None
    made = sequence(
        "list", [] if found is None else found.items, bool(call.positional) and (found is None or found.open)
    )
    machine.store.put(instance.state, "data", made)
    return NONE


def _delegated(name: str, methods: dict[str, Any], data: Callable[[Machine, Instance, Call], Any]) -> Any:
    def run(machine: Machine, instance: Instance, call: Call) -> Value | None:
        inner = data(machine, instance, call)
        answer: Value | None = None if inner is None else methods[name](machine, inner, call)
        return answer

    return run


def dict_set(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`d[key] = value`."""
    inner = _dict_of(machine, instance, call)
    if inner is not None and len(call.positional) == 2:
        assign_mapping_item(machine, inner, call.positional[0], call.positional[1], call.node, call.frame)
    return NONE


def dict_delete(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`del d[key]`."""
    inner = _dict_of(machine, instance, call)
    if inner is not None and call.positional:
        delete_mapping_item(machine, inner, call.positional[0], call.node, call.frame)
    return NONE


def dict_item(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`d[key]`; a class may say what a missing key is."""
    inner = _dict_of(machine, instance, call)
    if inner is None or not call.positional:
        return None
    if find(instance.cls, "__missing__") is not None:
        return UNKNOWN
    return mapping_item(machine, inner, call.positional[0], call.node, call.frame)


def list_set(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`xs[i] = value`."""
    inner = _list_of(machine, instance, call)
    if inner is not None and len(call.positional) == 2:
        assign_sequence_item(machine, inner, call.positional[0], call.positional[1], call.node, call.frame)
    return NONE


for _path in DICTS:
    for _name in DICT_METHODS:
        method_models(_path, _name)(_delegated(_name, DICT_METHODS, _dict_of))
    method_models(_path, "__init__")(dict_init)
    method_models(_path, "__getitem__")(dict_item)
    method_models(_path, "__setitem__")(dict_set)
    method_models(_path, "__delitem__")(dict_delete)
for _path in LISTS:
    for _name in LIST_METHODS:
        method_models(_path, _name)(_delegated(_name, LIST_METHODS, _list_of))
    method_models(_path, "__init__")(list_init)
    method_models(_path, "__setitem__")(list_set)
