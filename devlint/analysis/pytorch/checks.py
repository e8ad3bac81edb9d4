"""A program's own checks that devices agree: `assert x.device == device`, `if x.device != y.device: raise ...`."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import SOME_INDEX, DeviceValue, External, Instance, Tensor, Value
from devlint.analysis.events import GeneratorDevice, MixedDevices
from devlint.analysis.flow.choices import decide
from devlint.analysis.machine import text_of
from devlint.analysis.pytorch.meeting import Part, clash_in_check
from devlint.analysis.trial import quietly
from devlint.syntax import ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def note_assertion(machine: Machine, node: ir.Assert, frame: Frame) -> None:
    """An assertion fails: told where it is about devices that the program knows."""
    _note(machine, node.test, False, node, "AssertionError", node.message, frame)


def note_raise(machine: Machine, test: ir.Expr, outcome: bool, node: ir.Raise, frame: Frame) -> None:
    """A condition has the outcome for which the program raises: told where it is about devices."""
    raised = node.value
    kind = raised.function if isinstance(raised, ir.Call) else raised
    name = kind.id if isinstance(kind, ir.Name) else kind.name if isinstance(kind, ir.Attribute) else ""
    if name:
        message = raised.args[0] if isinstance(raised, ir.Call) and raised.args else None
        _note(machine, test, outcome, node, name, message, frame)


def _note(
    machine: Machine,
    test: ir.Expr,
    outcome: bool,
    node: ir.Stmt,
    kind: str,
    message: ir.Expr | None,
    frame: Frame,
) -> None:
    if machine.run.trying or machine.run.quiet or is_expected(machine, kind):
        return
    check = quietly(machine, lambda: _refusing(machine, test, outcome, frame))
    sides = None if check is None else quietly(machine, lambda: _sides(machine, check, frame))
    if check is None or sides is None or not _differ(*sides):
        return
    generator = _generator(machine, check, sides, frame)
    if generator is not None:
        _refuse_generator(machine, *generator, node, frame, _raised(machine, kind, message, frame))
        return
    if MixedDevices not in machine.wanted:
        return
    if not machine.world.has_cuda:  # fails there, too: the check demands something else (see `reading`)
        machine.emit(MixedDevices, machine.site(node, frame), error=kind, checked=True)
        return
    pairs = [
        (_standing_for(machine, side), Part(side, "strict", _owner(expression)))
        for side, expression in zip(sides, (check.left, check.right), strict=True)
    ]
    known = [pair for side, pair in zip(sides, pairs, strict=True) if pair[0] is side.of]
    if known and not any(tensor.assumed for tensor, _ in known):
        clash_in_check(machine, pairs, known, check, node, frame, _raised(machine, kind, message, frame))


def _raised(machine: Machine, kind: str, message: ir.Expr | None, frame: Frame) -> str:
    """The last line of the traceback, as far as it is known."""
    text = None if message is None else quietly(machine, lambda: text_of(machine.evaluate(message, frame)))
    return f"{kind}: {text}" if text else kind


def _generator(
    machine: Machine, check: ir.Compare, sides: tuple[DeviceValue, DeviceValue], frame: Frame
) -> tuple[DeviceValue, DeviceValue] | None:
    """The device of a generator that is compared, and the device with which it is."""
    first, second = sides
    if first.of is None and _is_generator(quietly(machine, _reading(machine, _owner(check.left), frame))):
        return first, second
    if second.of is None and _is_generator(quietly(machine, _reading(machine, _owner(check.right), frame))):
        return second, first
    return None


def _reading(machine: Machine, node: ir.Expr, frame: Frame) -> Callable[[], Value]:
    return lambda: machine.evaluate(node, frame)


def _is_generator(value: Value | None) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == "torch.Generator"


def _refuse_generator(
    machine: Machine, own: DeviceValue, wanted: DeviceValue, node: ir.Stmt, frame: Frame, raised: str
) -> None:
    """A check of the program's own refuses a generator of another device."""
    machine.emit(
        GeneratorDevice,
        machine.site(node, frame),
        error=raised,
        generator_device=str(own),
        expected_device=str(wanted),
        checked=True,
    )


def is_expected(machine: Machine, kind: str) -> bool:
    """Whether a handler around may catch what is raised."""
    if not machine.run.expected:
        return False
    return not hasattr(builtins, kind) or not ancestors(kind).isdisjoint(machine.run.expected)


def _refusing(machine: Machine, test: ir.Expr, outcome: bool, frame: Frame) -> ir.Compare | None:
    """The comparison because of which a condition has its outcome."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        return _refusing(machine, test.value, not outcome, frame)
    if isinstance(test, ir.Bool):
        for part in test.values:
            # Either all parts have this outcome, or the first that has it settles the matter.
            if test.is_and is outcome or decide(machine, part, frame).truth is outcome:
                found = _refusing(machine, part, outcome, frame)
                if found is not None or test.is_and is not outcome:
                    return found
        return None
    if not isinstance(test, ir.Compare) or test.operator not in ("==", "!="):
        return None
    return test if (test.operator == "!=") is outcome else None


def _sides(machine: Machine, check: ir.Compare, frame: Frame) -> tuple[DeviceValue, DeviceValue] | None:
    """The two devices, or the devices whose types are compared."""
    left, right = check.left, check.right
    if isinstance(left, ir.Attribute) and isinstance(right, ir.Attribute) and left.name == right.name == "type":
        left, right = left.value, right.value
    first, second = machine.evaluate(left, frame), machine.evaluate(right, frame)
    return (first, second) if isinstance(first, DeviceValue) and isinstance(second, DeviceValue) else None


def _differ(first: DeviceValue, second: DeviceValue) -> bool:
    """Whether two devices surely are not the same; with and without an index is another matter."""
    if first.is_text or second.is_text or "?" in (first.type, second.type):
        return False
    if first.type != second.type:
        return True
    indices = {first.index, second.index}
    return len(indices) == 2 and indices.isdisjoint((None, SOME_INDEX))


def _standing_for(machine: Machine, side: DeviceValue) -> Tensor:
    """The tensor whose device it is, if it is still there; else one that stands for the device itself."""
    index = machine.state.current_device if side.index is None and side.type == "cuda" else side.index
    device = side.type if index is None or index == SOME_INDEX else f"{side.type}:{index}"
    return side.of if side.of is not None and side.of.device == device else Tensor(device)


def _owner(expression: ir.Expr) -> ir.Expr:
    """What a device is asked of: `x` of `x.device.type`."""
    for name in ("type", "device"):
        if isinstance(expression, ir.Attribute) and expression.name == name:
            expression = expression.value
    return expression


def raises(statements: list[ir.Stmt]) -> ir.Raise | None:
    """The `raise` with which statements end."""
    last = statements[-1] if statements else None
    return last if isinstance(last, ir.Raise) and last.value is not None else None
