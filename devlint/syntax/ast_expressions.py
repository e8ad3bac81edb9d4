"""Expressions of the first front end: from `ast` to the program form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from devlint.syntax import ir
from devlint.syntax.scope import Kind, Scope
from devlint.syntax.shared import compare_chain, formatted, fstring

_Lowering: TypeAlias = Callable[[Any, Scope], Any]

BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
}
_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_COMPARE: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is-not",
    ast.In: "in",
    ast.NotIn: "not-in",
}


def _constant(node: ast.Constant, scope: Scope) -> ir.Expr:
    return ir.Const(node.value, node)


def _name(node: ast.Name, scope: Scope) -> ir.Expr:
    if node.ctx.__class__ is ast.Load:
        return scope.load(node.id, node)
    return scope.store(node.id, node)


def _attribute(node: ast.Attribute, scope: Scope) -> ir.Expr:
    value = node.value
    return ir.Attribute(EXPRESSIONS[value.__class__](value, scope), node.attr, node)


def _subscript(node: ast.Subscript, scope: Scope) -> ir.Expr:
    return ir.Subscript(expression(node.value, scope), expression(node.slice, scope), node)


def _call(node: ast.Call, scope: Scope) -> ir.Expr:
    function = node.func
    return ir.Call(
        EXPRESSIONS[function.__class__](function, scope),
        [EXPRESSIONS[arg.__class__](arg, scope) for arg in node.args],
        [(word.arg, EXPRESSIONS[word.value.__class__](word.value, scope)) for word in node.keywords],
        node,
    )


def _binary(node: ast.BinOp, scope: Scope) -> ir.Expr:
    pending = []
    left: ast.expr = node
    while left.__class__ is ast.BinOp:
        pending.append(left)
        left = left.left
    value = expression(left, scope)
    for part in reversed(pending):
        value = ir.Binary(BINARY[part.op.__class__], value, expression(part.right, scope), part)
    return value


def _unary(node: ast.UnaryOp, scope: Scope) -> ir.Expr:
    return ir.Unary(_UNARY[node.op.__class__], expression(node.operand, scope), node)


def _compare(node: ast.Compare, scope: Scope) -> ir.Expr:
    operands = [expression(node.left, scope)]
    operands += [expression(operand, scope) for operand in node.comparators]
    return compare_chain([_COMPARE[operator.__class__] for operator in node.ops], operands, node)


def _bool(node: ast.BoolOp, scope: Scope) -> ir.Expr:
    return ir.Bool(node.op.__class__ is ast.And, expressions(node.values, scope), node)


def _conditional(node: ast.IfExp, scope: Scope) -> ir.Expr:
    return ir.Conditional(
        expression(node.test, scope), expression(node.body, scope), expression(node.orelse, scope), node
    )


def _list(node: ast.List, scope: Scope) -> ir.Expr:
    return ir.Display("list", expressions(node.elts, scope), node)


def _tuple(node: ast.Tuple, scope: Scope) -> ir.Expr:
    return ir.Display("tuple", expressions(node.elts, scope), node)


def _set(node: ast.Set, scope: Scope) -> ir.Expr:
    return ir.Display("set", expressions(node.elts, scope), node)


def _dict(node: ast.Dict, scope: Scope) -> ir.Expr:
    return ir.DictDisplay(
        [(optional(key, scope), expression(value, scope)) for key, value in zip(node.keys, node.values, strict=True)],
        node,
    )


def _comprehension(kind: str, node: Any, element: ast.expr, key: ast.expr | None, scope: Scope) -> ir.Expr:
    first = expression(node.generators[0].iter, scope)
    inner = scope.inner(Kind.COMPREHENSION)
    generators = []
    for i, part in enumerate(node.generators):
        iterable = first if i == 0 else expression(part.iter, inner)
        generators.append(ir.Generator(expression(part.target, inner), iterable, expressions(part.ifs, inner)))
    form = ir.Comprehension(kind, expression(element, inner), optional(key, inner), generators, node)
    inner.close()
    return form


def _list_comprehension(node: ast.ListComp, scope: Scope) -> ir.Expr:
    return _comprehension("list", node, node.elt, None, scope)


def _set_comprehension(node: ast.SetComp, scope: Scope) -> ir.Expr:
    return _comprehension("set", node, node.elt, None, scope)


def _generator(node: ast.GeneratorExp, scope: Scope) -> ir.Expr:
    return _comprehension("generator", node, node.elt, None, scope)


def _dict_comprehension(node: ast.DictComp, scope: Scope) -> ir.Expr:
    return _comprehension("dict", node, node.value, node.key, scope)


def _joined(node: Any, scope: Scope) -> ir.Expr:
    parts: list[ir.Expr] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(ir.Const(value.value, node))
        else:  # FormattedValue, or Interpolation of a template string
            parts.append(_field(value, node, scope))
    return fstring(parts, node)


def _field(field: Any, node: Any, scope: Scope) -> ir.Expr:
    spec = None
    if field.format_spec is not None:
        spec = [
            ir.Const(part.value, node) if isinstance(part, ast.Constant) else _field(part, node, scope)
            for part in field.format_spec.values
        ]
    conversion = "" if field.conversion < 0 else chr(field.conversion)
    return formatted(expression(field.value, scope), conversion, spec, node)


def _slice(node: ast.Slice, scope: Scope) -> ir.Expr:
    return ir.Slice(optional(node.lower, scope), optional(node.upper, scope), optional(node.step, scope), node)


def _starred(node: ast.Starred, scope: Scope) -> ir.Expr:
    return ir.Starred(expression(node.value, scope), node)


def _walrus(node: ast.NamedExpr, scope: Scope) -> ir.Expr:
    value = expression(node.value, scope)
    return ir.Walrus(scope.walrus(node.target.id, node.target), value, node)


def _yield(node: ast.Yield, scope: Scope) -> ir.Expr:
    scope.is_generator = True
    return ir.Yield(optional(node.value, scope), node)


def _yield_from(node: ast.YieldFrom, scope: Scope) -> ir.Expr:
    scope.is_generator = True
    return ir.YieldFrom(expression(node.value, scope), node)


def _await(node: ast.Await, scope: Scope) -> ir.Expr:
    return expression(node.value, scope)


def _lambda(node: ast.Lambda, scope: Scope) -> ir.Expr:
    return ir.Function(
        "<lambda>",
        parameters(node.args, scope),
        [],
        None,
        False,
        scope.context.survey.lambda_speaks(node.lineno, node.end_lineno),
        partial(_lambda_body, node, scope),
        node,
    )


def _lambda_body(node: ast.Lambda, parent: Scope) -> ir.Body:
    scope = function_scope(node.args, parent)
    value = expression(node.body, scope)
    return scope.body([ir.Return(value, value.at)])


EXPRESSIONS: Final[dict[type, _Lowering]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.IfExp: _conditional,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _list_comprehension,
    ast.SetComp: _set_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
    ast.JoinedStr: _joined,
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _await,
    ast.Lambda: _lambda,
}
if hasattr(ast, "TemplateStr"):
    EXPRESSIONS[ast.TemplateStr] = _joined


def expression(node: ast.expr, scope: Scope) -> ir.Expr:
    """Lower one expression."""
    form: ir.Expr = EXPRESSIONS[node.__class__](node, scope)
    return form


def expressions(nodes: list[ast.expr], scope: Scope) -> list[ir.Expr]:
    """Lower expressions, in order."""
    return [EXPRESSIONS[node.__class__](node, scope) for node in nodes]


def optional(node: ast.expr | None, scope: Scope) -> ir.Expr | None:
    """Lower an expression that may be missing."""
    return None if node is None else expression(node, scope)


def function_scope(args: ast.arguments, parent: Scope) -> Scope:
    """Open the scope of a function with these parameters."""
    scope = parent.inner(Kind.FUNCTION)
    bound = scope.bound
    bound.update(arg.arg for arg in args.posonlyargs)
    bound.update(arg.arg for arg in args.args)
    bound.update(arg.arg for arg in args.kwonlyargs)
    if args.vararg:
        bound.add(args.vararg.arg)
    if args.kwarg:
        bound.add(args.kwarg.arg)
    return scope


def parameters(args: ast.arguments, scope: Scope) -> ir.Parameters:
    """Lower the parameters; defaults and annotations belong to the scope around the function."""
    positional = args.posonlyargs + args.args
    defaults: dict[str, ir.Expr] = {}
    if args.defaults:
        for arg, default in zip(positional[-len(args.defaults) :], args.defaults, strict=True):
            defaults[arg.arg] = expression(default, scope)
    for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if value is not None:
            defaults[arg.arg] = expression(value, scope)
    annotations: dict[str, ir.Expr] = {}
    for parameter in (*positional, args.vararg, *args.kwonlyargs, args.kwarg):
        if parameter is not None and parameter.annotation is not None:
            annotations[parameter.arg] = expression(parameter.annotation, scope)
    return ir.Parameters(
        [arg.arg for arg in positional],
        len(args.posonlyargs),
        args.vararg.arg if args.vararg else None,
        [arg.arg for arg in args.kwonlyargs],
        args.kwarg.arg if args.kwarg else None,
        defaults,
        annotations,
    )
