"""The format for people: the row with carets, the way the values took, the worlds, the error to come, the fix."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace

from devlint.findings import Condition, Finding, Fix, Position
from devlint.lines import NEWLINE
from devlint.reports.report import Report, breaks_in, place, summary_lines
from devlint.reports.snippets import Label, Snippet, snippet_lines
from devlint.reports.style import TAB, Style, shown

WIDTH = 100
"""Columns to which the notes below the snippets are wrapped."""

FIX_ROWS = 8
"""Rows of a fix that are shown."""


def full(report: Report) -> str:
    """Render each finding as a small page."""
    blocks = ["".join(f"{line}\n" for line in _page(report, finding)) for finding in report.findings]
    if report.summary:
        blocks.append("".join(f"{line}\n" for line in summary_lines(report)))
    return "\n".join(blocks)


def _page(report: Report, finding: Finding) -> Iterator[str]:
    style = report.style
    code = style(f"{finding.code} {finding.name}", "red" if finding.severity == "error" else "yellow")
    yield f"{style(place(finding.location), 'bold')}: {code}: {' '.join(finding.message.split())}"
    snippets = _snippets(report, finding)
    gutter = max((len(str(snippet.row)) for snippet in snippets), default=2)
    empty = style(f"{'':>{gutter}} |", "blue")
    previous = finding.location.filename, finding.location.cell
    for snippet in snippets:
        if (snippet.filename, snippet.cell) != previous:
            cell = "" if snippet.cell is None else f"cell {snippet.cell}:"
            yield f"{'':>{gutter}} {style('-->', 'blue')} {snippet.filename}:{cell}{snippet.row}"
            previous = snippet.filename, snippet.cell
        yield empty
        yield from snippet_lines(snippet, gutter, style)
    notes = list(_notes(finding))
    if snippets and notes:
        yield empty
    for name, text in notes:
        yield from _wrapped(name, text, gutter, style)
    if finding.fix is not None:
        yield from _fix_lines(report, finding, finding.fix, gutter)


def _snippets(report: Report, finding: Finding) -> list[Snippet]:
    """Return the rows to show, in the order of the trace; what stands in one row is shown together."""
    snippets: dict[tuple[str, int | None, int], Snippet] = {}
    steps = [(finding.location, "", True), *((step.location, step.message, False) for step in finding.trace)]
    for where, message, primary in steps:
        line = report.line(where)
        if not line.strip():
            continue
        key = where.filename, where.cell, where.start.row
        snippet = snippets.setdefault(key, Snippet(*key, shown(line)))
        last = where.end.column if where.end.row == where.start.row else len(line.rstrip()) + 1
        label = Label(
            snippet.line.column(where.start.column - 1),
            max(snippet.line.column(last - 1), snippet.line.column(where.start.column - 1) + 1),
            " ".join(message.split()),
            primary,
        )
        snippet.add(label)
    return list(snippets.values())


def _notes(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield heading and text of what is said below the snippets."""
    by_error: dict[str | None, list[str]] = {}
    for world in finding.worlds:
        by_error.setdefault(finding.errors.get(world), []).append(world)
    for error, worlds in by_error.items():
        yield breaks_in(replace(finding, worlds=tuple(worlds))), error or "no error is raised"
    if finding.when:
        yield "when", " and ".join(_choice(finding, choice) for choice in finding.when)
    if finding.help:
        yield "help", finding.help


def _choice(finding: Finding, choice: Condition) -> str:
    where = f"line {choice.row}" if choice.filename == finding.location.filename else f"{choice.filename}:{choice.row}"
    return f"`{choice.condition}` is {str(choice.value).lower()} ({where})"


def _wrapped(heading: str, text: str, gutter: int, style: Style) -> list[str]:
    """Return a note, its further lines set in under the first."""
    lead = f"{heading}: "
    rows = textwrap.wrap(lead + " ".join(text.split()), WIDTH - gutter - 3, subsequent_indent="  ") or [lead]
    rows[0] = style(rows[0][: len(heading)], "bold") + rows[0][len(heading) :]
    mark = style("=", "blue")
    return [f"{'':>{gutter}} {mark if index == 0 else ' '} {row}" for index, row in enumerate(rows)]


def _fix_lines(report: Report, finding: Finding, fix: Fix, gutter: int) -> Iterator[str]:
    """Yield the fix: what it does, and the rows as they will be."""
    yield from _wrapped(f"fix ({fix.applicability})", fix.message, gutter, report.style)
    rows = _fixed_rows(report, finding, fix)
    for row in textwrap.dedent("\n".join(rows[:FIX_ROWS])).splitlines():
        yield f"{'':>{gutter}}     {report.style(shown(row).text, 'green')}".rstrip()
    if len(rows) > FIX_ROWS:
        yield f"{'':>{gutter}}     ..."


def _fixed_rows(report: Report, finding: Finding, fix: Fix) -> list[str]:
    """Return the rows that the edits change, as they will be; none where the source is not at hand."""
    where = finding.location
    result: list[str] = []
    edits = sorted(fix.edits, key=lambda edit: edit.start)
    at = Position(0, 0)
    for edit in edits:
        if edit.start.row > at.row:
            if at.row:
                result[-1] += report.line(where, at.row)[at.column - 1 :]
            result.append(report.line(where, edit.start.row)[: edit.start.column - 1])
        else:
            result[-1] += report.line(where, at.row)[at.column - 1 : edit.start.column - 1]
        first, *others = NEWLINE.split(edit.content)
        result[-1] += first
        result += others
        at = edit.end
    if at.row:
        result[-1] += report.line(where, at.row)[at.column - 1 :]
    return [row.expandtabs(TAB) for row in result]
