"""Expectations at the end of a line, and what the linter found, in one comparable form.

`x.to(device)  # DEV201: gpu1 gpu2` expects DEV201 on this row in these worlds; `# DEV104: cpu, DEV105: cpu` expects two
findings; advice is expected without worlds, `# DEV801:`. `# below: DEV601: gpu2` speaks of the next row, where no
comment can stand. `# runs: cpu` says that a program can't be run here in the other worlds, `# runs: no` in none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devlint.config import Config, Selection
from devlint.findings import Finding
from devlint.rules.base import Rule
from devlint.rules.catalogue import CATALOGUE

RULES: dict[str, Rule] = {rule.code: rule for rule in CATALOGUE}
MARK = re.compile(r"#\s*(below:\s*)?((?:DEV\d{3}:[ \w]*(?:,\s*)?)+)\s*$")
ONE = re.compile(r"(DEV\d{3}):([ \w]*)")
RUNS = re.compile(r"# runs: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Expected:
    """A finding that should be, or is, at a row; in a notebook the row counts in the cell."""

    file: str
    cell: int
    row: int
    code: str
    worlds: tuple[str, ...]


def expected_in_text(text: str, file: str, cell: int = 0) -> list[Expected]:
    """Return the expectations in a text."""
    return [
        Expected(file, cell, row + bool(mark.group(1)), code, tuple(worlds.split()))
        for row, line in enumerate(text.splitlines(), 1)
        for mark in MARK.finditer(line)
        for code, worlds in ONE.findall(mark.group(2))
    ]


def expected_in_file(path: Path) -> list[Expected]:
    """Return the expectations in a Python file, a document or the cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return expected_in_text(text, path.name)
    cells = json.loads(text)["cells"]
    return [
        item
        for number, cell in enumerate(cells, 1)
        for item in expected_in_text("".join(cell["source"]), path.name, number)
    ]


def as_expected(findings: Iterable[Finding]) -> list[Expected]:
    """Return findings in the form of expectations, sorted."""
    return sorted(
        Expected(
            Path(finding.location.filename).name,
            finding.location.cell or 0,
            finding.location.start.row,
            finding.code,
            finding.worlds,
        )
        for finding in findings
    )


def config_for(code: str, root: Path) -> Config:
    """Return the configuration under which a rule's programs are linted: advice is selected alone."""
    return Config(root=root, selections=() if RULES[code].default else (Selection(select=(code,)),))


def breaks(expected: Iterable[Expected], world: str) -> bool:
    """Tell whether a finding that raises is expected in the world."""
    return any(world in item.worlds and RULES[item.code].error is not None for item in expected)


def matches(raised: str, predicted: str) -> bool:
    """Tell whether what was raised is what was predicted.

    `...` in the prediction stands for any text, and it may end early. `torch.AcceleratorError` is a RuntimeError.
    Device indices may differ: the prediction in a rule names `cuda:0`.
    """
    raised = re.sub(r"cuda:\d", "cuda:N", raised.replace("AcceleratorError:", "RuntimeError:", 1))
    predicted = re.sub(r"cuda:\d", "cuda:N", predicted.replace("AcceleratorError:", "RuntimeError:", 1))
    pattern = ".*".join(re.escape(part) for part in predicted.split("..."))
    return re.match(pattern, raised, re.DOTALL) is not None
