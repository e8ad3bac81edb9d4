"""Tensors that stand in attributes until something takes their place: empty ones to which it is joined, and who else
may put another there; ones of a single element, which an input of another size replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.ancestry import external_bases, mro
from devlint.analysis.domain.values import Class, Function, Instance, Tensor
from devlint.analysis.frames import held
from devlint.analysis.pytorch.roots import made_in_entry
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devlint.analysis.frames import Frame, Namespace
    from devlint.analysis.machine import Machine

_CALL_NO_HOOKS = frozenset(
    {"torch.nn.Module", "torch.utils.data.Dataset", "object", "abc.ABC", "typing.Generic", "typing.Protocol"}
)
"""Bases that call no method of a class that the program doesn't call."""


def is_untouched(machine: Machine, tensor: Tensor, written: ir.Attribute, frame: Frame) -> bool:
    """Whether the tensor that an attribute holds is surely the one that stands there when a program comes here."""
    owner = frame.names.get(written.value.id) if isinstance(written.value, ir.Name) else None
    if not isinstance(owner, Instance) or not isinstance(owner.cls, Class):
        return False
    if owner.fields.get(written.name) is not tensor:
        return False
    if not machine.run.protocol and _CALL_NO_HOOKS.issuperset(external_bases(owner.cls)):
        return True
    return _only_grows(machine, owner.cls, written.name)


def was_replaced(machine: Machine, owner: Instance, name: str, tensor: Tensor) -> bool:
    """Whether an empty tensor that a constructor has put into an attribute only keeps the place free: an entry by
    protocol comes to it before the method that fills it, which no program does."""
    if tensor.size != 0 or not machine.run.protocol or not isinstance(owner.cls, Class):
        return False
    if owner.module is not None and owner.module.kinds.get(name):
        return False
    return not made_in_entry(machine, tensor.origin) and not _only_grows(machine, owner.cls, name)


def forget_placeholder(machine: Machine, asked: ir.Expr, other: ir.Expr, frame: Frame) -> None:
    """A condition proves that a tensor in an attribute has the size of something else: `self.grid.shape == x.shape`.
    One that was made with a single element was replaced by an earlier input; where that is nobody knows."""
    index: object = None
    if isinstance(asked, ir.Subscript):
        index = getattr(asked.index, "value", ...)
        asked = asked.value
    elif isinstance(asked, ir.Call):
        index = getattr(asked.args[0], "value", ...) if asked.args else None
        asked = asked.function
    if not isinstance(asked, ir.Attribute) or asked.name not in ("shape", "size") or isinstance(other, ir.Const):
        return
    written = asked.value
    owner = held(written.value, frame) if isinstance(written, ir.Attribute) else None
    if not isinstance(owner, Instance) or not isinstance(written, ir.Attribute):
        return
    tensor = owner.fields.get(written.name)
    if isinstance(tensor, Tensor) and _is_single(tensor, index):
        machine.store.put(owner.fields, written.name, Tensor(None, tensor.rank))
        machine.store.epoch += 1


_OF_SIZES = frozenset({"zeros", "ones", "empty", "rand", "randn"})
"""Functions that are given nothing but the size of what they make."""


def _is_single(tensor: Tensor, index: object) -> bool:
    """Whether a tensor was made with one element along a dimension, or none, as it is written down, or altogether."""
    origin = tensor.origin.find("factory") if tensor.origin is not None else None
    if origin is None or not isinstance(origin.node, ir.Call) or last_name(origin.node.function) not in _OF_SIZES:
        return False
    written = [
        part for given in origin.node.args for part in (given.items if isinstance(given, ir.Display) else [given])
    ]
    sizes = [part.value for part in written if isinstance(part, ir.Const)]
    if len(sizes) != len(written) or not all(isinstance(size, int) for size in sizes):
        return False
    if index is None:
        return all(size in (0, 1) for size in sizes)
    return isinstance(index, int) and -len(sizes) <= index < len(sizes) and sizes[index] in (0, 1)


def _only_grows(machine: Machine, cls: Class, name: str) -> bool:
    """Whether nothing but constructors, and what is computed from the attribute itself, is ever put into it."""
    classes = [part for part in mro(cls) if isinstance(part, Class)]
    built = {
        id(node)
        for part in classes
        for method in part.node.body
        if isinstance(method, ir.Function) and method.name == "__init__"
        for node in walk(method)
    }
    spaces = [*machine.namespaces.values(), *(part.frame.namespace for part in classes)]
    return all(
        id(node) in built or _is_computed_from(node, name, space)
        for space in {id(space.module): space for space in spaces}.values()
        if name in space.module.text
        for node in _writes(space.module, name)
    )


def _writes(module: ir.Module, name: str) -> Iterator[ir.Node]:
    """The nodes of a file that put something into an attribute of this name."""
    for node in walk(module.body):
        if isinstance(node, ir.Assign):
            targets = node.targets
        elif isinstance(node, (ir.For, ir.Augment)):
            targets = [node.target]
        else:
            if isinstance(node, ir.Call) and any(getattr(part, "value", None) == name for part in node.args):
                yield node
            continue
        if any(isinstance(part, ir.Attribute) and part.name == name for part in walk(targets)):
            yield node


def _is_computed_from(node: ir.Node, name: str, space: Namespace) -> bool:
    """Whether an assignment puts in what is joined to the attribute itself: `self.seen = torch.cat([self.seen, x])`, or
    what a function of the file gives back that does it."""
    if not isinstance(node, ir.Assign) or not isinstance(node.value, ir.Call):
        return False
    if _joins(node.value, name, ""):
        return True
    called = node.value.function
    helper = space.names.get(called.id) if isinstance(called, ir.Name) else None
    if not isinstance(helper, Function):
        return False
    given = zip(helper.node.parameters.positional, node.value.args, strict=False)
    parameter = next((own for own, part in given if isinstance(part, ir.Attribute) and part.name == name), "")
    returned = [part.value for part in walk(helper.node.body.statements) if isinstance(part, ir.Return)]
    return bool(returned) and all(isinstance(part, ir.Call) and _joins(part, name, parameter) for part in returned)


def _joins(call: ir.Call, name: str, parameter: str) -> bool:
    """Whether a call is given a list in which the attribute stands, or the parameter that was given it."""
    items = [item for given in call.args if isinstance(given, ir.Display) for item in given.items]
    return any(
        item.name == name if isinstance(item, ir.Attribute) else isinstance(item, ir.Name) and item.id == parameter
        for item in items
    )
