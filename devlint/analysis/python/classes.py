"""User classes: what is an instance of what, construction, attributes. Their order is that of `domain/ancestry`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME, call_method, call_value
from devlint.analysis.dispatch import (
    ASSIGN_ATTRIBUTE,
    ATTRIBUTE,
    BINDERS,
    CALL,
    CLASS_CONSTRUCTORS,
    CLASS_METHODS,
    METHODS,
    UNBOUND,
    Call,
    MethodModel,
    on,
)
from devlint.analysis.domain.ancestry import (
    bases_of,
    external_bases,
    find,
    is_module_class,
    is_open_class,
    is_subclass,
    mro,
    whole_order,
)
from devlint.analysis.domain.derived import Unbuilt
from devlint.analysis.domain.dtypes import dtype_library
from devlint.analysis.domain.module_state import ModuleState
from devlint.analysis.domain.plain_types import METHODS_OF, asked_methods, is_alias, is_plain_instance
from devlint.analysis.domain.values import (
    FOLLOWS,
    POISON,
    TRUE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Scalar,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.memo import memoized
from devlint.analysis.python.unions import Union
from devlint.analysis.pytorch.results import may_be_module
from devlint.semantics import libraries
from devlint.syntax import ir
from devlint.syntax.walk import assigned_attributes, attribute_writes, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_TYPED_DICTS: Final = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})
ELSEWHERE: Final = "built elsewhere"
"""A property of classes whose metaclass may build them in a way of its own."""


def note_any_name(machine: Machine, value: Instance) -> None:
    """An object is given an attribute, nobody knows which; what a model keeps of an object is left alone."""
    if not any(path in METHODS for path in external_bases(value.cls)):
        machine.store.put(value.state, ANY_NAME, True)


def let_others_write(machine: Machine, values: Iterable[Value], frame: Frame) -> None:
    """An object hands itself to something of which nothing is known (`Base.set_up(self, config)`): that may give it
    attributes as a method of its own would."""
    for value in values:
        if value is frame.receiver and isinstance(value, Instance):
            note_any_name(machine, value)


def name_fields(cls: Class, names: list[str]) -> None:
    """Give a class of named tuples its fields, in order."""
    cls.dataclass_fields = names
    cls.fields["_fields"] = Sequence("tuple", [const(name) for name in names])


def is_given_by_others(machine: Machine, cls: Value, name: str) -> bool:
    """Whether objects of a class may get an attribute from others: a class that derives from this one, beside it, gives
    what this one uses; or who builds one may give it any, `**options` that the constructor writes by their names."""
    if not isinstance(cls, Class):
        return False
    if any(
        isinstance(heir, Class) and heir is not cls and cls in mro(heir) and _gives(heir, name)
        for heir in list(cls.frame.names.values())
    ):
        return True
    return any(isinstance(base, Class) and _writes_options(machine.project, base.node) for base in mro(cls))


def _gives(cls: Class, name: str) -> bool:
    return name in cls.fields or name in set(assigned_attributes(cls.node.body))


@memoized
def _writes_options(project: Project, cls: ir.Class) -> bool:
    """Whether the constructor of a class takes `**options`, and gives its object attributes whose names it computes."""
    for init in cls.body:
        if not isinstance(init, ir.Function) or init.name != "__init__":
            continue
        options = init.parameters.variadic_keyword
        this = init.parameters.positional[0] if init.parameters.positional else ""
        body = init.body.statements
        if options and this and (_sets_by_name(body, this) or _updates(body, this, options)):
            return True
    return False


def _sets_by_name(body: list[ir.Stmt], this: str) -> bool:
    """`setattr(self, key, value)`."""
    return any(
        name is None and isinstance(holder, ir.Name) and holder.id == this for _, name, holder in attribute_writes(body)
    )


def _updates(body: list[ir.Stmt], this: str, options: str) -> bool:
    """`self.__dict__.update(options)`, `vars(self).update(options)`."""
    return any(
        isinstance(part, ir.Call)
        and last_name(part.function) == "update"
        and any(isinstance(given, ir.Name) and given.id == options for given in walk([part.args, part.keywords]))
        and any(isinstance(holder, ir.Name) and holder.id == this for holder in walk(part.function))
        for part in walk(body)
    )


_TYPES: dict[type, tuple[str, ...]] = {
    Array: ("numpy.ndarray",),
    DeviceValue: ("torch.device",),
}


def is_instance(machine: Machine, value: Value, cls: Value) -> bool | None:
    """Whether `isinstance(value, cls)`; None when that is not known."""
    members = (
        cls.members if isinstance(cls, Union) else cls.items if isinstance(cls, Sequence) and not cls.open else None
    )
    if members is not None:
        answers = [is_instance(machine, value, one) for one in members]
        return True if True in answers else None if None in answers else False
    if isinstance(cls, Const) and cls.value is None:
        return None if isinstance(value, Unknown) else isinstance(value, Const) and value.value is None
    if not isinstance(cls, (Class, External)):
        return None
    if isinstance(value, Instance):
        return is_subclass(value.cls, cls)
    if isinstance(value, Host) and isinstance(cls, External) and libraries.is_tensor_class(cls.path):
        return False
    if isinstance(cls, External) and cls.path in ("torch.dtype", "numpy.dtype"):
        library = dtype_library(value)
        if library is not None:
            return cls.path == f"{library}.dtype"
    if isinstance(value, (Unknown, External, Super)):
        return None
    if isinstance(cls, Class):
        if isinstance(value, Tensor) and may_be_module(value):
            return None  # it was only moved, or loaded: it may be anything that can be
        return None if cls.properties.get("enum") and isinstance(value, (Const, Scalar)) else False
    path = libraries.canonical(cls.path)
    if isinstance(value, (Tensor, Array, DeviceValue)):
        return _is_tensor_or_kin(value, path)
    plain = is_plain_instance(value, path)
    return _is_builtin(value, path) if plain is None else plain


def _is_tensor_or_kin(value: Tensor | Array | DeviceValue, path: str) -> bool | None:
    """Whether a tensor, an array or a device is of a class out of sight."""
    if path == "builtins.object":
        return True
    if asked_methods(path):
        return METHODS_OF[value.__class__].issuperset(asked_methods(path))
    if not isinstance(value, Tensor):
        return path in _TYPES[value.__class__]
    if path in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        return value.is_parameter
    legacy = libraries.legacy_type(path)
    if legacy is not None:
        return _is_of_legacy_type(value, *legacy)
    if path == "torch.Tensor":
        return True
    if (value.device == POISON or may_be_module(value)) and not path.startswith(("builtins.", "numpy.")):
        return None  # it was only moved, or loaded: it may be anything that can be
    if not path.startswith("torch."):
        return False
    return False if libraries.are_apart("torch.Tensor", path) else None


_FAMILIES: Final = ("builtins.", "collections.abc.", "typing.", "collections.")
"""Where Python's own classes, and the abstract ones that these derive from, have their names."""


