"""DEV103: one accelerator named by many strings instead of one handle. Advice."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceNamed
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

BAD = """\
import torch
from torch import nn

if torch.cuda.is_available():
    model = nn.Linear(8, 2).to("cuda")  # DEV103:
    batch = torch.randn(4, 8, device="cuda")
    target = torch.zeros(4, 2, device="cuda")
    print(nn.functional.mse_loss(model(batch), target).item())
"""

GOOD = """\
import torch
from torch import nn

if torch.cuda.is_available():
    device = torch.device("cuda")
    model = nn.Linear(8, 2).to(device)
    batch = torch.randn(4, 8, device=device)
    target = torch.zeros(4, 2, device=device)
    print(nn.functional.mse_loss(model(batch), target).item())
"""

RULE = Rule(
    code="DEV103",
    name="device-string",
    summary="The same accelerator is named by a string in several places instead of one `torch.device` handle.",
    what="""\
The second and every further string such as `"cuda"` or `"cuda:0"` that is used as a device in one file. The finding
stands at the first and counts the others. The string inside the one `torch.device("cuda")` is no repetition, and
`"cpu"` is not counted: `.to("cpu")` means the host, whichever accelerator the program uses.""",
    why="""\
Another device means as many edits as there are strings, and one that is forgotten is a clash of devices. This is a
matter of taste as long as nothing clashes, hence advice.""",
    example=Example(bad=BAD, good=GOOD),
    severity="advice",
    worlds=(),
    default=False,
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)


@RULE.on(DeviceNamed)
def repeated(event: DeviceNamed, context: TextContext) -> Iterator[Diagnosis]:
    """The first of several strings that name the same device."""
    if not event.further or event.text.partition(":")[0] == "cpu":
        return
    more = "once more" if event.further == 1 else f"{event.further} more times"
    message = f'`"{event.text}"` is named {more} in this file'
    yield Diagnosis(
        event.root, message, event, help=f'one handle for all of them: `device = torch.device("{event.text}")`'
    )
