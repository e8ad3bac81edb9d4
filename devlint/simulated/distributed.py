"""What belongs to several processes or to CUDA's own tools: refused, with the reason."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from devlint.simulated.errors import cannot_simulate

GLOO = 'use the backend "gloo" with CPU tensors, or run this part on real GPUs'


def _without_nccl(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if backend is not None and "nccl" in str(backend).lower():
            raise cannot_simulate("NCCL collectives", GLOO)
        return original(backend, *args, **kwargs)

    return init_process_group


class _Refused:
    what = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise cannot_simulate(cls.what)


class CUDAGraph(_Refused):
    """Stands for `torch.cuda.CUDAGraph`."""

    what = "CUDA graphs"


def _inductor(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile_(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "inductor") == "inductor" and not kwargs.get("disable"):
            kwargs = {**kwargs, "backend": "aot_eager", "mode": None, "options": None}
        return original(model, *args, **kwargs)

    return compile_


def install() -> None:
    """Refuse NCCL and CUDA graphs; let `torch.compile` stop before code generation, which would need Triton."""
    if torch.distributed.is_available():
        package: Any = torch.distributed
        module: Any = torch.distributed.distributed_c10d
        package.init_process_group = module.init_process_group = _without_nccl(module.init_process_group)
    cuda: Any = torch.cuda
    cuda.CUDAGraph = cuda.graphs.CUDAGraph = CUDAGraph
    entry: Any = torch
    entry.compile = _inductor(entry.compile)
