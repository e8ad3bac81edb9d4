"""DEV302 module-input-device: a module and its input are on two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV302",
    name="module-input-device",
    summary="A module is on one device and its input on another.",
    what=(
        "A module's parameters are on one device, and what it is called with is on another: a batch straight from the "
        "DataLoader, a second model that nobody moved, a model that was built anew after it had been moved, a layer "
        "that a model is given after that. The finding stands at the call of the module, or where the module was built "
        "anew or given the layer."
    ),
    why=(
        "`module.to(device)` moves the module's parameters, never what it is called with; DataLoaders yield CPU "
        "tensors. Layers need parameters and input on one device."
    ),
    example=Example(
        bad="""\
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
loader = DataLoader(TensorDataset(torch.rand(8, 4)), batch_size=4)
for (x,) in loader:
    print(model(x).sum())  # DEV302: gpu1 gpu2
""",
        good="""\
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
loader = DataLoader(TensorDataset(torch.rand(8, 4)), batch_size=4)
for (x,) in loader:
    print(model(x.to(device)).sum())
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: Expected all tensors to be on the same device, ...",
    fix_safety="There is none: whether the module or its input should move is for the author to say.",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A module met an input of another device, or was replaced by a module that nobody moved."""
    if event.cause == "module-input":
        yield Diagnosis(event.root, text.clash(event), event, text.clash_trace(event))
    elif event.cause == "rebuilt":
        culprit = event.culprit
        message = f"a fresh module on {culprit.device} replaces the moved one: {text.quoted(culprit.text)}"
        yield Diagnosis(event.root, f"{message} {text.meeting(event)}", event, text.clash_trace(event))
    elif event.cause == "attached":
        culprit = event.culprit
        message = f"a fresh module on {culprit.device} is attached to one that was moved before: "
        message += f"{text.quoted(culprit.text)} {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))
