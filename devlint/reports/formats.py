"""The table of the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from devlint.findings import Finding
from devlint.fingerprints import Lines
from devlint.reports.concise import concise
from devlint.reports.full import full
from devlint.reports.github import github
from devlint.reports.gitlab import gitlab
from devlint.reports.grouped import grouped
from devlint.reports.json_formats import json_array, json_lines
from devlint.reports.junit import junit
from devlint.reports.rdjson import rdjson
from devlint.reports.report import Report
from devlint.reports.sarif import sarif
from devlint.reports.statistics import statistics
from devlint.rules.base import Rule
from devlint.worlds import World

FORMATS: Mapping[str, Callable[[Report], str]] = {
    "full": full,
    "concise": concise,
    "grouped": grouped,
    "json": json_array,
    "json-lines": json_lines,
    "github": github,
    "gitlab": gitlab,
    "sarif": sarif,
    "junit": junit,
    "rdjson": rdjson,
    "statistics": statistics,
}
"""The formats by name. `statistics` is not for `--output-format` but for `--statistics`."""


def render(
    format_name: str,
    findings: Iterable[Finding],
    *,
    sources: Mapping[str, Lines],
    worlds: Sequence[World],
    color: bool = False,
    checked: int | None = None,
    rules: Sequence[Rule] = (),
    root: Path | None = None,
    summary: bool = True,
) -> str:
    """Return the findings in a format, ending with a newline unless empty.

    `sources` maps file names as shown in findings to their rows; a missing file costs its source lines. `checked` is
    the number of files that were linted (default: those with findings), `root` the folder to which machine-readable
    formats give paths (default: the working directory). `summary=False` leaves out the closing line.

    Raises:
        KeyError: there is no such format.
    """
    report = Report(
        findings=tuple(findings),
        sources=sources,
        worlds=tuple(worlds),
        color=color,
        checked=checked,
        rules=tuple(rules),
        root=root or Path.cwd(),
        summary=summary,
    )
    return FORMATS[format_name](report)
