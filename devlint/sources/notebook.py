"""Jupyter notebooks: all code cells are one program; edits go back into the JSON and leave the rest as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from devlint.lines import NEWLINE, keep_rows
from devlint.sources.decoding import Decoded
from devlint.sources.magics import MaskedRow, foreign_cell, mask
from devlint.sources.notebook_json import Cell, scan_notebook
from devlint.sources.source import Problem, Replacement, Row, Source
from devlint.syntax.parsing import Unparsable, parse_program

_POINTER: Final = "version https://git-lfs.github.com/spec/"
"""How what stands in the place of a file begins that git LFS keeps elsewhere, and has not fetched.
https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md"""


@dataclass(slots=True, kw_only=True)
class Notebook(Source):
    """A notebook. A row's `origin` is its offset in the text of its cell."""

    cells: dict[int, Cell] = field(default_factory=dict)

    def apply(self, replacements: Iterable[Replacement]) -> str:
        """Return the notebook's new JSON text; outputs, metadata and formatting stay as they are."""
        result = self.content
        ascii_only = self.content.isascii() and "\\u" in self.content
        for change in reversed(self._changes(replacements)):
            cell = self.cells[change.cell or 0]
            inserted = change.start.offset == change.end.offset
            start, end = self._origin(change.start), self._origin(change.end)
            first, last = self._stretch(cell, start, None if inserted else end)
            rows = [json.dumps(row, ensure_ascii=ascii_only)[1:-1] for row in _rows(change.content)]
            between = self._between(cell)
            if between and len(rows) > 1:
                # One string a row: at the end of a string there is no need for an empty one after it.
                if not rows[-1] and self.content[last] == '"':
                    rows.pop()
                written = between.join(rows)
            else:
                written = "".join(rows)
            result = result[:first] + written + result[last:]
        return result

    def shows_error(self, cell: int, name: str) -> bool:
        """Whether the stored outputs of a cell show an exception of that name, or its tags say that it raises one.

        The tag is nbconvert's: a cell that has it may fail when a notebook is executed.
        """
        found = self.cells.get(cell)
        tags = found.metadata.get("tags") if found is not None else None
        return found is not None and (name in found.raised or (isinstance(tags, list) and "raises-exception" in tags))

    def _author_text(self, cell: int | None) -> str:
        if cell is None:
            return self.content
        return self.cells[cell].text if cell in self.cells else ""

    def _stretch(self, cell: Cell, start: int, end: int | None) -> tuple[int, int]:
        """Return the stretch of the JSON text that holds the characters of a cell from `start` to `end`."""
        ends = list(accumulate(len(string.value) for string in cell.strings))
        first = self._place(cell, ends, start)
        if end is None:
            return first, first
        # A stretch from one string's start to another's start takes whole strings away.
        whole = start == 0 or start in ends
        if whole and end in ends[:-1]:
            return first, self._place(cell, ends, end)
        index = next(i for i, reached in enumerate(ends) if end <= reached)
        string = cell.strings[index]
        offsets = [*string.offsets(self.content), string.end]
        return first, offsets[end - (ends[index] - len(string.value))]

    def _continuation(self, row: Row, following: str) -> str:
        """Return the indent that the whole cell has: rows of the program don't."""
        text = self.cells[row.segment].text
        return text[row.origin - row.shift : row.origin]

    def _place(self, cell: Cell, ends: list[int], at: int) -> int:
        """Return where the character `at` of a cell begins in the JSON text; the end of the last string for the end."""
        for string, reached in zip(cell.strings, ends, strict=True):
            if at < reached:
                return string.offsets(self.content)[at - (reached - len(string.value))]
        return cell.strings[-1].end

    def _between(self, cell: Cell) -> str:
        """Return what stands between two strings of the cell's source, quotes included; "" if it is one string."""
        if len(cell.strings) > 1:
            return self.content[cell.strings[0].end : cell.strings[1].start]
        if cell.strings:
            start = cell.strings[0].start - 1
            before = self.content[:start].rstrip(" \t\r\n")
            if before.endswith("["):
                return '",' + self.content[len(before) : start] + '"'
        return ""


