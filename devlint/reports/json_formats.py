"""`json`, an array, and `json-lines`, an object a line: the keys of `docs/output.md`."""

from __future__ import annotations

import json

from devlint.reports.report import Report


def json_array(report: Report) -> str:
    """Render all findings as one array."""
    return json.dumps([finding.as_json() for finding in report.findings], indent=2) + "\n"


def json_lines(report: Report) -> str:
    """Render one object a line."""
    return "".join(json.dumps(finding.as_json()) + "\n" for finding in report.findings)
