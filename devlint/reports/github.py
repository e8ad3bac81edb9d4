"""Workflow commands of GitHub Actions, which become annotations of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from devlint.findings import Finding
from devlint.reports.report import Report, breaks_in, place

_LEVELS = {"error": "error", "warning": "warning", "advice": "notice"}


def github(report: Report) -> str:
    """Render one command a finding."""
    return "".join(_command(report, finding) + "\n" for finding in report.findings)


def _command(report: Report, finding: Finding) -> str:
    where = finding.location
    properties: dict[str, object] = {"title": f"devlint ({finding.code})", "file": report.relative(where.filename)}
    # Rows of a notebook count within the cell; in the file as GitHub shows it they would point anywhere.
    if where.cell is None:
        properties["line"] = where.start.row
        if where.start.row == where.end.row:
            properties |= {"col": where.start.column, "endLine": where.end.row, "endColumn": where.end.column}
        else:
            properties["endLine"] = where.end.row
    worlds = breaks_in(finding)
    message = f"{place(where)}: {finding.code} {finding.message}" + (f" ({worlds})" if worlds else "")
    joined = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {joined}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
