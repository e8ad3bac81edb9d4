"""Devices that are compared: with devices, with names, and with lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from devlint.analysis.access import path_of
from devlint.analysis.domain.values import (
    BOOL,
    FOLLOWS,
    SOME_DEVICE,
    SOME_INDEX,
    Const,
    DeviceValue,
    Sequence,
    Unknown,
    Value,
    const,
)
from devlint.analysis.events import DeviceCompared
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

from devlint.analysis.pytorch.devices import given_device, source_text


def compare_devices(machine: Machine, symbol: str, left: Value, right: Value, node: ir.Compare, frame: Frame) -> Value:
    """`x.device == y.device`, `device == "cuda"`: constants where both are known."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, DeviceValue) and side.is_text:
            return _compare_text(symbol, side, other, side is right)
    if symbol in ("in", "not-in"):
        return _device_within(machine, symbol, left, right, node, frame)
    if symbol not in ("==", "!="):
        return BOOL
    swapped = not isinstance(left, DeviceValue)
    device, other = (right, left) if swapped else (left, right)
    assert isinstance(device, DeviceValue)
    if isinstance(other, DeviceValue) and device.type != other.type and "?" not in (device.type, other.type):
        return const(symbol == "!=")
    if isinstance(other, Const) and isinstance(other.value, str) and device.type != "?":
        if other.site is not None and other.site.key in machine.places.handed_texts:
            return BOOL
        parsed = parse_device(other.value)
        if parsed is not None and parsed[0] == device.type and parsed[1] in (None, device.index):
            _compared(machine, "string", symbol, node, frame, True, swapped)
        return const(symbol == "!=")
    given = given_device(machine, other) if isinstance(other, Unknown) and not other.named else None
    if given is not None and "cpu" in (device.type, given) and device.type != given and device.type != "?":
        return const(symbol == "!=")
    if device.index == SOME_INDEX or (isinstance(other, DeviceValue) and other.index == SOME_INDEX):
        return _not_known(device, other)
    if isinstance(other, DeviceValue):
        equal = device.type == other.type and device.index == other.index
        if not equal and device.type == other.type == "cuda" and (device.index is None) != (other.index is None):
            _compared(machine, "index", symbol, node, frame, True, False)
        return const(equal if symbol == "==" else not equal)
    return _not_known(device, other)


def _not_known(*sides: Value) -> Value:
    """The answer that is not known, to a question that may be one where a tensor is."""
    asked = any(side is SOME_DEVICE or (isinstance(side, DeviceValue) and side.of is not None) for side in sides)
    return FOLLOWS if asked else BOOL


def _compare_text(symbol: str, text: DeviceValue, other: Value, on_the_right: bool) -> Value:
    """A comparison with `f"cuda:{rank}"`, which is a string: `"cuda" in device`."""
    begin = f"{text.type}:"
    known = other.value if isinstance(other, Const) and isinstance(other.value, str) else None
    if symbol in ("in", "not-in"):
        if on_the_right and known is not None and known in begin:
            return const(symbol == "in")
        return BOOL
    if known is not None and not known.startswith(begin):
        return const(symbol == "!=")
    return BOOL


def _device_within(machine: Machine, symbol: str, left: Value, right: Value, node: ir.Compare, frame: Frame) -> Value:
    """`x.device in ("cpu", "cuda")`: no string is equal to a device; and in a device is nothing."""
    if isinstance(right, DeviceValue):
        if not isinstance(left, Const) or not isinstance(left.value, str):
            return BOOL
        if right.is_text:
            return const((left.value in f"{right.type}:") is (symbol == "in"))
        _compared(machine, "string", symbol, node, frame, True, True, errors.message("not-iterable"))
        raise Crash
    if not isinstance(left, DeviceValue) or not isinstance(right, Sequence) or right.open or not right.items:
        return BOOL
    names = [item.value for item in right.items if isinstance(item, Const) and isinstance(item.value, str)]
    if len(names) < len(right.items):
        return BOOL
    if any(
        parsed is not None and parsed[0] == left.type and parsed[1] in (None, left.index)
        for parsed in map(parse_device, names)
    ):
        _compared(machine, "string", symbol, node, frame, True, False)
    return const(symbol == "not-in")


