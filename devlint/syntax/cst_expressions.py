"""Expressions of the second front end: from libcst to the program form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import libcst as cst

from devlint.syntax import ir
from devlint.syntax.cst_extents import At, Extents
from devlint.syntax.cst_strings import FORMATTED, Field, fields, leaves, literal
from devlint.syntax.scope import Kind, Scope
from devlint.syntax.shared import compare_chain, formatted, fstring
from devlint.syntax.vocabulary import Survey

_Lowering: TypeAlias = Callable[[Any, Scope], Any]

BINARY: dict[type, str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.MatrixMultiply: "@",
    cst.Power: "**",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.BitAnd: "&",
}
_UNARY: dict[type, str] = {cst.Not: "not", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~"}
_COMPARE: dict[type, str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is-not",
    cst.In: "in",
    cst.NotIn: "not-in",
}
_NAMED_CONSTANTS = {"True": True, "False": False, "None": None}


class CstContext:
    """What lowering needs to know about the text anywhere in it, as `TextContext` for the first front end."""

    __slots__ = ("extents", "module", "survey")

    def __init__(self, survey: Survey, module: cst.Module, extents: Extents) -> None:
        self.survey = survey
        self.module = module
        self.extents = extents


def at(node: cst.CSTNode, scope: Scope) -> At:
    """Where the node stands, without parentheses."""
    extents: Extents = scope.context.extents
    return extents.of(node)


def _name(node: cst.Name, scope: Scope) -> ir.Expr:
    if node.value in _NAMED_CONSTANTS:
        return ir.Const(_NAMED_CONSTANTS[node.value], at(node, scope))
    return scope.load(node.value, at(node, scope))


def _number(node: cst.BaseNumber, scope: Scope) -> ir.Expr:
    return ir.Const(literal(node.value), at(node, scope))  # type: ignore[attr-defined]


def _ellipsis(node: cst.Ellipsis, scope: Scope) -> ir.Expr:
    return ir.Const(..., at(node, scope))


def _string(node: cst.BaseString, scope: Scope) -> ir.Expr:
    place = at(node, scope)
    parts = list(leaves(node))
    if not any(isinstance(part, FORMATTED) for part in parts):
        values: list[Any] = [literal(part.value) for part in parts]  # type: ignore[attr-defined]
        return ir.Const(values[0][:0].join(values), place)
    forms: list[ir.Expr] = []
    for part in parts:
        if isinstance(part, cst.SimpleString):
            forms.append(ir.Const(literal(part.value), place))
            continue
        for field in fields(part, scope.context.module):
            forms.append(_field(field, place, scope))
    return fstring(forms, place)


def _field(field: str | Field, place: At, scope: Scope) -> ir.Expr:
    if isinstance(field, str):
        return ir.Const(field, place)
    spec = None if field.spec is None else [_field(part, place, scope) for part in field.spec]
    return formatted(expression(field.expression, scope), field.conversion, spec, place)


def _attribute(node: cst.Attribute, scope: Scope) -> ir.Expr:
    return ir.Attribute(expression(node.value, scope), node.attr.value, at(node, scope))


def _subscript(node: cst.Subscript, scope: Scope) -> ir.Expr:
    value = expression(node.value, scope)
    elements = node.slice
    index = [_subscript_element(element.slice, scope) for element in elements]
    last = elements[-1]
    if len(index) > 1 or isinstance(last.comma, cst.Comma) or isinstance(index[0], ir.Starred):
        extent = scope.context.extents.items(node, elements[0].slice, last)
        return ir.Subscript(value, ir.Display("tuple", index, extent), at(node, scope))
    return ir.Subscript(value, index[0], at(node, scope))


def _subscript_element(node: cst.BaseSlice, scope: Scope) -> ir.Expr:
    if isinstance(node, cst.Index):
        value = expression(node.value, scope)
        return ir.Starred(value, at(node, scope)) if node.star == "*" else value
    assert isinstance(node, cst.Slice)
    lower, upper, step = (optional(bound, scope) for bound in (node.lower, node.upper, node.step))
    return ir.Slice(lower, upper, step, scope.context.extents.slice(node))


def _call(node: cst.Call, scope: Scope) -> ir.Expr:
    function = expression(node.func, scope)
    args, keywords = arguments(node.args, scope)
    if len(node.args) == 1:
        only = node.args[0].value
        if isinstance(only, cst.GeneratorExp) and not only.lpar:
            args[0].at = scope.context.extents.sole_argument(node, only)
    return ir.Call(function, args, keywords, at(node, scope))


def arguments(args: Sequence[cst.Arg], scope: Scope) -> tuple[list[ir.Expr], list[tuple[str | None, ir.Expr]]]:
    positional: list[ir.Expr] = []
    keywords: list[tuple[str | None, ir.Expr]] = []
    for arg in args:
        value = expression(arg.value, scope)
        if arg.star == "**":
            keywords.append((None, value))
        elif arg.keyword is not None:
            keywords.append((arg.keyword.value, value))
        elif arg.star == "*":
            positional.append(ir.Starred(value, scope.context.extents.to(arg, arg.value)))
        else:
            positional.append(value)
    return positional, keywords


def _binary(node: cst.BinaryOperation, scope: Scope) -> ir.Expr:
    pending = [node]
    while isinstance(pending[-1].left, cst.BinaryOperation):
        pending.append(pending[-1].left)
    value = expression(pending[-1].left, scope)
    for part in reversed(pending):
        right = expression(part.right, scope)
        value = ir.Binary(BINARY[part.operator.__class__], value, right, at(part, scope))
    return value


def _unary(node: cst.UnaryOperation, scope: Scope) -> ir.Expr:
    return ir.Unary(_UNARY[node.operator.__class__], expression(node.expression, scope), at(node, scope))


def _compare(node: cst.Comparison, scope: Scope) -> ir.Expr:
    operands = [expression(node.left, scope)]
    operands += [expression(target.comparator, scope) for target in node.comparisons]
    operators = [_COMPARE[target.operator.__class__] for target in node.comparisons]
    return compare_chain(operators, operands, at(node, scope))


def _bool(node: cst.BooleanOperation, scope: Scope) -> ir.Expr:
    operator = node.operator.__class__
    operands = [node.right]
    left = node.left
    while isinstance(left, cst.BooleanOperation) and left.operator.__class__ is operator and not left.lpar:
        operands.append(left.right)
        left = left.left
    operands.append(left)
    values = [expression(operand, scope) for operand in reversed(operands)]
    return ir.Bool(operator is cst.And, values, at(node, scope))


def _conditional(node: cst.IfExp, scope: Scope) -> ir.Expr:
    test = expression(node.test, scope)
    return ir.Conditional(test, expression(node.body, scope), expression(node.orelse, scope), at(node, scope))


def _list(node: cst.List, scope: Scope, read: _Lowering | None = None) -> ir.Expr:
    return ir.Display("list", _elements(node.elements, scope, read or expression), at(node, scope))


def _tuple(node: cst.Tuple, scope: Scope, read: _Lowering | None = None) -> ir.Expr:
    items = _elements(node.elements, scope, read or expression)
    return ir.Display("tuple", items, scope.context.extents.display(node))


def _set(node: cst.Set, scope: Scope) -> ir.Expr:
    return ir.Display("set", _elements(node.elements, scope, expression), at(node, scope))


def _elements(elements: Sequence[cst.BaseElement], scope: Scope, read: _Lowering) -> list[ir.Expr]:
    forms: list[ir.Expr] = []
    for element in elements:
        value = read(element.value, scope)
        if isinstance(element, cst.StarredElement):
            value = ir.Starred(value, scope.context.extents.to(element, element.value))
        forms.append(value)
    return forms


def _dict(node: cst.Dict, scope: Scope) -> ir.Expr:
    items: list[tuple[ir.Expr | None, ir.Expr]] = []
    for element in node.elements:
        key = expression(element.key, scope) if isinstance(element, cst.DictElement) else None
        items.append((key, expression(element.value, scope)))
    return ir.DictDisplay(items, at(node, scope))


def _comprehension(
    kind: str, node: Any, element: cst.BaseExpression, key: cst.BaseExpression | None, scope: Scope
) -> ir.Expr:
    part: cst.CompFor | None = node.for_in
    inner = scope.inner(Kind.COMPREHENSION)
    generators: list[ir.Generator] = []
    while part is not None:
        iterable = expression(part.iter, inner if generators else scope)
        bound = target(part.target, inner)
        conditions = [expression(condition.test, inner) for condition in part.ifs]
        generators.append(ir.Generator(bound, iterable, conditions))
        part = part.inner_for_in
    place = scope.context.extents.display(node) if kind == "generator" else at(node, scope)
    form = ir.Comprehension(kind, expression(element, inner), optional(key, inner), generators, place)
    inner.close()
    return form


def _list_comprehension(node: cst.ListComp, scope: Scope) -> ir.Expr:
    return _comprehension("list", node, node.elt, None, scope)


def _set_comprehension(node: cst.SetComp, scope: Scope) -> ir.Expr:
    return _comprehension("set", node, node.elt, None, scope)


def _generator(node: cst.GeneratorExp, scope: Scope) -> ir.Expr:
    return _comprehension("generator", node, node.elt, None, scope)


def _dict_comprehension(node: cst.DictComp, scope: Scope) -> ir.Expr:
    return _comprehension("dict", node, node.value, node.key, scope)


def _walrus(node: cst.NamedExpr, scope: Scope) -> ir.Expr:
    value = expression(node.value, scope)
    assert isinstance(node.target, cst.Name)
    return ir.Walrus(scope.walrus(node.target.value, at(node.target, scope)), value, at(node, scope))


def _yield(node: cst.Yield, scope: Scope) -> ir.Expr:
    scope.is_generator = True
    if isinstance(node.value, cst.From):
        return ir.YieldFrom(expression(node.value.item, scope), at(node, scope))
    return ir.Yield(optional(node.value, scope), at(node, scope))


def _await(node: cst.Await, scope: Scope) -> ir.Expr:
    return expression(node.expression, scope)


def _lambda(node: cst.Lambda, scope: Scope) -> ir.Expr:
    place = at(node, scope)
    speaks = scope.context.survey.lambda_speaks(place.lineno, place.end_lineno)
    body = partial(_lambda_body, node, scope)
    return ir.Function("<lambda>", parameters(node.params, scope), [], None, False, speaks, body, place)


def _lambda_body(node: cst.Lambda, parent: Scope) -> ir.Body:
    scope = function_scope(node.params, parent)
    value = expression(node.body, scope)
    return scope.body([ir.Return(value, value.at)])


_EXPRESSIONS: dict[type, _Lowering] = {
    cst.Name: _name,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.Ellipsis: _ellipsis,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _string,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Comparison: _compare,
    cst.BooleanOperation: _bool,
    cst.IfExp: _conditional,
    cst.List: _list,
    cst.Tuple: _tuple,
    cst.Set: _set,
    cst.Dict: _dict,
    cst.ListComp: _list_comprehension,
    cst.SetComp: _set_comprehension,
    cst.DictComp: _dict_comprehension,
    cst.GeneratorExp: _generator,
    cst.NamedExpr: _walrus,
    cst.Yield: _yield,
    cst.Await: _await,
    cst.Lambda: _lambda,
    **dict.fromkeys(FORMATTED, _string),
}


def expression(node: cst.BaseExpression, scope: Scope) -> ir.Expr:
    form: ir.Expr = _EXPRESSIONS[node.__class__](node, scope)
    return form


def optional(node: cst.BaseExpression | None, scope: Scope) -> ir.Expr | None:
    return None if node is None else expression(node, scope)


def target(node: cst.BaseExpression, scope: Scope) -> ir.Expr:
    """Lower an expression that is assigned to, or deleted."""
    if isinstance(node, cst.Name):
        return scope.store(node.value, at(node, scope))
    if isinstance(node, cst.Tuple):
        return _tuple(node, scope, target)
    if isinstance(node, cst.List):
        return _list(node, scope, target)
    return expression(node, scope)


def parameters(node: cst.Parameters, scope: Scope) -> ir.Parameters:
    """Lower the parameters; defaults and annotations belong to the scope around the function."""
    positional = [*node.posonly_params, *node.params]
    variadic = node.star_arg if isinstance(node.star_arg, cst.Param) else None
    defaults: dict[str, ir.Expr] = {}
    for parameter in (*positional, *node.kwonly_params):
        if parameter.default is not None:
            defaults[parameter.name.value] = expression(parameter.default, scope)
    annotations: dict[str, ir.Expr] = {}
    for param in (*positional, variadic, *node.kwonly_params, node.star_kwarg):
        if param is not None and param.annotation is not None:
            annotations[param.name.value] = expression(param.annotation.annotation, scope)
    return ir.Parameters(
        [parameter.name.value for parameter in positional],
        len(node.posonly_params),
        variadic.name.value if variadic else None,
        [parameter.name.value for parameter in node.kwonly_params],
        node.star_kwarg.name.value if node.star_kwarg else None,
        defaults,
        annotations,
    )


def function_scope(node: cst.Parameters, parent: Scope) -> Scope:
    """Open the scope of a function with these parameters."""
    scope = parent.inner(Kind.FUNCTION)
    for param in (*node.posonly_params, *node.params, node.star_arg, *node.kwonly_params, node.star_kwarg):
        if isinstance(param, cst.Param):
            scope.bound.add(param.name.value)
    return scope
