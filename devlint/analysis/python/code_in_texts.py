"""Code in texts: `eval("models." + args.arch)`. Names, attributes, items, and calls of these are followed."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import attribute, call_value, item
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.plain import lift
from devlint.analysis.domain.values import NONE, UNKNOWN, Const, Value
from devlint.analysis.python.lookup import global_name
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


Names = Callable[[str], Value]
"""What a text finds under the names that it uses."""

_DEEPEST: Final = 4
"""How many texts are followed that evaluate texts; one may evaluate itself."""


@models("builtins.eval")
def evaluated(machine: Machine, call: Call) -> Value | None:
    """`eval("nn." + name)(size)`: what a known text stands for where the call is."""
    text, tree = _parsed(call)
    if tree is None or machine.run.texts == _DEEPEST:
        return UNKNOWN
    machine.run.texts += 1
    try:
        return _value(machine, tree, text.site, call)
    finally:
        machine.run.texts -= 1


@models("ast.literal_eval")
def evaluated_literal(machine: Machine, call: Call) -> Value | None:
    """`ast.literal_eval("[0]")`: what a known text of literals stands for."""
    text, tree = _parsed(call)
    return UNKNOWN if tree is None else _literal(tree, text.site)


def _parsed(call: Call) -> tuple[Const, ast.expr | None]:
    """The text that a call is given alone, and its expression; None where it is none, or not known."""
    is_alone = len(call.positional) == 1 and not call.keywords and not call.open
    text = call.positional[0] if is_alone else None
    if not isinstance(text, Const) or not isinstance(text.value, str):
        return NONE, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the text says, such as invalid escapes
            return text, ast.parse(text.value.strip(), mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text, None


def _literal(tree: ast.expr, site: Site | None) -> Value:
    try:
        return lift(ast.literal_eval(tree), site)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return UNKNOWN


def run_with(machine: Machine, text: Value | None, names: Names, call: Call) -> None:
    """Run a known text that is one expression, and sees no names but those that it is given."""
    tree = _parsed(call.with_arguments([NONE if text is None else text]))[1]
    if tree is not None and machine.run.texts < _DEEPEST:
        machine.run.texts += 1
        try:
            _value(machine, tree, None, call, names)
        finally:
            machine.run.texts -= 1


def global_of(machine: Machine, name: str, call: Call) -> Value:
    """A name of the file in which a call stands."""
    if name not in call.frame.namespace.names and name not in call.frame.namespace.deferred:
        return UNKNOWN
    return global_name(machine, ir.Name(name, ir.NameScope.GLOBAL, call.node.at), call.frame)


def _value(machine: Machine, tree: ast.expr, site: Site | None, call: Call, names: Names | None = None) -> Value:
    """What an expression comes to; unknown where it is more than is followed here."""

    def part_of(part: ast.expr) -> Value:
        return _value(machine, part, site, call, names)

    if isinstance(tree, ast.Name):
        return _name(machine, tree.id, call) if names is None else names(tree.id)
    if isinstance(tree, ast.Attribute):
        return attribute(machine, part_of(tree.value), tree.attr, call.node, call.frame)
    if isinstance(tree, ast.Subscript) and not isinstance(tree.slice, ast.Slice):
        return item(machine, part_of(tree.value), part_of(tree.slice), call.node, call.frame)
    if isinstance(tree, ast.Call):
        return _called(machine, tree, part_of, call)
    return _literal(tree, site)


def _called(machine: Machine, tree: ast.Call, part_of: Callable[[ast.expr], Value], call: Call) -> Value:
    """A call with arguments that are followed, none of them starred."""
    if any(isinstance(part, ast.Starred) for part in tree.args) or any(part.arg is None for part in tree.keywords):
        return UNKNOWN
    function = part_of(tree.func)
    arguments = [part_of(part) for part in tree.args]
    keywords = {part.arg or "": part_of(part.value) for part in tree.keywords}
    return call_value(machine, function, call.with_arguments(arguments, keywords))


def _name(machine: Machine, name: str, call: Call) -> Value:
    """A name as `eval` sees it: among the variables of the running activation, and those around that it uses itself,
    then the file's; one that is bound nowhere is left alone."""
    frame, namespace = call.frame, call.frame.namespace
    is_global = name in namespace.names or name in namespace.deferred
    if name in frame.names:
        return frame.names[name]
    holder = _holder(frame)
    if name in holder.names and holder is not frame:
        # A comprehension sees the variables that it stands among since Python 3.12, not before, and generators never.
        is_file = holder.names is namespace.names
        return holder.names[name] if is_file or not (is_global or _is_of_class(holder)) else UNKNOWN
    function = holder.function
    if function is not None and not _is_of_class(holder):
        if name in function.body.locals:
            return UNKNOWN  # not bound yet, or no longer
        if _uses(function, name):
            found = _around(holder, name)
            if found is not None:
                return found
    if is_global or hasattr(builtins, name):
        return global_name(machine, ir.Name(name, ir.NameScope.GLOBAL, call.node.at), frame)
    return UNKNOWN


def _holder(frame: Frame) -> Frame:
    """The activation of the function, the class body or the file in which comprehensions stand."""
    while frame.outer is not None and frame.outer.function is frame.function and not _is_of_class(frame):
        frame = frame.outer
    return frame


def _is_of_class(frame: Frame) -> bool:
    return frame.owner is not None and frame.names is frame.owner.fields


def _uses(function: ir.Function, name: str) -> bool:
    """Whether a function uses a variable of those around it."""
    if name in function.body.nonlocals:
        return True
    free = (part for part in walk(function.body.statements) if isinstance(part, ir.Name) and part.id == name)
    return any(part.scope is ir.NameScope.FREE for part in free)


def _around(frame: Frame, name: str) -> Value | None:
    """A variable of the functions around an activation."""
    scope = frame.outer
    while scope is not None:
        if name in scope.names and not _is_of_class(scope):
            return scope.names[name]
        scope = scope.outer
    return None
