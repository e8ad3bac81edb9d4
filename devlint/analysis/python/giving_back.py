"""Functions that give back what they were given, as their form shows: most decorators of libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Class, Const, Function, Mapping, Sequence, Value
from devlint.analysis.flow.counting import BORN
from devlint.analysis.frames import Frame
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.store import Entry

_MOST: Final = 8
"""How many calls deep it is looked for what is given back."""
_DEEPEST: Final = 2
"""How many containers deep it is looked for what keeps a function or class."""


def gives_back(machine: Machine, function: Function) -> bool:
    """Whether a function that is called with one function or class gives that back, whatever it does on the way: so
    says its form, and that of those that it calls to give it back."""
    known = machine.gives_back.get(function.node)
    if known is None:
        positional = function.node.parameters.positional
        known = bool(positional) and _hands_back(function.node, positional[0], function.frame, _MOST)
        machine.gives_back[function.node] = known
    return known


def written_since(machine: Machine, value: Value, mark: int, began: int, tick: int) -> list[Entry]:
    """What was written since the mark, the birth `began` and the moment `tick`, but for what was made since and what is
    the value's own."""
    own = value.attributes if isinstance(value, Function) else value.fields if isinstance(value, Class) else None
    return [
        entry
        for entry in (machine.store.log or ())[mark:]
        if entry[0] is not own
        and not (entry[0].__class__ in BORN and entry[0].born > began)
        and not (entry[0].__class__ is Frame and entry[0].tick > tick)
    ]


def records(entry: Entry, value: Value) -> bool:
    """Whether what was written keeps a function or class, or its name."""
    target, key, is_slot, _ = entry
    now = getattr(target, key) if is_slot else target.get(key)
    name = value.node.name if isinstance(value, (Function, Class)) else ""
    return name == key or _keeps(now, value, name, _DEEPEST)


def _keeps(kept: object, value: Value, name: str, depth: int) -> bool:
    if kept is value or (isinstance(kept, Const) and kept.value == name):
        return True
    if isinstance(kept, (Sequence, Mapping)):
        kept = kept.items
    parts = (*kept, *kept.values()) if isinstance(kept, dict) else kept if isinstance(kept, (list, tuple)) else ()
    return name in parts or (depth > 0 and any(_keeps(part, value, name, depth - 1) for part in parts))


def _hands_back(node: ir.Function, name: str, frame: Frame, depth: int) -> bool:
    """Whether each way out of a function gives back the parameter `name`, which is a function or class."""
    body = node.body
    if not depth or body.is_generator or node.is_async or _is_bound(name, body.statements):
        return False
    inner = {part.name: part for part in body.statements if isinstance(part, ir.Function)}

    def gives(value: ir.Expr | None) -> bool:
        if isinstance(value, ir.Name):
            return value.id == name
        if not isinstance(value, ir.Call) or not isinstance(value.function, ir.Name):
            return False
        called = inner.get(value.function.id)
        around = frame
        if called is None:
            found = _named(value.function, frame)
            if found is None:
                return False
            called, around = found.node, found.frame
        given = _parameter(value, name, called.parameters)
        return bool(given) and not called.decorators and _hands_back(called, given, around, depth - 1)

    return _leaves(body.statements, name, gives) is True


def _named(node: ir.Name, frame: Frame) -> Function | None:
    """The function of the program that a name stands for, where it is bound at the top of a file."""
    found = frame.namespace.names.get(node.id) if node.scope is ir.NameScope.GLOBAL else None
    return found if isinstance(found, Function) and not found.attributes else None


def _parameter(call: ir.Call, name: str, parameters: ir.Parameters) -> str:
    """The parameter to which a call gives the variable `name`; "" where it gives it to none, or nobody knows."""
    for index, argument in enumerate(call.args):
        if isinstance(argument, ir.Starred):
            return ""
        if isinstance(argument, ir.Name) and argument.id == name:
            return parameters.positional[index] if index < len(parameters.positional) else ""
    named = (*parameters.positional[parameters.only :], *parameters.keyword)
    for keyword, value in call.keywords:
        if keyword in named and isinstance(value, ir.Name) and value.id == name:
            return keyword
    return ""


def _leaves(statements: list[ir.Stmt], name: str, gives: Callable[[ir.Expr | None], bool]) -> bool | None:
    """Whether statements are surely left by ways that give something back; False where a way gives something else, None
    where one goes on behind them. The variable `name` holds something that is true, and not None."""
    for statement in statements:
        if isinstance(statement, ir.Return):
            return gives(statement.value)
        if isinstance(statement, ir.Raise):
            return True
        if isinstance(statement, ir.If):
            holds = _holds(statement.test, name)
            sides = [
                side
                for side, answer in ((statement.body, True), (statement.orelse, False))
                if holds is not (not answer)
            ]
            left = [_leaves(side, name, gives) for side in sides]
            if False in left or all(left):
                return False not in left
        elif not all(gives(way.value) for way in _returns(statement)):
            return False
    return None


def _holds(test: ir.Expr, name: str) -> bool | None:
    """Whether a condition holds of a variable that holds a function or class; None where nobody knows."""
    if isinstance(test, ir.Name):
        return True if test.id == name else None
    if isinstance(test, ir.Unary) and test.operator == "not":
        holds = _holds(test.value, name)
        return None if holds is None else not holds
    if isinstance(test, ir.Compare) and isinstance(test.left, ir.Name) and test.left.id == name:
        if isinstance(test.right, ir.Const) and test.right.value is None:
            return {"is": False, "is-not": True}.get(test.operator)
    return None


def _returns(statement: ir.Node) -> Iterator[ir.Return]:
    """The ways out of a function that stand in a statement."""
    if isinstance(statement, ir.Return):
        yield statement
    elif not isinstance(statement, (ir.Function, ir.Class)):
        for block in ("body", "handlers", "orelse", "final", "cases"):
            for inner in getattr(statement, block, None) or ():
                yield from _returns(inner)


def _is_bound(name: str, statements: list[ir.Stmt]) -> bool:
    """Whether anything in a function may give a variable another value."""
    for part in walk(statements):
        if isinstance(part, (ir.Assign, ir.Delete)):
            targets = part.targets
        elif isinstance(part, (ir.Augment, ir.For, ir.Walrus)):
            targets = [part.target]
        elif isinstance(part, ir.With):
            targets = [target for _, target in part.items if target is not None]
        elif isinstance(part, ir.Handler):
            targets = [] if part.name is None else [part.name]
        elif isinstance(part, (ir.Import, ir.ImportFrom)):
            if any((alias or whole.partition(".")[0]) in (name, "*") for whole, alias in part.names):
                return True
            continue
        elif isinstance(part, ir.Match) or (isinstance(part, (ir.Function, ir.Class)) and part.name == name):
            return True
        else:
            continue
        if any(isinstance(target, ir.Name) and target.id == name for target in _names(targets)):
            return True
    return False


def _names(targets: list[ir.Expr]) -> Iterator[ir.Expr]:
    """The targets of an assignment that are not made of others."""
    for target in targets:
        if isinstance(target, ir.Display):
            yield from _names(target.items)
        elif isinstance(target, ir.Starred):
            yield from _names([target.value])
        else:
            yield target
