"""The first front end: from `ast` to the program form."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from devlint.syntax import ir
from devlint.syntax.ast_expressions import BINARY, expression, expressions, function_scope, optional, parameters
from devlint.syntax.scope import Kind, ModuleScope, Scope
from devlint.syntax.shared import TextContext, close_branches, has_main_guard, plain_bases
from devlint.syntax.vocabulary import Survey

_Lowering: TypeAlias = Callable[[Any, Scope], Any]


def lower(text: str, path: str) -> ir.Module:
    """Lower a program text.

    Raises SyntaxError, ValueError (null bytes) or RecursionError (nested too deeply) as `ast.parse` does.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except MemoryError as error:
        raise RecursionError("nested too deeply for the parser") from error
    survey = Survey(text)
    _survey(tree.body, survey)
    survey.close()
    scope = ModuleScope(TextContext(survey))
    body = _block(tree.body, scope)
    has_guard = has_main_guard(body)
    return ir.Module(path, text, body, survey.any_speaks, survey.imports, survey.docstrings, has_guard)


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SIMPLE: Final = frozenset(
    {ast.Expr, ast.Assign, ast.Return, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete, ast.Pass}
    | {ast.Global, ast.Nonlocal, ast.Break, ast.Continue}
)


def _survey(statements: list[ast.stmt], survey: Survey) -> None:
    for node in statements:
        cls = node.__class__
        if cls in _SIMPLE:
            continue
        if isinstance(node, _DEFINITIONS):
            last = node.end_lineno or node.lineno
            survey.enter(node.name, node.lineno, last, isinstance(node, ast.ClassDef))
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
                and first.lineno > node.lineno
            ):
                survey.skip(first.lineno, first.end_lineno or first.lineno)
            _survey(node.body, survey)
            survey.leave()
        elif isinstance(node, ast.Import):
            for alias in node.names:
                survey.imports.append((alias.name, 0, ()))
        elif isinstance(node, ast.ImportFrom):
            survey.imports.append((node.module or "", node.level, tuple(alias.name for alias in node.names)))
        else:
            for name in ("body", "handlers", "cases", "orelse", "finalbody"):
                for child in getattr(node, name, ()):
                    if isinstance(child, ast.stmt):
                        _survey([child], survey)
                    else:
                        _survey(child.body, survey)


# Statements


def _block(statements: list[ast.stmt], scope: Scope) -> list[ir.Stmt]:
    forms = [_STATEMENTS[node.__class__](node, scope) for node in statements]
    return close_branches([form for form in forms if form is not None])


def _expression_statement(node: ast.Expr, scope: Scope) -> ir.Stmt:
    return ir.ExprStatement(expression(node.value, scope), node)


def _assign(node: ast.Assign, scope: Scope) -> ir.Stmt:
    value = expression(node.value, scope)
    return ir.Assign(expressions(node.targets, scope), value, None, node)


def _annotated(node: ast.AnnAssign, scope: Scope) -> ir.Stmt:
    annotation = expression(node.annotation, scope)
    target = expression(node.target, scope)
    if node.value is None:
        return ir.Annotate(target, annotation, node)
    return ir.Assign([target], expression(node.value, scope), annotation, node)


def _augmented(node: ast.AugAssign, scope: Scope) -> ir.Stmt:
    target = expression(node.target, scope)
    return ir.Augment(target, BINARY[node.op.__class__], expression(node.value, scope), node)


def _if(node: ast.If, scope: Scope) -> ir.Stmt:
    return ir.If(expression(node.test, scope), _block(node.body, scope), _block(node.orelse, scope), node)


def _for(node: ast.For, scope: Scope) -> ir.Stmt:
    iterable = expression(node.iter, scope)
    target = expression(node.target, scope)
    return ir.For(target, iterable, _block(node.body, scope), _block(node.orelse, scope), node)


def _while(node: ast.While, scope: Scope) -> ir.Stmt:
    return ir.While(expression(node.test, scope), _block(node.body, scope), _block(node.orelse, scope), node)


def _try(node: Any, scope: Scope) -> ir.Stmt:
    return ir.Try(
        _block(node.body, scope),
        [_handler(handler, scope) for handler in node.handlers],
        _block(node.orelse, scope),
        _block(node.finalbody, scope),
        node,
    )


def _handler(node: ast.ExceptHandler, scope: Scope) -> ir.Handler:
    type_ = optional(node.type, scope)
    name = scope.store(node.name, node) if node.name else None
    return ir.Handler(type_, name, _block(node.body, scope), node)


def _with(node: ast.With, scope: Scope) -> ir.Stmt:
    items = [(expression(item.context_expr, scope), optional(item.optional_vars, scope)) for item in node.items]
    return ir.With(items, _block(node.body, scope), node)


def _return(node: ast.Return, scope: Scope) -> ir.Stmt:
    return ir.Return(optional(node.value, scope), node)


def _raise(node: ast.Raise, scope: Scope) -> ir.Stmt:
    return ir.Raise(optional(node.exc, scope), node)


def _break(node: ast.Break, scope: Scope) -> ir.Stmt:
    return ir.Break(node)


def _continue(node: ast.Continue, scope: Scope) -> ir.Stmt:
    return ir.Continue(node)


def _assert(node: ast.Assert, scope: Scope) -> ir.Stmt:
    return ir.Assert(expression(node.test, scope), optional(node.msg, scope), node)


def _delete(node: ast.Delete, scope: Scope) -> ir.Stmt:
    return ir.Delete(expressions(node.targets, scope), node)


