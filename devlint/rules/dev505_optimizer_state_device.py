"""DEV505 optimizer-state-device: the optimizer's state is on another device than the parameters."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV505",
    name="optimizer-state-device",
    summary="The optimizer's state is on another device than its parameters.",
    what=(
        "The optimizer has made state (moments, momentum), by a step or by `load_state_dict`, and the model is moved "
        "to another device afterwards. An optimizer that is only built before the move has no state yet: it is silent, "
        "but for `Adagrad`, which makes its state when it is built."
    ),
    why=(
        "`module.to()` moves parameters and their gradients. It doesn't know of the optimizer, whose state stays where "
        "the parameters were when it was made."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
model(torch.rand(8, 4)).sum().backward()
optimizer.step()
model.to(device)
model(torch.rand(8, 4, device=device)).sum().backward()
optimizer.step()  # DEV505: gpu1 gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.Adam(model.parameters())
model(torch.rand(8, 4, device=device)).sum().backward()
optimizer.step()
model(torch.rand(8, 4, device=device)).sum().backward()
optimizer.step()
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety="There is none: the model has to be moved before the optimizer steps or loads its state.",
    references=("https://docs.pytorch.org/docs/stable/optim.html#constructing-it",),
)


@RULE.on(MixedDevices)
def left_behind(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The state of an optimizer met parameters that had been moved since."""
    if event.cause == "optimizer-state":
        state, parameters = event.culprit, text.partner(event)
        step = text.quoted(context.text(event.root))
        message = f"{step} finds its state on {state.device} and its parameters on {parameters.device}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))
