"""DEV101: a GPU index that not every machine has, reached without asking how many there are.

https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceUnavailable, MixedDevices
from devlint.findings import Severity
from devlint.rules.base import Diagnosis, Example, Rule, TextContext
from devlint.rules.text import quoted, steps, trail
from devlint.rules.unavailable import in_document, in_notebook, speaker, where

BAD = """\
import torch
from torch import nn

device = torch.device("cuda:1")  # DEV101: cpu gpu1

model = nn.Linear(8, 2).to(device)
print(model(torch.randn(4, 8, device=device)).shape)
"""

GOOD = """\
import torch
from torch import nn

if torch.cuda.device_count() > 1:
    device = torch.device("cuda:1")
else:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

model = nn.Linear(8, 2).to(device)
print(model(torch.randn(4, 8, device=device)).shape)
"""

BAD_BEHIND_GUARD = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
if torch.cuda.is_available():
    net = net.cuda(1)  # DEV101: gpu1
print(sum(p.numel() for p in net.parameters()))
"""

GOOD_BEHIND_GUARD = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
if torch.cuda.device_count() > 1:
    net = net.cuda(1)
print(sum(p.numel() for p in net.parameters()))
"""

NO_CUDA = "AssertionError: Torch not compiled with CUDA enabled"

RULE = Rule(
    code="DEV101",
    name="hardcoded-device-index",
    summary="A GPU index written into the code is used on machines that have no such GPU.",
    what="""\
`"cuda:1"`, `.cuda(1)`, `device=1`, `torch.device("cuda", 1)`, `torch.cuda.set_device(1)` or `device_ids=[0, 1]` that
reaches a use of the device in a world without that GPU. The index is followed through variables, default arguments and
calls to where it is written. A `torch.device("cuda:1")` that is never used touches nothing and is not reported. Also a
fixed place in a list that has an item for each GPU. Of the places of one function (or cell) that name the same GPU the
first is told, with the number of the others. A flag of the program's own that somebody has to give for it stands
guard; one that is on by default does not. An option for the number of the GPU is its user's: its default is advice,
unless the file asks whether there is any GPU; so is the number that a cell of a notebook names, which its reader sets
there. What a document shows (a block of a Markdown file) is advice, and so is a
program that makes as many GPUs visible itself and never asks whether there is one, or by an option: it is for machines
that have them. So is one that is spread over several by design: the number is that of a loop that begins with the first
(`for i in range(4): parts[i].to(i)`) in a program that never asks whether there is any, or a class or function names
the first GPU and this one without a condition.

Also a function or module that names a GPU itself, by `"cuda:0"`, `.cuda()` or `"cuda"`, for a tensor that then meets
one from elsewhere: with two GPUs its input may be on the other. `x.device` and `.to(x)` follow the input. It is advice
where that GPU is the current one (`.cuda()`, `"cuda"`) and no caller in sight works on another: programs of several
processes set theirs.
""",
    why="""\
The program runs on the machine that it was written on and nowhere else. `torch.cuda.is_available()` is no guard for it:
with one GPU it is true, and GPU 1 still does not exist.""",
    example=Example(bad=BAD, good=GOOD, errors={"cpu": NO_CUDA}),
    more_examples=(Example(bad=BAD_BEHIND_GUARD, good=GOOD_BEHIND_GUARD),),
    error="RuntimeError: CUDA error: invalid device ordinal",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.device_count.html",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
    ),
)


@RULE.on(DeviceUnavailable)
def missing_index(event: DeviceUnavailable, context: TextContext) -> Iterator[Diagnosis]:
    """An index that the machine does not have."""
    if speaker(event) != RULE.code:
        return
    site = where(event)
    device = f"{event.device.partition(':')[0]}:{event.index}"
    message = f"`{context.text(site)}` names {device}, which a machine with fewer GPUs does not have"
    if event.further:
        message += f", and {event.further} more {'place here names' if event.further == 1 else 'places here name'} it"
    help_text = f"use it only where `torch.cuda.device_count() > {event.index}`, or let the caller choose the device"
    mild = in_document(event) or (in_notebook(event) and not event.evidence) or event.unasked or _is_for_several(event)
    severity: Severity | None = "advice" if mild else None
    yield Diagnosis(site, message, event, trail(event, site), help_text, severity=severity)


def _is_for_several(event: DeviceUnavailable) -> bool:
    """Whether the program itself has asked for that many GPUs, and never whether there is one, or its user has; or is
    spread over them by design."""
    if event.spread == "named" or (event.spread == "counted" and not event.evidence):
        return True
    chosen = event.visible.split(",") if event.visible is not None else []
    is_among = event.index is not None and event.index < len(chosen)
    return is_among and (event.is_visible_by_option or not event.evidence)


@RULE.on(MixedDevices)
def fixed_against_chosen(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A device that is written down meets one that was chosen elsewhere."""
    if event.cause != "hardcoded":
        return
    culprit = event.culprit
    others = ", ".join(f"{quoted(o.text)} is on {o.device}" for o in event.operands if o is not culprit)
    what = f"{quoted(culprit.text)} on {culprit.device}"
    message = f"`{context.text(event.root)}` puts {what} whatever was chosen, {others}"
    yield Diagnosis(
        event.root, message, event, trail(event, event.root, steps(culprit)), "take the device of the other operand"
    )
