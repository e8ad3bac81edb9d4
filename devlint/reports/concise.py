"""One line a finding: `file:row:column: CODE message`, as editors and pagers parse it."""

from __future__ import annotations

from devlint.findings import Finding
from devlint.reports.report import Report, place, summary_lines
from devlint.reports.style import Style


def concise(report: Report) -> str:
    """Render one line a finding, with a star where `--fix` mends it."""
    style = report.style
    lines = [f"{style(place(finding.location), 'bold')}: {headline(finding, style)}" for finding in report.findings]
    if report.summary:
        lines += summary_lines(report)
    return "".join(f"{line}\n" for line in lines)


def headline(finding: Finding, style: Style) -> str:
    """Return code, mark of a safe fix, message and worlds."""
    code = style(finding.code, "yellow" if finding.severity != "error" else "red")
    mark = style(" [*]", "cyan") if finding.fix is not None and finding.fix.applicability == "safe" else ""
    worlds = style(f" ({', '.join(finding.worlds)})", "dim") if finding.worlds else ""
    return f"{code}{mark} {' '.join(finding.message.split())}{worlds}"
