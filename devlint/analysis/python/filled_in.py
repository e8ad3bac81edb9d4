"""Objects of which nothing is known but the devices that the program itself has written into them.

Settings are read from a file or made by a library, and the program goes on writing: `config["device"] = device`,
`opt.device = "cuda"`. Who reads them there finds what was written, whatever else the object holds. Only handles and
names of devices are kept: no move changes them, and no library puts others in their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_attribute, assign_item
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
    on,
)
from devlint.analysis.domain.carrying import names_device
from devlint.analysis.domain.values import (
    RESULT,
    UNKNOWN,
    Const,
    DeviceValue,
    FilledIn,
    Instance,
    Mapping,
    Unknown,
    Value,
)
from devlint.analysis.python.unknowns import (
    iterate_unknown,
    unknown_attribute,
    unknown_called,
    unknown_item,
    unknown_method,
    unknown_operator,
    unknown_truth,
)
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_MOST_CALLERS: Final = 6
"""How many calls up the names of an object are followed that a function was given."""

on(TRUTH, FilledIn)(unknown_truth)
on(CALL, FilledIn)(unknown_called)
on(ITERATE, FilledIn)(iterate_unknown)
on(BINARY, FilledIn)(unknown_operator)


def opened(machine: Machine, value: Value, target: ir.Attribute | ir.Subscript, new: Value, frame: Frame) -> Value:
    """The object into which `target` writes; from now on all names for it that are in sight know what that is."""
    if not (_is_unknown(machine, value) and _is_kept(new)):
        return value
    if isinstance(target, ir.Attribute):
        return _filled(machine, value, f".{target.name}", new, target.value, frame)
    index = machine.evaluate(target.index, frame) if _is_plain(target.index) else UNKNOWN
    return _filled(machine, value, _key(index), new, target.value, frame) if isinstance(index, Const) else value


def _filled(machine: Machine, value: Value, key: str, new: Value, expression: ir.Expr, frame: Frame) -> FilledIn:
    assert isinstance(value, Unknown)
    made = FilledIn(value.path, value.named, {key: new})
    if key.startswith(".") and isinstance(new, Const) and new.site is not None:
        machine.places.handed_texts.add(new.site.key)
    _stand_in(machine, value, made, expression, frame, _MOST_CALLERS)
    return made


def _is_unknown(machine: Machine, value: Value) -> bool:
    if value.__class__ is not Unknown or not isinstance(value, Unknown) or value in machine.run.parts:
        return False
    return value not in machine.run.loads and (value is UNKNOWN or value is RESULT or value.path is not None)


def _is_kept(new: Value) -> bool:
    return isinstance(new, (DeviceValue, FilledIn)) or names_device(new)


def _stand_in(machine: Machine, old: Value, made: FilledIn, expression: ir.Expr, frame: Frame, callers: int) -> None:
    """Put the object where the expression has found it."""
    if isinstance(expression, ir.Name):
        names = _home(expression, frame)
        if names is None or names.get(expression.id) is not old:
            return
        machine.store.put(names, expression.id, made)
        machine.store.epoch += 1
        if names is frame.names and callers:
            _stand_in_callers(machine, old, made, expression.id, frame, callers - 1)
    elif isinstance(expression, (ir.Attribute, ir.Subscript)) and _is_plain(expression):
        owner = machine.evaluate(expression.value, frame)
        if isinstance(expression, ir.Attribute):
            if isinstance(owner, Instance) and owner.fields.get(expression.name) is old:
                machine.store.put(owner.fields, expression.name, made)
            elif isinstance(owner, Unknown):
                owner = opened(machine, owner, expression, made, frame)
                assign_attribute(machine, owner, expression.name, made, expression, frame)
        elif isinstance(owner, (Mapping, Unknown)):
            owner = opened(machine, owner, expression, made, frame)
            assign_item(machine, owner, machine.evaluate(expression.index, frame), made, expression, frame)


def _is_plain(expression: ir.Expr) -> bool:
    """Whether an expression names an object, and asks nobody for it."""
    while isinstance(expression, (ir.Attribute, ir.Subscript)):
        if isinstance(expression, ir.Subscript) and not isinstance(expression.index, ir.Const):
            return False
        expression = expression.value
    return isinstance(expression, (ir.Name, ir.Const))


def _home(name: ir.Name, frame: Frame) -> dict[str, Value] | None:
    """The names among which a name is."""
    inner: Frame | None = frame
    while inner is not None:
        if name.id in inner.names and (name.scope is not ir.NameScope.GLOBAL or inner.function is None):
            return inner.names
        inner = inner.outer
    return frame.namespace.names if name.id in frame.namespace.names else None


def _stand_in_callers(machine: Machine, old: Value, made: FilledIn, name: str, frame: Frame, callers: int) -> None:
    """Put the object where those have it who gave it to the function that writes into it."""
    active = next((each for each in reversed(machine.run.activations) if each.frame is frame), None)
    if active is None or frame.function is None or not isinstance(active.call.node, ir.Call):
        return
    if name in _assigned(frame.function):
        return  # by now it may be another object
    call, node = active.call, active.call.node
    expression = next((value for keyword, value in node.keywords if keyword == name), None)
    if expression is None:
        given = frame.function.parameters.positional
        index = given.index(name) - (active.receiver is not None) if name in given else -1
        if not 0 <= index < len(node.args) or len(node.args) != len(call.positional):
            return
        expression = node.args[index]
    _stand_in(machine, old, made, expression, call.frame, callers)


def _assigned(function: ir.Function) -> set[str]:
    """The names that the statements of a function assign."""
    targets = (target for part in walk(function) if isinstance(part, ir.Assign) for target in part.targets)
    return {target.id for target in targets if isinstance(target, ir.Name)}


@on(ASSIGN_ATTRIBUTE, FilledIn)
def write_attribute(machine: Machine, value: FilledIn, name: str, new: Value, node: ir.Node, frame: Frame) -> None:
    """`opt.name = new`."""
    _write(machine, value, f".{name}", new)


@on(ASSIGN_ITEM, FilledIn)
def write_item(machine: Machine, value: FilledIn, index: Value, new: Value, node: ir.Node, frame: Frame) -> None:
    """`config[index] = new`."""
    if isinstance(index, Const):
        _write(machine, value, _key(index), new)
    else:
        _forget(machine, value)


def _key(index: Const) -> str:
    return f"[{index.value!r}]"


def _write(machine: Machine, value: FilledIn, key: str, new: Value) -> None:
    value.written.setdefault(key, UNKNOWN)  # as it was before, on every way
    machine.store.put(value.written, key, new if _is_kept(new) else UNKNOWN)
    machine.store.epoch += 1


def _forget(machine: Machine, value: FilledIn) -> None:
    for key in list(value.written):
        _write(machine, value, key, UNKNOWN)


def _read(value: FilledIn, key: str) -> Value | None:
    """What was written, if that is still there."""
    written = value.written.get(key)
    return None if written is UNKNOWN else written


@on(ATTRIBUTE, FilledIn)
def read_attribute(machine: Machine, value: FilledIn, name: str, node: ir.Node, frame: Frame) -> Value:
    """`opt.name`."""
    return _read(value, f".{name}") or unknown_attribute(machine, value, name, node, frame)


@on(ITEM, FilledIn)
def read_item(machine: Machine, value: FilledIn, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`config[index]`."""
    written = _read(value, _key(index)) if isinstance(index, Const) else None
    return written or unknown_item(machine, value, index, node, frame)


@on(METHOD, FilledIn)
def call_method_of(machine: Machine, value: FilledIn, name: str, call: Call) -> Value:
    """`config.get("device")`; what is given anything else may write what it likes."""
    key = call.positional[0] if name == "get" and call.positional else None
    if isinstance(key, Const):
        return _read(value, _key(key)) or unknown_method(machine, value, name, call)
    if call.positional or call.keywords or call.open:
        _forget(machine, value)
    return unknown_method(machine, value, name, call)
