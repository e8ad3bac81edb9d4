"""What has a device: a tensor, a handle, a name, or an object that holds such or may do something with one."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.values import (
    POISON,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Maybe,
    OneOf,
    Sequence,
    Tensor,
    Value,
)
from devlint.semantics import libraries
from devlint.semantics.devices import parse_device

PARTIAL: Final = "functools.partial"


def carries_device(value: object, depth: int = 3) -> bool:
    """Whether a value has a device that is known, or holds what may have one.

    Of objects all do but files, paths and the like, those of classes that say nothing of devices as long as they hold
    none, and functions with a part of their arguments (`functools.partial`), which have what they were given.
    """
    if isinstance(value, Tensor):
        return value.device is not None and value.device != POISON
    if not isinstance(value, Instance):
        return value.__class__ is DeviceValue
    if isinstance(value.cls, External):
        if value.cls.path == PARTIAL:
            return _is_given_device(value, depth)
        return not libraries.holds_nothing(value.cls.path)
    if not depth or value.module is not None or speaks(value.cls):
        return True
    return any(_holds_device(field, depth - 1) for field in value.fields.values())


def _is_given_device(partial: Instance, depth: int) -> bool:
    """Whether the function of a `functools.partial`, or an argument that it keeps, has a device or names one."""
    kept = [partial.state["function"], *partial.state["args"], *partial.state["keywords"].values()]
    return not depth or any(_holds_device(part, depth - 1) for part in kept if part.__class__ is not Function)


def _holds_device(value: Value, depth: int) -> bool:
    """Whether what an object holds has a device, names one, or may do something with one."""
    if isinstance(value, Maybe):
        return _holds_device(value.value, depth)
    if isinstance(value, (Sequence, Mapping)):
        parts = value.items if isinstance(value, Sequence) else value.items.values()
        return not depth or any(_holds_device(part, depth - 1) for part in parts)
    return carries_device(value, depth) or names_device(value) or value.__class__ in _CALLED


_CALLED = (Function, Bound, Class, OneOf)


def speaks(cls: Class) -> bool:
    """Whether a class, or one that it derives from, says anything of devices; those out of sight may."""
    if cls.node.speaks:
        return True
    return any(
        speaks(base) if isinstance(base, Class) else not isinstance(base, External) or base.path.startswith("torch")
        for base in cls.bases
    )


def names_device(value: Value) -> bool:
    """Whether a value is the text of a device."""
    return value.__class__ is Const and isinstance(value.value, str) and parse_device(value.value) is not None


def device_type(value: Value) -> str | None:
    """The type of the device that a handle or a string names."""
    if isinstance(value, DeviceValue):
        return value.type
    named = parse_device(value.value) if value.__class__ is Const and isinstance(value.value, str) else None
    return None if named is None else named[0]
