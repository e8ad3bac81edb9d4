"""The second front end: from libcst to the program form.

It reads syntax that is newer than the running Python, and checks the first front end: both give the same form.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from devlint.syntax import ir
from devlint.syntax.cst_expressions import CstContext
from devlint.syntax.cst_extents import Extents
from devlint.syntax.cst_statements import block, imported, module_name
from devlint.syntax.cst_strings import leaves
from devlint.syntax.parsing import Unparsable, parse_cst, with_large_stack
from devlint.syntax.scope import ModuleScope
from devlint.syntax.shared import has_main_guard
from devlint.syntax.vocabulary import Survey


def lower(text: str, path: str) -> ir.Module:
    """Lower a program text.

    Raises SyntaxError, ValueError (null bytes) or RecursionError (nested too deeply).
    """
    if "\0" in text:
        raise ValueError("source code string cannot contain null bytes")
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        module = parse_cst(unix)
    except Unparsable as error:
        if error.too_deep:
            raise RecursionError(error.reason) from None
        raise SyntaxError(error.reason, (path, error.row, error.column, None)) from None
    extents = with_large_stack(lambda: Extents(module, unix))
    survey = Survey(text)
    _survey(module.body, survey, extents)
    survey.close()
    scope = ModuleScope(CstContext(survey, module, extents))
    body = block(module.body, scope)
    has_guard = has_main_guard(body)
    return ir.Module(path, text, body, survey.any_speaks, survey.imports, survey.docstrings, has_guard)


def _survey(statements: Sequence[cst.CSTNode], survey: Survey, extents: Extents) -> None:
    for node in statements:
        if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            for small in node.body:
                if isinstance(small, cst.Import):
                    survey.imports += [(alias.evaluated_name, 0, ()) for alias in small.names]
                elif isinstance(small, cst.ImportFrom):
                    names = tuple(name for name, _ in imported(small))
                    survey.imports.append((module_name(small), len(small.relative), names))
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            first, last = extents.rows(node)
            survey.enter(node.name.value, first, last, isinstance(node, cst.ClassDef))
            docstring = _docstring(node.body)
            if docstring is not None and extents.rows(docstring)[0] > first:
                survey.skip(*extents.rows(docstring))
            _survey([node.body], survey, extents)
            survey.leave()
        else:
            _survey([child for child in node.children if isinstance(child, _WITH_STATEMENTS)], survey, extents)


_WITH_STATEMENTS = (
    cst.BaseStatement,
    cst.BaseSuite,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
)


def _docstring(suite: cst.BaseSuite) -> cst.Expr | None:
    first: cst.CSTNode | None = suite.body[0] if suite.body else None
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString)):
        parts = list(leaves(first.value))
        if all(isinstance(part, cst.SimpleString) and "b" not in part.prefix.lower() for part in parts):
            return first
    return None
