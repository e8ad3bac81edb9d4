"""Modules that hold no parameter and no buffer: to move one asks for no device."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.ancestry import find, is_open_class, mro
from devlint.analysis.domain.values import (
    Class,
    Const,
    DeviceValue,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    present,
)
from devlint.analysis.pytorch.modules import registered, submodules
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

_NO_MODULE: Final = (Const, Scalar, Sequence, Mapping, Function, DeviceValue, Tensor)
"""Values of plain attributes that are surely no modules."""


def holds_nothing(value: Instance) -> bool:
    """Whether a module surely has no parameter, no buffer and no `_apply` of its own: to move it asks for no device."""
    if next(registered(value), None) is not None:
        return False
    return all(_is_bare(part) for part in submodules(value).values())


def _is_bare(part: Instance) -> bool:
    module = part.module
    assert module is not None
    if not module.is_bare or module.unsure or module.children is None or is_open_class(part.cls):
        return False
    if find(part.cls, "_apply") is not None or find(part.cls, "__setattr__") is not None:
        return False
    fields = (
        _is_no_module(part, name, present(field))
        for name, field in part.fields.items()
        if module.kinds.get(name) != "module"
    )
    children = all(isinstance(child, Instance) and child.module is not None for child in map(present, module.children))
    return children and all(fields)


def _is_no_module(part: Instance, name: str, field: Value) -> bool:
    """Whether a plain attribute is none: a class that never calls what it was given, and takes no part of it, was given
    a setting."""
    if isinstance(field, Instance):
        return field.module is None and not is_open_class(field.cls)
    if isinstance(field, Unknown):
        bodies = (
            [cls.node.body for cls in mro(part.cls) if isinstance(cls, Class)] if isinstance(part.cls, Class) else []
        )
        return not any(_uses(node, name) for body in bodies for node in walk(body))
    return isinstance(field, _NO_MODULE)


def _uses(node: ir.Node, name: str) -> bool:
    """Whether a node calls the attribute of this name, or takes a part of what it holds."""
    if isinstance(node, ir.Call):
        return last_name(node.function) == name
    inner = node.value if isinstance(node, (ir.Attribute, ir.Subscript)) else None
    return isinstance(inner, ir.Attribute) and inner.name == name
