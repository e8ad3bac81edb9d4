"""How often each rule spoke, most often first."""

from __future__ import annotations

from collections import Counter

from devlint.reports.report import Report


def statistics(report: Report) -> str:
    """Render count, code, mark of a safe fix and name of each rule that found something."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    fixable = {
        finding.code for finding in report.findings if finding.fix is not None and finding.fix.applicability == "safe"
    }
    if not counts:
        return ""
    width = len(str(max(counts.values())))
    return "".join(
        f"{count:>{width}}  {code}  {'[*]' if code in fixable else '[ ]'}  {name}\n"
        for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