def _is_builtin(value: Value, path: str) -> bool | None:
    """Whether a value of one of Python's own types is of a class of Python's, an abstract one included."""
    if is_alias(path) and not isinstance(value, (Function, Bound, Method)):
        return None
    name = path
    for family in _FAMILIES:
        name = name.removeprefix(family)
    if isinstance(value, Const):
        if path.startswith("builtins."):
            return name in {kind.__name__ for kind in type(value.value).__mro__}
        if name in ("Iterable", "Sequence"):
            return isinstance(value.value, (str, bytes))
        return name == "Hashable"
    if isinstance(value, Scalar):
        return False if libraries.is_tensor_class(path) or name in ("list", "tuple", "dict") else None
    if isinstance(value, Sequence):
        if name in ("Iterable", "Sized", "Collection"):
            return True
        if name in ("Sequence", "MutableSequence") and value.kind in ("list", "tuple"):
            return True
        return name in (value.kind, "object")
    if isinstance(value, Mapping):
        return name in ("dict", "Mapping", "MutableMapping", "Iterable", "Dict", value.kind, "object")
    if isinstance(value, (Function, Bound, Method)):
        return name == "Callable"
    return None


def _is_of_legacy_type(value: Tensor, kind: str, dtype: str) -> bool | None:
    """`isinstance(x, torch.LongTensor)` asks for the device and the dtype of a tensor."""
    if value.device in (None, POISON):
        return None
    if str(value.device).partition(":")[0] != kind:
        return False
    return None if value.dtype is None else value.dtype == dtype


def construct(machine: Machine, cls: Class, call: Call) -> Value:
    """Build an instance of a user class."""
    machine.visited[cls.node] = None
    if not machine.run.protocol:
        machine.sighted.add(cls.node)
    if cls.properties.get(ELSEWHERE):
        return UNKNOWN
    made = find(cls, "__new__")
    if made is not None and isinstance(made[0], Function):
        return _by_own_new(machine, cls, made[0], call)
    special = _special_class(machine, cls, call)
    if special is not None:
        return special
    instance = bare_instance(machine, cls, call)
    _initialise(machine, cls, instance, call)
    return instance


