"""What is known about the names on a row, in each world: for people who wonder why something is or isn't reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import (
    POISON,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    Scalar,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.domain.values import Sequence as SequenceValue
from devlint.analysis.events import MarkKind, Site
from devlint.analysis.machine import Machine
from devlint.analysis.run import analyse
from devlint.analysis.signals import Crash, OutOfBudget, Signal
from devlint.syntax import ir
from devlint.syntax.walk import dotted
from devlint.worlds import World

if TYPE_CHECKING:
    from devlint.analysis.events import Event
    from devlint.analysis.frames import Frame
    from devlint.analysis.project import Project

MOST_VALUES = 4
"""How many different values of a name are kept apart, from loops and several calls."""

Known = dict[str, list[str]]
"""Descriptions by name as written, in the order of the row; several where the row ran with several values."""

Where = Callable[[Site], str]
"""Says where a site is, as its author counts: `line 12`."""

ORIGINS: dict[MarkKind, str] = {
    "factory": "created",
    "placed": "created",
    "loader": "from a DataLoader",
    "parameter": "of a module built",
    "module-moved": "moved with its module",
    "attached": "of a module attached after a move",
    "dropped": "its moved copy was dropped",
    "left-behind": "left behind by a move of its module, assigned",
    "unregistered": "in a plain container assigned",
    "gathered": "gathered from the replicas",
}
"""How a tensor came to be, where the kind of the mark says it badly."""


def reveal(project: Project, path: str, row: int, world: World, where: Where) -> Known | None:
    """Return what is known about the names on a program row of a file: of those that are read before the row runs, of
    those that are bound after it. None if the row was never reached."""
    watchers: list[Watcher] = []

    def make(project: Project, world: World, wanted: frozenset[type[Event]]) -> Machine:
        watchers.append(Watcher(project, world, wanted, path, row, where))
        return watchers[-1]

    analyse(project, [world], None, None, [path], machine=make)
    return next((watcher.known for watcher in watchers if watcher.arrived), None)


class Watcher(Machine):
    """A machine that notes the values of the names on one row each time the row has run."""

    def __init__(
        self, project: Project, world: World, wanted: frozenset[type[Event]], path: str, row: int, where: Where
    ) -> None:
        super().__init__(project, world, wanted)
        self.watched = path
        self.row = row
        self.where = where
        self.known: Known = {}
        self.arrived = False

    def block(self, statements: list[Any], frame: Frame) -> Signal | None:
        """Execute statements, and look at the names of those that stand on the row."""
        if frame.namespace.path != self.watched:
            return super().block(statements, frame)
        for statement in statements:
            read, bound = self._names(statement)
            for node in (*read, *bound):
                self.known.setdefault(dotted(node), [])
            self._look(read, frame)
            try:
                signal = super().block([statement], frame)
            finally:
                self._look(bound, frame)
            if signal is not None:
                return signal
        return None

    def _names(self, statement: ir.Node) -> tuple[list[ir.Name | ir.Attribute], list[ir.Name | ir.Attribute]]:
        """The names on the row that the statement reads, and those that it binds."""
        at = statement.at
        if not at.lineno <= self.row <= (at.end_lineno or at.lineno):
            return [], []
        names = [node for node in named(statement) if node.at.lineno == self.row]
        self.arrived = self.arrived or bool(names) or at.lineno == self.row
        targets = list(named([getattr(statement, slot, None) for slot in ("targets", "target")]))
        bound = {id(node) for node in targets} - {id(node.value) for node in targets if isinstance(node, ir.Attribute)}
        return [node for node in names if id(node) not in bound], [node for node in names if id(node) in bound]

    def _look(self, nodes: Sequence[ir.Name | ir.Attribute], frame: Frame) -> None:
        if self.run.takes_first:
            return
        for node in nodes:
            value = self._peek(node, frame)
            if value is None:
                continue
            descriptions = self.known[dotted(node)]
            description = described(value, self.where)
            if description not in descriptions and len(descriptions) < MOST_VALUES:
                descriptions.append(description)

    def _peek(self, node: ir.Node, frame: Frame) -> Value | None:
        run = self.run
        run.quiet += 1
        limit, run.limit = run.limit, run.steps + 100
        try:
            return self.evaluate(node, frame)
        except (Crash, OutOfBudget):
            return None
        finally:
            run.limit = limit
            run.quiet -= 1


def named(node: Any) -> Iterator[ir.Name | ir.Attribute]:
    """Yield the names and dotted names of a statement, without those of its blocks and of functions in it."""
    if isinstance(node, ir.Name):
        yield node
    elif isinstance(node, ir.Attribute):
        yield from named(node.value)
        if dotted(node):
            yield node
    elif isinstance(node, (list, tuple)):
        for item in node:
            yield from named(item)
    elif isinstance(node, (ir.Node, ir.Generator)) and not isinstance(node, (ir.Function, ir.Class)):
        for slot in ir.slots_of(node.__class__):
            value = getattr(node, slot)
            if slot not in ("handlers", "cases") and not (
                slot in ("body", "orelse", "final") and isinstance(value, list)
            ):
                yield from named(value)


def described(value: Value, where: Where, depth: int = 0) -> str:
    """Return what is known about a value, in words."""
    match value:
        case Tensor():
            return _tensor(value, where)
        case Instance():
            return _instance(value, where)
        case DeviceValue():
            return f"device {value}"
        case Const():
            return repr(value.value) if len(repr(value.value)) <= 60 else type(value.value).__name__
        case Scalar():
            return f"a {value.kind}" if value.kind else "a plain Python value"
        case SequenceValue():
            return _items(value.kind, value.items, value.open, where, depth)
        case Mapping():
            return _items(value.kind, list(value.items.values()), value.open, where, depth)
        case Array():
            return "numpy array"
        case Function():
            return f"function {value.node.name}"
        case Class():
            return f"class {value.name}"
        case External():
            return value.path
        case ModuleValue():
            return f"module {value.namespace.name}"
        case Bound() | Method():
            return "method"
        case Unknown(path=str(name)):
            return f"unknown ({name})"
    return "unknown"


def _tensor(tensor: Tensor, where: Where) -> str:
    kind = "Parameter" if tensor.is_parameter else "Tensor"
    if tensor.device == POISON:
        return f"{kind} that took part in a reported error"
    device = f"on {tensor.device}" if tensor.device else "on an unknown device"
    rank = ", 0-dimensional" if tensor.rank == 0 else ""
    assumed = ", taken to be an input" if tensor.assumed else ""
    return f"{kind} {device}{rank}{assumed}{_since(tensor.origin, where)}"


def _since(origin: Origin | None, where: Where) -> str:
    if origin is None:
        return ""
    return f", {ORIGINS.get(origin.kind, origin.kind)} at {where(origin.site)}"


def _instance(value: Instance, where: Where) -> str:
    name = value.cls.name if isinstance(value.cls, Class) else value.cls.path
    if value.module is None:
        return f"instance of {name}"
    if value.module.device is None:
        return f"module {name}, never moved"
    since = f", moved at {where(value.module.moved_at)}" if value.module.moved_at is not None else ""
    return f"module {name} on {value.module.device}{since}"


def _items(kind: str, items: Sequence[Value], open: bool, where: Where, depth: int) -> str:
    count = f"{len(items)}{' or more' if open else ''}"
    if depth or not items:
        return f"{kind} of {count} items"
    inner = list(dict.fromkeys(described(item, where, depth + 1) for item in items))
    shown = "; ".join(inner[:MOST_VALUES]) + ("; ..." if len(inner) > MOST_VALUES else "")
    return f"{kind} of {count} items: {shown}"
