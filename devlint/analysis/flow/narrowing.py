"""What a condition proves on the side where it holds, or does not, of the names and attributes that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import path_of, truth
from devlint.analysis.domain.values import (
    NONE,
    PRESENT,
    Const,
    DeviceValue,
    Instance,
    Maybe,
    Scalar,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.python.environment import note_launcher
from devlint.analysis.pytorch.placeholders import forget_placeholder
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def narrow(machine: Machine, test: ir.Expr, frame: Frame, holds: bool) -> None:
    """Bind what a condition proves of a name or attribute on the side where it holds (or does not)."""
    if isinstance(test, (ir.Name, ir.Walrus)):
        _tell(machine, test.target if isinstance(test, ir.Walrus) else test, frame, holds, by_truth=True)
    elif isinstance(test, ir.Unary) and test.operator == "not":
        narrow(machine, test.value, frame, not holds)
    elif isinstance(test, ir.Bool):
        if test.is_and is holds:
            for part in test.values:
                narrow(machine, part, frame, holds)
    elif isinstance(test, ir.Compare):
        note_launcher(machine, test, frame, holds)
        if test.operator == ("in" if holds else "not-in"):
            _bind_one_of(machine, test, frame)
        if test.operator == ("==" if holds else "!="):
            forget_placeholder(machine, test.left, test.right, frame)
            forget_placeholder(machine, test.right, test.left, frame)
        if isinstance(test.right, ir.Const) and test.right.value is None and test.operator in _EQUALITIES:
            is_there = _EQUALITIES[test.operator] is not holds
            asked_of = test.left.target if isinstance(test.left, ir.Walrus) else test.left
            if not _tell(machine, asked_of, frame, is_there) and not is_there:
                _bind_none(machine, asked_of, test, frame)
    elif holds and isinstance(test, ir.Call) and test.args and isinstance(test.args[0], (ir.Name, ir.Attribute)):
        asked = path_of(machine.evaluate(test.function, frame))
        if asked not in ("torch.is_tensor", "builtins.isinstance") or _admits_none(test.args[1:]):
            return
        kinds = [path_of(machine.evaluate(part, frame)) for part in test.args[1:]]
        if not _tell(machine, test.args[0], frame, True) and kinds in ([], ["torch.Tensor"]):
            _bind(machine, test.args[0], frame, Tensor(None))
    elif isinstance(test, ir.Attribute):
        if test.name != "is_cuda":
            _tell(machine, test, frame, holds, by_truth=True)
        elif isinstance(test.value, ir.Name):
            _bind_device(machine, test.value, frame, holds)


def is_for_arrays(machine: Machine, value: Tensor, node: ir.Node, frame: Frame) -> bool:
    """Whether a place is on the way that a function takes where what it was given is no tensor, of which nobody knows
    whether it is one: what it was given besides is of the same kind. So is what it hands on from there."""
    if _is_on_way(machine, node, frame, False):
        return True
    made = 0 if value.origin is None else value.origin.tick
    return any(
        made < active.tick and _is_on_way(machine, active.call.node, active.call.frame, False)
        for active in machine.run.activations
    )


def is_for_tensors(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether a place is on the way that a function takes where something else that it was given is a tensor, of which
    nobody knows whether it is one."""
    return _is_on_way(machine, node, frame, True)


def _is_on_way(machine: Machine, node: ir.Node, frame: Frame, of_tensors: bool) -> bool:
    if frame.function is None:
        return False
    for part in walk(frame.function.body.statements):
        if not isinstance(part, ir.If):
            continue
        asked, is_tensor = part.test, True
        while isinstance(asked, ir.Unary) and asked.operator == "not":
            asked, is_tensor = asked.value, not is_tensor
        if isinstance(asked, ir.Compare) and asked.operator in ("is-not", "!="):
            is_tensor = not is_tensor
        given = _asked_for_tensor(machine, asked, frame)
        if not isinstance(given, ir.Name) or not isinstance(frame.names.get(given.id), Unknown):
            continue
        arm, other = (part.body, part.orelse) if is_tensor is of_tensors else (part.orelse, part.body)
        if any(inner is node for inner in walk(arm)):
            return True
        if other and isinstance(other[-1], ir.Return) and node.at.lineno > part.at.lineno:
            if not any(inner is node for inner in walk(other)):
                return True
    return False


def _asked_for_tensor(machine: Machine, test: ir.Expr, frame: Frame) -> ir.Expr | None:
    """Of what a condition asks whether it is a tensor: `isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`, `type(x) is
    torch.Tensor`."""
    if isinstance(test, ir.Compare) and test.operator in _EQUALITIES and isinstance(test.left, ir.Call):
        if isinstance(test.right, ir.Attribute) and path_of(machine.evaluate(test.right, frame)) == "torch.Tensor":
            is_type = path_of(machine.evaluate(test.left.function, frame)) == "builtins.type"
            return test.left.args[0] if is_type and len(test.left.args) == 1 else None
        return None
    if not isinstance(test, ir.Call) or not test.args:
        return None
    asked = path_of(machine.evaluate(test.function, frame))
    if asked == "torch.is_tensor":
        return test.args[0]
    kinds = test.args[1:]
    if asked != "builtins.isinstance" or len(kinds) != 1 or not isinstance(kinds[0], (ir.Name, ir.Attribute)):
        return None
    return test.args[0] if path_of(machine.evaluate(kinds[0], frame)) == "torch.Tensor" else None


