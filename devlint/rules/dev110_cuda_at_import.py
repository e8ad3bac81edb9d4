"""DEV110: CUDA touched by importing a module."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devlint.analysis.events import DeviceUnavailable
from devlint.findings import Severity
from devlint.rules.base import Diagnosis, Example, Rule, TextContext
from devlint.rules.text import trail
from devlint.rules.unavailable import speaker

BAD = """\
import torch


class ColorJitter:
    mean = torch.tensor([0.5, 0.5, 0.5], device="cuda")  # DEV110: cpu

    def __call__(self, image):
        return image - self.mean.to(image.device).view(3, 1, 1)
"""

GOOD = """\
import torch


class ColorJitter:
    mean = torch.tensor([0.5, 0.5, 0.5])

    def __call__(self, image):
        return image - self.mean.to(image.device).view(3, 1, 1)
"""

BAD_ARGUMENT = """\
import torch


def perturb(x, noise=torch.randn(3).cuda()):  # DEV110: cpu
    return x + noise.to(x.device)
"""

GOOD_ARGUMENT = """\
import torch


def perturb(x, noise=None):
    noise = torch.randn(3, device=x.device) if noise is None else noise.to(x.device)
    return x + noise
"""

RULE = Rule(
    code="DEV110",
    name="cuda-at-import",
    summary="Importing the module uses CUDA: in a default argument, a class body or at module level.",
    what="""\
A use of CUDA that runs when the module is imported, in a module that is a library: a tensor on `cuda` as a default
argument or class attribute, `.cuda()` at module level, `torch.cuda.current_device()` as a default. A
`torch.device("cuda")` touches nothing and is right here. Where the device is a constant of another file, and nothing
asks for CUDA, it is advice: the constant is the project's own switch.
In a program, where module level is the work itself, DEV102 speaks instead. Of tests that nowhere ask whether CUDA is
there it is advice: all of them may need it.""",
    why="""\
Who only wants one function of the module can't import it on a machine without a GPU; its tests can't even be
collected. Where there is a GPU, the import initialises CUDA: `CUDA_VISIBLE_DEVICES` set afterwards has no effect, and
forked workers can't use CUDA.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(Example(bad=BAD_ARGUMENT, good=GOOD_ARGUMENT),),
    worlds=("cpu",),
    error="AssertionError: Torch not compiled with CUDA enabled",
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",),
)


@RULE.on(DeviceUnavailable)
def at_import(event: DeviceUnavailable, context: TextContext) -> Iterator[Diagnosis]:
    """CUDA is used while a library module is being imported."""
    if speaker(event) != RULE.code:
        return
    elsewhere = next((call.path for call in reversed(event.calls) if call.path != event.site.path), None)
    here = "this module" if elsewhere is None or not event.function else f"`{os.path.basename(elsewhere)}`"
    message = f"importing {here} runs `{context.text(event.site)}`, which needs CUDA"
    help_text = "create it when it is needed, on the device of the tensors that it meets"
    severity: Severity | None = "advice" if event.unasked else None
    yield Diagnosis(event.site, message, event, trail(event, event.site), help_text, severity=severity)
