"""Program text to program form, by the front end asked for."""

from __future__ import annotations

from typing import Literal

from devlint.syntax import ir, lower_ast

FrontEnd = Literal["auto", "ast", "libcst"]


def lower(text: str, path: str, front_end: FrontEnd = "auto") -> ir.Module:
    """Lower a program text.

    `auto` takes `ast`, and libcst for syntax that is newer than the running Python. Raises SyntaxError, ValueError
    or RecursionError.
    """
    if front_end == "libcst":
        return _lower_cst(text, path)
    try:
        return lower_ast.lower(text, path)
    except SyntaxError as error:
        if front_end == "ast":
            raise
        try:
            return _lower_cst(text, path)
        except (SyntaxError, ValueError, RecursionError):
            raise error from None


def _lower_cst(text: str, path: str) -> ir.Module:
    from devlint.syntax import lower_cst  # late: importing libcst takes longer than checking most files

    return lower_cst.lower(text, path)
