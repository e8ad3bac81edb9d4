"""What classes derive from: the order in which attributes are looked up, and what is an instance of what."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.plain_types import asked_methods
from devlint.analysis.domain.values import NONE, Class, External, Sequence, Unknown, Value
from devlint.semantics import libraries

HANDED: Final = "handed"
"""Under this key of its properties, a class keeps that code out of sight was given it."""


def mro(cls: Class) -> list[Value]:
    """Return the classes in which attributes are looked up, `cls` first (depth first, later duplicates kept last)."""
    if cls.order is None:
        order: list[Value] = [cls]
        for base in cls.bases:
            for ancestor in mro(base) if isinstance(base, Class) else [base]:
                if ancestor in order:
                    order.remove(ancestor)
                order.append(ancestor)
        cls.order = order
    return cls.order


_OBJECT: Final = External("builtins.object")
_JUST_OBJECTS: Final = frozenset({"builtins.object", "torch.nn.Module", "abc.ABC", "typing.Generic"})
"""External classes that derive from nothing but `object`."""


def whole_order(cls: Class) -> Sequence:
    """`cls.__mro__`: `object` comes last. Open where an ancestor may have others of its own."""
    order = [one for one in mro(cls) if not (isinstance(one, External) and one.path == _OBJECT.path)]
    known = all(
        isinstance(one, Class) or (isinstance(one, External) and libraries.canonical(one.path) in _JUST_OBJECTS)
        for one in order
    )
    return Sequence("tuple", [*order, _OBJECT] if known else order, not known)


def bases_of(cls: Class) -> Sequence:
    """`cls.__bases__`: `object` where the class names none."""
    return Sequence("tuple", list(cls.bases) or [_OBJECT])


def find(cls: Value, name: str) -> tuple[Value, Value] | None:
    """Return a class attribute and the class that has it."""
    if cls.__class__ is Class:
        for ancestor in cls.order or mro(cls):
            if ancestor.__class__ is Class and name in ancestor.fields:
                return ancestor.fields[name], ancestor
    return None


def external_bases(cls: Value) -> list[str]:
    """Return the dotted names of the external classes among the ancestors, nearest first."""
    if cls.__class__ is External:
        return [cls.path]
    if cls.__class__ is Class:
        return [base.path for base in cls.order or mro(cls) if base.__class__ is External]
    return []


def is_open_class(cls: Value) -> bool:
    """Whether attributes may come from an ancestor that is not in sight."""
    if isinstance(cls, External):
        return not libraries.is_closed_base(cls.path)
    return not isinstance(cls, Class) or any(
        is_open_class(base) if isinstance(base, External) else not isinstance(base, Class) for base in mro(cls)
    )


def is_named_tuple(cls: Value) -> bool:
    """Whether instances are surely named tuples."""
    return isinstance(cls, Class) and cls.dataclass_fields is not None and "typing.NamedTuple" in external_bases(cls)


def is_module_class(cls: Value) -> bool:
    """Whether instances are surely `nn.Module`s."""
    if isinstance(cls, External):
        return libraries.is_module(cls.path)
    if isinstance(cls, Class):
        if cls.is_module is None:
            cls.is_module = False
            cls.is_module = any(is_module_class(base) for base in cls.bases)
        return cls.is_module
    return False


def is_subclass(cls: Value, other: Value) -> bool | None:
    """Whether `cls` derives from `other`; None when that is not known."""
    if isinstance(cls, Class):
        if other in mro(cls):
            return True
        if isinstance(other, External):
            if any(libraries.derives(path, other.path) for path in external_bases(cls)):
                return True
            asked = asked_methods(other.path)
            if asked:
                return _has_all(cls, asked)
            return None if is_open_class(cls) and not is_module_class(cls) else False
        return None if any(isinstance(base, Unknown) for base in mro(cls)) else False
    if isinstance(cls, External) and isinstance(other, External):
        if libraries.derives(cls.path, other.path):
            return True
        asked = asked_methods(other.path)
        if asked:
            return _has_all(cls, asked) if libraries.is_module(cls.path) else None
        return False if libraries.is_class(cls.path) or libraries.are_apart(cls.path, other.path) else None
    return False if isinstance(other, Class) and isinstance(cls, External) else None


def _has_all(cls: Value, names: tuple[str, ...]) -> bool | None:
    """Whether objects of a class have all of these special methods; None where that is not known."""
    answers = [_has_special(cls, name) for name in names]
    return False if False in answers else None if None in answers else True


def _has_special(cls: Value, name: str) -> bool | None:
    """Whether objects of a class have a special method, by which abstract classes know them."""
    found = find(cls, name)
    if found is not None:
        return None if isinstance(found[0], Unknown) else found[0] is not NONE
    if name == "__hash__" and isinstance(cls, Class):
        return None if find(cls, "__eq__") is not None or cls.dataclass_fields is not None else True
    if any(name in libraries.special_methods(path) for path in external_bases(cls)):
        return True
    return None if is_open_class(cls) else False
