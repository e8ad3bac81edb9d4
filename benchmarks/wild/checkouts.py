"""A checkout: what it is, how large, and what devlint finds in it with its default rules."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import devlint
from benchmarks.wild.ledger import Entry, Measured
from devlint.config import DEFAULT_EXCLUDE
from devlint.sources import read_source

LINTED = (".py", ".pyi", ".ipynb", ".md")
MARK = 16
"""Hexadecimal digits of a mark."""


class Failed(Exception):
    """devlint could not be run over a checkout."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder with the code of `repository` (`owner/name`, or the name of a package) at `commit` (or version)."""

    repository: str
    commit: str
    folder: Path
    aside: bool = False


def parse_checkout(word: str, aside: bool = False) -> Checkout:
    """Read `NAME@COMMIT=FOLDER`; what is left out is asked of git, which the folder must then be a checkout of.

    Raises:
        Failed: git doesn't know.
    """
    name, separator, path = word.rpartition("=")
    folder = Path(path)
    name, _, commit = name.partition("@") if separator else ("", "", "")
    if not name:
        remote = _git(folder, "remote", "get-url", "origin")
        match = re.search(r"([^/:]+/[^/]+?)(\.git)?/?$", remote)
        name = match[1] if match else remote
    return Checkout(name, commit or _git(folder, "rev-parse", "HEAD"), folder, aside)


def measure(checkout: Checkout) -> tuple[Measured, list[Entry]]:
    """Lint the checkout in a process of its own; return its size and the findings that aren't mere advice.

    Raises:
        Failed: devlint ended otherwise than with findings or none.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "devlint", "check", "--isolated", "--no-cache", "--exit-zero"]
        command += ["--output-format", "json", "--output-file", str(report), "."]
        process = subprocess.Popen(
            command, cwd=checkout.folder, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        complaints = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0 or not report.exists():
            raise Failed(f"{checkout.folder}: devlint ended with {process.returncode}\n{complaints}")
        findings = json.loads(report.read_text(encoding="utf-8"))
    files, lines = _size(checkout.folder)
    measured = Measured(
        checkout.repository,
        checkout.commit,
        files,
        lines,
        round(usage.ru_utime + usage.ru_stime, 1),
        usage.ru_maxrss // 1024,
        checkout.aside,
    )
    return measured, entries(checkout, findings)


def entries(checkout: Checkout, findings: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Return the findings of severity error and warning as entries without a verdict."""
    marks: Counter[str] = Counter()
    result = []
    for finding in findings:
        if finding["severity"] == "advice":
            continue
        mark = _mark(checkout.folder / finding["filename"], finding)
        marks[mark] += 1
        result.append(
            Entry(
                checkout.repository,
                checkout.commit,
                finding["filename"],
                finding["cell"],
                finding["location"]["row"],
                finding["code"],
                f"{mark}-{marks[mark]}",
                message=finding["message"],
            )
        )
    return result


def _mark(path: Path, finding: Mapping[str, Any]) -> str:
    """Return what stays when lines move: a digest of code, file and the flagged row."""
    row = read_source(path, path.name).line(finding["location"]["row"], finding["cell"]).strip()
    content = "\0".join((finding["code"], finding["filename"], row))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:MARK]


def _size(folder: Path) -> tuple[int, int]:
    """Return how many files are linted there, and how many rows of program they hold."""
    files = lines = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in DEFAULT_EXCLUDE)
        for path in (Path(root, name) for name in names if name.endswith(LINTED)):
            if path.is_file():  # a link may lead nowhere
                files += 1
                lines += read_source(path, path.name).text.count("\n")
    return files, lines


def _git(folder: Path, *arguments: str) -> str:
    result = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise Failed(f"{folder}: say what it is, NAME@COMMIT={folder}\n{result.stderr.strip()}")
    return result.stdout.strip()


def _environment() -> dict[str, str]:
    """Return the environment in which the very devlint that this process imports is found."""
    home = str(Path(devlint.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": home, "PYTHONSAFEPATH": "1"}
