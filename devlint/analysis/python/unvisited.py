"""Places of a list that a loop has not come to yet: each round of `xs[i] = f(xs[i])` reads what was there before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.memo import memoized
from devlint.analysis.python.names import target_names
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
    from devlint.analysis.domain.values import Sequence, Value
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def unvisited(machine: Machine, value: Sequence, node: ir.Node, frame: Frame) -> list[Value] | None:
    """The items of a list before a loop, where this round reads the place that it will write, as earlier rounds did
    with places of their own; None where it is any other read."""
    if not (frame.rounds and frame.loops and isinstance(node, ir.Subscript) and isinstance(node.index, ir.Name)):
        return None
    loop = frame.loops[-1]
    began = frame.rounds.get(loop)
    log = machine.store.log
    if began is None or log is None or not isinstance(loop, (ir.For, ir.While)):
        return None
    counted = set(target_names(loop.target)) if isinstance(loop, ir.For) else _counted(loop)
    if node.index.id not in counted or not _writes(machine, loop, node):
        return None
    start, mark = began
    if any(entry[0] is value and entry[1] == "items" for entry in log[mark:]):
        return None  # this round has written already
    for target, key, _, old in log[start:mark]:
        if target is value and key == "items":
            items: list[Value] = old
            return items
    return None


def _counted(loop: ir.While) -> set[str]:
    """The names that a loop counts up or down itself."""
    counted = (part.target for part in loop.body if isinstance(part, ir.Augment))
    return {target.id for target in counted if isinstance(target, ir.Name)}


def _writes(machine: Machine, loop: ir.For | ir.While, node: ir.Subscript) -> bool:
    """Whether a loop writes to a place that is named like this one."""
    return bool(dotted(node.value)) and (dotted(node.value), dotted(node.index)) in _written(machine.project, loop)


@memoized
def _written(project: Project, loop: ir.For | ir.While) -> frozenset[tuple[str, str]]:
    """The places in containers that a loop writes: container and index or key."""
    targets = (target for part in walk(loop.body) if isinstance(part, ir.Assign) for target in part.targets)
    return frozenset(
        (dotted(target.value), dotted(target.index)) for target in targets if isinstance(target, ir.Subscript)
    )