def refuse_index(machine: Machine, node: ir.Compare, frame: Frame, error: str) -> None:
    """Tell of `device.index >= 0` where the device has no index: None is compared with a number."""
    for side in (node.left, node.right):
        if isinstance(side, ir.Attribute) and side.name == "index":
            if isinstance(machine.evaluate(side.value, frame), DeviceValue):
                _compared(machine, "number", node.operator, node, frame, True, side is node.right, error)


def _compared(
    machine: Machine,
    kind: Literal["string", "index", "number"],
    symbol: str,
    node: ir.Compare,
    frame: Frame,
    equal: bool,
    swapped: bool,
    error: str | None = None,
) -> None:
    if error is not None and machine.run.trying:
        raise Crash
    if error is None and (
        _asked_both_ways(machine.run.connective, node)
        or _only_moves(machine.run.branching, node)
        or _is_moved_behind(machine.run.branching, node, frame)
        or _only_seeds(machine, machine.run.branching, node, frame)
        or (kind == "index" and _gives_index(machine.run.branching, node))
    ):
        return
    machine.emit(
        DeviceCompared,
        machine.site(node, frame),
        error=error,
        kind=kind,
        left=source_text(machine, machine.site(node.left, frame)),
        right=source_text(machine, machine.site(node.right, frame)),
        operator=symbol.replace("-", " "),
        intended=equal if symbol in ("==", "in") else not equal,
        reversed_operands=swapped,
    )


def _asks(test: ir.Expr, node: ir.Compare) -> bool:
    """Whether a condition is a comparison, or has it for a part: `device is not None and x.device != device`."""
    return test is node or (isinstance(test, ir.Bool) and any(part is node for part in test.values))


def _only_moves(branch: ir.If | None, node: ir.Compare) -> bool:
    """Whether what hangs on the answer is a move to where it is, `if x.device != device: x = x.to(device)`, and nothing
    otherwise, or the same under another name."""
    if branch is None or not _asks(branch.test, node) or node.operator != "!=" or not _only_names(branch):
        return False
    rest = [statement for statement in branch.body if not _moves_there(statement, node)]
    if any(map(_acts, rest)):
        return False
    return len(rest) < len(branch.body) or any(
        isinstance(statement, (ir.Assign, ir.Return))
        and isinstance(statement.value, ir.Call)
        and isinstance(statement.value.function, ir.Attribute)
        and statement.value.function.name == "to"
        for statement in branch.body
    )


def _only_seeds(machine: Machine, branch: ir.If | None, node: ir.Compare, frame: Frame) -> bool:
    """Whether all that hangs on an answer that is always true are seeds for CUDA, which ask for no GPU."""
    if branch is None or branch.test is not node or node.operator != "!=" or branch.orelse:
        return False
    acting = [statement for statement in branch.body if _acts(statement)]
    calls = [statement.value for statement in acting if isinstance(statement, ir.ExprStatement)]
    return len(calls) == len(acting) > 0 and all(
        isinstance(call, ir.Call) and path_of(machine.evaluate(call.function, frame)) in _SEEDS for call in calls
    )


_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})


def _is_moved_behind(branch: ir.If | None, node: ir.Compare, frame: Frame) -> bool:
    """Whether a function gives what is there already as it is, and else moved: a move to where it is gives the same."""
    if branch is None or not _asks(branch.test, node) or node.operator != "==" or frame.function is None:
        return False
    kept = _given(branch.body)
    given = _given(branch.orelse or _behind(branch, frame.function.body.statements))
    function = given.function if isinstance(given, ir.Call) else None
    if not isinstance(given, ir.Call) or not isinstance(function, ir.Attribute) or function.name != "to":
        return False
    there = next((value for name, value in given.keywords if name == "device"), next(iter(given.args), None))
    return (
        isinstance(node.left, ir.Attribute)
        and ir.same(function.value, node.left.value)
        and kept is not None
        and ir.same(kept, node.left.value)
        and there is not None
        and ir.same(there, node.right)
    )


