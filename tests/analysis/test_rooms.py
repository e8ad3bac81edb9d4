"""The interpreter's rooms: each is in force, and the architecture page knows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted((ROOT / "devlint" / "analysis").rglob("*.py"))
ON_DEMAND = {"devlint.analysis.reveal"}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_room_is_loaded_with_the_analysis() -> None:
    code = "import sys, devlint.analysis.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {module_of(path) for path in ROOMS} - ON_DEMAND <= set(done.stdout.split())


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.stem)
def test_a_room_can_be_imported_first(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {module_of(path)}"], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)(?:\.py)?`", page))
    assert {path.stem for path in ROOMS if path.stem != "__init__"} <= named
