"""What every room passes around: where something is, what was found there, and how to mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "advice"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice")
"""From the most to the least severe."""
Applicability = Literal["safe", "unsafe"]


class Position(NamedTuple):
    """A place in a text: row and column count from 1, columns in characters."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of a file as its author sees it. `end` is exclusive.

    In notebooks rows count within the cell, and `cell` counts from 1 over all cells; elsewhere `cell` is None.
    """

    filename: str
    start: Position
    end: Position
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step on the way that the values took: `created on cpu here`."""

    location: Location
    message: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A choice that the program leaves open, and the answer under which the finding arises."""

    condition: str
    value: bool
    filename: str
    row: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` to `end` (exclusive) by `content`, in the finding's file and cell (notebooks)."""

    content: str
    start: Position
    end: Position
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding. `safe`: the meaning stays in the worlds where the code worked."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One bug at its root cause.

    `worlds` lists, in the order of `devlint.worlds.WORLDS`, the names of the worlds in which the program breaks;
    `errors` maps each of them to what torch or Python raises there (None where it is silently wrong).
    `noqa_row` is the row whose comment may suppress the finding.
    """

    code: str
    name: str
    message: str
    location: Location
    severity: Severity
    worlds: tuple[str, ...] = ()
    errors: Mapping[str, str | None] = field(default_factory=dict)
    when: tuple[Condition, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    fix: Fix | None = None
    noqa_row: int = 0
    url: str = ""
    help: str = ""

    @property
    def error(self) -> str | None:
        """What is raised in the first of the worlds; None where the code is silently wrong."""
        return self.errors.get(self.worlds[0]) if self.worlds else None

    def as_json(self) -> dict[str, Any]:
        """Return the finding under the keys of the JSON contract (`docs/output.md`)."""
        where = self.location
        fix: dict[str, Any] | None = None
        if self.fix is not None:
            fix = {
                "applicability": self.fix.applicability,
                "message": self.fix.message,
                "edits": [
                    {
                        "content": edit.content,
                        "location": edit.start._asdict(),
                        "end_location": edit.end._asdict(),
                        **({"cell": edit.cell} if where.cell is not None else {}),
                    }
                    for edit in self.fix.edits
                ],
            }
        return {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "filename": where.filename,
            "cell": where.cell,
            "location": where.start._asdict(),
            "end_location": where.end._asdict(),
            "severity": self.severity,
            "worlds": list(self.worlds),
            "when": [
                {"condition": c.condition, "value": c.value, "filename": c.filename, "row": c.row} for c in self.when
            ]
            or None,
            "error": self.error,
            "errors": {world: self.errors.get(world) for world in self.worlds},
            "trace": [
                {
                    "filename": step.location.filename,
                    "cell": step.location.cell,
                    "row": step.location.start.row,
                    "column": step.location.start.column,
                    "message": step.message,
                }
                for step in self.trace
            ],
            "fix": fix,
            "noqa_row": self.noqa_row or where.start.row,
            "url": self.url,
        }
