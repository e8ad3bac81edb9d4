"""Findings in the protocol's words: rows from 0, columns in the units that the editor counts in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from devlint.findings import Edit, Finding, Location, Position
from devlint.lines import split_rows
from devlint.linter import Report
from devlint.reports.report import breaks_in
from devlint.server.documents import Document
from devlint.suppression import noqa_replacements

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "advice": types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What is told of a document. The report is that of its whole program, whose open files have these URIs."""

    document: Document
    findings: tuple[Finding, ...]
    report: Report
    uris: dict[Path, str]
    codec: PositionCodec
    """Is given single rows: pygls ends rows where editors don't."""

    def touched(self, place: types.Range) -> list[Finding]:
        """Return the findings that have a place in common with a range, be it an end of theirs."""
        start, end = self._position(place.start), self._position(place.end)
        return [item for item in self.findings if item.location.start <= end and start <= item.location.end]

    def _position(self, place: types.Position) -> Position:
        rows = split_rows(self.document.text)
        row = rows[place.line] if place.line < len(rows) else ""
        here = self.codec.position_from_client_units([row + "\n"], types.Position(0, place.character))
        return Position(place.line + 1, here.character + 1)

    def range(self, where: Location | Edit, filename: str) -> types.Range:
        """Return a place in a file of the program."""
        source = self.report.sources.get(filename)

        def there(at: Position) -> types.Position:
            row = source.line(at.row) if source is not None else ""
            return types.Position(at.row - 1, self.codec.client_num_units(row[: at.column - 1]))

        return types.Range(there(where.start), there(where.end))

    def diagnostic(self, finding: Finding) -> types.Diagnostic:
        """Return a finding, with the way of the values as related places."""
        breaks = breaks_in(finding)
        error = f": {finding.error}" if finding.error else ""
        related = [
            types.DiagnosticRelatedInformation(self._location(step.location), step.message)
            for step in finding.trace
            if step.location.cell is None
        ]
        return types.Diagnostic(
            self.range(finding.location, finding.location.filename),
            finding.message + (f"\n{breaks}{error}" if breaks else ""),
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(finding.url) if finding.url else None,
            source="devlint",
            related_information=related or None,
        )

    def _location(self, where: Location) -> types.Location:
        path = Path(os.path.abspath(where.filename))
        return types.Location(self.uris.get(path) or path.as_uri(), self.range(where, where.filename))

    def actions(self, finding: Finding) -> Iterator[types.CodeAction]:
        """Offer the fix of a finding, and to suppress it by a comment."""
        fix = finding.fix
        if fix is not None:
            is_safe = fix.applicability == "safe"
            yield self._action(fix.message + ("" if is_safe else " (unsafe)"), finding, fix.edits, is_safe)
        source = self.report.sources.get(finding.location.filename)
        if source is not None and source.kind == "python" and finding.code != "DEV000":
            edits = source.edits(noqa_replacements(source, [finding]))
            yield self._action(f"Suppress {finding.code} here", finding, edits)

    def _action(
        self, title: str, finding: Finding, edits: Sequence[Edit], is_preferred: bool | None = None
    ) -> types.CodeAction:
        changes = [types.TextEdit(self.range(edit, finding.location.filename), edit.content) for edit in edits]
        return types.CodeAction(
            f"devlint: {title}",
            types.CodeActionKind.QuickFix,
            diagnostics=[self.diagnostic(finding)],
            is_preferred=is_preferred,
            edit=types.WorkspaceEdit({self.document.uri: changes}),
        )
