"""Code in texts: `eval("models." + args.arch)`. Names, attributes, items, and calls of these are followed."""

from __future__ import annotations

import ast
import builtins
import warnings
from typing import TYPE_CHECKING

from devlint.analysis.access import attribute, call_value, item
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.plain import lift
from devlint.analysis.domain.values import NONE, UNKNOWN, Const, Value
from devlint.analysis.python.lookup import global_name
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


@models("builtins.eval")
def evaluated(machine: Machine, call: Call) -> Value | None:
    """`eval("nn." + name)(size)`: what a known text stands for where the call is."""
    text, tree = _parsed(call)
    return UNKNOWN if tree is None else _value(machine, tree, text.site, call)


@models("ast.literal_eval")
def evaluated_literal(machine: Machine, call: Call) -> Value | None:
    """`ast.literal_eval("[0]")`: what a known text of literals stands for."""
    text, tree = _parsed(call)
    return UNKNOWN if tree is None else _literal(tree, text.site)


def _parsed(call: Call) -> tuple[Const, ast.expr | None]:
    """The text that a call is given alone, and its expression; None where it is none, or not known."""
    text = call.positional[0] if len(call.positional) == 1 else None
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


def _value(machine: Machine, tree: ast.expr, site: Site | None, call: Call) -> Value:
    """What an expression comes to; unknown where it is more than is followed here."""
    if isinstance(tree, ast.Name):
        return _name(machine, tree.id, call)
    if isinstance(tree, ast.Attribute):
        return attribute(machine, _value(machine, tree.value, site, call), tree.attr, call.node, call.frame)
    if isinstance(tree, ast.Subscript) and not isinstance(tree.slice, ast.Slice):
        whole, index = (_value(machine, part, site, call) for part in (tree.value, tree.slice))
        return item(machine, whole, index, call.node, call.frame)
    if isinstance(tree, ast.Call):
        return _called(machine, tree, site, call)
    return _literal(tree, site)


def _called(machine: Machine, tree: ast.Call, site: Site | None, call: Call) -> Value:
    """A call with arguments that are followed, none of them starred."""
    if any(isinstance(part, ast.Starred) for part in tree.args) or any(part.arg is None for part in tree.keywords):
        return UNKNOWN
    function = _value(machine, tree.func, site, call)
    arguments = [_value(machine, part, site, call) for part in tree.args]
    keywords = {part.arg or "": _value(machine, part.value, site, call) for part in tree.keywords}
    return call_value(machine, function, call.with_arguments(arguments, keywords))


def _name(machine: Machine, name: str, call: Call) -> Value:
    """A name as the call sees it; one that is bound nowhere is left alone."""
    scope: Frame | None = call.frame
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.outer
    namespace = call.frame.namespace
    if name in namespace.names or name in namespace.deferred or hasattr(builtins, name):
        return global_name(machine, ir.Name(name, ir.NameScope.GLOBAL, call.node.at), call.frame)
    return UNKNOWN
