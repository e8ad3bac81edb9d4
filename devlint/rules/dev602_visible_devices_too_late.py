"""DEV602: CUDA_VISIBLE_DEVICES set after CUDA has read it."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import VisibleDevices
from devlint.findings import Severity
from devlint.rules.base import Diagnosis, Example, Note, Rule, TextContext
from devlint.rules.text import called, without_repeats

BAD = """\
import os

import torch

print("GPUs here:", torch.cuda.device_count())
weights = torch.ones(3, device="cuda") if torch.cuda.is_available() else torch.ones(3)

os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # DEV602: gpu2
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(weights + torch.ones(3, device=device))
"""

GOOD = """\
import os

import torch

os.environ["CUDA_VISIBLE_DEVICES"] = "1"
print("GPUs here:", torch.cuda.device_count())
weights = torch.ones(3, device="cuda") if torch.cuda.is_available() else torch.ones(3)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(weights + torch.ones(3, device=device))
"""

RULE = Rule(
    code="DEV602",
    name="visible-devices-too-late",
    summary="`CUDA_VISIBLE_DEVICES` is set after CUDA was initialised, and has no effect.",
    what="""\
An assignment to `os.environ["CUDA_VISIBLE_DEVICES"]` that runs after the program touched CUDA: it created a tensor
there, asked `torch.cuda.is_available()`, or imported a module that does. Setting it after `import torch` alone is
right, importing torch does not touch CUDA; nor does `torch.cuda.device_count()`, which asks the management library. In
a document each block of code is a program of its own here: the rule never looks from one block to another. A
program that names the same number again, `f"cuda:{args.gpu}"`, takes the right GPU as long as all are visible, and is
left alone. Where the first GPU is named, which the program takes anyway, this is advice.""",
    why="""\
CUDA reads the variable once. Set later, it changes nothing and says nothing: the program takes GPU 0, and all GPUs stay
visible.""",
    example=Example(bad=BAD, good=GOOD, observe="torch.cuda.device_count()", observed={"cpu": (0, 0), "gpu2": (2, 1)}),
    severity="warning",
    worlds=("gpu2",),
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",
        "https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",
    ),
)


@RULE.on(VisibleDevices)
def too_late(event: VisibleDevices, context: TextContext) -> Iterator[Diagnosis]:
    """CUDA has read the variable already."""
    if event.kind != "late" or event.world not in RULE.worlds:
        return
    notes = list(called(event))
    message = "`CUDA_VISIBLE_DEVICES` is set after CUDA was initialised, and has no effect"
    if event.first_cuda is not None:
        message += f" (`{context.text(event.first_cuda)}` came first)"
        notes.insert(0, Note(event.first_cuda, "CUDA is initialised here"))
    help_text = "set it before the first use of CUDA, or for the whole process: `CUDA_VISIBLE_DEVICES=1 python ...`"
    severity: Severity | None = "advice" if event.keeps_first else None
    yield Diagnosis(event.site, message, event, without_repeats(notes), help_text, severity=severity)
