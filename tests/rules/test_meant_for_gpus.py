"""Missing CUDA is an error where something shows that the program is meant to run without, else advice."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from devlint.config import Config
from devlint.linter import check

USES = "import sys, torch\ndef main():\n    x = torch.zeros(2).cuda()\n"
LEAVES = {
    "raise": "if not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\n",
    "exit": "if not torch.cuda.is_available():\n    print('no GPU')\n    sys.exit(1)\n",
    "the other side": "if torch.cuda.is_available():\n    y = x\nelse:\n    raise SystemExit('no GPU')\n",
    "assertion": "assert torch.cuda.is_available()\n",
    "by number": "if torch.cuda.device_count() == 0:\n    quit()\n",
    "in a function": "def ask():\n    if not torch.cuda.is_available():\n        raise RuntimeError('no GPU')\nask()\n",
}
MEASURES = {
    "waits": "if torch.cuda.is_available():\n    torch.cuda.synchronize()\n",
    "begins anew": "if torch.cuda.is_available():\n    torch.cuda.reset_peak_memory_stats()\n",
    "shows": "print('GPU', torch.cuda.is_available())\n",
    "tells the memory": "if torch.cuda.is_available():\n    print(torch.cuda.max_memory_allocated())\n",
}
GOES_ON = {
    "falls back": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nprint(torch.ones(2, device=device))\n",
    "an option": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--cpu', action='store_true')\n"
    "if not p.parse_args().cpu and not torch.cuda.is_available():\n    sys.exit('no GPU')\n",
    "a move": "if torch.cuda.is_available():\n    y = torch.ones(2).cuda()\n",
    "leaves with one": "if torch.cuda.is_available():\n    sys.exit()\n",
}


def severities(text: str, folder: Path) -> list[str]:
    """How severe the findings are in a program that uses CUDA first and then does what is given."""
    path = folder / "program.py"
    path.write_text(USES + indent(text, "    ") + "    print(x)\nmain()\n")
    return [item.severity for item in check([path], Config(root=folder))]


@pytest.mark.parametrize("text", [*LEAVES.values(), *MEASURES.values()], ids=[*LEAVES, *MEASURES])
def test_advice(text: str, tmp_path: Path) -> None:
    """Nothing but a farewell, or a measurement, hangs on whether there is a GPU."""
    assert severities(text, tmp_path) == ["advice"]


@pytest.mark.parametrize("text", GOES_ON.values(), ids=GOES_ON)
def test_error(text: str, tmp_path: Path) -> None:
    """The program goes on without a GPU, or would have."""
    assert severities(text, tmp_path) == ["error"]
