"""Backward passes in the calling thread: the engine's own threads would ask CUDA for their devices."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.autograd.graph


def install() -> None:
    """Let every backward pass run in the thread that asks for it."""
    graph: Any = torch.autograd.graph
    engine = graph._engine_run_backward

    @functools.wraps(engine)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            return engine(*args, **kwargs)

    graph._engine_run_backward = run
    package: Any = torch.autograd
    package._engine_run_backward = run
