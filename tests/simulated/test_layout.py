"""Where torch's objects have their fields: found alike whatever lay in their memory before."""

from __future__ import annotations

import subprocess
import sys

SEARCH = """\
import torch
from devlint.simulated import memory
for seed in range(200):
    rubbish = [torch.full((size,), 0xFF00, dtype=torch.int32) for size in range(1, 40)]
    held = [torch.Generator() for _ in range(4)]
    kept = [torch.empty(1, device=("cpu", "meta")[i % 2]) for i in range(seed % 50)]  # makes the next ones fresh memory
    del rubbish, held, kept[::2]
    assert memory.find_layout() == memory.LAYOUT, seed
"""


def test_the_layout_does_not_hang_on_what_lay_there_before() -> None:
    done = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
