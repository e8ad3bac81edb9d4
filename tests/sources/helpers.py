"""What the tests of notebooks and documents share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from devlint.findings import Edit
from devlint.lines import row_starts
from devlint.sources import Source, read_source


def read(data: bytes | str, name: str) -> Source:
    """Read a source from its bytes."""
    return read_source(Path(name), name, data.encode() if isinstance(data, str) else data)


def code(source: str | Sequence[str], **more: Any) -> dict[str, Any]:
    """Return a code cell."""
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": source, **more}


def notebook(*cells: dict[str, Any], indent: int | None = 1, **metadata: Any) -> str:
    """Return the JSON of a notebook."""
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` after edits in the author's coordinates, as an editor would apply them."""
    starts = row_starts(text)
    for edit in reversed(tuple(edits)):
        first = starts[edit.start.row - 1] + edit.start.column - 1
        last = starts[edit.end.row - 1] + edit.end.column - 1
        text = text[:first] + edit.content + text[last:]
    return text


def check_locations(source: Source) -> None:
    """Check that each row of the program that is not masked leads to the author's row with the same code."""
    starts = row_starts(source.text)
    for number, row in enumerate(source.rows, 1):
        program = source.text[starts[number - 1] : starts[number]].rstrip("\r\n")
        cell, position = source.locate(number, 1)
        if row.masked is None:
            assert source.line(position.row, cell)[position.column - 1 :] == program
            for column in range(1, len(program) + 2):
                assert source.locate(number, column) == (cell, (position.row, position.column + column - 1))
