"""DEV802 transfer-in-loop: the same tensor is moved in every pass of a loop, or there and back again."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import Transfer
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV802",
    name="transfer-in-loop",
    summary="A tensor that the loop doesn't change is moved in every pass, or a tensor goes to the host and back.",
    what=(
        "`x.to(device)` inside a loop while `x` was made outside it and doesn't change in it; `t.cpu()` whose result "
        "goes back to the device that it came from. Moving each batch that a DataLoader yields is right, and silent."
    ),
    why=(
        "What it costs: one copy across the bus for every pass, where one before the loop is enough. A copy from "
        "pageable memory also keeps the host waiting, and a round trip waits for the device first."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
prior = torch.full((4,), 0.25)
total = torch.zeros(4, device=device)
for _ in range(3):
    total += prior.to(device)  # DEV802:
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
prior = torch.full((4,), 0.25)
total = torch.zeros(4, device=device)
prior = prior.to(device)
for _ in range(3):
    total += prior
""",
        observe="transfers",
        observed={"cpu": (0, 0), "gpu1": (3, 1), "gpu2": (3, 1)},
    ),
    severity="advice",
    default=False,
    worlds=(),
    error=None,
    fix_safety="There is none: where the one move belongs is for the author to say.",
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers",),
)


@RULE.on(Transfer)
def repeated(event: Transfer, context: TextContext) -> Iterator[Diagnosis]:
    """A transfer that one before the loop, or none at all, would do for."""
    what = text.quoted(event.text or context.text(event.site))
    if event.invariant and event.loop is not None:
        message = (
            f"{what} is copied from {event.source} to {event.target} in every pass, and the loop doesn't change it"
        )
        trace = text.operand_trace(event, None, "the same copy in every pass here")
        yield Diagnosis(event.root, message, event, trace)
    elif event.round_trip:
        message = f"{what} goes back to {event.target}, where it came from"
        yield Diagnosis(event.root, message, event, text.operand_trace(event, None, "copied back here"))