def _admits_none(classes: list[ir.Expr]) -> bool:
    """Whether None may be an instance of what an `isinstance` asks for: `type(None)`, or what is computed."""
    return not all(_is_class(part) for part in walk(classes))


def _is_class(part: ir.Node) -> bool:
    return isinstance(part, (ir.Name, ir.Attribute, ir.Display)) or (
        isinstance(part, ir.Binary) and part.operator == "|"
    )


_EQUALITIES = {"is": True, "==": True, "is-not": False, "!=": False}


def is_used(machine: Machine, node: ir.Expr, frame: Frame) -> None:
    """What is read of a value that might be None is there: else the program is over, unless it catches that. So is what
    is None for all that is known: some code out of sight has filled it."""
    if machine.run.trying or _tell(machine, node, frame, True):
        return
    names = _holder(node, frame)
    held = None if names is None else names.get(_name_of(node))
    if names is not None and isinstance(held, Const) and held.value is None and held.site is None:
        machine.store.put(names, _name_of(node), PRESENT)
        if names is not frame.names:
            machine.store.epoch += 1


def _tell(machine: Machine, node: ir.Expr, frame: Frame, is_there: bool, by_truth: bool = False) -> bool:
    """Put the value, or None, where a value stands that might be None; says whether there was such a one.

    By its truth alone a value is known to be None only where it is always true.
    """
    names = _holder(node, frame)
    name = _name_of(node)
    held = None if names is None else names.get(name)
    if names is None or not isinstance(held, Maybe):
        return False
    if is_there or not by_truth or truth(machine, held.value):
        machine.store.put(names, name, held.value if is_there else NONE)
        if names is not frame.names:
            machine.store.epoch += 1
    return True


def _name_of(node: ir.Expr) -> str:
    return node.id if isinstance(node, ir.Name) else node.name if isinstance(node, ir.Attribute) else ""


def _holder(node: ir.Expr, frame: Frame) -> dict[str, Value] | None:
    """The names or fields among which a name or a chain of attributes has its value, if that takes no evaluation."""
    if isinstance(node, ir.Attribute):
        names = _holder(node.value, frame)
        base = None if names is None else names.get(_name_of(node.value))
        return base.fields if isinstance(base, Instance) else None
    if not isinstance(node, ir.Name):
        return None
    inner: Frame | None = frame
    while inner is not None and node.scope is not ir.NameScope.GLOBAL:
        if node.id in inner.names:
            return inner.names
        inner = inner.outer
    return frame.namespace.names


def _bind_device(machine: Machine, name: ir.Name, frame: Frame, is_cuda: bool) -> None:
    """Bind a tensor that nothing is known of: on the GPU that programs use unless told otherwise, or on the CPU."""
    value = frame.names.get(name.id)
    if value.__class__ is Tensor and value.device is None and machine.has_cuda:
        device = f"cuda:{machine.state.current_device or 0}" if is_cuda else "cpu"
        origin = machine.origin("input", name, frame, device, name.id)
        known = Tensor(device, value.rank, origin, assumed=True, dtype=value.dtype, size=value.size)
        machine.store.put(frame.names, name.id, known)


def bind_agreeing(machine: Machine, test: ir.Expr, frame: Frame) -> None:
    """Bind a tensor that nothing is known of where another one is, if an assertion says so:
    `assert key.device == query.device`."""
    for part in test.values if isinstance(test, ir.Bool) and test.is_and else [test]:
        if not isinstance(part, ir.Compare) or part.operator != "==":
            continue
        for asked, other in ((part.left, part.right), (part.right, part.left)):
            if not (isinstance(asked, ir.Attribute) and asked.name == "device" and isinstance(asked.value, ir.Name)):
                continue
            value, place = frame.names.get(asked.value.id), machine.evaluate(other, frame)
            is_open = value.__class__ is Unknown or (value.__class__ is Tensor and value.device is None)
            if is_open and isinstance(place, DeviceValue) and place.of is not None and place.of.device is not None:
                origin = machine.origin("input", asked.value, frame, place.of.device, asked.value.id)
                known = Tensor(place.of.device, None, origin, assumed=True)
                if isinstance(value, Tensor):
                    known = Tensor(
                        place.of.device, value.rank, origin, assumed=True, dtype=value.dtype, size=value.size
                    )
                machine.store.put(frame.names, asked.value.id, known)


def _bind_none(machine: Machine, node: ir.Expr, test: ir.Expr, frame: Frame) -> None:
    """Bind to None what is not known: a name, or an attribute, of which the condition says so."""
    if isinstance(node, ir.Name):
        _bind(machine, node, frame, NONE)
        return
    names = _holder(node, frame)
    held = None if names is None else names.get(_name_of(node))
    if names is not None and held.__class__ is Unknown:
        machine.store.put(names, _name_of(node), Const(None, machine.site(test, frame)))
        machine.store.epoch += 1


def _bind_one_of(machine: Machine, test: ir.Compare, frame: Frame) -> None:
    """Bind what is not known to one of the texts in a display: `assert mode in ("train", "test")`."""
    items = test.right.items if isinstance(test.right, ir.Display) else []
    texts = [part.value for part in items if isinstance(part, ir.Const) and isinstance(part.value, str)]
    if texts and len(texts) == len(items):
        _bind(machine, test.left, frame, Scalar(kind="string", among=frozenset(texts)))


def _bind(machine: Machine, name: ir.Expr, frame: Frame, value: Value) -> None:
    if isinstance(name, ir.Name) and name.id in frame.names and frame.names[name.id].__class__ is Unknown:
        machine.store.put(frame.names, name.id, value)
