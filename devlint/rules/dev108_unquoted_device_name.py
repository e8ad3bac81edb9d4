"""DEV108: `torch.device(cpu)`, a name where the string was meant."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import NameUnbound
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch

if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device(cpu)  # DEV108: cpu

print(torch.ones(2, device=device))
"""

GOOD = """\
import torch

if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device("cpu")

print(torch.ones(2, device=device))
"""

BAD_EVERYWHERE = """\
import torch

host = torch.device(cpu)  # DEV108: cpu gpu1 gpu2
print(torch.ones(2, device=host))
"""

GOOD_EVERYWHERE = """\
import torch

host = torch.device("cpu")
print(torch.ones(2, device=host))
"""

# Device types of torch 2.13 that people write; others are left to the checkers of names.
DEVICE_TYPES = frozenset({"cpu", "cuda", "mps", "xpu", "meta"})

RULE = Rule(
    code="DEV108",
    name="unquoted-device-name",
    summary="A device type is written as a name instead of a string: `torch.device(cpu)`.",
    what="""\
An unbound name spelled like a device type (`cpu`, `cuda`, `mps`, `xpu`, `meta`) where a device is expected:
`torch.device(cpu)`, `x.to(cuda)`, `device=cpu`. A variable of that name that is bound is right.""",
    why="""\
It is a NameError, usually in the branch that the author's machine never takes.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(Example(bad=BAD_EVERYWHERE, good=GOOD_EVERYWHERE),),
    error="NameError: name 'cpu' is not defined",
    fix_safety="Safe: the name is unbound in every world that reaches it, so nothing that worked changes.",
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)


@RULE.on(NameUnbound)
def unquoted(event: NameUnbound, context: TextContext) -> Iterator[Diagnosis]:
    """An unbound name that is a device type, where a device is expected."""
    if not event.device_position or event.guard is not None or event.bound_later or event.name not in DEVICE_TYPES:
        return
    message = f'nothing binds the name `{event.name}`; the device is the string `"{event.name}"`'
    yield Diagnosis(event.site, message, event, trail(event, event.site))


@RULE.fix
def quote(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Put the name in quotes."""
    node = context.node(diagnosis.site)
    if not isinstance(node, cst.Name):
        return None
    return Mend("safe", "put the name in quotes", (Replacement(*context.span(node), f'"{node.value}"'),))
