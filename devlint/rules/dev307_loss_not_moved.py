"""DEV307 loss-not-moved: a loss with weights stays on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV307",
    name="loss-not-moved",
    summary="A loss with weights stays on the CPU.",
    what=(
        "A loss module that holds tensors (`nn.CrossEntropyLoss(weight=...)`, `nn.BCEWithLogitsLoss(pos_weight=...)`, "
        "a loss class with buffers) is called with predictions on the accelerator and was never moved there. A loss "
        "without weights has nothing to move, and is silent."
    ),
    why=(
        "A loss is a module like any other: its weight is a buffer that `loss.to(device)` moves. Without weights that "
        "call does nothing, so it is easily left out when weights are added."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
criterion = torch.nn.CrossEntropyLoss(weight=torch.tensor([0.2, 0.8]))  # DEV307: gpu1 gpu2
x = torch.rand(8, 4, device=device)
y = torch.zeros(8, dtype=torch.long, device=device)
criterion(model(x), y).backward()
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
criterion = torch.nn.CrossEntropyLoss(weight=torch.tensor([0.2, 0.8])).to(device)
x = torch.rand(8, 4, device=device)
y = torch.zeros(8, dtype=torch.long, device=device)
criterion(model(x), y).backward()
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but got weight is on cpu, different from other "
        "tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)"
    ),
    fix_safety=(
        "Moving the loss is safe: on the CPU, where the code worked, it changes nothing. It is offered where the "
        "device handle that the program moves its other tensors to can be named there."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The weight of a loss met predictions on another device."""
    if event.cause == "loss":
        culprit = event.culprit
        message = f"the loss is never moved: {text.quoted(culprit.text)} stays on {culprit.device}"
        yield Diagnosis(event.root, f"{message} and {text.meeting(event)}", event, text.clash_trace(event))


@RULE.fix
def move_the_loss(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Move the loss to the device that the other tensors were moved to."""
    call = edits.call_at(context, diagnosis.site)
    device = handles.handle(diagnosis, context, call) if call is not None else None
    if call is None or device is None or not edits.is_whole_value(context, call):
        return None
    return Mend("safe", f"Move the loss: `.to({device})`", edits.after(context, call, f".to({device})"))
