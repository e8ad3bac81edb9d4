"""What both front ends do the same way."""

from __future__ import annotations

from typing import Any

from devlint.syntax import ir
from devlint.syntax.vocabulary import Survey


class TextContext:
    """What lowering needs to know about the text anywhere in it."""

    __slots__ = ("survey",)

    def __init__(self, survey: Survey) -> None:
        self.survey = survey


def fstring(parts: list[ir.Expr], at: Any) -> ir.FString:
    """An f-string whose neighbouring texts are merged and whose empty ones are dropped."""
    merged: list[ir.Expr] = []
    for part in parts:
        if isinstance(part, ir.Const) and isinstance(part.value, str) and part.at is at:
            if not part.value:
                continue
            last = merged[-1] if merged else None
            if isinstance(last, ir.Const) and last.at is at and isinstance(last.value, str):
                merged[-1] = ir.Const(last.value + part.value, at)
                continue
        merged.append(part)
    return ir.FString(merged, at)


def formatted(value: ir.Expr, conversion: str, spec: list[ir.Expr] | None, at: Any) -> ir.Expr:
    """`{value!r:spec}` as the call of `format` that gives its text; the value itself where it has neither."""
    if not conversion and spec is None:
        return value
    fields = [value]
    text = f"!{conversion}" if conversion else ""
    for number, part in enumerate(spec if spec is not None else ()):
        text += "" if number else ":"
        if isinstance(part, ir.Const) and isinstance(part.value, str) and not {"{", "}"} & set(part.value):
            text += part.value
        else:
            text += "{}"
            fields.append(part)
    return ir.Call(ir.Attribute(ir.Const(f"{{{text}}}", at), "format", at), fields, [], at)


def compare_chain(operators: list[str], operands: list[ir.Expr], at: Any) -> ir.Expr:
    """`a < b < c` as `a < b and b < c`, with one node for `b`."""
    comparisons: list[ir.Expr] = [
        ir.Compare(operator, operands[i], operands[i + 1], at) for i, operator in enumerate(operators)
    ]
    return comparisons[0] if len(comparisons) == 1 else ir.Bool(True, comparisons, at)


def plain_bases(bases: list[ir.Expr]) -> list[ir.Expr]:
    """The bases of a class with type parameters: `Base[T]` as `Base`, for `T` is bound nowhere else."""
    return [base.value if isinstance(base, ir.Subscript) else base for base in bases]


def close_branches(statements: list[ir.Stmt]) -> list[ir.Stmt]:
    """A `raise` that ends a block behind an `if` all of whose ways return is the `else` of that."""
    if len(statements) < 2 or not isinstance(statements[-1], ir.Raise):
        return statements
    last: ir.Stmt = statements[-2]
    while isinstance(last, ir.If) and last.body and isinstance(last.body[-1], ir.Return):
        if not last.orelse:
            last.orelse = [statements.pop()]
            break
        last = last.orelse[0] if len(last.orelse) == 1 else statements[-1]
    return statements


def has_main_guard(body: list[ir.Stmt]) -> bool:
    """Whether `if __name__ == '__main__'` stands at module level."""
    return any(isinstance(statement, ir.If) and _is_main_test(statement.test) for statement in body)


def _is_main_test(test: ir.Expr) -> bool:
    if isinstance(test, ir.Bool):
        return any(map(_is_main_test, test.values))
    if not isinstance(test, ir.Compare) or test.operator != "==":
        return False
    sides = (test.left, test.right)
    return any(isinstance(side, ir.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ir.Const) and side.value == "__main__" for side in sides
    )