def _rows(text: str) -> list[str]:
    """Return the rows of `text` with their newlines, the last one without."""
    rows = []
    at = 0
    for match in NEWLINE.finditer(text):
        rows.append(text[at : match.end()])
        at = match.end()
    return [*rows, text[at:]]


def read_notebook(path: str, filename: str, decoded: Decoded) -> Notebook:
    """Read a notebook: its Python cells one after the other, those that can't be parsed as problems."""
    notebook = Notebook(
        path=path,
        filename=filename,
        kind="notebook",
        text="",
        content=decoded.text,
        encoding=decoded.encoding,
        bom=decoded.bom,
        exact=decoded.exact,
    )
    try:
        scanned = scan_notebook(decoded.text)
    except json.JSONDecodeError as error:
        if decoded.text.startswith(_POINTER):
            return notebook
        what = "the file is empty" if not decoded.text.strip() else error.msg
        notebook.problems.append(Problem(f"not a notebook: {what}", error.lineno, error.colno))
        return notebook
    except RecursionError:
        notebook.problems.append(Problem("not a notebook: nested too deeply"))
        return notebook
    if _language(scanned.metadata) not in ("python", "ipython", "python3", "ipython3", ""):
        return notebook
    rows: list[Row] = []
    texts: list[str] = []
    length = 0
    for cell in scanned.cells:
        if cell.kind != "code" or foreign_cell(cell.text) or _foreign_language(cell.metadata):
            continue
        notebook.cells[cell.number] = cell
        taken, problem = _program_of(cell)
        if problem is not None:
            notebook.problems.append(problem)
            continue
        for program_row, row in taken:
            rows.append(replace(row, start=length))
            texts.append(program_row)
            length += len(program_row)
    notebook.rows = tuple(rows)
    notebook.text = "".join(texts)
    return notebook


def _program_of(cell: Cell) -> tuple[list[tuple[str, Row]], Problem | None]:
    """Return the rows of a cell as the program has them, or why it can't be parsed.

    As in IPython, what the first row is indented by is taken off all rows that begin with it.
    """
    text = cell.text
    masked = mask(text)
    indent = _indent(masked)
    shown = [row.text.removeprefix(indent) for row in masked]
    try:
        parse_program("".join(shown))
    except Unparsable as error:
        return [], Problem(f"the cell can't be parsed: {error.reason}", error.row, error.column, cell.number)
    result = []
    origin = 0
    for number, (written, row, program_row) in enumerate(zip(keep_rows(text), masked, shown, strict=True), 1):
        shift = len(row.text) - len(program_row)
        width = len(written.rstrip("\r\n"))
        hidden = row.masked and (max(row.masked[0] - shift, 0), max(row.masked[1] - shift, 0))
        at = Row(0, cell.number, number, shift, cell.number, origin + shift, len(written) - shift, width, hidden)
        result.append((program_row, at))
        origin += len(written)
    if result and not result[-1][0].endswith("\n"):
        # Also after a lone CR, which would be one newline with an LF at the start of the next cell.
        result[-1] = (result[-1][0] + "\n", result[-1][1])
    return result, None


def _indent(rows: list[MaskedRow]) -> str:
    """Return the white space before the first row that is not empty."""
    first = next((row.text for row in rows if row.text.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _language(metadata: dict[str, Any]) -> str:
    """Return the language of the notebook's kernel in lower case, "" where it is not said."""
    for part, key in (("kernelspec", "language"), ("language_info", "name")):
        value = metadata.get(part)
        if isinstance(value, dict) and isinstance(value.get(key), str):
            language: str = value[key]
            return language.lower()
    return ""


def _foreign_language(metadata: dict[str, Any]) -> bool:
    editor = metadata.get("vscode")
    return isinstance(editor, dict) and editor.get("languageId", "python") != "python"
