"""Metaclasses of the program: those that decide how instances come about, as a singleton's does, are followed.

What makes classes otherwise than their bodies say (`__new__`, `__prepare__` of the metaclass) leaves them unknown.
"""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.ancestry import external_bases, find, mro
from devlint.analysis.domain.values import Bound, Class, External, Function, Value
from devlint.analysis.python.classes import ELSEWHERE

METACLASS: Final = "metaclass"
_PLAIN: Final = ("abc.ABCMeta", "builtins.type")
_BASES: Final = (*_PLAIN, "builtins.object")
_MAKES_OTHERS: Final = ("__new__", "__init__", "__prepare__", "__getattribute__", "__getattr__", "__setattr__")


def take_metaclass(cls: Class, metaclass: Value) -> None:
    """Note what `metaclass=` says of a class."""
    if isinstance(metaclass, External) and metaclass.path in _PLAIN:
        return
    known = isinstance(metaclass, Class) and all(path in _BASES for path in external_bases(metaclass))
    if known and not any(find(metaclass, name) for name in _MAKES_OTHERS):
        cls.properties[METACLASS] = metaclass
    else:
        cls.properties[ELSEWHERE] = True


def inherit_metaclass(cls: Class) -> None:
    """A class has the metaclass of its bases. One that answers for all attributes of its objects makes these otherwise
    than its body says, too."""
    if "__getattribute__" in cls.fields:
        cls.properties[ELSEWHERE] = True
    for base in mro(cls)[1:]:
        if isinstance(base, Class) and base.properties.get(ELSEWHERE):
            cls.properties[ELSEWHERE] = True
        elif isinstance(base, Class) and METACLASS in base.properties:
            cls.properties.setdefault(METACLASS, base.properties[METACLASS])


def metaclass_of(cls: Class) -> Class | None:
    """The metaclass of a class, where the program has one of its own for it."""
    metaclass = cls.properties.get(METACLASS)
    return metaclass if isinstance(metaclass, Class) else None


def attribute_of_metaclass(cls: Class, name: str) -> Value | None:
    """What a class has from its metaclass; None if nothing that is known."""
    metaclass = metaclass_of(cls)
    found = None if metaclass is None else find(metaclass, name)
    if found is None:
        return None
    return Bound(found[0], cls) if isinstance(found[0], Function) else found[0]