def _by_own_new(machine: Machine, cls: Class, function: Function, call: Call) -> Value:
    """What a `__new__` of the program gives; if it is an instance of the class, `__init__` is called, new or not."""
    if is_open_class(cls) and not is_module_class(cls):
        return UNKNOWN
    made = call_value(machine, Bound(function, cls), call)
    if isinstance(made, Instance) and isinstance(made.cls, Class) and is_subclass(made.cls, cls):
        _initialise(machine, made.cls, made, call)
    return made


def _initialise(machine: Machine, cls: Class, instance: Instance, call: Call) -> None:
    """Run `__init__`, or what stands for it, on a new instance."""
    init = find(cls, "__init__")
    if init is not None and isinstance(init[1], Class) and _built_by_torch(cls, init[1]):
        call_value(machine, Bound(init[0], instance), call.with_arguments([]))  # by way of torch's, which hands on none
        call_method(machine, Super(init[1], instance), "__init__", call)
    elif init is not None:
        call_value(machine, Bound(init[0], instance), call)
        if instance.module is not None and isinstance(init[0], Unknown):
            machine.store.set(instance.module, "unsure", True)  # a decorator that isn't known hides what it registers
    elif cls.dataclass_fields is not None:
        from devlint.analysis.python.fields import construct_record

        construct_record(machine, cls, instance, call)
    else:
        initialise_external(machine, cls, instance, call)
        if instance.module is not None:
            call_method(machine, Super(cls, instance), "__init__", call)


def _built_by_torch(cls: Class, owner: Class) -> bool:
    """Whether a layer of torch comes before the class whose `__init__` this is: `class Stages(nn.ModuleList, Own)`."""
    before = [base.path for base in mro(cls)[: mro(cls).index(owner)] if isinstance(base, External)]
    return any(path.startswith("torch.nn.") and path != "torch.nn.Module" for path in before)


def bare_instance(machine: Machine, cls: Class, call: Call) -> Instance:
    """An instance without fields, as `__new__` makes it."""
    instance = Instance(cls, machine.site(call.node, call.frame))
    if is_module_class(cls):
        instance.module = ModuleState()
        if not machine.run.building:
            instance.state["training"] = TRUE
    return instance


def _special_class(machine: Machine, cls: Class, call: Call) -> Value | None:
    for path in external_bases(cls):
        constructor = CLASS_CONSTRUCTORS.get(path)
        if constructor is not None:
            return constructor(machine, cls, call)
    return None


def annotated_fields(node: ir.Class) -> list[str]:
    """The names that the body of a class annotates, in order: the fields of a named tuple."""
    return [name for name, _ in annotated(node)]


def annotated(node: ir.Class) -> Iterator[tuple[str, ir.Expr]]:
    """What the body of a class annotates, in order: names and annotations."""
    for statement in node.body:
        target: ir.Expr | None = None
        annotation: ir.Expr | None = None
        if isinstance(statement, ir.Annotate):
            target, annotation = statement.target, statement.annotation
        elif isinstance(statement, ir.Assign):
            target, annotation = statement.targets[0], statement.annotation
        if isinstance(target, ir.Name) and annotation is not None:
            yield target.id, annotation


def annotations_of(cls: Class) -> Mapping:
    """`__annotations__` as it is read through an instance: that of the nearest class that annotates something."""
    named = [annotated_fields(base.node) for base in mro(cls) if isinstance(base, Class)]
    return Mapping(dict.fromkeys(next(filter(None, named), []), UNKNOWN))


def modelled(machine: Machine, instance: Instance, name: str, call: Call) -> Value | None:
    """What the models of the external bases answer for a method; None where no model does."""
    for path in external_bases(instance.cls):
        model = METHODS.get(path, {}).get(name)
        if model is not None:
            answer = ask(model, machine, instance, call)
            if answer is not None:
                return answer
    return None


def ask(model: MethodModel, machine: Machine, instance: Instance, call: Call) -> Value | None:
    """What a model says of a method; nothing is known of an object whose constructor never ran."""
    try:
        return model(machine, instance, call)
    except Unbuilt:
        return UNKNOWN


def initialise_external(machine: Machine, cls: Class, instance: Instance, call: Call) -> None:
    """What `__init__` of an external base does to an instance."""
    for path in external_bases(cls):
        initialise = METHODS.get(path, {}).get("__init__")
        if initialise is not None:
            initialise(machine, instance, call)
            return
        if path.startswith("torch.distributions."):
            from devlint.analysis.models.distributions import initialise as initialise_distribution

            initialise_distribution(machine, instance, path, call)
            return


