"""What a finding claims, in the terms of a run: which rows of which program texts, and what happens in each world."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devlint.findings import Finding, Location, Position
from devlint.linter import Report
from devlint.rules.base import Mend
from devlint.sources import Source
from devlint.worlds import world_named

Row = tuple[str, int]
"""An absolute path and a row of its program text."""

NOT_RUN = ("DEV000",)

COUNTED = ("DEV801", "DEV802", "DEV803")
STYLE = ("DEV103", "DEV901")
"""What says nothing about a run, unless it names worlds in which it breaks."""

# What is put at the flagged place to see what happens there (devlint.confirm.probes), by rule.
PROBE_KINDS = {
    "DEV104": "value",
    "DEV201": "move",
    "DEV202": "loop",
    "DEV203": "move",
    "DEV506": "move",
    "DEV701": "compare",
    "DEV702": "compare",
    "DEV703": "value",
    "DEV902": "move",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a program text: absolute path, rows from 1, columns in UTF-8 bytes from 0."""

    path: str
    row: int
    column: int
    end_row: int
    end_column: int

    @property
    def start(self) -> tuple[str, int, int]:
        """Path, row and column."""
        return self.path, self.row, self.column


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding with its places in program texts.

    `place` is where it stands, `crash` where it goes wrong (the end of the trace), `steps` the whole way, `calls` the
    call sites on it, outermost first. `rows` are those of all statements on the way, `crash_rows` those of the
    statement that goes wrong and of the flagged one.
    """

    number: int
    finding: Finding
    place: Place
    crash: Place
    steps: tuple[Place, ...]
    calls: tuple[Place, ...]
    rows: frozenset[Row]
    crash_rows: frozenset[Row]
    mend: Mend | None = None

    @property
    def is_advice(self) -> bool:
        """Whether it speaks of cost, which is counted on each machine that has a GPU."""
        return self.finding.code in COUNTED

    def predicted(self, world: str) -> str:
        """Return `runs`, `breaks`, or `silent` where it goes wrong without an error."""
        if self.is_advice and world_named(world).has_cuda:
            return "silent"
        if world not in self.finding.worlds:
            return "runs"
        return "silent" if self.finding.errors.get(world) is None else "breaks"

    def probes(self) -> list[dict[str, Any]]:
        """Return the probes that watch the claim; their ids are `2 * number` (reached?) and the one after."""
        probes = [_probe(2 * self.number, self.crash, "reach")]
        kind = PROBE_KINDS.get(self.finding.code)
        if kind is not None:
            probes.append(_probe(2 * self.number + 1, self.place, kind))
        return probes

    def healing(self) -> dict[str, Any]:
        """Return the probe that gets the program past this claim."""
        return _probe(-1, self.crash, "heal")


def _probe(number: int, place: Place, kind: str) -> dict[str, Any]:
    end = [place.end_row, place.end_column]
    return {"id": number, "path": place.path, "row": place.row, "column": place.column, "end": end, "kind": kind}


def claims_of(report: Report) -> list[Claim]:
    """Return the claims of a report's findings, in their order; what could not be linted claims nothing."""
    books = {name: _Book(source) for name, source in report.sources.items()}
    claims: list[Claim] = []
    for item in report.checked:
        finding = item.finding
        if finding.code in NOT_RUN or finding.location.filename not in books:
            continue
        place = books[finding.location.filename].place(finding.location)
        known = [step for step in finding.trace if step.location.filename in books]
        steps = [(step.message, books[step.location.filename].place(step.location)) for step in known]
        calls = tuple(at for message, at in steps if message.startswith("called here"))
        others = [at for message, at in steps if not message.startswith("called here")]
        crash = steps[-1][1] if steps and others and steps[-1][1] == others[-1] else place
        texts = {source.path: source.text for source in report.sources.values()}
        claims.append(
            Claim(
                number=len(claims),
                finding=finding,
                place=place,
                crash=crash,
                steps=tuple(at for _, at in steps),
                calls=calls,
                rows=_statement_rows([place, *(at for _, at in steps)], texts),
                crash_rows=_statement_rows([place, crash, *others], texts),
                mend=item.mend,
            )
        )
    return claims


class _Book:
    """The way from the author's places to those of the program text."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines = source.text.splitlines()
        self._rows: dict[tuple[int | None, int], tuple[int, int]] = {}
        if source.kind != "python":
            for row in range(1, len(self._lines) + 1):
                cell, position = source.locate(row, 1)
                self._rows.setdefault((cell, position.row), (row, position.column - 1))

    def place(self, location: Location) -> Place:
        return Place(
            self._source.path,
            *self._position(location.cell, location.start),
            *self._position(location.cell, location.end),
        )

    def _position(self, cell: int | None, position: Position) -> tuple[int, int]:
        row, shift = self._row(cell, position)
        line = self._lines[row - 1] if row <= len(self._lines) else ""
        column = max(position.column - 1 - shift, 0)
        return row, len(line[:column].encode("utf-8", "surrogatepass"))

    def _row(self, cell: int | None, start: Position) -> tuple[int, int]:
        if self._source.kind == "python":
            return start.row, 0
        return self._rows.get((cell, start.row), (start.row, 0))


def _statement_rows(places: Iterable[Place], texts: dict[str, str]) -> frozenset[Row]:
    rows: set[Row] = set()
    for place in places:
        rows.add((place.path, place.row))
        for first, last in statement_spans(texts.get(place.path, "")):
            if first <= place.row <= last:
                rows.update((place.path, row) for row in range(first, last + 1))
    return frozenset(rows)


@functools.lru_cache(maxsize=64)
def statement_spans(text: str) -> Sequence[tuple[int, int]]:
    """Return first and last row of each simple statement and of each compound statement's head."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(_spans(tree))


def _spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = node.end_lineno or node.lineno
            if isinstance(body, list) and body:
                last = max(node.lineno, min(last, body[0].lineno - 1))
            elif getattr(node, "cases", None):
                last = node.lineno
            yield node.lineno, last
