"""Statements and patterns of the second front end: from libcst to the program form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import libcst as cst

from devlint.syntax import ir
from devlint.syntax.cst_expressions import (
    BINARY,
    arguments,
    at,
    expression,
    function_scope,
    optional,
    parameters,
    target,
)
from devlint.syntax.scope import Kind, Scope
from devlint.syntax.shared import close_branches, plain_bases

_Lowering: TypeAlias = Callable[[Any, Scope], Any]

_AUGMENT: dict[type, str] = {getattr(cst, f"{cls.__name__}Assign"): text for cls, text in BINARY.items()}


def block(nodes: Sequence[cst.CSTNode], scope: Scope) -> list[ir.Stmt]:
    """Lower statements; those that say nothing at run time (`pass`, `global`) vanish."""
    forms: list[ir.Stmt] = []
    for node in nodes:
        small = node.body if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else (node,)
        for part in small:
            form = _STATEMENTS[part.__class__](part, scope)
            if form is not None:
                forms.append(form)
    return close_branches(forms)


def _suite(node: cst.BaseSuite | cst.Else | cst.Finally | None, scope: Scope) -> list[ir.Stmt]:
    if node is None:
        return []
    if isinstance(node, (cst.Else, cst.Finally)):
        node = node.body
    return block([node] if isinstance(node, cst.SimpleStatementSuite) else node.body, scope)


def _expression_statement(node: cst.Expr, scope: Scope) -> ir.Stmt:
    return ir.ExprStatement(expression(node.value, scope), at(node, scope))


def _assign(node: cst.Assign, scope: Scope) -> ir.Stmt:
    value = expression(node.value, scope)
    return ir.Assign([target(part.target, scope) for part in node.targets], value, None, at(node, scope))


def _annotated(node: cst.AnnAssign, scope: Scope) -> ir.Stmt:
    annotation = expression(node.annotation.annotation, scope)
    form = target(node.target, scope)
    if node.value is None:
        return ir.Annotate(form, annotation, at(node, scope))
    return ir.Assign([form], expression(node.value, scope), annotation, at(node, scope))


def _augmented(node: cst.AugAssign, scope: Scope) -> ir.Stmt:
    form = target(node.target, scope)
    return ir.Augment(form, _AUGMENT[node.operator.__class__], expression(node.value, scope), at(node, scope))


def _if(node: cst.If, scope: Scope) -> ir.Stmt:
    test = expression(node.test, scope)
    body = _suite(node.body, scope)
    orelse = [_if(node.orelse, scope)] if isinstance(node.orelse, cst.If) else _suite(node.orelse, scope)
    return ir.If(test, body, orelse, at(node, scope))


def _for(node: cst.For, scope: Scope) -> ir.Stmt:
    iterable = expression(node.iter, scope)
    form = target(node.target, scope)
    return ir.For(form, iterable, _suite(node.body, scope), _suite(node.orelse, scope), at(node, scope))


def _while(node: cst.While, scope: Scope) -> ir.Stmt:
    test = expression(node.test, scope)
    return ir.While(test, _suite(node.body, scope), _suite(node.orelse, scope), at(node, scope))


def _try(node: cst.Try | cst.TryStar, scope: Scope) -> ir.Stmt:
    return ir.Try(
        _suite(node.body, scope),
        [_handler(handler, scope) for handler in node.handlers],
        _suite(node.orelse, scope),
        _suite(node.finalbody, scope),
        at(node, scope),
    )


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler, scope: Scope) -> ir.Handler:
    place = at(node, scope)
    name = None
    if node.name is not None:
        assert isinstance(node.name.name, cst.Name)
        name = scope.store(node.name.name.value, place)
    return ir.Handler(optional(node.type, scope), name, _suite(node.body, scope), place)


def _with(node: cst.With, scope: Scope) -> ir.Stmt:
    items = [
        (expression(item.item, scope), None if item.asname is None else target(item.asname.name, scope))
        for item in node.items
    ]
    return ir.With(items, _suite(node.body, scope), at(node, scope))


def _return(node: cst.Return, scope: Scope) -> ir.Stmt:
    return ir.Return(optional(node.value, scope), at(node, scope))


def _raise(node: cst.Raise, scope: Scope) -> ir.Stmt:
    return ir.Raise(optional(node.exc, scope), at(node, scope))


def _break(node: cst.Break, scope: Scope) -> ir.Stmt:
    return ir.Break(at(node, scope))


def _continue(node: cst.Continue, scope: Scope) -> ir.Stmt:
    return ir.Continue(at(node, scope))


def _assert(node: cst.Assert, scope: Scope) -> ir.Stmt:
    return ir.Assert(expression(node.test, scope), optional(node.msg, scope), at(node, scope))


def _delete(node: cst.Del, scope: Scope) -> ir.Stmt:
    several = isinstance(node.target, cst.Tuple) and not node.target.lpar
    targets = [element.value for element in node.target.elements] if several else [node.target]  # type: ignore[attr-defined]
    return ir.Delete([target(part, scope) for part in targets], at(node, scope))


def _import(node: cst.Import, scope: Scope) -> ir.Stmt:
    names = [(alias.evaluated_name, alias.evaluated_alias) for alias in node.names]
    for name, alias in names:
        scope.bound.add(alias or name.partition(".")[0])
    return ir.Import(names, at(node, scope))


def imported(node: cst.ImportFrom) -> list[tuple[str, str | None]]:
    """The names that `from ... import` names, with their aliases."""
    if isinstance(node.names, cst.ImportStar):
        return [("*", None)]
    return [(alias.evaluated_name, alias.evaluated_alias) for alias in node.names]


def module_name(node: cst.ImportFrom) -> str:
    """The dotted module of `from ... import`, empty for `from . import`."""
    parts: list[str] = []
    module = node.module
    while isinstance(module, cst.Attribute):
        parts.append(module.attr.value)
        module = module.value  # type: ignore[assignment]
    if module is not None:
        parts.append(module.value)
    return ".".join(reversed(parts))


def _import_from(node: cst.ImportFrom, scope: Scope) -> ir.Stmt:
    names = imported(node)
    scope.bound.update(alias or name for name, alias in names)
    return ir.ImportFrom(module_name(node), len(node.relative), names, at(node, scope))


def _nothing(node: cst.CSTNode, scope: Scope) -> None:
    return None


def _global(node: cst.Global, scope: Scope) -> None:
    scope.declare_global(item.name.value for item in node.names)


def _nonlocal(node: cst.Nonlocal, scope: Scope) -> None:
    scope.declare_nonlocal(item.name.value for item in node.names)


def _type_alias(node: cst.TypeAlias, scope: Scope) -> ir.Stmt:
    place = at(node, scope)
    return ir.Assign([target(node.name, scope)], ir.Const(None, place), None, place)


def _function(node: cst.FunctionDef, scope: Scope) -> ir.Stmt:
    scope.bound.add(node.name.value)
    place = at(node, scope)
    decorators = [expression(decorator.decorator, scope) for decorator in node.decorators]
    return ir.Function(
        node.name.value,
        parameters(node.params, scope),
        decorators,
        None if node.returns is None else expression(node.returns.annotation, scope),
        node.asynchronous is not None,
        scope.context.survey.speaks(place.lineno),
        partial(_function_body, node, scope),
        place,
    )


def _function_body(node: cst.FunctionDef, parent: Scope) -> ir.Body:
    scope = function_scope(node.params, parent)
    return scope.body(_suite(node.body, scope))


def _class(node: cst.ClassDef, scope: Scope) -> ir.Stmt:
    scope.bound.add(node.name.value)
    place = at(node, scope)
    decorators = [expression(decorator.decorator, scope) for decorator in node.decorators]
    bases, keywords = arguments([*node.bases, *node.keywords], scope)
    if node.type_parameters is not None:
        bases = plain_bases(bases)
    inner = scope.inner(Kind.CLASS)
    body = _suite(node.body, inner)
    inner.close()
    speaks = scope.context.survey.speaks(place.lineno)
    return ir.Class(node.name.value, bases, keywords, body, decorators, speaks, place)


def _match(node: cst.Match, scope: Scope) -> ir.Stmt:
    return ir.Match(expression(node.subject, scope), [_case(case, scope) for case in node.cases], at(node, scope))


def _case(node: cst.MatchCase, scope: Scope) -> ir.Case:
    pattern = _pattern(node.pattern, scope)
    return ir.Case(pattern, optional(node.guard, scope), _suite(node.body, scope), pattern.at)


_STATEMENTS: dict[type, _Lowering] = {
    cst.Expr: _expression_statement,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Assert: _assert,
    cst.Del: _delete,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Pass: _nothing,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.TypeAlias: _type_alias,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Match: _match,
}


# Patterns


def _value_pattern(node: cst.MatchValue, scope: Scope) -> ir.Pattern:
    return ir.ValuePattern(expression(node.value, scope), at(node, scope))


def _sequence_pattern(node: cst.MatchList | cst.MatchTuple, scope: Scope) -> ir.Pattern:
    patterns = [
        _star_pattern(part, scope) if isinstance(part, cst.MatchStar) else _pattern(part.value, scope)
        for part in node.patterns
    ]
    if isinstance(node, cst.MatchTuple):
        return ir.SequencePattern(patterns, scope.context.extents.display(node))
    return ir.SequencePattern(patterns, at(node, scope))


def _star_pattern(node: cst.MatchStar, scope: Scope) -> ir.Pattern:
    return ir.StarPattern(_captured(node.name, node, scope), at(node, scope))


def _mapping_pattern(node: cst.MatchMapping, scope: Scope) -> ir.Pattern:
    return ir.MappingPattern(
        [expression(element.key, scope) for element in node.elements],
        [_pattern(element.pattern, scope) for element in node.elements],
        _captured(node.rest, node, scope),
        at(node, scope),
    )


def _class_pattern(node: cst.MatchClass, scope: Scope) -> ir.Pattern:
    return ir.ClassPattern(
        expression(node.cls, scope),
        [_pattern(element.value, scope) for element in node.patterns],
        [(element.key.value, _pattern(element.pattern, scope)) for element in node.kwds],
        at(node, scope),
    )


def _as_pattern(node: cst.MatchAs, scope: Scope) -> ir.Pattern:
    pattern = None if node.pattern is None else _pattern(node.pattern, scope)
    return ir.CapturePattern(_captured(node.name, node, scope), pattern, at(node, scope))


def _or_pattern(node: cst.MatchOr, scope: Scope) -> ir.Pattern:
    return ir.OrPattern([_pattern(element.pattern, scope) for element in node.patterns], at(node, scope))


def _captured(name: cst.Name | None, node: cst.CSTNode, scope: Scope) -> ir.Name | None:
    if name is None or name.value == "_":
        return None
    return scope.store(name.value, at(node, scope))


_PATTERNS: dict[type, _Lowering] = {
    cst.MatchValue: _value_pattern,
    cst.MatchSingleton: _value_pattern,
    cst.MatchList: _sequence_pattern,
    cst.MatchTuple: _sequence_pattern,
    cst.MatchMapping: _mapping_pattern,
    cst.MatchClass: _class_pattern,
    cst.MatchAs: _as_pattern,
    cst.MatchOr: _or_pattern,
}


def _pattern(node: cst.MatchPattern, scope: Scope) -> ir.Pattern:
    form: ir.Pattern = _PATTERNS[node.__class__](node, scope)
    return form
