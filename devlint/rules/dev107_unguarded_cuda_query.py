"""DEV107: a question to a GPU that may not be there."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceUnavailable
from devlint.rules.base import Diagnosis, Example, Rule, TextContext
from devlint.rules.text import trail
from devlint.rules.unavailable import severity, speaker, what_follows

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("running on", torch.cuda.get_device_name(0))  # DEV107: cpu
x = torch.rand(3, device=device)
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cuda":
    print("running on", torch.cuda.get_device_name(0))
x = torch.rand(3, device=device)
"""

BAD_SET = """\
import torch

torch.cuda.set_device(0)  # DEV107: cpu
device = "cuda" if torch.cuda.is_available() else "cpu"
print(torch.rand(3).to(device).sum())
"""

GOOD_SET = """\
import torch

if torch.cuda.is_available():
    torch.cuda.set_device(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
print(torch.rand(3).to(device).sum())
"""

RULE = Rule(
    code="DEV107",
    name="unguarded-cuda-query",
    summary="A property of a GPU is asked for, or a GPU made the current one, where there may be none.",
    what="""\
`torch.cuda.current_device()`, `get_device_name()`, `get_device_properties()`, `get_device_capability()`,
`set_device()`, `synchronize()`, `mem_get_info()` and others that initialise CUDA, reached in the world without a GPU.
Also what takes it for granted that there is one among those that were counted: `batch // torch.cuda.device_count()`,
or the first or the greatest item of a list made by `range(torch.cuda.device_count())`.

Not the harmless ones, which answer or do nothing there: `is_available`, `device_count`, `manual_seed`,
`manual_seed_all`, `empty_cache`, `memory_allocated`, `max_memory_allocated`.

In a program that nothing shows to be meant for a machine without a GPU (DEV102 says what does), and in a block of a
Markdown file, the first such call is reported, as advice. A question about the device that an option of the program
gives by default (`torch.cuda.synchronize(args.device)`) is its user's, as a use of that device is: it is left alone
unless the program asks elsewhere whether that device is there.""",
    why="""\
These calls look like questions, yet they raise where there is nobody to ask. Often they stand in a line that only
prints.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(
        Example(
            bad=BAD_SET,
            good=GOOD_SET,
            errors={"cpu": "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"},
        ),
    ),
    worlds=("cpu",),
    error="AssertionError: Torch not compiled with CUDA enabled",
    references=("https://docs.pytorch.org/docs/stable/cuda.html",),
)


@RULE.on(DeviceUnavailable)
def query(event: DeviceUnavailable, context: TextContext) -> Iterator[Diagnosis]:
    """A call that initialises CUDA to answer."""
    if speaker(event) != RULE.code:
        return
    message = f"`{context.text(event.site)}` needs a GPU" + (" to answer" if event.operation else "")
    if event.evidence:
        message += f", and a machine without one reaches this line too{what_follows(event)}"
    else:
        message += f"; nothing here asks whether there is one{what_follows(event)}"
    help_text = "ask `torch.cuda.is_available()` first"
    yield Diagnosis(event.site, message, event, trail(event, event.site), help_text, severity=severity(event))
