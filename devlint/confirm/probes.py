"""Probes: calls put into the syntax tree of a program that say what happened at a place, without changing rows.

A probe is a dict `{"id", "path", "row", "column", "kind"}`; row and column are those of `ast` (rows from 1, columns in
UTF-8 bytes from 0) where the flagged node starts. Kinds: `reach` counts how often the statement was begun; `move`
notes receiver and result of a method call, `compare` both sides and the answer of a comparison, `value` the value of
an expression, `loop` what the container of a `for` loop holds after it. `heal` gets a call or an operation past its
failure: once more with all tensors on one device, or, as a statement, not at all.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NAME = "__devlint__"
MOST_RECORDS = 50


class Recorder:
    """Collects what the probes tell."""

    def __init__(self) -> None:
        self.reached: Counter[int] = Counter()
        self.records: dict[int, list[dict[str, Any]]] = {}
        self._receivers: list[Any] = []

    def install(self) -> None:
        """Make the recorder known to all modules under `NAME`."""
        setattr(builtins, NAME, self)

    def reach(self, probe: int) -> None:
        """Note that a statement begins."""
        self.reached[probe] += 1

    def receiver(self, value: Any) -> Any:
        """Remember the receiver of the method call whose result is told to `moved` next."""
        self._receivers.append(value)
        return value

    def moved(self, probe: int, result: Any) -> Any:
        """Note a method call."""
        receiver = self._receivers.pop() if self._receivers else None
        facts = {"receiver": describe(receiver), "result": describe(result), "is_same": result is receiver}
        self._record(probe, facts)
        return result

    def compared(self, probe: int, left: Any, right: Any, operator: str) -> Any:
        """Compare, and note both sides and the answer."""
        answer = left == right if operator == "==" else left != right
        self._record(
            probe,
            {"left": describe(left), "right": describe(right), "operator": operator, "answer": describe(answer)},
        )
        return answer

    def value(self, probe: int, value: Any) -> Any:
        """Note a value."""
        self._record(probe, {"value": describe(value)})
        return value

    def looped(self, probe: int, container: Any, last: Any) -> None:
        """Note what a container holds after a loop over it, and what the loop variable is."""
        values = container.values() if isinstance(container, dict) else container
        held = [describe(value) for value in values] if isinstance(values, Iterable) else []
        self._record(probe, {"held": held[:MOST_RECORDS], "last": describe(last)})

    def heal(self, action: Callable[..., Any], *values: Any, statement: bool = False) -> Any:
        """Return what the action gives for the values; if it fails, for values that are all on the accelerator."""
        try:
            return action(*values)
        except Exception:
            try:
                return action(*(to_accelerator(value) for value in values))
            except Exception:
                if statement:
                    return None
                raise

    def _record(self, probe: int, record: dict[str, Any]) -> None:
        records = self.records.setdefault(probe, [])
        if len(records) < MOST_RECORDS:
            records.append(record)


def to_accelerator(value: Any) -> Any:
    """Return a value with its tensors on the accelerator; a module is moved in place."""
    import torch

    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        return value.to("cuda" if torch.cuda.is_available() else "cpu")
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(to_accelerator(item) for item in value)
    if type(value) is dict:
        return {name: to_accelerator(item) for name, item in value.items()}
    return value


def describe(value: Any) -> dict[str, Any]:
    """Return what a verdict may want to know of a value, for JSON."""
    import torch

    if isinstance(value, torch.Tensor):
        return {
            "type": "tensor",
            "device": str(value.device),
            "leaf": value.is_leaf,
            "requires_grad": value.requires_grad,
            "parameter": isinstance(value, torch.nn.Parameter),
        }
    if isinstance(value, torch.device):
        return {"type": "device", "text": str(value)}
    if isinstance(value, (bool, int, float, str, type(None))):
        return {"type": type(value).__name__, "value": value if not isinstance(value, str) else value[:200]}
    return {"type": type(value).__name__, "callable": callable(value)}


def instrument(tree: ast.Module, probes: Sequence[dict[str, Any]]) -> ast.Module:
    """Return the tree with the probes of this file in it."""
    by_statement: dict[int, list[dict[str, Any]]] = {}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    for probe in probes:
        around = [node for node in statements if _first_row(node) <= probe["row"] <= (node.end_lineno or 0)]
        if probe["kind"] == "loop":
            around = [node for node in around if isinstance(node, (ast.For, ast.AsyncFor))]
        if not around:
            continue
        innermost = min(around, key=lambda node: ((node.end_lineno or 0) - _first_row(node), -node.col_offset))
        same_row = [node for node in around if node.lineno == innermost.lineno == node.end_lineno == probe["row"]]
        before = [node for node in same_row if node.col_offset <= probe["column"]]
        by_statement.setdefault(id(max(before, key=lambda n: n.col_offset) if before else innermost), []).append(probe)
    _Inserter(by_statement).visit(tree)
    return ast.fix_missing_locations(tree)


def _first_row(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _call(method: str, at: ast.AST, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load())
    call = ast.Call(function, list(args), [])
    for node in (call, function, function.value):
        ast.copy_location(node, at)
    return call


class _Inserter(ast.NodeTransformer):
    def __init__(self, by_statement: dict[int, list[dict[str, Any]]]) -> None:
        self._by_statement = by_statement

    def visit(self, node: ast.AST) -> Any:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [new for child in block for new in self._statement(child)])
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            self.visit(handler)
        return node

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        probes = self._by_statement.get(id(node), [])
        self.visit(node)
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for probe in probes:
            number = ast.Constant(probe["id"])
            if not future and probe["kind"] != "heal":
                before.append(ast.Expr(_call("reach", node, number)))
            if probe["kind"] == "loop" and isinstance(node, (ast.For, ast.AsyncFor)):
                container, last = _loop_parts(node)
                after.append(ast.Expr(_call("looped", node, number, container, last)))
            elif probe["kind"] in ("move", "compare", "value", "heal"):
                _Wrapper(probe, isinstance(node, ast.Expr)).visit(node)
        for extra in (*before, *after):
            ast.copy_location(extra, node)
        return [*before, node, *after]


def _loop_parts(node: ast.For | ast.AsyncFor) -> tuple[ast.expr, ast.expr]:
    container: ast.expr = node.iter
    if isinstance(container, ast.Call) and isinstance(container.func, ast.Name) and container.args:
        container = container.args[0]  # enumerate(batch), reversed(batch)
    elif isinstance(container, ast.Call) and isinstance(container.func, ast.Attribute) and not container.args:
        container = container.func.value  # batch.values(), batch.items()
    target: ast.expr = node.target
    if isinstance(target, (ast.Tuple, ast.List)):
        target = target.elts[-1]
    again: list[ast.expr] = []
    for part in (container, target):
        copied = ast.parse(ast.unparse(part), mode="eval").body
        again.append(ast.copy_location(copied, node))
    return again[0], again[1]


class _Wrapper(ast.NodeTransformer):
    """Wraps the expression at the probe's place: the outermost of the wanted kind that starts there."""

    def __init__(self, probe: dict[str, Any], statement: bool) -> None:
        self._probe = probe
        self._statement = statement
        self._done = False

    def visit(self, node: ast.AST) -> Any:
        if self._done:
            return node
        if isinstance(node, ast.expr) and self._is_wanted(node):
            self._done = True
            return self._wrapped(node)
        return self.generic_visit(node)

    def _is_wanted(self, node: ast.expr) -> bool:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        here = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) == (
            self._probe["row"],
            self._probe["column"],
        )
        kind = self._probe["kind"]
        if kind == "move":
            return here and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if kind == "compare":
            one = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
            return here and one
        end = self._probe.get("end")
        if kind == "heal":
            return here and [node.end_lineno, node.end_col_offset] == end and isinstance(node, (ast.Call, ast.BinOp))
        return here

    def _wrapped(self, node: ast.expr) -> ast.expr:
        number = ast.copy_location(ast.Constant(self._probe["id"]), node)
        if self._probe["kind"] == "move" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node.func.value = _call("receiver", node, node.func.value)
            return _call("moved", node, number, node)
        if isinstance(node, ast.Compare) and self._probe["kind"] == "compare":
            operator = "==" if isinstance(node.ops[0], ast.Eq) else "!="
            return _call("compared", node, number, node.left, node.comparators[0], ast.Constant(operator))
        if self._probe["kind"] == "heal":
            return self._healed(node)
        return _call("value", node, number, node)

    def _healed(self, node: ast.expr) -> ast.expr:
        """Return `heal(lambda a, b: a * b, left, right)`: the operands are evaluated once."""
        parts: list[ast.expr] = []

        def parameter(part: ast.expr) -> ast.expr:
            parts.append(part)
            return ast.copy_location(ast.Name(f"_{len(parts)}", ast.Load()), part)

        if isinstance(node, ast.BinOp):
            node.left, node.right = parameter(node.left), parameter(node.right)
        elif isinstance(node, ast.Call):
            if any(isinstance(arg, ast.Starred) for arg in node.args) or any(not word.arg for word in node.keywords):
                return node
            if isinstance(node.func, ast.Attribute):
                node.func.value = parameter(node.func.value)
            else:
                node.func = parameter(node.func)
            node.args = [parameter(arg) for arg in node.args]
            for word in node.keywords:
                word.value = parameter(word.value)
        names = [ast.arg(f"_{number}") for number in range(1, len(parts) + 1)]
        arguments = ast.arguments([], names, None, [], [], None, [])
        call = _call("heal", node, ast.copy_location(ast.Lambda(arguments, node), node), *parts)
        call.keywords = [ast.keyword("statement", ast.Constant(self._statement))]
        return call
