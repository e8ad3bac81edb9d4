"""DEV111: a string or an object that torch takes for no device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import InvalidDevice
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch
from torch import nn

DEVICE = "gpu" if torch.cuda.is_available() else "cpu"  # DEV111: gpu1 gpu2

model = nn.Linear(8, 2).to(DEVICE)
print(model(torch.randn(4, 8).to(DEVICE)).shape)
"""

GOOD = """\
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

model = nn.Linear(8, 2).to(DEVICE)
print(model(torch.randn(4, 8).to(DEVICE)).shape)
"""

BAD_CONTEXT = """\
import torch

device = torch.cuda.device("cuda")
x = torch.zeros(3, device=device)  # DEV111: cpu gpu1 gpu2
"""

GOOD_CONTEXT = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.zeros(3, device=device)
"""

WORLDS = ("cpu", "gpu1", "gpu2")

RULE = Rule(
    code="DEV111",
    name="invalid-device-name",
    summary="A string, or an object, that is no device is used as one.",
    what="""\
A device string that torch does not know (`"gpu"`, `"cuda:-1"`, `"cuda0"`), or a `torch.cuda.device(...)`, which is a
context manager for the current device, where a `torch.device(...)` is expected. Strings are followed to where they are
written; a string that torch never sees as a device is not judged.""",
    why="""\
It breaks on every machine that reaches it. `"gpu"` is the name that other frameworks use, and it often stands in the
branch that the author's machine does not take.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(
        Example(
            bad=BAD_CONTEXT,
            good=GOOD_CONTEXT,
            errors=dict.fromkeys(WORLDS, "TypeError: zeros(): argument 'device' must be torch.device, not device"),
        ),
    ),
    error="RuntimeError: Expected one of cpu, cuda, ... device type at start of device string: gpu",
    fix_safety="""\
Unsafe: `"gpu"` becomes `"cuda"`, which is what it is called in torch, but whether a guard stands before it is not
looked at; `"gpu:1"` becomes `"cuda:1"` likewise. The context manager has no fix.""",
    references=(
        "https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.device.html",
    ),
)


@RULE.on(InvalidDevice)
def no_device(event: InvalidDevice, context: TextContext) -> Iterator[Diagnosis]:
    """Something that torch takes for no device."""
    site = event.literal if event.literal is not None else event.site
    if event.is_context:
        message = "`torch.cuda.device(...)` is a context manager, not a device"
        help_text = "the device is `torch.device(...)`"
    else:
        message = f'`"{event.text}"` is no device that torch knows'
        help_text = 'a device is `"cpu"`, `"cuda"` or `"cuda:0"`'
    yield Diagnosis(site, message, event, trail(event, site), help_text)


@RULE.fix
def gpu_is_cuda(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Write `cuda` for `gpu`."""
    literal = context.node(diagnosis.site)
    if not isinstance(literal, cst.SimpleString):
        return None
    kind, colon, index = str(literal.raw_value).partition(":")
    if kind.lower() != "gpu" or (colon and not index.isdecimal()):
        return None
    content = f"{literal.prefix}{literal.quote}cuda{colon}{index}{literal.quote}"
    return Mend("unsafe", "torch calls it `cuda`", (Replacement(*context.span(literal), content),))
