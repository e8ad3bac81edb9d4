"""What makes a finding the same finding after its lines have moved: content, not row numbers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from devlint.findings import Finding


class Lines(Protocol):
    """The rows of a file as its author sees them. `devlint.sources.Source` is one."""

    def line(self, row: int, cell: int | None = None) -> str:
        """Return a row without its newline, "" where there is none."""


def fingerprints(
    findings: Iterable[Finding], sources: Mapping[str, Lines], relative: Callable[[str], str] = str
) -> list[str]:
    """Return a fingerprint for each finding: 64 hexadecimal digits, unique among those given.

    It is made of code, relative path, the flagged row without its indentation, and the occurrence number among equal
    ones. `sources` maps file names as shown to their rows, `relative` such a name to the path to be written down.
    """
    seen: Counter[str] = Counter()
    result = []
    for finding in findings:
        where = finding.location
        source = sources.get(where.filename)
        row = source.line(where.start.row, where.cell).strip() if source else ""
        content = "\0".join((finding.code, relative(where.filename), row))
        result.append(hashlib.sha256(f"{content}\0{seen[content]}".encode("utf-8", "surrogatepass")).hexdigest())
        seen[content] += 1
    return result