def _given(statements: list[ir.Stmt]) -> ir.Expr | None:
    """What a block returns that does nothing but to name something before."""
    for statement in statements:
        if isinstance(statement, ir.Return):
            return statement.value
        if not isinstance(statement, ir.Assign) or _writes_elsewhere(statement):
            return None
    return None


def _behind(branch: ir.If, statements: list[ir.Stmt]) -> list[ir.Stmt]:
    """The statements of the same block behind a branch."""
    for index, statement in enumerate(statements):
        if statement is branch:
            return statements[index + 1 :]
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            found = _behind(branch, inner) if isinstance(inner, list) else []
            if found:
                return found
    return []


def _moves_there(statement: ir.Stmt, node: ir.Compare) -> bool:
    """Whether a statement moves something, a module in place, to one of the devices that were asked for:
    `net.to(device)`."""
    call = statement.value if isinstance(statement, ir.ExprStatement) else None
    if not isinstance(call, ir.Call) or not isinstance(call.function, ir.Attribute) or call.function.name != "to":
        return False
    return len(call.args) == 1 and any(ir.same(call.args[0], side) for side in (node.left, node.right))


def _acts(statement: ir.Stmt) -> bool:
    """Whether a statement does more than to name something or to leave."""
    return isinstance(statement, (ir.Raise, ir.ExprStatement, ir.Augment)) or _writes_elsewhere(statement)


def _only_names(branch: ir.If) -> bool:
    """Whether the other side of a branch does nothing but to give what this one moves as it is: `y = x`."""
    moved = {dotted(target) for part in branch.body if isinstance(part, ir.Assign) for target in part.targets}
    return all(
        isinstance(statement, (ir.Assign, ir.Assert))
        and not _writes_elsewhere(statement)
        and not (
            isinstance(statement, ir.Assign)
            and any(dotted(target) in moved for target in statement.targets)
            and any(isinstance(part, ir.Call) for part in walk([statement.value]))
        )
        for statement in branch.orelse
    )


def _gives_index(branch: ir.If | None, node: ir.Compare) -> bool:
    """Whether a device that has no index is asked for, to give it one: `if device == torch.device("cuda"): ...`."""
    if branch is None or branch.test is not node or node.operator != "==" or branch.orelse:
        return False
    assigned = (statement for statement in branch.body if isinstance(statement, ir.Assign))
    names = {dotted(target) for statement in assigned for target in statement.targets}
    return not any(map(_acts, branch.body)) and dotted(node.left) in names - {""}


def _writes_elsewhere(statement: ir.Stmt) -> bool:
    """Whether a statement changes what others see: an attribute gets anything but itself, moved."""
    if not isinstance(statement, ir.Assign):
        return False
    moved = statement.value.function if isinstance(statement.value, ir.Call) else None
    own = dotted(moved.value) if isinstance(moved, ir.Attribute) and moved.name == "to" else ""
    return not all(isinstance(target, ir.Name) or (own and dotted(target) == own) for target in statement.targets)


def _asked_both_ways(connective: ir.Bool | None, node: ir.Compare) -> bool:
    """Whether the same is compared with a device beside it: `device == "cpu" or device == torch.device("cpu")`."""
    name = dotted(node.left)
    return connective is not None and any(
        isinstance(part, ir.Compare)
        and part is not node
        and name != ""
        and dotted(part.left) == name
        and isinstance(part.right, ir.Call) is not isinstance(node.right, ir.Call)
        for part in connective.values
    )
