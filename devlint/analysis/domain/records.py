"""Which objects are joined as what they are: records field by field, as tuples are, and members of enumerations."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.values import Class, External, Instance
from devlint.syntax import ir
from devlint.syntax.walk import walk

_BUILDERS: Final = frozenset({"__init__", "__post_init__", "__new__"})


def is_record(cls: Class) -> bool:
    """Whether the instances of a class only hold what they are given: it derives from none, and no method but its
    constructor writes to an attribute."""
    if cls.is_module or any(not (isinstance(base, External) and base.path == "builtins.object") for base in cls.bases):
        return False
    methods = [part for part in cls.node.body if isinstance(part, ir.Function) and part.name not in _BUILDERS]
    return not any(_writes(method) for method in methods)


def _writes(method: ir.Function) -> bool:
    """Whether a method assigns to attributes, or to what they hold."""
    assigned = [
        node.targets if isinstance(node, ir.Assign) else node.target
        for node in walk(method.body.statements)
        if isinstance(node, (ir.Assign, ir.Augment))
    ]
    return any(isinstance(part, ir.Attribute) for part in walk(assigned))


def is_distinct(value: Instance) -> bool:
    """Whether an object is a member of an enumeration, which equals nothing but itself."""
    cls = value.cls
    is_member = isinstance(cls, Class) and "enum" in cls.properties and "value" in value.fields
    return is_member and isinstance(cls, Class) and "__eq__" not in cls.fields
