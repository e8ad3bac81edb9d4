"""Texts of devices: `str(x.device)` has an index on CUDA, and the name that the program was given may have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.derived import DeviceText
from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import Const, Mapping, Sequence, Value
from devlint.analysis.events import DeviceCompared, InvalidDevice
from devlint.analysis.pytorch.devices import source_text
from devlint.semantics.devices import DEVICE_TYPES, parse_device
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def _is_without_index(name: object, text: object) -> bool:
    """Whether a name says no index of the device that a text names with one."""
    if text.__class__ is not DeviceText or not isinstance(name, str):
        return False
    named, known = parse_device(name), parse_device(str(text))
    return named is not None and known is not None and named == (known[0], None)


def _differ_by_index(one: object, other: object) -> bool:
    return _is_without_index(one, other) or _is_without_index(other, one)


def compare_names(machine: Machine, symbol: str, left: Const, right: Const, node: ir.Compare, frame: Frame) -> None:
    """Tell of `str(x.device) == device`, where only the first has an index.

    A name that is written there itself is only a mistake beside a device that is asked for there: elsewhere it may be
    what all names are brought to.
    """
    if not _differ_by_index(left.value, right.value):
        return
    on_left = left.value.__class__ is DeviceText
    text, name = (node.left, node.right) if on_left else (node.right, node.left)
    device = parse_device(str(left.value if on_left else right.value))
    is_same = device is not None and device[1] == (machine.state.current_device or 0)
    is_mistake = _asks_device(text) if isinstance(name, ir.Const) else is_same
    if is_mistake and not _asked_otherwise(machine, text, node, frame):
        _tell(machine, "text", node.left, symbol, node.right, node, frame)


def look_in_names(machine: Machine, symbol: str, left: Value, right: Value, node: ir.Compare, frame: Frame) -> None:
    """Tell of `str(x.device) in ("cpu", "cuda")`; of a key that a dict lacks an assertion may want to know."""
    if isinstance(right, Mapping):
        if misses_by_index(right, left):
            machine.run.missed = node
        return
    if not isinstance(left, Const) or not isinstance(right, Sequence) or right.open or not _asks_device(node.left):
        return
    named = any(isinstance(item, Const) and _is_without_index(item.value, left.value) for item in right.items)
    if named and not _asked_otherwise(machine, node.left, node, frame):
        _tell(machine, "text", node.left, symbol, node.right, node, frame)


def misses_by_index(value: Mapping, key: Value) -> bool:
    """Whether a dict lacks a key for its index alone: it has the text of the device, or was asked for that."""
    return (
        isinstance(key, Const)
        and isinstance(key.value, str)
        and not value.open
        and any(_differ_by_index(key.value, known) for known in value.items)
    )


def tell_missing_key(machine: Machine, key: ir.Expr, where: ir.Expr, node: ir.Node, frame: Frame, error: str) -> None:
    """Tell of a dict that is asked for a device by another name than it was given."""
    if ancestors(error.partition(":")[0]).isdisjoint(machine.run.expected):
        _tell(machine, "key", key, "in", where, node, frame, error)


def _asks_device(node: ir.Expr) -> bool:
    return any(isinstance(part, ir.Attribute) and part.name == "device" for part in walk([node]))


def _asked_otherwise(machine: Machine, text: ir.Expr, node: ir.Compare, frame: Frame) -> bool:
    """Whether more is asked of the text beside it: `str(x.device) == "cuda" or str(x.device).startswith("cuda:")`."""
    if machine.run.connective is None:
        return False
    asked = source_text(machine, machine.site(text, frame))
    return any(
        part is not node and asked in source_text(machine, machine.site(part, frame))
        for part in machine.run.connective.values
    )


def _tell(
    machine: Machine,
    kind: str,
    left: ir.Expr,
    symbol: str,
    right: ir.Expr,
    node: ir.Node,
    frame: Frame,
    error: str | None = None,
) -> None:
    machine.emit(
        DeviceCompared,
        machine.site(node, frame),
        error=error,
        kind=kind,
        left=source_text(machine, machine.site(left, frame)),
        right=source_text(machine, machine.site(right, frame)),
        operator=symbol.replace("-", " "),
        intended=symbol in ("==", "in"),
    )


def refuse_number(machine: Machine, text: Const, added: Value, node: ir.Node, frame: Frame) -> None:
    """Tell of a number that is added to the text of a device: `"cuda:" + 0`.

    Raises:
        Crash: it is one.
    """
    kind, colon, index = text.value.partition(":")
    if not colon or index or kind not in DEVICE_TYPES:
        return
    if not isinstance(added, Const) or added.value.__class__ is not int:
        return
    error = 'TypeError: can only concatenate str (not "int") to str'
    machine.crash(InvalidDevice, machine.site(node, frame), error=error, kind="joined", text=text.value, operation="+")
