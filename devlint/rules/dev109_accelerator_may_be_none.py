"""DEV109: `torch.accelerator.current_accelerator()` is None where there is no accelerator.

https://docs.pytorch.org/docs/stable/generated/torch.accelerator.current_accelerator.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import AcceleratorMissing
from devlint.findings import Severity
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import spelling
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch
from torch import nn

device = torch.accelerator.current_accelerator()  # DEV109: cpu
print("using", device.type)
model = nn.Linear(8, 2).to(device)
"""

GOOD = """\
import torch
from torch import nn

device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
print("using", device.type)
model = nn.Linear(8, 2).to(device)
"""

RULE = Rule(
    code="DEV109",
    name="accelerator-may-be-none",
    summary="The result of `torch.accelerator.current_accelerator()` is used as a device where it is None.",
    what="""\
`torch.accelerator.current_accelerator()` whose result is used in a way that None does not bear: `.type`,
`torch.device(result)`, `torch.autocast(result)`. Passing None on as `device=` is legal and means the default
device. It is advice, unless something shows that the program means to run without a GPU.""",
    why="""\
On a CPU build of torch there is no accelerator and the call returns None. (A CUDA build on a machine without a GPU
answers `cuda` unless it is asked with `check_available=True`, and then the first use of the device breaks.)""",
    example=Example(bad=BAD, good=GOOD),
    worlds=("cpu",),
    error="AttributeError: 'NoneType' object has no attribute 'type'",
    fix_safety="""\
Safe: where an accelerator is there the device is the same. Where `min-torch` is 2.7 or newer the call is given
`check_available=True`, without which a CUDA build answers `cuda` on a machine that has no GPU.""",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.accelerator.current_accelerator.html",),
)


@RULE.on(AcceleratorMissing)
def none_used(event: AcceleratorMissing, context: TextContext) -> Iterator[Diagnosis]:
    """The None was used."""
    use = event.use or context.text(event.site)
    message = f"`{context.text(event.root)}` is None on a machine without an accelerator, and `{use}` uses it"
    help_text = 'add `or torch.device("cpu")`'
    severity: Severity | None = None if event.evidence else "advice"
    yield Diagnosis(event.root, message, event, trail(event, event.root), help_text, severity=severity)


@RULE.fix
def fall_back(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Ask for an accelerator that is really there, and take the CPU otherwise."""
    call = context.node(diagnosis.site)
    device = spelling(context, "torch.device")
    if not isinstance(call, cst.Call) or call.args or device is None:
        return None
    asked = "check_available=True" if context.min_torch >= (2, 7) else ""
    content = f'{context.source(call.func)}({asked}) or {device}("cpu")'
    if not isinstance(context.parents(call)[0], (cst.Assign, cst.AnnAssign, cst.Return, cst.Arg)):
        content = f"({content})"
    return Mend("safe", "take the CPU where there is no accelerator", (Replacement(*context.span(call), content),))
