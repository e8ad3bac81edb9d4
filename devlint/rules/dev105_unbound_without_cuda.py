"""DEV105: a name that the machine leaves unbound because only the CUDA branch binds it."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import NameUnbound
from devlint.rules.base import Diagnosis, Example, Note, Rule, TextContext
from devlint.rules.text import trail

BAD = """\
import torch

x = torch.rand(5, 3)
if torch.cuda.is_available():
    device = torch.device("cuda")
    y = x.to(device)

print((y + 1).sum())  # DEV105: cpu
"""

GOOD = """\
import torch

x = torch.rand(5, 3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
y = x.to(device)

print((y + 1).sum())
"""

BAD_LATER = """\
import torch

batch = torch.rand(4, 2).to(device)  # DEV105: cpu gpu1 gpu2
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(batch.mean())
"""

GOOD_LATER = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch = torch.rand(4, 2).to(device)
print(batch.mean())
"""

RULE = Rule(
    code="DEV105",
    name="unbound-without-cuda",
    summary="A name is bound only where CUDA is there, and used where it is not.",
    what="""\
A variable, function or import that is bound under a test of CUDA alone (or in a `try` that fails without CUDA) and read
after it, in a world that does not pass through the branch; an attribute that the methods of a class set under such a
test alone; also a device that is used before the line that binds it.
Names that are both bound and used under the guard are right, and so is a branch that leaves the function or the
program. A name that nothing binds anywhere is not a matter of devices.""",
    why="""\
The line that breaks has nothing to do with CUDA to look at, and it works on the author's machine. In notebooks a name
that an earlier run left behind hides it.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(
        Example(
            bad=BAD_LATER,
            good=GOOD_LATER,
            errors=dict.fromkeys(("cpu", "gpu1", "gpu2"), "NameError: name 'device' is not defined"),
        ),
    ),
    unseen="advice",
    error="NameError: name 'y' is not defined",
    references=(
        "https://docs.python.org/3/reference/executionmodel.html#resolution-of-names",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
    ),
)


@RULE.on(NameUnbound)
def unbound(event: NameUnbound, context: TextContext) -> Iterator[Diagnosis]:
    """A name is read that this world did not bind."""
    if event.guard is not None:
        guard = context.text(event.guard)
        if guard.startswith("try:"):
            message = f"`{event.name}` is bound only in a `try` that fails before it, and read here all the same"
            notes = [Note(event.guard, f"`{event.name}` is bound in this block alone")]
        else:
            message = f"`{event.name}` is bound only under `{guard}`, and read here without it"
            notes = [Note(event.guard, f"`{event.name}` is bound under this condition alone")]
        if event.further:
            message += f" (with {event.further} more {'name' if event.further == 1 else 'names'} of that branch)"
        help_text = f"bind `{event.name}` in the other case too"
    elif event.bound_later:
        message = f"`{event.name}` is read before it is bound"
        notes, help_text = [], "choose the device first"
    else:
        return
    yield Diagnosis(event.site, message, event, trail(event, event.site, notes), help_text)
