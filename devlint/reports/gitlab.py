"""GitLab's code quality report. https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format"""

from __future__ import annotations

import json

from devlint.fingerprints import fingerprints
from devlint.reports.report import Report, breaks_in

_SEVERITIES = {"error": "major", "warning": "minor", "advice": "info"}


def gitlab(report: Report) -> str:
    """Render an array of issues, each with a fingerprint that survives moved lines."""
    issues = []
    identities = fingerprints(report.findings, report.sources, report.relative)
    for finding, identity in zip(report.findings, identities, strict=True):
        where = finding.location
        worlds = breaks_in(finding)
        cell = "" if where.cell is None else f"cell {where.cell}, row {where.start.row}: "
        begin, end = (where.start.row, where.end.row) if where.cell is None else (1, 1)
        issues.append(
            {
                "description": f"{cell}{finding.message}" + (f" ({worlds})" if worlds else ""),
                "check_name": finding.code,
                "fingerprint": identity,
                "severity": _SEVERITIES[finding.severity],
                "location": {"path": report.relative(where.filename), "lines": {"begin": begin, "end": end}},
            }
        )
    return json.dumps(issues, indent=2) + "\n"
