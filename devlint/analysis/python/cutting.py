"""What is not known any more after a call that a bound leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.values import CUT, UNKNOWN, Class, Function, Instance, Lost, ModuleValue, Value, present
from devlint.analysis.memo import memoized
from devlint.analysis.python.parsed_options import leave_out
from devlint.analysis.pytorch.meeting import spoilt, tensors_in
from devlint.analysis.pytorch.module_moves import move_module
from devlint.syntax import ir
from devlint.syntax.walk import assigned_attributes, walk

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def cut(machine: Machine, bound: str, function: Function, arguments: Call, receiver: Value | None) -> Value:
    """The result of a call that a bound leaves out; a module whose constructor did not run is not known, nor is where
    the modules are that were given to a function that speaks of devices, or calls one of the project that does, nor
    which tensors objects hold by now."""
    node = function.node
    machine.count(f"cut: {bound}")
    machine.run.cuts += 1
    if machine.has_closed:
        leave_out((*_handed(machine, function), receiver, *arguments.positional, *arguments.keywords.values()))
    if node.name == "__init__" and isinstance(receiver, Instance) and receiver.module is not None:
        machine.store.set(receiver.module, "unsure", True)
    elif _speaks(machine, function) and (node.name not in ("forward", "__call__") or _places_itself(machine, receiver)):
        for value in (receiver, *arguments.positional, *arguments.keywords.values()):
            if isinstance(value, Instance) and value.module is not None:
                move_module(machine, value, None, arguments.node, arguments.frame)
    objects = [
        value
        for value in (receiver, *arguments.positional, *arguments.keywords.values())
        if isinstance(value, Instance) and isinstance(value.cls, Class)
    ]
    written = _written(machine, function) if objects else frozenset()
    for value in objects:
        _forget(machine, value, written)
    result = spoilt(arguments)
    return CUT if result is UNKNOWN else result


def _handed(machine: Machine, function: Function) -> list[Value]:
    """What a function, or one that it calls by name, hands on of what stands around it."""
    found: list[Value] = []
    for reached in _reached(machine, function):
        names = _arguments(machine.project, reached.node)
        frame: Frame | None = reached.frame
        while names and frame is not None:
            values = [(frame.names[name], is_whole) for name, is_whole in names if name in frame.names]
            found += [value for value, is_whole in values if is_whole or _is_object(value)]
            frame = frame.outer
    return found


def _is_object(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, Class)


@memoized
def _arguments(project: Project, node: ir.Function) -> frozenset[tuple[str, bool]]:
    """The names from around a function of which calls in it are given something: whether what they stand for itself, or
    an attribute of it."""
    found: set[tuple[str, bool]] = set()
    for part in walk(node.body.statements):
        given = [*part.args, *(value for _, value in part.keywords)] if isinstance(part, ir.Call) else []
        read = {id(other.value) for other in walk(given) if isinstance(other, ir.Attribute)}
        for name in walk(given):
            if isinstance(name, ir.Name) and name.scope is not ir.NameScope.LOCAL:
                found.add((name.id, id(name) not in read))
    return frozenset(found)


def _written(machine: Machine, function: Function) -> frozenset[str]:
    """The attributes that a function writes, of whatever it may be, itself or through those that it calls by name."""
    bound = len(function.frame.namespace.names)
    known = machine.written.get(function.node)
    if known is None or known[0] != bound:
        targets = (_own_targets(machine.project, reached.node) for reached in _reached(machine, function))
        known = machine.written[function.node] = bound, frozenset().union(*targets)
    return known[1]


@memoized
def _own_targets(project: Project, function: ir.Function) -> frozenset[str]:
    """The attributes that a function writes itself."""
    return frozenset(name for name in assigned_attributes(function.body.statements) if name is not None)


def _reached(machine: Machine, function: Function) -> Iterator[Function]:
    """A function, and those of the project that it calls by name, and so on."""
    waiting, met = [function], {function.node}
    while waiting:
        current = waiting.pop()
        yield current
        new = [other for other in _called(machine, current) if other.node not in met]
        met.update(other.node for other in new)
        waiting += new


def _called(machine: Machine, function: Function) -> list[Function]:
    """What a function calls by name, as far as the names of its file are bound."""
    bound = len(function.frame.namespace.names)
    known = machine.callees.get(function.node)
    if known is None or known[0] != bound:
        known = machine.callees[function.node] = bound, list(_called_by_name(function))
    return known[1]


def _speaks(machine: Machine, function: Function) -> bool:
    """Whether a function speaks of devices, or one of the project's that it calls by name, or one that this calls."""
    bound = len(function.frame.namespace.names)
    known = machine.speaking.get(function.node)
    if known is None or not (known[1] or known[0] == bound):
        speaks = any(other.node.speaks for other in _reached(machine, function))
        known = machine.speaking[function.node] = bound, speaks
    return known[1]


def _called_by_name(function: Function) -> Iterator[Function]:
    """The functions of the project that a function calls by name, as a method of its own, or as a part of a file."""
    names = function.frame.namespace.names
    for part in walk(function.node.body.statements):
        called = part.function if isinstance(part, ir.Call) else None
        other: Value | None = None
        if isinstance(called, ir.Name):
            other = names.get(called.id)
        elif isinstance(called, ir.Attribute) and isinstance(called.value, ir.Name):
            holder = names.get(called.value.id)
            if isinstance(holder, ModuleValue):
                other = holder.namespace.names.get(called.name)
            elif called.value.id == "self" and function.owner is not None:
                found = find(function.owner, called.name)
                other = None if found is None else found[0]
        if isinstance(other, Function):
            yield other


def _forget(machine: Machine, value: Instance, written: frozenset[str]) -> None:
    """What a call writes stands in the fields of an object by now, and others may where tensors stood, or where none is
    any more; what a module registers is moved, if at all."""
    kinds = value.module.kinds if value.module is not None else {}
    for name, field in list(value.fields.items()):
        if not kinds.get(name) and (name in written or isinstance(field, Lost) or tensors_in(present(field))):
            machine.store.put(value.fields, name, UNKNOWN)


def _places_itself(machine: Machine, module: Value | None) -> bool:
    """Whether a module of the program's gives its parameters other data in a method: it may put them elsewhere."""
    if not isinstance(module, Instance) or not isinstance(module.cls, Class):
        return False
    methods = [method for part in mro(module.cls) if isinstance(part, Class) for method in part.fields.values()]
    return any(_gives_data(machine.project, method.node) for method in methods if isinstance(method, Function))


@memoized
def _gives_data(project: Project, function: ir.Function) -> bool:
    """Whether a function gives something other data: `parameter.data = ...`."""
    targets = (t for part in walk(function.body.statements) if isinstance(part, ir.Assign) for t in part.targets)
    return any(isinstance(target, ir.Attribute) and target.name == "data" for target in targets)
