"""The program form as text, for expectations, and pairs of nodes of two equal forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devlint.syntax import ir

_HIDDEN = frozenset({"at", "_lower", "_body", "speaks"})


def dump(form: object, *, scopes: bool = False) -> str:
    """Write a form on one line. Constants and names stand for themselves; `scopes` adds where names live."""
    if isinstance(form, ir.Const):
        return repr(form.value)
    if isinstance(form, ir.Name):
        return f"{form.id}:{form.scope.name.lower()}" if scopes else form.id
    if isinstance(form, ir.Body):
        return dump(form.statements, scopes=scopes)
    if isinstance(form, (ir.Node, ir.Generator, ir.Parameters)):
        fields = [
            dump(getattr(form, name), scopes=scopes) for name in ir.slots_of(form.__class__) if name not in _HIDDEN
        ]
        if isinstance(form, ir.Function):
            fields.append(dump(form.body, scopes=scopes))
        return f"{type(form).__name__}({', '.join(fields)})"
    if isinstance(form, list):
        return f"[{', '.join(dump(item, scopes=scopes) for item in form)}]"
    if isinstance(form, tuple):
        return f"({', '.join(dump(item, scopes=scopes) for item in form)})"
    if isinstance(form, dict):
        return f"{{{', '.join(f'{key}: {dump(value, scopes=scopes)}' for key, value in form.items())}}}"
    return str(form)


def walk(form: object) -> Iterator[Any]:
    """Every node of a form, bodies included, in a fixed order."""
    if isinstance(form, (list, tuple)):
        for item in form:
            yield from walk(item)
    elif isinstance(form, dict):
        yield from walk(list(form.values()))
    elif isinstance(form, (ir.Node, ir.Generator, ir.Parameters, ir.Body, ir.Module)):
        if isinstance(form, ir.Node):
            yield form
        if isinstance(form, ir.Function):
            yield from walk(form.body)
        for name in ir.slots_of(form.__class__):
            if name not in _HIDDEN:
                yield from walk(getattr(form, name))


def extent(node: ir.Node) -> tuple[int, int, int, int]:
    """Where a node stands: first row and column, last row and column."""
    return node.at.lineno, node.at.col_offset, node.at.end_lineno, node.at.end_col_offset
