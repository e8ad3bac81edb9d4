"""The generic operations on values (attribute, item, iteration, truth, operators), answered by rooms by value class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import (
    ASSIGN_ATTRIBUTE,
    ASSIGN_ITEM,
    ATTRIBUTE,
    BINARY,
    CALL,
    ITEM,
    ITERATE,
    METHOD,
    TRUTH,
    Call,
    Iteration,
)
from devlint.analysis.domain.values import (
    NUMBER,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Lost,
    Method,
    ModuleValue,
    OneOf,
    Scalar,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.pytorch.devices import counts_devices
from devlint.analysis.pytorch.missing import is_missing_accelerator, missing_accelerator, too_few
from devlint.semantics.devices import OUTSIDE_TORCH

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


def attribute(machine: Machine, value: Value, name: str, node: ir.Node, frame: Frame) -> Value:
    """Return `value.name`."""
    if value.__class__ is Const and value.value is None:
        _attribute_of_none(machine, value, name, node, frame)
    if name == "__class__" and value.__class__ is not Instance:
        return _class_of(value)
    read = ATTRIBUTE.get(value.__class__)
    if read is not None:
        return read(machine, value, name, node, frame)
    return Method(value, name) if value.__class__ in METHOD else UNKNOWN


def _class_of(value: Value) -> Value:
    """`value.__class__` of a plain value: what `type` says."""
    from devlint.analysis.python.introspection import type_of

    return type_of(value)


def _attribute_of_none(machine: Machine, value: Value, name: str, node: ir.Node, frame: Frame) -> None:
    """An attribute of None: told where it is the accelerator that is missing."""
    if is_missing_accelerator(value, machine):
        missing_accelerator(machine, value, node, frame, "", name)


def assign_attribute(machine: Machine, value: Value, name: str, new: Value, node: ir.Node, frame: Frame) -> None:
    """Execute `value.name = new`."""
    write = ASSIGN_ATTRIBUTE.get(value.__class__)
    if write is not None:
        write(machine, value, name, new, node, frame)


def call_value(machine: Machine, function: Value, arguments: Call) -> Value:
    """Call a value; what is not known to be callable gives Unknown and leaves the arguments alone."""
    calls = CALL.get(function.__class__)
    return UNKNOWN if calls is None else calls(machine, function, arguments)


def call_method(machine: Machine, value: Value, name: str, call: Call) -> Value:
    """Return `value.name(...)`."""
    method = METHOD.get(value.__class__)
    if method is not None and name != "__class__":
        return method(machine, value, name, call)
    return call_value(machine, attribute(machine, value, name, call.node, call.frame), call)


def item(machine: Machine, value: Value, index: Value, node: ir.Node, frame: Frame) -> Value:
    """Return `value[index]`; `node` is the Subscript, or whatever stands for it."""
    read = ITEM.get(value.__class__)
    return UNKNOWN if read is None else read(machine, value, index, node, frame)


def assign_item(machine: Machine, value: Value, index: Value, new: Value, node: ir.Node, frame: Frame) -> None:
    """Execute `value[index] = new`."""
    write = ASSIGN_ITEM.get(value.__class__)
    if write is not None:
        write(machine, value, index, new, node, frame)


def iterate(machine: Machine, value: Value, node: ir.Node, frame: Frame, wanted: int = 0) -> Iteration | None:
    """Return what iterating gives; None when nothing is known."""
    iterates = ITERATE.get(value.__class__)
    return None if iterates is None else iterates(machine, value, node, frame, wanted)


def element(machine: Machine, value: Value, node: ir.Node, frame: Frame) -> Value:
    """Return the join of all items that iterating gives."""
    found = iterate(machine, value, node, frame)
    if found is None or not found.items:
        return UNKNOWN
    before = machine.loss.lost
    joined = found.items[0]
    for other in found.items[1:]:
        joined = machine.loss.without_bounds(joined, other)
    machine.loss.lost = before
    return joined


def truth(machine: Machine, value: Value) -> bool | None:
    """Return the truth of a value, None when it is not known."""
    asks = TRUTH.get(value.__class__)
    return None if asks is None else asks(machine, value)


def binary(machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame) -> Value:
    """Return `left operator right`."""
    if right.__class__ is Const and operator in _DIVIDING and counts_devices(machine, right):
        if _fails(left, right):
            too_few(machine, 0, "ZeroDivisionError", _DIVIDING[operator], node, frame)
            return NUMBER
    for side in (left, right):
        computes = BINARY.get(side.__class__)
        if computes is not None:
            result = computes(machine, operator, left, right, node, frame)
            if result is not None:
                return result
    return UNKNOWN


_DIVIDING: Final = {
    "/": "division by zero",
    "//": "integer division or modulo by zero",
    "%": "integer modulo by zero",
}


def _fails(left: Value, right: Const) -> bool:
    """Whether a division is one of a number by zero."""
    if right.value != 0:
        return False
    if isinstance(left, Const):
        return isinstance(left.value, (int, float))
    return left.__class__ is Scalar or (isinstance(left, Unknown) and left.named)


ANY_NAME: Final = "*"
"""Stands among the attributes of a function of which some were written by names that are not known."""
_OF_OBJECTS = frozenset({*dir(object()), "__dict__", "__module__"})
_OF_NAMED_TUPLES = frozenset({*dir(()), "_asdict", "_field_defaults", "_make", "_replace"})


_FIELDS_OF_MODULES = frozenset({"training", "forward", "dump_patches", "call_super_init", "T_destination"})


def is_of_modules(name: str) -> bool:
    """Whether every `nn.Module` has this attribute."""
    from devlint.semantics.table import lookup

    return name in _FIELDS_OF_MODULES or lookup(f"torch.nn.Module.{name}") is not None


def _is_of_torch(name: str) -> bool:
    """Whether torch has this function, or a package of this name for a kind of device."""
    from devlint.semantics.table import lookup

    return lookup(f"torch.{name}") is not None or lookup(f"torch.{name}.is_available") is not None


def has_attribute(machine: Machine, value: Value, name: str) -> bool | None:
    """Tell whether the value has an attribute of that name; None when that is not known."""
    from devlint.analysis.domain.ancestry import find, is_named_tuple, is_open_class

    if isinstance(value, Instance):
        if name in value.fields:
            return value.fields[name].__class__ is not Lost
        if value.module is not None and f"torch.nn.Module.{name}" in machine.state.replaced:
            return True
        if isinstance(value.cls, Class):
            if find(value.cls, name) is not None or find(value.cls, "__getattr__") is not None:
                return True
            if value.module is not None and is_of_modules(name):
                return True
            if is_named_tuple(value.cls):
                return None if name == "__dict__" else name in _OF_NAMED_TUPLES
            return True if name in _OF_OBJECTS else None if is_open_class(value.cls) else False
        if value.module is not None and is_of_modules(name):
            return True
        if is_only_inside(value, name) or _is_in_no_wrapper(value, name):
            return False
        if name == "device" and isinstance(value.cls, External) and value.cls.path == "torch.nn.DataParallel":
            return False
        if value.module is not None and not is_open_class(value.cls) and not value.state.get("inner"):
            return False if name == "device" or (name == "module" and is_no_wrapper(value)) else None
        return True if _has_by_row(value.cls, name) else None
    if isinstance(value, Class):
        return True if find(value, name) is not None else None if is_open_class(value) else False
    if isinstance(value, Function):
        if name in value.attributes:
            return True
        is_open = name.startswith("__") or value.node.decorators or ANY_NAME in value.attributes
        return None if is_open else False
    if isinstance(value, ModuleValue):
        return True if name in value.namespace.names else None
    if isinstance(value, External):
        if value.path != "torch":
            return None
        return False if name in OUTSIDE_TORCH else True if _is_of_torch(name) else None
    if isinstance(value, Const):
        return hasattr(value.value, name)
    if isinstance(value, DeviceValue):
        return name in ("type", "index")
    if isinstance(value, Array):
        return False if name in ("to", "cuda", "cpu", "numpy", "is_cuda", "detach") else None
    if isinstance(value, Tensor):
        from devlint.semantics.table import method

        own = None if value.attributes is None else value.attributes.get(name)
        if own is not None:
            return own.__class__ is not Lost or method(name) is not None
        return True if method(name) is not None else None
    return None


def _has_by_row(cls: External, name: str) -> bool:
    """Whether the models or the tables give an object of a library this method."""
    from devlint.analysis.dispatch import METHODS
    from devlint.semantics.table import lookup

    row = lookup(cls.path)
    moves = row is not None and row.to != "" and name in ("to", "cuda", "cpu")
    return moves or name in METHODS.get(cls.path, ())


_OF_WRAPPERS = frozenset("join no_sync register_comm_hook join_hook scatter gather replicate".split())
"""What DataParallel and DistributedDataParallel have themselves."""


_FIELDS_OF_WRAPPERS = frozenset(
    "module device device_ids device_mesh device_type dim output_device src_device_obj broadcast_bucket_size "
    "broadcast_buffers bucket_bytes_cap find_unused_parameters gradient_as_bucket_view is_multi_device_module logger "
    "mixed_precision modules_buffers named_module_buffers parallel_apply parameters_to_ignore process_group reducer "
    "require_backward_grad_sync require_forward_param_sync static_graph".split()
)
"""What their constructors set, in one release or another."""


def _is_in_no_wrapper(value: Instance, name: str) -> bool:
    """Whether a DataParallel (DDP) has nothing of this name: it is none of its own, and nobody has given it one."""
    if not isinstance(value.state.get("inner"), Instance) or not isinstance(value.cls, External):
        return False
    if name in value.fields or name.startswith("_") or ANY_NAME in value.state:
        return False
    return name not in _OF_WRAPPERS and name not in _FIELDS_OF_WRAPPERS and not is_of_modules(name)


def is_no_wrapper(value: Instance) -> bool:
    """Whether a module surely has no `.module` inside: all of its attributes are known."""
    from devlint.analysis.domain.ancestry import find, is_open_class

    module = value.module
    if module is None or module.unsure or module.children is None or "inner" in value.state or ANY_NAME in value.state:
        return False
    if "module" in value.fields or find(value.cls, "module") is not None or find(value.cls, "__getattr__") is not None:
        return False
    return not is_open_class(value.cls) or (
        isinstance(value.cls, External) and value.cls.path.startswith("torchvision.models.")
    )


def is_only_inside(value: Instance, name: str) -> bool:
    """Whether only the module in a DataParallel (DDP) has this attribute: the wrapper passes nothing on but calls."""
    from devlint.analysis.domain.ancestry import find, is_open_class
    from devlint.semantics.table import lookup

    inner = value.state.get("inner")
    if not isinstance(inner, Instance) or not isinstance(value.cls, External):
        return False
    if name in value.fields or name.startswith("_") or name in _OF_WRAPPERS:
        return False
    if lookup(f"torch.nn.Module.{name}") is not None:
        return False
    return name in inner.fields or (find(inner.cls, name) is not None and not is_open_class(inner.cls))


def path_of(value: Value) -> str | None:
    """Return the canonical name of an unknown or external value."""
    if isinstance(value, (Unknown, External)):
        return value.path
    if isinstance(value, Bound) and isinstance(value.function, External):
        return value.function.path
    return None


def _always(machine: Machine, value: Value) -> bool | None:
    return True


for _kind in (Function, Bound, Method, Class, OneOf, ModuleValue, DeviceValue):
    TRUTH[_kind] = _always


def _array_truth(machine: Machine, value: Value) -> bool | None:
    return None


TRUTH[Array] = _array_truth
