"""DEV302 module-input-device: a module and its input are on two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Note, Rule, TextContext

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
    fix_safety=(
        "Only a module that nobody moves is moved, where it is built, to the handle that its input was moved to: "
        "without a GPU that is the CPU, where it is. In other cases whether the module or its input should move is for "
        "the author to say."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A module met an input of another device, or was replaced by a module that nobody moved."""
    if event.cause == "module-input":
        trace = text.clash_trace(event)
        message = text.clash(event)
        if event.further:
            again = "1 more call meets" if event.further == 1 else f"{event.further} more calls meet"
            message += f", and {again} that module"
        if event.unmoved is not None:
            note = Note(event.unmoved, f"the module is built here, on {event.culprit.device}, and never moved")
            trace = (note, *trace)
        yield Diagnosis(event.root, message, event, trace)
    elif event.cause == "rebuilt":
        culprit = event.culprit
        message = f"a fresh module on {culprit.device} replaces the moved one: {text.quoted(culprit.text)}"
        yield Diagnosis(event.root, f"{message} {text.meeting(event)}", event, text.clash_trace(event))
    elif event.cause == "attached":
        culprit = event.culprit
        message = f"a fresh module on {culprit.device} is attached to one that was moved before: "
        message += f"{text.quoted(culprit.text)} {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))


@RULE.fix
def move_where_it_is_built(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Move a module that nobody moves where it is built, to the device that its input was moved to."""
    event = diagnosis.event
    built = event.unmoved if isinstance(event, MixedDevices) else None
    if built is None or not edits.same_file(diagnosis, built):
        return None
    call = edits.call_at(context, built)
    device = None if call is None else handles.handle(diagnosis, context, call)
    if call is None or device is None:
        return None
    return Mend("safe", f"Move the module there: `.to({device})`", edits.after(context, call, f".to({device})"))
