"""A source: a file of its author on one side, one program text on the other, and the way back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from devlint.findings import Edit, Position
from devlint.lines import NEWLINE, row_starts, split_rows

Kind = Literal["python", "notebook", "markdown"]
Replacement = tuple[int, int, str]
"""Start and end offset in the program text, in characters, and the new content."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or a cell of it, can't be linted. Row and column are the author's, from 1."""

    message: str
    row: int = 1
    column: int = 1
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the program text that is not simply a row of the file.

    `start` is its offset in the program text; `origin` the offset in the file of what stands there (for notebooks: in
    the cell's text). `shift` is the author's column minus the program's, `size` how much of the row, newline included,
    is the author's, `width` the length of the author's whole row. `masked`: the columns in the program's row (from 0,
    end exclusive) that the author did not write so.
    """

    start: int
    segment: int
    row: int
    shift: int = 0
    cell: int | None = None
    origin: int = 0
    size: int = 0
    width: int = 0
    masked: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """An offset in the program text, with its row (from 1) and column (from 0)."""

    offset: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class _Change:
    """A replacement in the author's terms: his newlines, the prefixes of his rows."""

    start: _Place
    end: _Place
    content: str
    cell: int | None = None


@dataclass(slots=True, kw_only=True)
class Source:
    """A file that was read. `content` is its text as it is on disk, without byte order mark; `text` the program.

    `rows` is empty in a Python file, whose text is the program. A file that can't be read as text, and a cell that
    can't be parsed, is a problem; the program text is then what remains.
    """

    path: str
    filename: str
    kind: Kind
    text: str
    content: str
    encoding: str = "utf-8"
    bom: bytes = b""
    exact: bool = True
    problems: list[Problem] = field(default_factory=list)
    rows: tuple[Row, ...] = ()
    _starts: list[int] | None = field(default=None, init=False, repr=False)
    _shown: dict[int | None, list[str]] = field(default_factory=dict, init=False, repr=False)

    def segment(self, row: int) -> int:
        """Return the cell or fence that a program row stands in, from 1; 0 in a Python file."""
        return self._row(row).segment if self.rows else 0

    def locate(self, row: int, column: int) -> tuple[int | None, Position]:
        """Return cell and position, as the author counts, of a position in the program (from 1, in characters)."""
        if not self.rows:
            return None, Position(row, column)
        at = self._row(row)
        if row > len(self.rows):
            return at.cell, Position(at.row + row - len(self.rows), 1)
        author = column + at.shift
        if at.masked is not None and column - 1 > at.masked[0]:
            author = min(author, at.width + 1)
        return at.cell, Position(at.row, max(author, 1))

    def line(self, row: int, cell: int | None = None) -> str:
        """Return a row as its author sees it, without its newline; "" where there is none."""
        if cell not in self._shown:
            self._shown[cell] = split_rows(self._author_text(cell))
        rows = self._shown[cell]
        return rows[row - 1] if 1 <= row <= len(rows) else ""

    def apply(self, replacements: Iterable[Replacement]) -> str:
        """Return the file's new text; all that is not replaced stays as it is.

        Raises:
            ValueError: replacements overlap, touch masked text, cross cells, or lie outside the program text.
        """
        result = self.content
        for change in reversed(self._changes(replacements)):
            result = result[: self._origin(change.start)] + change.content + result[self._origin(change.end) :]
        return result

    def edits(self, replacements: Iterable[Replacement]) -> tuple[Edit, ...]:
        """Return the replacements as edits of the author's file or cell, in the order of the text.

        Raises:
            ValueError: as `apply`.
        """
        return tuple(
            Edit(change.content, self._author_position(change.start), self._author_position(change.end), change.cell)
            for change in self._changes(replacements)
        )

    def encode(self, content: str) -> bytes:
        """Return the bytes of the file with this text: its encoding, its byte order mark.

        Raises:
            UnicodeEncodeError: the encoding has no such character.
        """
        return self.bom + content.encode(self.encoding)

    def position(self, offset: int) -> tuple[int, int]:
        """Return program row and column, both from 1, of an offset in the program text."""
        if self._starts is None:
            self._starts = row_starts(self.text)
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def _row(self, row: int) -> Row:
        return self.rows[min(max(row, 1), len(self.rows)) - 1]

    def _author_text(self, cell: int | None) -> str:
        return self.content

    def _origin(self, place: _Place) -> int:
        """Return the offset of a place in the file."""
        if self.kind == "python":
            return place.offset
        return self.rows[place.row - 1].origin + place.column

    def _author_position(self, place: _Place) -> Position:
        if self.kind == "python":
            return Position(*self.position(place.offset))
        row = self.rows[place.row - 1]
        if place.column == row.size and row.size > row.width - row.shift:
            return Position(row.row + 1, 1)
        return Position(row.row, place.column + 1 + row.shift)

    def _continuation(self, row: Row, following: str) -> str:
        """Return what the author's rows carry before the program's: indentation, quote marks, a prompt."""
        return ""

    def _changes(self, replacements: Iterable[Replacement]) -> list[_Change]:
        """Return the replacements in order, with the file's newlines and the prefixes of its rows."""
        ordered = sorted(replacements, key=lambda item: item[:2])
        if ordered and not self.exact:
            raise ValueError(f"{self.filename} does not survive decoding and encoding as {self.encoding}")
        reached = 0
        changes = []
        for start, end, content in ordered:
            if not reached <= start <= end <= len(self.text):
                raise ValueError("replacements overlap or lie outside the program text")
            if any(self.text[at - 1 : at + 1] == "\r\n" for at in (start, end) if at):
                raise ValueError("a replacement splits a newline")
            reached = end
            changes.append(self._change(start, end, content))
        return changes

    def _change(self, start: int, end: int, content: str) -> _Change:
        first_row, first_column = self.position(start)
        newline = self._newline(first_row)
        pieces = NEWLINE.split(content)
        if self.kind == "python":
            return _Change(_Place(start, 0, 0), _Place(end, 0, 0), newline.join(pieces))
        if first_row > len(self.rows):
            raise ValueError("the end of the program text belongs to no cell")
        first = last = _Place(start, first_row, first_column - 1)
        closing = False
        if end > start:
            row, column = self.position(end)
            last = _Place(end, row, column - 1)
            closing = column == 1 and (row > len(self.rows) or self._row(row).segment != self._row(row - 1).segment)
            if closing:
                first, last = self._close(first, end, row - 1, pieces)
        self._refuse_foreign(first, last, content)
        at = self.rows[first.row - 1]
        for index, piece in enumerate(pieces[1:], 1):
            final = index == len(pieces) - 1
            if final and closing and not piece:
                continue
            following = piece if piece or not final else self.text[end : end + 1]
            pieces[index] = self._continuation(at, following) + piece
        return _Change(first, last, newline.join(pieces), at.cell)

    def _close(self, first: _Place, end: int, row: int, pieces: list[str]) -> tuple[_Place, _Place]:
        """Return the places of a replacement up to the end of a cell, whose last row is `row`; amend its `pieces`."""
        size = self.rows[row - 1].size
        whole = pieces[-1] == "" and (len(pieces) > 1 or first.column == 0)
        if self.rows[row - 1].start + size < end:
            if whole and len(pieces) > 1:
                pieces.pop()  # the newline at the end of a cell's last row is the program's, not the author's
        elif not whole:
            pieces.append("")  # what follows is no code: the closing fence keeps its own row
        elif len(pieces) == 1:
            # Nothing is left of these rows: what stands before the code goes too.
            first = _Place(first.offset, first.row, -self.rows[first.row - 1].shift)
        return first, _Place(end, row, size)

    def _refuse_foreign(self, first: _Place, last: _Place, content: str) -> None:
        rows = self.rows[first.row - 1 : last.row]
        if rows[0].segment != rows[-1].segment:
            raise ValueError("a replacement crosses cells")
        start, end = first.offset, last.offset
        for number, row in enumerate(rows, first.row):
            if row.masked is None:
                continue
            low, high = row.start + row.masked[0], row.start + row.masked[1]
            # Text beside a mask may change, but not so that it joins a row that is all mask.
            joins_before = end == low == row.start and not content.endswith(("\n", "\r"))
            joins_after = start == high == self._row_end(number) and not content.startswith(("\n", "\r"))
            if max(start, low) < min(end, high) or low < start == end < high or joins_before or joins_after:
                raise ValueError("a replacement touches masked text")

    def _row_end(self, row: int) -> int:
        """Return the offset of the newline of a program row."""
        following = self.rows[row].start if row < len(self.rows) else len(self.text)
        return self.rows[row - 1].start + len(self.text[self.rows[row - 1].start : following].rstrip("\r\n"))

    def _newline(self, row: int) -> str:
        """Return the newline that the program uses at the end of this row, or of the row before if it has none."""
        starts = self._starts or [0]
        for end in (starts[row] if row < len(starts) else 0, starts[row - 1]):
            if end and self.text[end - 1] in "\r\n":
                return "\r\n" if self.text[max(end - 2, 0) : end] == "\r\n" else self.text[end - 1]
        return "\n"
