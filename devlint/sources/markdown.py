"""Markdown documents: the Python fences of one document are one program, as a reader runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from devlint.lines import NEWLINE, row_starts
from devlint.sources.decoding import Decoded
from devlint.sources.magics import MaskedRow, foreign_cell, mask
from devlint.sources.source import Row, Source
from devlint.syntax.parsing import Unparsable, parse_program

PYTHON = frozenset({"python", "py", "python3", "py3", "ipython", "ipython3"})
PROMPTED = frozenset({"pycon", "pycon3", "python-console"})

_LANGUAGE = re.compile(r"[{.\s]*(?:code-cell\}\s*|code-block\}\s*)?([\w+-]+)")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_FENCE = re.compile("```|~~~")
_TAB = re.compile(r"\s*#\s*@tab\s+(.+)")


@dataclass(slots=True, kw_only=True)
class Document(Source):
    """A Markdown document. A row's `origin` is where its code begins in the file, past quote marks and prompt."""

    def _continuation(self, row: Row, following: str) -> str:
        start = max(self.content.rfind("\n", 0, row.origin), self.content.rfind("\r", 0, row.origin)) + 1
        prefix = self.content[start : row.origin]
        if following[:1] in (" ", "\t", ")", "]", "}") and prefix.rstrip().endswith(">>>"):
            at = prefix.rindex(">>>")
            prefix = prefix[:at] + "..." + prefix[at + 3 :]
        return prefix


@dataclass(frozen=True, slots=True)
class _CodeRow:
    """A row of a fence: the code, with its newline, and where it begins in the file.

    `exact` is False where Markdown made spaces of a part of a tab.
    """

    text: str
    row: int
    column: int
    origin: int
    exact: bool


def read_document(path: str, filename: str, decoded: Decoded) -> Document:
    """Read a Markdown document; fences that don't parse are passed over, since many show fragments."""
    rows: list[Row] = []
    texts: list[str] = []
    length = 0
    for number, fence in enumerate(_fences(decoded.text), 1):
        masked = mask("".join(row.text for row in fence))
        try:
            parse_program("".join(row.text for row in masked))
        except Unparsable:
            continue
        for index, (code, shown) in enumerate(zip(fence, masked, strict=True), 1):
            rows.append(_row(code, shown, length, number))
            text = shown.text
            if index == len(fence) and not text.endswith("\n"):
                text += "\n"
            texts.append(text)
            length += len(text)
    return Document(
        path=path,
        filename=filename,
        kind="markdown",
        text="".join(texts),
        content=decoded.text,
        encoding=decoded.encoding,
        bom=decoded.bom,
        exact=decoded.exact,
        rows=tuple(rows),
    )


def _row(code: _CodeRow, shown: MaskedRow, start: int, segment: int) -> Row:
    width = code.column + len(code.text.rstrip("\r\n"))
    # An inexact row is not the author's text: no edit may touch it.
    masked = shown.masked if code.exact else (0, len(shown.text))
    return Row(start, segment, code.row, code.column, None, code.origin, len(code.text), width, masked)


def _fences(text: str) -> Iterator[list[_CodeRow]]:
    """Yield the rows of each fence that holds Python in the notebook's or the interpreter's form."""
    if not _FENCE.search(text):
        return
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    starts = row_starts(text)
    for token in parser.parse(text):
        if token.type != "fence" or token.map is None:
            continue
        match = _LANGUAGE.match(token.info)
        language = match.group(1).lower() if match else ""
        if language not in PYTHON and language not in PROMPTED:
            continue
        fence = list(_code_rows(text, starts, token.content, token.map[0] + 1))
        first = next((row.text for row in fence if row.text.strip()), "")
        if language in PROMPTED or first.lstrip().startswith(">>>"):
            fence = [_without_prompt(row) for row in fence]
        if fence and not _other_tab(first) and not foreign_cell("".join(row.text for row in fence)):
            yield fence


def _other_tab(first: str) -> bool:
    """Whether a fence is the version of another framework (`#@tab mxnet`, https://github.com/d2l-ai/d2l-book)."""
    match = _TAB.match(first)
    return match is not None and not {"pytorch", "all"} & set(re.split(r"[\s,]+", match.group(1)))


def _code_rows(text: str, starts: list[int], content: str, first: int) -> Iterator[_CodeRow]:
    """Yield the rows of a fence whose first code row is row `first` of the document, counted from 0."""
    shown = content.split("\n")
    if shown and not shown[-1]:
        shown.pop()
    for index, code in enumerate(shown, first):
        start = starts[index]
        end = starts[index + 1] if index + 1 < len(starts) else len(text)
        newline = NEWLINE.search(text, start, end)
        written = text[start : newline.start() if newline else end]
        exact = written.endswith(code)
        column = len(written) - len(code)
        ended = code + (newline.group() if newline else "")
        yield _CodeRow(ended, index + 1, column, start + max(column, 0), exact)


def _without_prompt(row: _CodeRow) -> _CodeRow:
    """Return the row without its prompt; output rows become empty."""
    match = _PROMPT.match(row.text.rstrip("\r\n"))
    width = match.end() if match else len(row.text.rstrip("\r\n"))
    return _CodeRow(row.text[width:], row.row, row.column + width, row.origin + width, row.exact)
