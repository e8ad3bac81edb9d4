"""Programs to run, made from what was linted: as it is, or with other findings mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from devlint.confirm.claims import Claim, Row
from devlint.confirm.machines import Program
from devlint.rules.base import Replacement


@dataclass(frozen=True, slots=True)
class Variant:
    """A program, and the way from its rows back to those of the linted text.

    `rows` maps rows of the program to rows of the linted text; rows that are not in it are the same in both. `shown`
    is what is kept of it for people.
    """

    program: Program
    rows: Mapping[Row, Row] = field(default_factory=dict)
    made_up: bool = False
    shown: str = ""

    def with_probes(self, probes: Sequence[dict[str, Any]], texts: Mapping[str, str]) -> Program:
        """Return the program with probes; those of linted rows are put on the program's rows."""
        back = {linted: row for row, linted in self.rows.items()}
        moved = []
        for probe in probes:
            path, row = back.get((probe["path"], probe["row"]), (probe["path"], probe["row"]))
            end_row, end_column = probe["end"]
            end = [end_row + row - probe["row"], end_column]
            moved.append({**probe, "path": path, "row": row, "end": end})
        paths = {probe["path"] for probe in moved} - {self.program.path}
        others = {path: texts[path] for path in paths if path in texts}
        return replace(self.program, probes=tuple(moved), texts={**others, **self.program.texts})


def whole(path: str, texts: Mapping[str, str], root: str) -> Variant:
    """Return the file as a program."""
    return Variant(Program(path, texts[path], root), shown=texts[path])


def mended(claim: Claim, others: Sequence[Claim], texts: Mapping[str, str], root: str) -> Variant | None:
    """Return the claim's file with other findings of that file mended; None where no mend can be applied.

    A mend that touches the rows of the claim is left out: the claim would no longer be about this program.
    """
    path = claim.place.path
    text = texts[path]
    chosen: list[Replacement] = []
    mine = {row for file, row in claim.rows if file == path}
    for other in others:
        if other.place.path != path or other.mend is None:
            continue
        rows = {
            row
            for item in other.mend.replacements
            for row in range(_row_of(text, item.start), _row_of(text, item.end) + 1)
        }
        overlapping = any(
            one.start < two.end and two.start < one.end for one in chosen for two in other.mend.replacements
        )
        if not rows & mine and not overlapping:
            chosen += [item for item in other.mend.replacements if item not in chosen]
    if not chosen:
        return None
    new, rows_back = _replaced(text, chosen)
    mapped = {(path, row): (path, original) for row, original in rows_back.items() if row != original}
    return Variant(Program(path, new, root), mapped, shown=new)


def _row_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _replaced(text: str, replacements: Sequence[Replacement]) -> tuple[str, dict[int, int]]:
    """Return the new text, and for each of its rows the row of the old text that it begins in."""
    pieces: list[tuple[str, int, bool]] = []
    at = 0
    for item in sorted(replacements, key=lambda item: item.start):
        pieces += [(text[at : item.start], at, True), (item.content, item.start, False)]
        at = item.end
    pieces.append((text[at:], at, True))
    new, back, row = "", {1: 1}, 1
    for piece, start, original in pieces:
        for index, character in enumerate(piece):
            if character == "\n":
                row += 1
                back[row] = _row_of(text, start + index + 1 if original else start)
        new += piece
    return new, back
