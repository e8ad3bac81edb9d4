"""The values of libcst's strings and f-strings."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst

_TemplatedString: type = getattr(cst, "TemplatedString", type(None))
FORMATTED: tuple[type, ...] = (cst.FormattedString, _TemplatedString)
_TEXTS = tuple(getattr(cst, name) for name in ("FormattedStringText", "TemplatedStringText") if hasattr(cst, name))

_TO_ESCAPE = re.compile(r"\\(?:\r\n|.)|\r\n|[\"\r\n]", re.DOTALL)
_NEWLINES = {"\n": "\\n", "\r": "\\n", "\r\n": "\\n", '"': '\\"'}


def literal(source: str) -> object:
    """The value of a literal, without warnings about its escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(source)


def leaves(node: cst.BaseString) -> Iterator[cst.BaseString]:
    """The strings that a concatenation consists of, in order."""
    pending: list[cst.BaseString] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.ConcatenatedString):
            pending += [part.right, part.left]
        else:
            yield part


@dataclass(frozen=True, slots=True)
class Field:
    """`{expression!conversion:spec}`; `spec` is None where there is no colon."""

    expression: cst.BaseExpression
    conversion: str
    spec: tuple[str | Field, ...] | None


def fields(node: cst.BaseString, module: cst.Module) -> Iterator[str | Field]:
    """The texts and fields of an f-string or template string, in order; `{x=}` gives the text `x=` and then x."""
    return _fields(node.parts, "r" in node.start.lower(), module)  # type: ignore[attr-defined]


def _fields(parts: Any, raw: bool, module: cst.Module) -> Iterator[str | Field]:
    for part in parts:
        if isinstance(part, _TEXTS):
            yield _decoded(part.value, raw)
            continue
        conversion = part.conversion or ""
        if part.equal is not None:
            written = (part.whitespace_before_expression, part.expression, part.equal)
            yield "".join(map(module.code_for_node, written))
            conversion = conversion or ("r" if part.format_spec is None else "")
        spec = None if part.format_spec is None else tuple(_fields(part.format_spec, raw, module))
        yield Field(part.expression, conversion, spec)


def _decoded(text: str, raw: bool) -> str:
    if raw:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
    else:
        plain = str(literal(f'"{_TO_ESCAPE.sub(_escape, text)}"'))
    return plain.replace("{{", "{").replace("}}", "}")


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    return _NEWLINES.get(found, found)
