"""DEV405 unsynchronized-read: a device-to-host copy with `non_blocking=True` is read before a synchronization."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import UnsynchronizedRead
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV405",
    name="unsynchronized-read",
    summary="A copy to the host with `non_blocking=True` is read before it has arrived.",
    what=(
        "`t.to('cpu', non_blocking=True)` (or `host.copy_(t, non_blocking=True)`), and the host reads the result, "
        "through `.numpy()`, `.item()`, `.tolist()` or arithmetic, before `torch.cuda.synchronize()`, a stream's or an "
        "event's `synchronize()`, or another operation that waits. The other direction, host to device, is in order by "
        "itself."
    ),
    why=(
        "The call returns before the data are there, and nothing makes the host wait: it reads whatever the memory "
        "held. No error is raised, and on a machine without a GPU the copy is the tensor itself."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
host = scores.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
print(host.numpy())
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(3, device=device)
host = scores.to("cpu")
print(host.numpy())
""",
        observe="synchronizations",
        observed={"cpu": (0, 0), "gpu1": (0, 1), "gpu2": (0, 1)},
    ),
    severity="warning",
    worlds=("gpu1", "gpu2"),
    error=None,
    fix_safety="Leaving out `non_blocking=True` is safe: the copy waits for its data.",
    references=(
        "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",
    ),
)


@RULE.on(UnsynchronizedRead)
def read_early(event: UnsynchronizedRead, context: TextContext) -> Iterator[Diagnosis]:
    """The host read a copy that may not have arrived."""
    copy = text.quoted(context.text(event.root))
    reader = text.quoted(event.reader or context.text(event.site))
    message = f"{copy} returns before its data are there, and {reader}{text.at(event.site, event.root)} reads them"
    trace = text.operand_trace(event, None, f"{reader} reads the copy here, with no synchronization before it")
    yield Diagnosis(event.root, message, event, trace)


@RULE.fix
def wait(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Let the copy wait for its data."""
    call = edits.call_at(context, diagnosis.site)
    argument = edits.keyword(call, "non_blocking") if call is not None else None
    if call is None or argument is None or edits.dotted(argument.value) != "True":
        return None
    return Mend(
        "safe", "Wait for the copy: leave out `non_blocking=True`", edits.remove_argument(context, call, argument)
    )
