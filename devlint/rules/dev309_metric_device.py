"""DEV309 metric-device: the state of a torchmetrics metric stays on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext

RULE = Rule(
    code="DEV309",
    name="metric-device",
    summary="The state of a torchmetrics metric stays on the CPU.",
    what=(
        "A torchmetrics metric is updated with tensors on the accelerator and was never moved there. Metrics that are "
        "attributes of a module move with it, and Lightning moves those of a LightningModule: both are silent. "
        "`metric.to(device)` moves in place, so its result may be thrown away. The members of a "
        "`MetricCollection` are where they were put, and move with it: those that were moved before are silent, too."
    ),
    why="A metric keeps running sums in tensors of its own, which are created on the CPU and move like a module's.",
    example=Example(
        bad="""\
import torch
from torchmetrics.classification import MulticlassAccuracy

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
metric = MulticlassAccuracy(num_classes=3)  # DEV309: gpu1 gpu2
scores = torch.rand(4, 3).to(device)
metric.update(scores, torch.tensor([0, 1, 2, 0]).to(device))
""",
        good="""\
import torch
from torchmetrics.classification import MulticlassAccuracy

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
metric = MulticlassAccuracy(num_classes=3).to(device)
scores = torch.rand(4, 3).to(device)
metric.update(scores, torch.tensor([0, 1, 2, 0]).to(device))
""",
        runs=False,
        why_not="torchmetrics is not among the packages that the tests install",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: Encountered different devices in metric calculation (see stacktrace for details). ...",
    fix_safety=(
        "Moving the metric is safe: on the CPU, where the code worked, it changes nothing. It is offered where the "
        "device handle that the program moves its other tensors to can be named there."
    ),
    references=("https://lightning.ai/docs/torchmetrics/stable/pages/overview.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The state of a metric met tensors of another device."""
    if event.cause == "metric":
        culprit = event.culprit
        message = f"the metric is never moved: its state stays on {culprit.device} and {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))


@RULE.fix
def move_the_metric(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Move the metric to the device that the other tensors were moved to."""
    call = edits.call_at(context, diagnosis.site)
    device = handles.handle(diagnosis, context, call) if call is not None else None
    if call is None or device is None or not edits.is_whole_value(context, call):
        return None
    return Mend("safe", f"Move the metric: `.to({device})`", edits.after(context, call, f".to({device})"))
