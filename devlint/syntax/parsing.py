"""Program text to a syntax tree, `ast` or libcst, with one exception for all that can go wrong."""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from devlint.syntax.stacks import on_large_stack

if TYPE_CHECKING:
    import libcst as cst

T = TypeVar("T")

_LOCK = threading.Lock()


class Unparsable(Exception):
    """The text is not Python. Row and column count from 1, columns in characters."""

    def __init__(self, reason: str, row: int = 1, column: int = 1, *, too_deep: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column
        self.too_deep = too_deep


class NotText(Unparsable):
    """The text holds characters that no version of Python reads: NUL, lone surrogates."""


def parse_ast(text: str) -> ast.Module:
    """Parse with the running Python, without its warnings about what it reads.

    Raises:
        Unparsable: the text is not Python as this version knows it, or is nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        too_deep = "too many" in error.msg
        raise Unparsable(error.msg, error.lineno or 1, max(error.offset or 1, 1), too_deep=too_deep) from None
    except (RecursionError, MemoryError):
        raise Unparsable("nested too deeply to be parsed", too_deep=True) from None
    except UnicodeEncodeError as error:
        raise NotText("a lone surrogate is no character", text.count("\n", 0, error.start) + 1) from None
    except ValueError as error:
        raise NotText(str(error)) from None


def parse_program(text: str) -> None:
    """Judge whether the text is Python, of this version or newer.

    Raises:
        Unparsable: it is not, or is nested too deeply.
    """
    try:
        parse_ast(text)
    except Unparsable as error:
        if error.too_deep or isinstance(error, NotText):
            raise
        parse_cst(text)


def parse_cst(text: str) -> cst.Module:
    """Parse with libcst, on a stack large enough for all that `ast` accepts.

    `ast` goes first: the native parser ends the process on very deep nesting, where `ast` raises. Text that `ast` does
    not know (syntax newer than the running Python) goes to libcst only if its nesting is moderate.

    Raises:
        Unparsable: the text is not Python, or is nested too deeply.
    """
    import libcst as cst

    refused: Unparsable | None = None
    try:
        tree = parse_ast(text)
    except Unparsable as error:
        if error.too_deep or isinstance(error, NotText) or nesting(text) > MAX_NESTING:
            raise
        refused = error
    else:
        if _LONG_ROW.search(text) and depth(tree) > MAX_DEPTH:
            raise Unparsable("nested too deeply to be parsed", too_deep=True)

    def parse() -> cst.Module:
        return cst.parse_module(text)

    try:
        return with_large_stack(parse)
    except cst.ParserSyntaxError as wrong:
        if refused is not None:
            raise refused from None
        raise Unparsable(wrong.message.splitlines()[0], wrong.editor_line, wrong.editor_column) from None
    except (RecursionError, MemoryError):
        raise Unparsable("nested too deeply to be parsed", too_deep=True) from None


_LONG_ROW = re.compile(r"[^\n]{2000}")

MAX_DEPTH = 1000
"""Deeper trees take libcst's parser time that grows with the square of the depth (14 s at 3,000, libcst 1.9)."""


def depth(tree: ast.AST) -> int:
    """Return how deep the tree is."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in ast.iter_child_nodes(node))
    return deepest


MAX_NESTING = 200
"""CPython's own limit for brackets (`MAXLEVEL` in its tokenizer)."""

_TOKENS = re.compile(
    r"""(?P<text>\#[^\r\n]*|\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<row>[\r\n])|(?P<prefix>[-+~]|\*\*|\b(?:not|lambda|await|if|else|and|or|in|is)\b)""",
    re.VERBOSE | re.DOTALL,
)


_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)


def nesting(text: str) -> int:
    """Return a bound of how deeply expressions nest: brackets, operators within one logical row, indentation."""
    deepest = depth = operators = 0
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(depth - 1, 0)
        elif kind == "prefix":
            operators += 1
        elif kind == "row" and depth == 0:
            operators = 0
        deepest = max(deepest, depth, operators // 10)
    widest = max((len(match.group()) for match in _INDENTATION.finditer(text)), default=0)
    return max(deepest, widest // 4)


def with_large_stack(work: Callable[[], T]) -> T:
    """Run `work` on a large stack, with a recursion limit to match, and return what it returns."""
    with _LOCK:
        limit = sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(max(limit, 100_000))
            return on_large_stack(work)
        finally:
            sys.setrecursionlimit(limit)
