"""reviewdog's diagnostic format. https://github.com/reviewdog/reviewdog/tree/master/proto/rdf"""

from __future__ import annotations

import json
from typing import Any

from devlint.findings import Finding, Location, Position
from devlint.reports.report import Report, breaks_in

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "advice": "INFO"}


def rdjson(report: Report) -> str:
    """Render one document; columns count UTF-8 bytes, as the format wants them."""
    diagnostics = [_diagnostic(report, finding) for finding in report.findings]
    source = {"name": "devlint", "url": "https://devlint.readthedocs.io"}
    return json.dumps({"source": source, "severity": "WARNING", "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(report: Report, finding: Finding) -> dict[str, Any]:
    where = finding.location
    worlds = breaks_in(finding)
    cell = "" if where.cell is None else f"cell {where.cell}, row {where.start.row}: "
    location: dict[str, Any] = {"path": report.relative(where.filename)}
    diagnostic: dict[str, Any] = {
        "message": f"{cell}{finding.message}" + (f" ({worlds})" if worlds else ""),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, **({"url": finding.url} if finding.url else {})},
        "location": location,
    }
    if where.cell is None:
        location["range"] = _range(report, where, where.start, where.end)
        if finding.fix is not None:
            diagnostic["suggestions"] = [
                {"range": _range(report, where, edit.start, edit.end), "text": edit.content}
                for edit in finding.fix.edits
            ]
    return diagnostic


def _range(report: Report, where: Location, start: Position, end: Position) -> dict[str, Any]:
    return {"start": _position(report, where, start), "end": _position(report, where, end)}


def _position(report: Report, where: Location, position: Position) -> dict[str, int]:
    before = report.line(where, position.row)[: position.column - 1]
    missing = position.column - 1 - len(before)
    return {"line": position.row, "column": len(before.encode("utf-8", "replace")) + missing + 1}
