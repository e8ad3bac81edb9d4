"""DEV606: processes of one job that all use GPU 0.

https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import RankWithoutDevice
from devlint.rules.base import Diagnosis, Example, Rule, TextContext
from devlint.rules.text import trail

BAD = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

if __name__ == "__main__" and torch.cuda.is_available():
    dist.init_process_group("nccl")
    model = nn.Linear(8, 2).cuda()  # DEV606: gpu2
    model = DistributedDataParallel(model)
    print(model(torch.randn(4, 8).cuda()).sum())
"""

GOOD = """\
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

if __name__ == "__main__" and torch.cuda.is_available():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = nn.Linear(8, 2).cuda()
    model = DistributedDataParallel(model)
    print(model(torch.randn(4, 8).cuda()).sum())
"""

RULE = Rule(
    code="DEV606",
    name="rank-without-device",
    summary="Every process of a distributed job uses GPU 0.",
    what="""\
A program that starts a process group of several GPU processes and uses `cuda` or `cuda:0` in each of them, without
`torch.cuda.set_device(local_rank)`, without a device made from the rank, and without `CUDA_VISIBLE_DEVICES` for each
process.""",
    why="""\
NCCL refuses two ranks on one GPU. With another backend the job runs, on one GPU, with the memory of all processes
there, while the other GPUs idle.""",
    example=Example(bad=BAD, good=GOOD, runs=False, why_not="it takes two processes, NCCL and two real GPUs"),
    worlds=("gpu2",),
    error="DistBackendError: ...Duplicate GPU detected : rank 1 and rank 0 both on CUDA device ...",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
        "https://docs.pytorch.org/docs/stable/distributed.html",
    ),
)


@RULE.on(RankWithoutDevice)
def same_device(event: RankWithoutDevice, context: TextContext) -> Iterator[Diagnosis]:
    """All ranks are on one GPU."""
    message = f"`{context.text(event.root)}` takes GPU 0 in every process: nothing makes the device from the rank"
    help_text = 'first `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`'
    yield Diagnosis(event.root, message, event, trail(event, event.root), help_text)
