"""Programs that spread what they do over several GPUs by design: a GPU beyond the first is what they are for.

What is looked at is the class or function around a use. It counts GPUs where the number comes from a loop that begins
with the first, `for i in range(4): parts[i].to(i)`, and it names them where, on one way through it, `"cuda:0"` stands
beside `"cuda:1"`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

Spread: TypeAlias = Literal["", "counted", "named"]


def spread(machine: Machine, path: str, node: ir.Node | None, index: int | None) -> Spread:
    """How the class or function around a use of GPU `index` takes the first one, too."""
    module = machine.project.module(path)
    if module is None or node is None or index is None or index < 1:
        return ""
    unit = next((part for part in module.body if any(inner is node for inner in walk([part]))), None)
    if unit is None:
        return ""
    if any(_counts(loop, node) for loop in _loops(unit)):
        return "counted"
    if isinstance(unit, (ir.Class, ir.Function)) and {0, index} <= set(_named(unit)):
        return "named"
    return ""


def _loops(unit: ir.Stmt) -> Iterator[tuple[ir.Expr, ir.Expr, ir.Node]]:
    """Targets, iterables and extents of the loops and comprehensions in a statement."""
    for part in walk([unit]):
        if isinstance(part, ir.For):
            yield part.target, part.iterable, part
        elif isinstance(part, ir.Comprehension):
            yield from ((one.target, one.iterable, part) for one in part.generators)


def _counts(loop: tuple[ir.Expr, ir.Expr, ir.Node], node: ir.Node) -> bool:
    """Whether a use stands in a loop that counts from nought on, and takes the number for that of its GPU."""
    target, iterable, extent = loop
    if not isinstance(iterable, ir.Call) or dotted(iterable.function) not in ("range", "enumerate"):
        return False
    given = iterable.args
    if last_name(iterable.function) == "enumerate":
        if len(given) != 1 or not isinstance(target, ir.Display) or not target.items:
            return False
        target = target.items[0]
    elif len(given) > 1 and not (isinstance(given[0], ir.Const) and given[0].value == 0):
        return False
    if not isinstance(target, ir.Name) or all(inner is not node for inner in walk([extent])):
        return False
    return any(isinstance(part, ir.Name) and part.id == target.id for part in _places(node))


def _places(node: ir.Node) -> Iterator[ir.Node]:
    """What stands in the arguments of a use, where its device does."""
    if isinstance(node, ir.Call):
        yield from walk([*node.args, *(value for _, value in node.keywords)])


def _named(unit: ir.Node) -> Iterator[int]:
    """The GPUs that a class or function names in texts, or as the only argument of a move, by no condition."""
    waiting: list[ir.Node] = [unit]
    while waiting:
        around = waiting.pop()
        body = around.body.statements if isinstance(around, ir.Function) else getattr(around, "body", [])
        for statement in body:
            if isinstance(statement, (ir.Class, ir.Function, ir.For, ir.With)):
                waiting.append(statement)
            elif not isinstance(statement, (ir.If, ir.While, ir.Try)):
                yield from _named_in(statement)


def _named_in(statement: ir.Stmt) -> Iterator[int]:
    parts = list(walk([statement]))
    chosen = {id(inner) for part in parts if isinstance(part, ir.Conditional) for inner in walk([part])}
    for part in parts:
        if id(part) in chosen:
            continue
        if isinstance(part, ir.Const) and isinstance(part.value, str):
            number = part.value.removeprefix("cuda:")
            if part.value.startswith("cuda:") and number.isdigit():
                yield int(number)
        elif isinstance(part, ir.Call) and last_name(part.function) in ("cuda", "to") and len(part.args) == 1:
            given = part.args[0]
            if isinstance(given, ir.Const) and type(given.value) is int:
                yield given.value
