"""DEV503 layer-in-forward: a layer with parameters is created inside `forward`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV503",
    name="layer-in-forward",
    summary="A layer with parameters is created inside `forward`.",
    what=(
        "`nn.Linear(...)`, `nn.Conv2d(...)`, `nn.LayerNorm(...)` or another layer with parameters is built in "
        "`forward`, or in what `forward` calls, and applied to the input. Layers without parameters (`nn.ReLU()`), "
        "layers that are built where the input is, and kept as an attribute, and functions (`F.linear`) are silent."
    ),
    why=(
        "The layer is new at every call, or at the first if it is kept: its weights are on the CPU, whatever the "
        "module's device, and random. The optimizer has never seen them, so nothing is learned in them even where "
        "nothing raises."
    ),
    example=Example(
        bad="""\
import torch


class Head(torch.nn.Module):
    def forward(self, x):
        project = torch.nn.Linear(x.shape[-1], 2)  # DEV503: gpu1 gpu2
        return project(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Head().to(device)(torch.rand(3, 4, device=device)).shape)
""",
        good="""\
import torch


class Head(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = torch.nn.Linear(width, 2)

    def forward(self, x):
        return self.project(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Head(4).to(device)(torch.rand(3, 4, device=device)).shape)
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: Expected all tensors to be on the same device, ...",
    fix_safety=(
        "There is none: the layer belongs in `__init__`. Moving it inside `forward` would hide that it is never "
        "trained."
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/modules.html",),
)


@RULE.on(MixedDevices)
def built_in_forward(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A layer that was just built met the input of `forward`."""
    if event.cause == "layer-in-forward":
        layer = text.quoted(context.text(event.root))
        message = (
            f"{layer} is built inside `forward`, on {event.culprit.device} and untrained: it {text.meeting(event)}"
        )
        yield Diagnosis(event.root, message, event, text.clash_trace(event))
