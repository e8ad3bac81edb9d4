"""Of which Python type a plain value is, and what that type is an instance of."""

from __future__ import annotations

import builtins
import collections
import collections.abc
import numbers
import os
import types
import typing
from typing import Any, Final

from devlint.analysis.domain.values import Array, Const, DeviceValue, Mapping, Scalar, Sequence, Tensor, Value

_SEQUENCES: Final[dict[str, type]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "range": range,
    "deque": collections.deque,
}
_MAPPINGS: Final[dict[str, type]] = {
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
}
_CONSTANTS: Final = (str, bytes, bool, int, float, complex)
_MODULES: Final[dict[str, Any]] = {
    "builtins": builtins,
    "collections": collections,
    "collections.abc": collections.abc,
    "numbers": numbers,
    "os": os,
    "types": types,
    "typing": typing,
}


def python_type(value: Value) -> type | None:
    """The type of a plain value; None where the value may stand for something else."""
    if isinstance(value, Const):
        return type(value.value) if isinstance(value.value, _CONSTANTS) else None
    if isinstance(value, Sequence):
        return _SEQUENCES.get(value.kind)
    if isinstance(value, Mapping):
        return _MAPPINGS.get(value.kind) if value.of is None else None
    return str if isinstance(value, Scalar) and value.kind == "string" else None


def type_name(value: Value) -> str:
    """The type of a plain value as Python's errors name it, "" where it isn't known. The sizes in a shape are tensors
    where a model is traced."""
    kind = None if isinstance(value, Sequence) and value.is_shape else python_type(value)
    if kind is None:
        return ""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def is_plain_instance(value: Value, path: str) -> bool | None:
    """Whether a plain value is an instance of a class of Python's own; None where the class or the value is none."""
    kind = python_type(value)
    module, _, name = path.rpartition(".")
    if kind is None or module not in _MODULES:
        return None
    cls = getattr(_MODULES[module], name, None) or getattr(collections.abc, name, None)
    try:
        return None if cls is None else issubclass(kind, cls)
    except TypeError:
        return None


def asked_methods(path: str) -> tuple[str, ...]:
    """The methods by which alone something is an instance of one of Python's abstract classes; () for other classes."""
    module, _, name = path.rpartition(".")
    return _ABSTRACT.get(name, ()) if module in ("collections.abc", "typing") else ()


_ABSTRACT: Final = {
    "Hashable": ("__hash__",),
    "Iterable": ("__iter__",),
    "Iterator": ("__iter__", "__next__"),
    "Reversible": ("__reversed__", "__iter__"),
    "Sized": ("__len__",),
    "Container": ("__contains__",),
    "Collection": ("__len__", "__iter__", "__contains__"),
    "Callable": ("__call__",),
}
_ITERABLE: Final = frozenset({"__iter__", "__len__", "__contains__"})
METHODS_OF: Final[dict[type, frozenset[str]]] = {
    Tensor: _ITERABLE | {"__hash__", "__reversed__"},
    Array: _ITERABLE,
    DeviceValue: frozenset({"__hash__"}),
}
"""Which of these methods the values have that are nobody's but torch's and numpy's."""


def is_alias(path: str) -> bool:
    """Whether a name stands for types that nobody knows: classes of Python's own, of numpy and torch are known, and
    those of others are written with a capital (`six.string_types` is none)."""
    module, _, name = path.rpartition(".")
    return name.islower() and module.partition(".")[0] not in _KNOWN and path not in _CLASSES


_KNOWN: Final = frozenset({*_MODULES, "numpy", "array", "datetime", "decimal", "fractions", "functools", "pathlib"})
_CLASSES: Final = frozenset({"torch.device", "torch.dtype", "torch.layout", "torch.memory_format", "torch.qscheme"})
