"""Documents that an editor has open, and places in them as it counts: from 0, columns in units of an encoding."""

from __future__ import annotations

import io
import os
import tokenize
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from devlint.findings import Position
from devlint.lines import row_starts, split_rows

Encoding = Literal["utf-8", "utf-16", "utf-32"]
SUFFIXES = {".py", ".pyi", ".md", ".markdown"}
"""What is checked. Notebooks come as documents of their own for each cell, which this server does not ask for."""


@dataclass(slots=True)
class Document:
    """A file as it stands in the editor, saved or not."""

    uri: str
    path: Path
    text: str
    version: int | None
    rows: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = split_rows(self.text)

    @property
    def is_checked(self) -> bool:
        """Whether it is something that devlint reads here."""
        return self.path.suffix.lower() in SUFFIXES

    @property
    def encoded(self) -> bytes:
        """The text as it will be saved: in the encoding that its first rows declare, if they declare one."""
        data = self.text.encode("utf-8", "surrogatepass")
        try:
            return self.text.encode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
        except (SyntaxError, LookupError, UnicodeEncodeError):
            return data

    def row(self, number: int) -> str:
        """Return a row, counted from 0; "" beyond the end."""
        return self.rows[number] if 0 <= number < len(self.rows) else ""


def path_of(uri: str) -> Path | None:
    """Return the file that a URI names; None for what is no file (`untitled:Untitled-1`)."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not parts.path:
        return None
    return Path(os.path.abspath(url2pathname(unquote(parts.path))))


def units(text: str, encoding: Encoding) -> int:
    """Return how long a text is, in units of the encoding."""
    if encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def to_client(row: str, position: Position, encoding: Encoding) -> dict[str, int]:
    """Return a position as the editor counts. `row` is the text of its row."""
    return {"line": position.row - 1, "character": units(row[: position.column - 1], encoding)}


def from_client(document: Document, place: dict[str, Any], encoding: Encoding) -> Position:
    """Return a place of the editor's as devlint counts: from 1, columns in characters."""
    line, wanted = int(place["line"]), int(place["character"])
    column = passed = 0
    for character in document.row(line):
        if passed >= wanted:
            break
        passed += units(character, encoding)
        column += 1
    return Position(line + 1, column + 1)


def position_at(text: str, offset: int) -> Position:
    """Return the position of an offset in a text."""
    starts = row_starts(text)
    row = bisect_right(starts, offset)
    return Position(row, offset - starts[row - 1] + 1)
