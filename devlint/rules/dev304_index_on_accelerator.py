"""DEV304 index-on-accelerator: a tensor is indexed by a CUDA tensor of another device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV304",
    name="index-on-accelerator",
    summary="A tensor is indexed by a CUDA tensor of another device.",
    what=(
        "`table[index]`, read, where `table` is on the CPU and `index` (integers or a boolean mask) on the "
        "accelerator: the labels of a data set looked up by neighbours that were found on the GPU, a schedule looked "
        "up by time steps, a confusion matrix that is added to (`table[index] += 1` reads first). Also a tensor on one "
        "GPU that is indexed by one on another. The reverse, a CUDA tensor with a CPU index, is right, and so is "
        "writing: `table[index] = value` brings the index to the table, wherever it is, and asks of the value alone "
        "that it is there or has no dimensions."
    ),
    why=(
        "torch brings a CPU index to the GPU, but where it reads it never waits for a CUDA index to come to the CPU "
        "(up to 1.12 it did). Without a GPU both are on the CPU and nothing shows."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
names = torch.arange(10)
scores = torch.rand(4, 10, device=device)
best = scores.argmax(dim=1)
print(names[best])  # DEV304: gpu1 gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
names = torch.arange(10)
scores = torch.rand(4, 10, device=device)
best = scores.argmax(dim=1)
print(names[best.cpu()])
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    fix_safety=(
        "Bringing the index to the CPU, or to the other GPU, is safe: where the code worked it is there already. The "
        "result is where the indexed tensor is; where it is needed on the accelerator, move that one instead."
    ),
    references=("https://docs.pytorch.org/docs/stable/tensor_view.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A CUDA index met a tensor that is not on its device."""
    if event.cause != "index":
        return
    table, index = sorted(event.operands, key=lambda operand: operand.device != "cpu")  # the CPU's is never the index
    near = event.root
    message = f"{text.described(table, near)} and is indexed by {text.quoted(index.text)}, which is on {index.device}"
    yield Diagnosis(near, message, event, text.clash_trace(event), data=(table, index))


@RULE.fix
def index_on_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Bring the index to the CPU, or to the other GPU that the indexed tensor is on."""
    table, index = diagnosis.data
    if not edits.same_file(diagnosis, index.site):
        return None
    node = context.node(index.site)
    if node is None or context.site_text(index.site) != index.text:
        return None
    if table.device != "cpu":
        holder = context.node(table.site) if edits.same_file(diagnosis, table.site) else None
        if holder is None or context.site_text(table.site) != table.text or edits.dotted(holder) is None:
            return None
        move = f".to({table.text}.device)"
        return Mend("safe", f"Index with a copy that is on its device: `{move}`", edits.after(context, node, move))
    return Mend("safe", "Index with a copy on the CPU: `.cpu()`", edits.after(context, node, ".cpu()"))