def _import(node: ast.Import, scope: Scope) -> ir.Stmt:
    for alias in node.names:
        scope.bound.add(alias.asname or alias.name.partition(".")[0])
    return ir.Import([(alias.name, alias.asname) for alias in node.names], node)


def _import_from(node: ast.ImportFrom, scope: Scope) -> ir.Stmt:
    for alias in node.names:
        scope.bound.add(alias.asname or alias.name)
    return ir.ImportFrom(node.module or "", node.level, [(alias.name, alias.asname) for alias in node.names], node)


def _nothing(node: ast.stmt, scope: Scope) -> None:
    return None


def _global(node: ast.Global, scope: Scope) -> None:
    scope.declare_global(node.names)


def _nonlocal(node: ast.Nonlocal, scope: Scope) -> None:
    scope.declare_nonlocal(node.names)


def _type_alias(node: Any, scope: Scope) -> ir.Stmt:
    """A type alias binds its name to something that no device rule looks at."""
    return ir.Assign([expression(node.name, scope)], ir.Const(None, node), None, node)


def _match(node: ast.Match, scope: Scope) -> ir.Stmt:
    return ir.Match(expression(node.subject, scope), [_case(case, scope) for case in node.cases], node)


def _case(node: ast.match_case, scope: Scope) -> ir.Case:
    pattern = _pattern(node.pattern, scope)
    return ir.Case(pattern, optional(node.guard, scope), _block(node.body, scope), node.pattern)


def _function(node: Any, scope: Scope) -> ir.Stmt:
    scope.bound.add(node.name)
    decorators = expressions(node.decorator_list, scope)
    return ir.Function(
        node.name,
        parameters(node.args, scope),
        decorators,
        optional(node.returns, scope),
        node.__class__ is ast.AsyncFunctionDef,
        scope.context.survey.speaks(node.lineno),
        partial(_function_body, node, scope),
        node,
    )


def _function_body(node: ast.FunctionDef, parent: Scope) -> ir.Body:
    scope = function_scope(node.args, parent)
    return scope.body(_block(node.body, scope))


def _class(node: ast.ClassDef, scope: Scope) -> ir.Stmt:
    scope.bound.add(node.name)
    decorators = expressions(node.decorator_list, scope)
    bases = expressions(node.bases, scope)
    if getattr(node, "type_params", None):
        bases = plain_bases(bases)
    keywords = [(word.arg, expression(word.value, scope)) for word in node.keywords]
    inner = scope.inner(Kind.CLASS)
    body = _block(node.body, inner)
    inner.close()
    return ir.Class(node.name, bases, keywords, body, decorators, scope.context.survey.speaks(node.lineno), node)


_STATEMENTS: Final[dict[type, _Lowering]] = {
    ast.Expr: _expression_statement,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Pass: _nothing,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try
if hasattr(ast, "TypeAlias"):
    _STATEMENTS[ast.TypeAlias] = _type_alias


# Patterns


def _value_pattern(node: ast.MatchValue, scope: Scope) -> ir.Pattern:
    return ir.ValuePattern(expression(node.value, scope), node)


def _singleton_pattern(node: ast.MatchSingleton, scope: Scope) -> ir.Pattern:
    return ir.ValuePattern(ir.Const(node.value, node), node)


def _sequence_pattern(node: ast.MatchSequence, scope: Scope) -> ir.Pattern:
    return ir.SequencePattern([_pattern(part, scope) for part in node.patterns], node)


def _star_pattern(node: ast.MatchStar, scope: Scope) -> ir.Pattern:
    return ir.StarPattern(_captured(node.name, node, scope), node)


def _mapping_pattern(node: ast.MatchMapping, scope: Scope) -> ir.Pattern:
    return ir.MappingPattern(
        expressions(node.keys, scope),
        [_pattern(part, scope) for part in node.patterns],
        _captured(node.rest, node, scope),
        node,
    )


def _class_pattern(node: ast.MatchClass, scope: Scope) -> ir.Pattern:
    return ir.ClassPattern(
        expression(node.cls, scope),
        [_pattern(part, scope) for part in node.patterns],
        [(name, _pattern(part, scope)) for name, part in zip(node.kwd_attrs, node.kwd_patterns, strict=True)],
        node,
    )


def _as_pattern(node: ast.MatchAs, scope: Scope) -> ir.Pattern:
    pattern = None if node.pattern is None else _pattern(node.pattern, scope)
    return ir.CapturePattern(_captured(node.name, node, scope), pattern, node)


def _or_pattern(node: ast.MatchOr, scope: Scope) -> ir.Pattern:
    return ir.OrPattern([_pattern(part, scope) for part in node.patterns], node)


def _captured(name: str | None, node: ast.pattern, scope: Scope) -> ir.Name | None:
    return None if name is None else scope.store(name, node)


_PATTERNS: Final[dict[type, _Lowering]] = {
    ast.MatchValue: _value_pattern,
    ast.MatchSingleton: _singleton_pattern,
    ast.MatchSequence: _sequence_pattern,
    ast.MatchStar: _star_pattern,
    ast.MatchMapping: _mapping_pattern,
    ast.MatchClass: _class_pattern,
    ast.MatchAs: _as_pattern,
    ast.MatchOr: _or_pattern,
}


def _pattern(node: ast.pattern, scope: Scope) -> ir.Pattern:
    form: ir.Pattern = _PATTERNS[node.__class__](node, scope)
    return form
