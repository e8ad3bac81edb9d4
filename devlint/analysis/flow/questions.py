"""What a condition asks, as it is written: the same question in other words, where something is, what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Const
from devlint.analysis.events import Site
from devlint.analysis.frames import held
from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import dotted

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def question(machine: Machine, test: ir.Expr, frame: Frame) -> tuple[ChoiceKey, bool]:
    """What a condition without a name asks, so that `if n > 1:` here and `if n <= 1:` there are one question."""
    return _question(machine.project, (test, frame.namespace.path))


@memoized
def _question(project: Project, asked: tuple[ir.Expr, str]) -> tuple[ChoiceKey, bool]:
    test, path = asked
    polarity = True
    symbol = ""
    if isinstance(test, ir.Compare):
        symbol = test.operator
        if symbol in CONTRARY:
            symbol, polarity = CONTRARY[symbol], False
    text = _written(test, symbol)
    return ((path, text) if text else Site(path, test.at).key), polarity


CONTRARY = {"!=": "==", "is-not": "is", "not-in": "in", "<=": ">", ">=": "<"}


def _written(node: ir.Expr, symbol: str = "") -> str:
    """An expression of names, constants, comparisons and calls as text; "" if it is made of something else."""
    if isinstance(node, (ir.Name, ir.Attribute)):
        return dotted(node)
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, ir.Compare):
        left, right = _written(node.left), _written(node.right)
        return f"({left} {symbol or node.operator} {right})" if left and right else ""
    if isinstance(node, ir.Subscript):
        left, right = _written(node.value), _written(node.index)
        return f"{left}[{right}]" if left and right else ""
    if isinstance(node, ir.Call) and not node.keywords:
        parts = [_written(part) for part in (node.function, *node.args)]
        return f"{parts[0]}({', '.join(parts[1:])})" if all(parts) else ""
    return ""


def asks_for_change(machine: Machine, test: ir.Compare, frame: Frame) -> bool:
    """Whether a condition asks if something is another than the last time, which is kept for that (`if index != last:
    ...; last = index`), and there was none yet: what was put there to begin with is not what is asked for."""
    if test.operator not in ("==", "!="):
        return False
    body = frame.namespace.module if frame.function is None else frame.function
    kept = _kept(machine.project, body)
    left, right = dotted(test.left), dotted(test.right)
    return ((left, right) in kept and isinstance(held(test.left, frame), Const)) or (
        (right, left) in kept and isinstance(held(test.right, frame), Const)
    )


@memoized
def _kept(project: Project, body: ir.Module | ir.Function) -> frozenset[tuple[str, str]]:
    """The names that a function or file assigns, each with the name of what it is given."""
    found: set[tuple[str, str]] = set()
    waiting: list[ir.Node] = list(body.body if isinstance(body, ir.Module) else body.body.statements)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ir.Assign) and len(part.targets) == 1:
            names = dotted(part.targets[0]), dotted(part.value)
            if all(names):
                found.add(names)
        elif not isinstance(part, (ir.Function, ir.Class)):
            for block in ("body", "orelse", "final", "handlers", "cases"):
                waiting += getattr(part, block, None) or ()
    return frozenset(found)


@memoized
def asks_where(project: Project, test: ir.Expr) -> bool:
    """Whether a condition asks on which device a tensor is: `x.is_cuda`, `x.get_device() >= 0`, `x.type() == name`."""
    return _is_question_where(test)


def _is_question_where(test: ir.Expr) -> bool:
    if isinstance(test, ir.Compare):
        return _is_question_where(test.left) or _is_question_where(test.right)
    if isinstance(test, ir.Call):
        asked = test.function
        if not isinstance(asked, ir.Attribute):
            return False
        return asked.name == "get_device" or (asked.name == "type" and not test.args) or _is_question_where(asked.value)
    return isinstance(test, ir.Attribute) and test.name in ("is_cuda", "is_cpu")
