"""Positions as `ast` counts them (rows from 1, UTF-8 bytes from 0) to character offsets."""

from __future__ import annotations

from typing import Any, Protocol

from devlint.lines import row_starts

LONGEST = 60
"""Characters of a site's text in a message."""


class SiteLike(Protocol):
    """What is needed of `devlint.analysis.events.Site`."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def at(self) -> Any:
        """Has `lineno, col_offset, end_lineno, end_col_offset`."""


class Offsets:
    """The offsets of a text's positions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = row_starts(text)
        self._ascii = text.isascii()

    def offset(self, row: int, byte_column: int) -> int:
        """Return the offset of a position, clamped to the text."""
        if not 1 <= row <= len(self._starts):
            return 0 if row < 1 else len(self.text)
        start = self._starts[row - 1]
        end = self._starts[row] if row < len(self._starts) else len(self.text)
        if self._ascii:
            return min(start + byte_column, end)
        head = self.text[start:end].encode("utf-8", "surrogatepass")[:byte_column]
        return start + len(head.decode("utf-8", "ignore"))

    def span(self, at: Any) -> tuple[int, int]:
        """Return start and end offset of an object that has the extents of an `ast` node."""
        start = self.offset(at.lineno, at.col_offset)
        if at.end_lineno is None or at.end_col_offset is None:
            return start, start
        return start, self.offset(at.end_lineno, at.end_col_offset)


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, shortened in the middle when longer than `longest`."""
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return flat
    head = (longest - 3) * 2 // 3
    return f"{flat[:head]}...{flat[-(longest - 3 - head) :]}"
