"""DEV301 mixed-devices: the operands of an operation are on two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV301",
    name="mixed-devices",
    summary="The operands of an operation are on two devices.",
    what=(
        "Two tensors meet in an operation that needs them on one device, and both were put where they are on purpose: "
        "moved, copied back with `.cpu()`, or created with `device=`. Where one of them is on the wrong device for a "
        "reason that has a rule of its own (a dropped move, a plain attribute, a missing `device=`), that rule speaks. "
        "A 0-dimensional CPU tensor may meet CUDA tensors in elementwise operations, and a CPU index may index a CUDA "
        "tensor: both are right, and silent. A check of the program's own that devices agree, such as "
        "`assert x.device == weight.device`, is told like an operation where it surely fails. Where no program or test "
        "in sight calls the code, and one of the two is on a GPU only because inputs, or a device that is given, are "
        "taken to be there, it is advice: which of the two is wrong its callers decide."
    ),
    why="torch never copies an operand to the other's device by itself; it raises.",
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(4, 3, device=device)
labels = torch.tensor([0, 1, 2, 0], device=device)
best = scores.argmax(dim=1).cpu()
print((best == labels).sum())  # DEV301: gpu1 gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(4, 3, device=device)
labels = torch.tensor([0, 1, 2, 0], device=device)
best = scores.argmax(dim=1)
print((best == labels).sum().cpu())
""",
    ),
    worlds=("gpu1", "gpu2"),
    unseen="advice",
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety="There is none: which of the two belongs on the other's device is for the author to say.",
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """Two tensors met, and nothing nearer to the cause is known."""
    if event.cause == "mixed":
        yield Diagnosis(event.root, text.clash(event), event, text.clash_trace(event))
