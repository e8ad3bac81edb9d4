"""Text on a terminal: colours when asked, and the width of what is printed."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

TAB = 4
"""Columns to which a tab is widened."""

_CODES = {"bold": "1", "red": "1;31", "yellow": "1;33", "blue": "1;34", "cyan": "36", "green": "32", "dim": "2"}


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps text in ANSI colours, or leaves it as it is."""

    color: bool

    def __call__(self, text: str, name: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color and text else text


def width_of(character: str) -> int:
    """Return the terminal columns of a character: 2 for East Asian wide ones, 0 for those that combine."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A source row as printed: what is printed for each of its characters, and the terminal column of each, from 0.

    `columns` has one more for the end.
    """

    parts: tuple[str, ...]
    columns: tuple[int, ...]

    @property
    def text(self) -> str:
        """What is printed."""
        return "".join(self.parts)

    @property
    def width(self) -> int:
        """Terminal columns of the row."""
        return self.columns[-1]

    def column(self, index: int) -> int:
        """Return the terminal column of character `index` (from 0), the end for what lies past it."""
        return self.columns[min(max(index, 0), len(self.columns) - 1)]


def shown(line: str) -> ShownLine:
    """Return a row with tabs widened and control characters replaced, so that it can't steer the terminal."""
    if line.isascii() and line.isprintable():
        return ShownLine(tuple(line), tuple(range(len(line) + 1)))
    parts = []
    columns = []
    at = 0
    for character in line:
        columns.append(at)
        if character == "\t":
            character = " " * (TAB - at % TAB)
            at += len(character)
        elif unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION:
            character = "\ufffd"
            at += 1
        else:
            at += width_of(character)
        parts.append(character)
    return ShownLine(tuple(parts), (*columns, at))


_DIRECTION = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they reorder what is shown after them
