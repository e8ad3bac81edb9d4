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

BAD_CONTEXT_ON_CPU = """\
import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
x = torch.ones(4, device=device)
with torch.cuda.device(device):  # DEV111: cpu
    y = x * 2
print(y.sum().item())
"""

GOOD_CONTEXT_ON_CPU = """\
import contextlib

import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
x = torch.ones(4, device=device)
with torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext():
    y = x * 2
print(y.sum().item())
"""

BAD_NUMBER = """\
import torch

gpu = 0 if torch.cuda.is_available() else -1
labels = torch.tensor([0, 2, 1], device=gpu)  # DEV111: cpu
print(labels.sum().item())
"""

GOOD_NUMBER = """\
import torch

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
labels = torch.tensor([0, 2, 1], device=device)
print(labels.sum().item())
"""

WORLDS = ("cpu", "gpu1", "gpu2")

RULE = Rule(
    code="DEV111",
    name="invalid-device-name",
    summary="A string, a number or an object that is no device is used as one.",
    what="""\
- A device string that torch does not know (`"gpu"`, `"cuda:-1"`, `"cuda0"`), also as the device type of
  `torch.autocast`. Strings are followed to where they are written; a string that torch never sees as a device is not
  judged.
- A `torch.cuda.device(...)`, which is a context manager for the current device, where a `torch.device(...)` is
  expected; a `torch.device` where `torch.autocast` expects the name of a device type.
- A negative number as a device: `device=-1`, `.to(-1)`, `torch.device(-1)`. `torch.cuda.set_device(-1)` and
  `torch.cuda.device(-1)` are legal and do nothing.
- The CPU in `torch.cuda.device(...)`, `torch.cuda.set_device(...)` and `.cuda(...)`, which take GPUs only;
  `set_device` of None or of a device without a number, such as `"cuda"`.
- A list or tuple of devices where one is expected: `.to([0, 1])`, `torch.load(path, map_location=devices)`.
- A number that is added to the text of a device: `"cuda:" + 0`, or given beside what has one or is a device already:
  `torch.device("cuda:0", 0)`, `torch.device(device, 0)`.
- A GPU given to a legacy constructor as `device=`: `torch.LongTensor([0, 1], device="cuda")`.""",
    why="""\
It breaks on every machine that reaches it. `"gpu"` is the name that other frameworks use, and it often stands in the
branch that the author's machine does not take. Other frameworks also take -1 for the CPU, and torch does not. Without
a GPU a program that chose the CPU must not enter `torch.cuda.device`: it raises before it looks for CUDA.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(
        Example(
            bad=BAD_CONTEXT,
            good=GOOD_CONTEXT,
            errors=dict.fromkeys(WORLDS, "TypeError: zeros(): argument 'device' must be torch.device, not device"),
        ),
        Example(
            bad=BAD_CONTEXT_ON_CPU,
            good=GOOD_CONTEXT_ON_CPU,
            errors={"cpu": "ValueError: Expected a cuda device, but got: cpu"},
        ),
        Example(
            bad=BAD_NUMBER,
            good=GOOD_NUMBER,
            errors={"cpu": "RuntimeError: Device index must not be negative"},
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

WORDS = {
    "string": ('`"{text}"` is no device that torch knows', 'a device is `"cpu"`, `"cuda"` or `"cuda:0"`'),
    "context": ("`torch.cuda.device(...)` is a context manager, not a device", "the device is `torch.device(...)`"),
    "negative": ("{text} is no device: torch does not take a negative number for the CPU", 'the CPU is `"cpu"`'),
    "cpu": (
        "`{operation}` is given the CPU, and takes GPUs only",
        'do it only where the device is a GPU: `if device.type == "cuda":`',
    ),
    "number": (
        "`{operation}` needs the number of a GPU, and `{text}` has none",
        'give it a number or a device with one, such as `"cuda:0"`',
    ),
    "legacy": (
        "`{operation}` makes tensors of the CPU alone, and is given `device=` {text}",
        "create it with a function that takes devices: `torch.tensor(values, dtype=..., device=...)`",
    ),
    "several": ("a {text} of devices is no device: `{operation}` takes one", "give it one of them, such as the first"),
    "joined": ("`{text}` is text, and a number is added to it", 'write `f"{text}{{number}}"`'),
    "twice": ('`"{text}"` has a number, and `{operation}` is given another', 'give it the type alone: `"cuda"`'),
    "handle": ("`{operation}` takes the name of a device type, not a `torch.device`", "give it `device.type`"),
}
"""What is said, and what helps, by kind of the event."""


@RULE.on(InvalidDevice)
def no_device(event: InvalidDevice, context: TextContext) -> Iterator[Diagnosis]:
    """Something that torch takes for no device."""
    site = event.literal if event.literal is not None else event.site
    message, help_text = WORDS[event.kind]
    message = message.format(text=event.text, operation=event.operation)
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
