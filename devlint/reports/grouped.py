"""Findings under the name of their file."""

from __future__ import annotations

from itertools import groupby

from devlint.reports.concise import headline
from devlint.reports.report import Report, summary_lines


def grouped(report: Report) -> str:
    """Render the findings file by file, their positions in a column."""
    style = report.style
    blocks = []
    for filename, group in groupby(report.findings, key=lambda finding: finding.location.filename):
        rows = []
        for finding in group:
            where = finding.location
            cell = "" if where.cell is None else f"cell {where.cell}:"
            rows.append((f"{cell}{where.start.row}:{where.start.column}", headline(finding, style)))
        width = max(len(position) for position, _ in rows)
        lines = [f"{style(filename, 'bold')}:", *(f"  {position:<{width}}  {text}" for position, text in rows)]
        blocks.append("".join(f"{line}\n" for line in lines))
    if report.summary:
        blocks.append("".join(f"{line}\n" for line in summary_lines(report)))
    return "\n".join(blocks)
