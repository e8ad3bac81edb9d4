"""DEV601: an environment variable that CUDA does not read, one letter away from the one that it does.

https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import VisibleDevices
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext

BAD = """\
import os

os.environ["CUDA_VISIBLE_DEVICE"] = "1"  # DEV601: gpu2

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.ones(2, device=device))
"""

GOOD = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "1"

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.ones(2, device=device))
"""

RIGHT_NAME = "CUDA_VISIBLE_DEVICES"

RULE = Rule(
    code="DEV601",
    name="visible-devices-misspelled",
    summary="An environment variable is set that is nearly called `CUDA_VISIBLE_DEVICES`.",
    what="""\
`CUDA_VISIBLE_DEVICE`, `CUDA_VISBLE_DEVICES` and the like, set through `os.environ`, `os.putenv`, `setdefault`,
`update` or `%env` in a notebook. Other variables that begin with `CUDA_` and exist, such as `CUDA_DEVICE_ORDER` and
`CUDA_LAUNCH_BLOCKING`, are right.""",
    why="""\
Nobody reads a variable of that name and nobody complains. The program runs on all GPUs, or on the first one, which may
be the one that a colleague uses.""",
    example=Example(
        bad=BAD,
        good=GOOD,
        observe="torch.cuda.device_count()",
        observed={"cpu": (0, 0), "gpu1": (1, 0), "gpu2": (2, 1)},
    ),
    severity="warning",
    worlds=("gpu2",),
    fix_safety="""\
Unsafe: the variable begins to work, so the program runs on the GPUs that it names, and nowhere on a machine without
them.""",
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",
        "https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",
    ),
)


@RULE.on(VisibleDevices)
def misspelled(event: VisibleDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The name is not the one that CUDA reads."""
    if event.kind != "misspelled" or event.world not in RULE.worlds:
        return
    message = f"`{event.text}` is read by nobody; CUDA reads `{RIGHT_NAME}`"
    yield Diagnosis(event.site, message, event)


@RULE.fix
def spell(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Write the name that CUDA reads."""
    event = diagnosis.event
    if not isinstance(event, VisibleDevices):
        return None
    start, _ = context.site_span(diagnosis.site)
    text = context.site_text(diagnosis.site)
    line = context.text[context.text.rfind("\n", 0, start) + 1 : start + len(text)]
    offset = text.find(event.text)
    # A masked `%env` line is not the author's text, so there is nothing to edit in it.
    if offset < 0 or "__import__('os').environ" in line:
        return None
    begin = start + offset
    return Mend("unsafe", f"write `{RIGHT_NAME}`", (Replacement(begin, begin + len(event.text), RIGHT_NAME),))
