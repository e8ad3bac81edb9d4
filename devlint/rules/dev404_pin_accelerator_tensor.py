"""DEV404 pin-accelerator-tensor: `pin_memory` on CUDA tensors."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import PinAccelerator
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV404",
    name="pin-accelerator-tensor",
    summary="A CUDA tensor is pinned.",
    what=(
        "`.pin_memory()` on a tensor that is on the accelerator, or a DataLoader with `pin_memory=True` whose dataset "
        "or collate function gives CUDA tensors."
    ),
    why=(
        "Pinning page-locks host memory so that copies to the GPU can run beside other work. A tensor that is on the "
        "GPU has no host memory to lock."
    ),
    example=Example(
        bad="""\
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = TensorDataset(torch.rand(8, 2).to(device))
for (x,) in DataLoader(data, batch_size=4, pin_memory=True):  # DEV404: gpu1 gpu2
    print(x.sum())
""",
        good="""\
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = TensorDataset(torch.rand(8, 2))
for (x,) in DataLoader(data, batch_size=4, pin_memory=True):
    print(x.to(device).sum())
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    fix_safety=(
        "Leaving pinning out is safe: it changes how fast a copy is, not what it holds. Keeping the data set on the "
        "CPU and moving each batch is the other way, which the author has to choose."
    ),
    references=("https://docs.pytorch.org/docs/stable/data.html#memory-pinning",),
)


@RULE.on(PinAccelerator)
def pinned(event: PinAccelerator, context: TextContext) -> Iterator[Diagnosis]:
    """A tensor on the accelerator was pinned."""
    where = "the accelerator" if event.operand is None else event.operand.device
    how = text.origin(event.operand, event.root) if event.operand is not None else ""
    what = "the DataLoader" if event.by_loader else text.quoted(context.text(event.root))
    message = f"{what} pins a tensor that is on {where}" + (f" ({how})" if how else "")
    yield Diagnosis(event.root, message, event, text.operand_trace(event, event.operand, "pinned here"))


@RULE.fix
def leave_out(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Leave the pinning out."""
    call = edits.call_at(context, diagnosis.site)
    event = diagnosis.event
    if call is None or not isinstance(event, PinAccelerator):
        return None
    if event.by_loader:
        argument = edits.keyword(call, "pin_memory")
        if argument is None or edits.dotted(argument.value) != "True":
            return None
        return Mend("safe", "Don't pin what is on the accelerator", edits.remove_argument(context, call, argument))
    if edits.method_name(call) != "pin_memory" or not isinstance(call.func, cst.Attribute):
        return None
    end = edits.closing(context, call.func.value)
    return Mend("safe", "Leave out `.pin_memory()`", (Replacement(end, context.span(call)[1], ""),))
