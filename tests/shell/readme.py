"""The output that the README shows: made by running devlint. `make readme` brings it up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
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


if __name__ == "__main__":
    before, _, after = split(README.read_text(encoding="utf-8"))
    README.write_text(before + real_output() + after, encoding="utf-8")
