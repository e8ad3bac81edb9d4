"""Rows of a text as Python's tokenizer counts them: they end at LF, CRLF or a lone CR, and at nothing else."""

from __future__ import annotations

import re

NEWLINE = re.compile(r"\r\n?|\n")


def row_starts(text: str) -> list[int]:
    """Return the offset of the first character of each row; the row after a final newline counts."""
    return [0, *(match.end() for match in NEWLINE.finditer(text))]


def split_rows(text: str) -> list[str]:
    """Return the rows of `text` without their newlines."""
    return NEWLINE.split(text)


def keep_rows(text: str) -> list[str]:
    """Return the rows of `text` with their newlines; joined they give `text`. An empty last row is left out."""
    starts = row_starts(text)
    rows = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    if not rows[-1]:
        rows.pop()
    return rows
