"""Findings that a project has accepted for now. They are known by what is written there, not by where it stands.

A fingerprint is the code, the relative path, the flagged line without its indentation, and the occurrence number among
equal ones; the file keeps equal ones as a count.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from devlint.config import ConfigError
from devlint.findings import Finding
from devlint.fixes import write_atomically
from devlint.selection import PARSE_CODE

VERSION = 1

Fingerprint = tuple[str, str, str]
"""Code, path relative to the baseline file, the flagged line."""

LineOf = Callable[[Finding], str]


def fingerprint(finding: Finding, folder: Path, line_of: LineOf) -> Fingerprint:
    """Return the fingerprint of a finding, without its occurrence number."""
    path = os.path.relpath(os.path.abspath(finding.location.filename), folder)
    return finding.code, Path(path).as_posix(), line_of(finding).strip()


def write_baseline(file: Path, findings: Iterable[Finding], line_of: LineOf) -> int:
    """Write the fingerprints of the findings and return how many there are. `DEV000` is never accepted.

    Raises:
        OSError: the file can't be written.
    """
    folder = file.absolute().parent
    counts = Counter(fingerprint(item, folder, line_of) for item in findings if item.code != PARSE_CODE)
    entries = [
        {"code": code, "path": path, "line": line, "count": count} for (code, path, line), count in counts.items()
    ]
    entries.sort(key=lambda entry: (str(entry["path"]), str(entry["code"]), str(entry["line"])))
    text = json.dumps({"version": VERSION, "findings": entries}, indent=1, ensure_ascii=False)
    write_atomically(file, text.encode("utf-8", "surrogatepass") + b"\n")
    return counts.total()


def read_baseline(file: Path) -> Counter[Fingerprint]:
    """Return how often each fingerprint is accepted.

    Raises:
        devlint.config.ConfigError: the file can't be read or is no baseline.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
        if document["version"] != VERSION:
            raise ConfigError(f"{file}: baseline of version {document['version']}, expected {VERSION}")
        counts: Counter[Fingerprint] = Counter()
        for entry in document["findings"]:
            counts[str(entry["code"]), str(entry["path"]), str(entry["line"])] += int(entry["count"])
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{file}: not a baseline of devlint") from None
    return counts


def is_new(findings: Sequence[Finding], file: Path, line_of: LineOf) -> list[bool]:
    """Return for each finding, in the order of the file, whether the baseline does not know it.

    Raises:
        devlint.config.ConfigError: see `read_baseline`.
    """
    known = read_baseline(file)
    folder = file.absolute().parent
    answers = []
    for finding in findings:
        key = fingerprint(finding, folder, line_of)
        accepted = finding.code != PARSE_CODE and known[key] > 0
        known[key] -= accepted
        answers.append(not accepted)
    return answers
