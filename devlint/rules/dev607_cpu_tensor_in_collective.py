"""DEV607: a CPU tensor given to a collective of the NCCL backend.

https://docs.pytorch.org/docs/stable/distributed.html#backends
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import CpuInCollective
from devlint.rules.base import Diagnosis, Example, Rule, TextContext
from devlint.rules.text import described, steps, trail

BAD = """\
import os

import torch
import torch.distributed as dist

if __name__ == "__main__" and torch.cuda.is_available():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    total = torch.tensor([1.0])
    dist.all_reduce(total)  # DEV607: gpu2
    print(total.item())
"""

GOOD = """\
import os

import torch
import torch.distributed as dist

if __name__ == "__main__" and torch.cuda.is_available():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    total = torch.tensor([1.0], device="cuda")
    dist.all_reduce(total)
    print(total.item())
"""

RULE = Rule(
    code="DEV607",
    name="cpu-tensor-in-collective",
    summary="A CPU tensor is given to a collective operation of the NCCL backend.",
    what="""\
`all_reduce`, `broadcast`, `all_gather`, `reduce_scatter` and the like, called with a tensor on the CPU in a process
group that was started with `"nccl"` alone. Groups of `"gloo"`, of `"cpu:gloo,cuda:nccl"`, or of no stated backend take
CPU tensors, and the collectives of objects choose the device by themselves.""",
    why="""\
NCCL moves data between GPUs and knows no other memory. Counters and metrics are what is usually forgotten, because they
are made by hand from Python numbers.""",
    example=Example(bad=BAD, good=GOOD, runs=False, why_not="it takes NCCL and real GPUs"),
    worlds=("gpu2",),
    error="RuntimeError: No backend type associated with device type cpu",
    references=("https://docs.pytorch.org/docs/stable/distributed.html#backends",),
)


@RULE.on(CpuInCollective)
def on_cpu(event: CpuInCollective, context: TextContext) -> Iterator[Diagnosis]:
    """The tensor is on the CPU."""
    operand = event.operand
    what = described(operand, event.site) if operand is not None else f"`{context.text(event.site)}` gets a CPU tensor"
    message = f"{what}, and NCCL's `{event.operation}` takes CUDA tensors only"
    notes = steps(operand) if operand is not None else []
    yield Diagnosis(event.site, message, event, trail(event, event.site, notes), "create it on this rank's GPU")
