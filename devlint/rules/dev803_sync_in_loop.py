"""DEV803 sync-in-loop: `.item()`, `.cpu()`, `print(t)` or `if t:` in a loop makes the host wait in every pass."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import Synchronized
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV803",
    name="sync-in-loop",
    summary="The host waits for the device in every pass of a loop.",
    what=(
        "`.item()`, `.tolist()`, `.cpu()`, `float(t)`, `print(t)` or `if t:` on a CUDA tensor inside a loop: each "
        "needs a value on the host."
    ),
    why=(
        "What it costs: the host queues work for the device and runs ahead of it; to read a value it waits until all "
        "that is queued is done, and the device then waits for new work. Once per pass is often meant; adding up on "
        "the device and reading once after the loop waits once."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
total = 0.0
for step in range(3):
    loss = torch.full((4,), float(step), device=device).mean()
    total += loss.item()  # DEV803:
print(total)
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
total = torch.zeros((), device=device)
for step in range(3):
    loss = torch.full((4,), float(step), device=device).mean()
    total += loss
print(total.item())
""",
        observe="synchronizations",
        observed={"cpu": (0, 0), "gpu1": (3, 1), "gpu2": (3, 1)},
    ),
    severity="advice",
    default=False,
    worlds=(),
    error=None,
    fix_safety="There is none: what is read per pass, and what once, is for the author to say.",
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)


@RULE.on(Synchronized)
def waited(event: Synchronized, context: TextContext) -> Iterator[Diagnosis]:
    """The host waited for the device inside a loop."""
    if event.loop is not None:
        what = text.quoted(event.text or context.text(event.site))
        message = f"{what} makes the host wait for the device in every pass of the loop"
        yield Diagnosis(event.root, message, event, text.operand_trace(event, None, "the host waits here"))
