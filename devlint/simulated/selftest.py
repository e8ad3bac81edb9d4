"""Whether CUDA can be simulated here: cheap questions first, then the checks in a process of their own."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from importlib import metadata
from typing import Any

SECONDS = 300
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


@functools.cache
def supported() -> str | None:
    """Return None when CUDA can be simulated with the installed torch on this machine, else why not and what to do.

    The answer is one sentence. The first call runs the self-test in a subprocess (about 4 seconds).
    """
    if not sys.platform.startswith("linux"):
        return f"Simulated CUDA works on Linux only, not on {sys.platform}; use a Linux machine or container."
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return f"Simulated CUDA needs torch, which isn't installed; install its CPU build ({CPU_BUILD})."
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "devlint.simulated.check"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return failure(version, f"it took more than {SECONDS} seconds")
    if done.returncode == 0:
        return None
    said = done.stdout.strip().splitlines()
    if said:
        return said[-1]
    return failure(version, f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}")


def failure(version: str, reason: str) -> str:
    """Return the sentence for a torch on which the self-test fails."""
    return (
        f"Simulated CUDA failed its self-test with torch {version} ({reason}); use a real GPU, "
        f"or a torch release that it is tested with (see docs/simulated-cuda.md)."
    )


def refusal() -> str | None:
    """Return why the installed torch or this machine can't do it, as far as that can be told without trying."""
    import torch

    from devlint.simulated import stubs

    if torch.version.hip or getattr(torch.version, "xpu", None):
        return (
            f"Simulated CUDA needs torch built for the CPU or for CUDA, not {torch.__version__}; install the "
            f"CPU build in an environment of its own (python -m venv cpu-torch && cpu-torch/bin/{CPU_BUILD})."
        )
    cuda: Any = torch.cuda
    if torch.version.cuda and cuda.is_initialized():
        return "Simulated CUDA can't start after the program has used the real one; activate it first."
    if not stubs.is_known_machine():
        return "Simulated CUDA works on x86-64 processors only; use a real GPU or an x86-64 machine."
    return None