def bind(machine: Machine, attribute: Value, receiver: Value, node: ir.Node, frame: Frame) -> Value | None:
    """What a class attribute is when read through an instance; None for a property without a getter."""
    if attribute.__class__ is Function:
        assert isinstance(attribute, Function)
        kind = attribute.kind
        if kind == "":
            return Bound(attribute, receiver)
        if kind == "property":
            return call_value(machine, Bound(attribute, receiver), Call([], {}, node, frame))
        if kind == "cached_property":
            from devlint.analysis.python.remembering import keep_property

            computed = call_value(machine, Bound(attribute, receiver), Call([], {}, node, frame))
            return keep_property(machine, attribute, receiver, computed) if isinstance(receiver, Instance) else computed
        if kind == "staticmethod":
            return attribute
        if kind == "classmethod":
            return Bound(attribute, receiver.cls if isinstance(receiver, Instance) else receiver)
        return Bound(attribute, receiver)
    if attribute.__class__ is Instance:
        assert isinstance(attribute, Instance)
        return _bind_object(machine, attribute, receiver, node, frame)
    if attribute.__class__ is External:
        assert isinstance(attribute, External)
        return Bound(attribute, receiver) if attribute.path in UNBOUND else attribute
    return attribute


def _bind_object(machine: Machine, attribute: Instance, receiver: Value, node: ir.Node, frame: Frame) -> Value:
    """What a class attribute that is an object gives when it is read through an instance or through the class."""
    from devlint.analysis.python.descriptors import read

    of_class = isinstance(receiver, Class)
    if not of_class and attribute.state.get("getter") is not None:
        return call_value(machine, Bound(attribute.state["getter"], receiver), Call([], {}, node, frame))
    if not isinstance(attribute.cls, External):
        return read(machine, attribute, receiver, node, frame)
    return Bound(attribute, receiver) if not of_class and attribute.cls.path in BINDERS else attribute


def bind_to_class(attribute: Value, cls: Class) -> Value:
    """What a class attribute is when read through the class: class methods are given it."""
    return Bound(attribute, cls) if isinstance(attribute, Function) and attribute.kind == "classmethod" else attribute


@on(ATTRIBUTE, Class)
def class_attribute(machine: Machine, value: Class, name: str, node: ir.Node, frame: Frame) -> Value:
    """`Class.name`."""
    found = find(value, name)
    if found is not None:
        if found[0].__class__ is Instance and not value.properties.get("enum"):
            return _bind_object(machine, found[0], value, node, frame)
        return bind_to_class(found[0], value)
    if name == "__name__":
        return const(value.name)
    if name == "__dict__":
        from devlint.analysis.python.attribute_names import own_attributes

        return own_attributes(value)
    if name == "__new__" and not value.properties.get("enum"):
        return External("builtins.object.__new__")
    if name in ("__subclasses__", "mro"):
        return Bound(External(f"builtins.type.{name}"), value)
    if name in ("__mro__", "__bases__"):
        return whole_order(value) if name == "__mro__" else bases_of(value)
    for path in external_bases(value):
        if name in CLASS_METHODS.get(path, ()):
            return Bound(External(f"{path}.{name}"), value)
    if name == "__members__" and value.properties.get("enum"):
        from devlint.analysis.python.enumerations import members

        return members(value)
    if value.properties.get("enum"):
        return Method(value, name)
    from devlint.analysis.models.records import fields_by_name
    from devlint.analysis.python.metaclasses import attribute_of_metaclass

    known = fields_by_name(value) if name == "__dataclass_fields__" else attribute_of_metaclass(value, name)
    return known or UNKNOWN


@on(ASSIGN_ATTRIBUTE, Class)
def assign_class_attribute(machine: Machine, value: Class, name: str, new: Value, node: ir.Node, frame: Frame) -> None:
    """`Class.name = new`."""
    machine.store.put(value.fields, name, new)
    machine.store.epoch += 1


@on(CALL, Class)
def call_class(machine: Machine, value: Class, call: Call) -> Value:
    """`Class(...)`."""
    if value.properties.get("enum"):
        from devlint.analysis.python.enumerations import by_value

        return by_value(machine, value, call) if call.positional or call.keywords else Instance(value)
    if not _TYPED_DICTS.isdisjoint(external_bases(value)):
        return call_value(machine, External("builtins.dict"), call)
    from devlint.analysis.python.metaclasses import attribute_of_metaclass

    caller = attribute_of_metaclass(value, "__call__") if value.properties else None
    return construct(machine, value, call) if caller is None else call_value(machine, caller, call)


def truth_of_isinstance(machine: Machine, value: Value, cls: Value) -> Value:
    """`isinstance(value, cls)` as a value."""
    answer = is_instance(machine, value, cls)
    return FOLLOWS if answer is None else const(answer)
