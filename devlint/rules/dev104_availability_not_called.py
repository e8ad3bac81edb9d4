"""DEV104: `torch.cuda.is_available` without parentheses, which is always true."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import AvailabilityNotCalled
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.text import trail

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available else "cpu")  # DEV104: cpu
print(torch.zeros(3, device=device))
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.zeros(3, device=device))
"""

RULE = Rule(
    code="DEV104",
    name="availability-not-called",
    summary="`torch.cuda.is_available` is tested without being called, so the test is always true.",
    what="""\
The function `torch.cuda.is_available` (or `torch.accelerator.is_available`, under any imported name) where its answer
was meant: in an `if`, a `while`, a conditional expression, after `not`, beside `and` and `or`. A function that is
passed on, stored or called later is not reported.""",
    why="""\
A function is true. The program takes the CUDA branch on every machine, and stops at the first use of CUDA on a machine
without a GPU. With `not` it is the other branch that never runs.""",
    example=Example(bad=BAD, good=GOOD),
    worlds=("cpu",),
    error="AssertionError: Torch not compiled with CUDA enabled",
    fix_safety="Safe: with CUDA the call answers what the function stood for, true.",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html",),
)


@RULE.on(AvailabilityNotCalled)
def not_called(event: AvailabilityNotCalled, context: TextContext) -> Iterator[Diagnosis]:
    """The function is tested, not its answer."""
    text = event.text or context.text(event.root)
    message = f"`{text}` is the function itself, which is always true; its answer is `{text}()`"
    yield Diagnosis(event.root, message, event, trail(event, event.root))


@RULE.fix
def call(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Add the parentheses."""
    _, end = context.site_span(diagnosis.site)
    return Mend("safe", "call the function", (Replacement(end, end, "()"),))
