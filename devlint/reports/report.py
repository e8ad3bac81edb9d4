"""What every format is given, and what several of them say in the same way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devlint.findings import Finding, Location
from devlint.fingerprints import Lines
from devlint.reports.style import Style
from devlint.rules.base import Rule
from devlint.worlds import World


@dataclass(frozen=True, slots=True)
class Report:
    """The findings and all that a format may need to show them."""

    findings: tuple[Finding, ...]
    sources: Mapping[str, Lines]
    worlds: tuple[World, ...]
    root: Path
    color: bool = False
    checked: int | None = None
    rules: tuple[Rule, ...] = ()
    summary: bool = True

    @property
    def style(self) -> Style:
        """The colours, or none."""
        return Style(self.color)

    def line(self, location: Location, row: int | None = None) -> str:
        """Return the source row in which a location starts, or another one of its file; "" where it is not at hand."""
        source = self.sources.get(location.filename)
        return source.line(row or location.start.row, location.cell) if source else ""

    def relative(self, filename: str) -> str:
        """Return the path of a shown file name from the root, with forward slashes; as it is where it lies outside."""
        path = Path(os.path.abspath(filename))
        try:
            return path.relative_to(os.path.abspath(self.root)).as_posix()
        except ValueError:
            return Path(filename).as_posix()


def place(location: Location) -> str:
    """Return `file:row:column`, with the cell of a notebook: `nb.ipynb:cell 2:3:5`."""
    cell = "" if location.cell is None else f"cell {location.cell}:"
    return f"{location.filename}:{cell}{location.start.row}:{location.start.column}"


def breaks_in(finding: Finding) -> str:
    """Return the worlds in words: `breaks on gpu1, gpu2`, "" where the finding has none."""
    if not finding.worlds:
        return ""
    silent = all(finding.errors.get(world) is None for world in finding.worlds)
    verb = {"error": "breaks", "warning": "goes wrong", "advice": "concerns"}[finding.severity]
    if finding.severity == "error" and silent:
        verb = "goes wrong"
    preposition = "" if verb == "concerns" else "on "
    return f"{verb} {preposition}{', '.join(finding.worlds)}"


def plural(count: int, word: str) -> str:
    """Return `1 error`, `2 errors`; `advice` has no plural."""
    return f"{count} {word}" if count == 1 or word == "advice" else f"{count} {word}s"


def summary_lines(report: Report) -> list[str]:
    """Return the closing lines: how many of what in how many files, what each world says, what can be fixed."""
    findings = report.findings
    files = report.checked
    if files is None:
        files = len({finding.location.filename for finding in findings})
    severities = Counter(finding.severity for finding in findings)
    counted = [plural(severities[name], name) for name in ("error", "warning", "advice") if severities[name]]
    found = " and ".join([", ".join(counted[:-1]), counted[-1]] if len(counted) > 1 else counted)
    by_world = Counter(world for finding in findings for world in finding.worlds)
    worlds = ", ".join(f"{world.name} {by_world[world.name] or 'ok'}" for world in report.worlds)
    if not files and not findings:
        return ["Nothing was checked."]
    head = f"Found {found}" if findings else "Found no errors"
    unread = sum(finding.code == "DEV000" for finding in findings)
    if unread:
        worlds += f"; {unread} could not be checked"
    lines = [f"{head} in {plural(files, 'file')}." + (f" Worlds: {worlds}." if worlds else "")]
    safe = sum(finding.fix is not None and finding.fix.applicability == "safe" for finding in findings)
    unsafe = sum(finding.fix is not None and finding.fix.applicability == "unsafe" for finding in findings)
    if safe or unsafe:
        parts = []
        if safe:
            parts.append(f"{safe} fixable with `--fix`")
        if unsafe:
            parts.append(f"{unsafe} {'more ' if safe else 'fixable '}with `--fix --unsafe-fixes`")
        lines.append(", ".join(parts) + ".")
    return lines
