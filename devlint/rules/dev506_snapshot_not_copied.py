"""DEV506 snapshot-not-copied: weights kept by `.cpu()`, which copies nothing where they are on the CPU already."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import SnapshotNotCopied
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Note, Replacement, Rule, TextContext

RULE = Rule(
    code="DEV506",
    name="snapshot-not-copied",
    summary="Weights are kept by bringing them to the CPU; where they are there already, nothing is copied.",
    what="""\
What `state_dict()` gives shares its memory with the module. `.cpu()` and `.to("cpu")` make a copy of what is on a GPU,
and return the very tensor that they are called on if it is on the CPU. Reported where a state that was kept so is
loaded into its module again, or saved to a file, after an optimizer's step or another load has changed the weights.""",
    why="""\
Without a GPU the best weights of a training are those of its last step, and to restore them changes nothing. No error
is raised, and on the machine with the GPU all is well.""",
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
best = {name: value.cpu() for name, value in net.state_dict().items()}  # DEV506: cpu
before = net.weight.detach().clone()
net(torch.ones(2, 3, device=device)).sum().backward()
optimizer.step()
net.load_state_dict(best)
restored = torch.equal(net.weight, before)
print("restored" if restored else "what the last step left")
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
best = {name: value.cpu().clone() for name, value in net.state_dict().items()}
before = net.weight.detach().clone()
net(torch.ones(2, 3, device=device)).sum().backward()
optimizer.step()
net.load_state_dict(best)
restored = torch.equal(net.weight, before)
print("restored" if restored else "what the last step left")
""",
        observe="restored",
        observed={"cpu": (False, True), "gpu1": (True, True), "gpu2": (True, True)},
    ),
    severity="warning",
    fix_safety="Safe: on the CPU the clone is the copy that was meant; on a GPU it is a second one.",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",
        "https://docs.pytorch.org/docs/stable/notes/serialization.html",
    ),
)


@RULE.on(SnapshotNotCopied)
def not_copied(event: SnapshotNotCopied, context: TextContext) -> Iterator[Diagnosis]:
    """What was kept has followed the weights."""
    message = f"{text.quoted(event.text)} copies nothing where the weights are on the CPU: what is kept follows them"
    note = Note(event.site, f"{event.kind} here, after they have changed")
    help_text = "make a copy: `.cpu().clone()`, or `copy.deepcopy` of the whole state"
    yield Diagnosis(event.root, message, event, (note,), help_text)


@RULE.fix
def clone(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Copy what is kept."""
    node = context.node(diagnosis.site)
    if node is None:
        return None
    end = context.span(node)[1]
    return Mend("safe", "Keep a copy: `.clone()`", (Replacement(end, end, ".clone()"),))
