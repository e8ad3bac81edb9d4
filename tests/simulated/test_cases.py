"""Collected cases of real bugs: each program breaks in the worlds that its `case.json` names, and in no other.

Set `DEVLINT_CASES` to a folder of cases; each has `bug.py`, `ok.py` or both, and `case.json` with `breaks_in`.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devlint import simulated
from devlint.worlds import WORLDS, World
from tests.simulated.forked import in_child

FOLDER = os.environ.get("DEVLINT_CASES")
LAST_WORDS = ("should be the same", "same device", "cuda", "CUDA", "device", "is not defined")


def programs() -> Iterator[Any]:
    for case in sorted(Path(FOLDER).glob("*/case.json")) if FOLDER else ():
        facts = json.loads(case.read_text(encoding="utf-8"))
        for script in sorted(case.parent.glob("*.py")):
            if script.name in ("bug.py", "ok.py"):
                for world in WORLDS:
                    breaks = script.name == "bug.py" and world.name in facts.get("breaks_in", ())
                    name = f"{case.parent.name}-{script.stem}-{world.name}"
                    yield pytest.param(script, world, breaks, bool(facts.get("silent")), id=name)


def run(script: Path, world: World) -> None:
    """Run a program; what goes wrong in silence is an error too."""
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    simulated.activate(world.device_count)
    os.chdir(script.parent)
    sys.argv, sys.path = [str(script)], [str(script.parent), *sys.path]
    runpy.run_path(str(script), run_name="__main__")
    observed = simulated.observations()
    assert not observed, observed


@pytest.mark.skipif(not FOLDER, reason="DEVLINT_CASES names no folder of cases")
@pytest.mark.parametrize(("script", "world", "breaks", "silent"), programs())
def test_case(script: Path, world: World, breaks: bool, silent: bool) -> None:
    simulated.preload()
    failure = in_child(lambda: run(script, world))
    assert bool(failure) == breaks, failure
    if silent and breaks:
        assert "Observation(" in failure
