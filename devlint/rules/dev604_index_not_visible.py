"""DEV604: a logical GPU index beyond what CUDA_VISIBLE_DEVICES leaves."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceUnavailable
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.text import trail
from devlint.rules.unavailable import speaker, where
from devlint.syntax.late import cst

BAD = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "1"

import torch

if torch.cuda.is_available():
    device = torch.device("cuda:1")  # DEV604: gpu2
else:
    device = torch.device("cpu")
print(torch.ones(3, device=device))
"""

GOOD = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "1"

import torch

if torch.cuda.is_available():
    device = torch.device("cuda:0")
else:
    device = torch.device("cpu")
print(torch.ones(3, device=device))
"""

RULE = Rule(
    code="DEV604",
    name="index-not-visible",
    summary="A GPU index is used that `CUDA_VISIBLE_DEVICES` leaves no device for.",
    what="""\
The program limits itself to some GPUs and then names one by its physical number. What `CUDA_VISIBLE_DEVICES` leaves is
numbered anew from 0: after `"2,3"` there are `cuda:0` and `cuda:1` and nothing else. Of two GPUs in the machine a list
of a bigger machine (`"2,3"`) is taken to name both.""",
    why="""\
The number that worked before the variable was set does not exist any more, or is another GPU.""",
    example=Example(bad=BAD, good=GOOD),
    worlds=("gpu2",),
    error="RuntimeError: CUDA error: invalid device ordinal",
    fix_safety="""\
Unsafe: the number is replaced by the logical number of the GPU with that physical number, which is a guess at what was
meant.""",
    references=(
        "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",
    ),
)


@RULE.on(DeviceUnavailable)
def hidden(event: DeviceUnavailable, context: TextContext) -> Iterator[Diagnosis]:
    """The GPU is in the machine and hidden from the program."""
    if speaker(event) != RULE.code:
        return
    site = where(event)
    left = len([item for item in (event.visible or "").split(",") if item.strip()])
    counted = "no device" if not left else "one device, cuda:0" if left == 1 else f"{left} devices, from cuda:0 on"
    message = (
        f"`{context.text(site)}` names cuda:{event.index}, but CUDA_VISIBLE_DEVICES={event.visible!r} leaves {counted}"
    )
    help_text = "visible devices are numbered from 0, in the order of the list"
    yield Diagnosis(site, message, event, trail(event, site), help_text)


@RULE.fix
def renumber(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Write the logical number of the physical device."""
    event = diagnosis.event
    literal = context.node(diagnosis.site)
    if not isinstance(event, DeviceUnavailable) or event.visible is None or not isinstance(literal, cst.SimpleString):
        return None
    physical = [item.strip() for item in event.visible.split(",")]
    index = str(event.index)
    if literal.raw_value != f"cuda:{index}" or index not in physical:
        return None
    content = f"{literal.quote}cuda:{physical.index(index)}{literal.quote}"
    message = f"physical GPU {index} is cuda:{physical.index(index)} here"
    return Mend("unsafe", message, (Replacement(*context.span(literal), content),))
