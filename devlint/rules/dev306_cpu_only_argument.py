"""DEV306 cpu-only-argument: an argument that must be on the CPU is on the accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import CpuOnlyArgument
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV306",
    name="cpu-only-argument",
    summary="An argument that must be on the CPU is on the accelerator.",
    what=(
        "A few functions want one of their arguments on the CPU whatever the device of the others: the `lengths` of "
        "`pack_padded_sequence`, the indices of `torch.tensor_split`, what a legacy constructor of the CPU makes a "
        "tensor of (`torch.LongTensor(x)`). Code that moves a whole batch moves them too."
    ),
    why="These arguments decide shapes, which the host has to know; torch refuses to wait for the GPU silently.",
    example=Example(
        bad="""\
import torch
from torch.nn.utils.rnn import pack_padded_sequence

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(2, 5, 3, device=device)
lengths = torch.tensor([5, 3], device=device)
packed = pack_padded_sequence(x, lengths, batch_first=True)  # DEV306: gpu1 gpu2
""",
        good="""\
import torch
from torch.nn.utils.rnn import pack_padded_sequence

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(2, 5, 3, device=device)
lengths = torch.tensor([5, 3], device=device)
packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    fix_safety="Passing a copy on the CPU is safe: where the code worked, the argument is there already.",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html",),
)


@RULE.on(CpuOnlyArgument)
def on_accelerator(event: CpuOnlyArgument, context: TextContext) -> Iterator[Diagnosis]:
    """An argument that must be on the CPU was not; a dropped or rebound move upstream has its own rule."""
    operand = event.operand
    if text.newest(operand) in {"dropped", "rebound"}:
        return
    what = f"`{event.argument}` of {text.quoted(event.operation)}"
    message = f"{what} must be on the CPU"
    if operand is not None:
        message += f": {text.described(operand, event.root)}"
    yield Diagnosis(event.root, message, event, text.operand_trace(event, operand, f"{what} must be on the CPU here"))


@RULE.fix
def pass_on_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Pass a copy on the CPU."""
    event = diagnosis.event
    operand = event.operand if isinstance(event, CpuOnlyArgument) else None
    if operand is None or not edits.same_file(diagnosis, operand.site):
        return None
    node = context.node(operand.site)
    if node is None:
        return None
    return Mend("safe", "Pass it on the CPU: `.cpu()`", edits.after(context, node, ".cpu()"))
