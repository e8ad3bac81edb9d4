"""What pages show of devlint itself: its output in the README, the numbers of rows in the tables. `make readme` brings
both up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SEMANTICS = ROOT / "docs" / "semantics.md"
SHOWN = "examples/radar_encoder.py"
START, END = "```text\n", "```"


def real_output() -> str:
    """Return what devlint prints about the example."""
    command = [sys.executable, "-m", "devlint", "check", "--no-cache", "--isolated", SHOWN]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def split(text: str) -> tuple[str, str, str]:
    """Return the README before, within and after the block that shows the output."""
    before, _, rest = text.partition(START)
    shown, _, after = rest.partition(END)
    return before + START, shown, END + after


def with_counts(text: str) -> str:
    """Return the page about the tables with the numbers of rows that they have now."""
    from devlint.semantics import table

    def counted(match: re.Match[str]) -> str:
        return f"{match[1]}{sum(1 for _ in table.rows(match[2])):,} |"

    return re.sub(r"^(\| `(\w+)\.tbl` \|.*\| )[\d,]+ \|$", counted, text, flags=re.MULTILINE)


if __name__ == "__main__":
    before, _, after = split(README.read_text(encoding="utf-8"))
    README.write_text(before + real_output() + after, encoding="utf-8")
    SEMANTICS.write_text(with_counts(SEMANTICS.read_text(encoding="utf-8")), encoding="utf-8")
