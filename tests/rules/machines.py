"""Runs a program in a world: on the plain CPU, under simulated CUDA with one or two devices, or on real GPUs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@cache
def torch_is_for_cuda() -> bool:
    """Whether the torch that is installed was built for CUDA; it is not imported for that."""
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None
    text = (Path(found.origin).parent / "version.py").read_text(encoding="utf-8")
    return re.search(r"^cuda\b.*= *['\"]", text, re.MULTILINE) is not None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `error` as `Type: text` or None, the program's `row` where it broke, the observed `value`."""

    error: str | None
    row: int | None
    value: Any


class Machines:
    """Zygote processes, started when first needed: an untouched one for the CPU, and one for each simulated machine.

    With `real`, the first GPU of this machine plays `gpu1`, and nothing is simulated.
    """

    def __init__(self, simulating: str = "tests.rules.zygote", *, real: bool = False) -> None:
        zygote = "tests.rules.zygote"
        self._modules = {"plain": zygote, "gpu1": simulating, "gpu2": simulating, "real": zygote}
        self._real = real
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def run(
        self,
        source: str,
        world: str,
        *,
        path: Path,
        args: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        observe: str | None = None,
    ) -> Outcome:
        """Run `source` as if it stood in the file `path`, from that file's folder.

        In the world `cpu` torch is a CPU build; where it is not, the test that asks is skipped.
        """
        assert world == "cpu" or not self._real or world == "gpu1", "one real GPU plays gpu1 alone"
        if world == "cpu" and torch_is_for_cuda():
            pytest.skip("torch is a CUDA build here, which says other things without a GPU than a CPU build")
        request = {
            "source": source,
            "path": str(path),
            "folder": str(path.parent),
            "args": list(args),
            "environment": dict(environment or {}),
            "observe": observe,
        }
        process = self._zygote("plain" if world == "cpu" else "real" if self._real else world)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, "the zygote process ended"
        outcome = Outcome(**json.loads(answer))
        assert outcome.error is None or not outcome.error.startswith("the child died"), outcome.error
        return outcome

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.communicate(timeout=600)

    def _zygote(self, role: str) -> subprocess.Popen[str]:
        if role not in self._processes:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            environment.pop("CUDA_VISIBLE_DEVICES", None)
            if role == "real":
                environment["CUDA_VISIBLE_DEVICES"] = "0"
            self._processes[role] = subprocess.Popen(
                [sys.executable, "-m", self._modules[role], role],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._processes[role]
