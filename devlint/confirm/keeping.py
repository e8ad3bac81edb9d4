"""`--keep`: what was run, as programs that anyone can run."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from devlint.confirm.verdicts import Confirmation


def keep(confirmations: Sequence[Confirmation], folder: Path) -> list[Path]:
    """Write each program that was run into a folder, with finding, prediction and observation as a comment.

    Raises:
        OSError: the folder can't be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, item in enumerate(confirmations, 1):
        if not item.program:
            continue
        where = item.finding.location
        stem = re.sub(r"\W+", "_", Path(where.filename).stem)
        path = folder / f"{number:03d}_{stem}_{where.start.row}_{item.finding.code}.py"
        path.write_text(f"{comment(item)}\n{item.program}", encoding="utf-8", errors="surrogateescape")
        written.append(path)
    return written


def comment(item: Confirmation) -> str:
    """Return what is known of a finding, as a comment of Python."""
    where = item.finding.location
    cell = f":cell {where.cell}" if where.cell is not None else ""
    lines = [
        f"{where.filename}{cell}:{where.start.row}:{where.start.column}: {item.finding.code} {item.finding.name}",
        *textwrap.wrap(item.finding.message, 100),
        *(
            f"{ruling.world}: predicted {ruling.predicted}, observed {ruling.observed}"
            f"{f' ({ruling.note})' if ruling.note else ''} on {item.machines[ruling.world]}"
            for ruling in item.rulings
        ),
        f"{item.status}{f': {item.reason}' if item.reason else ''} (by {item.how or 'nothing'})",
        "Run it on such a machine with `python`, or with `devlint run --world gpu1` and this file's name.",
    ]
    return "".join(f"# {line}\n" for text in lines for line in text.splitlines() or [""])
