"""DEV501 tensor-attribute: a plain tensor attribute of a module that should be a buffer."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV501",
    name="tensor-attribute",
    summary="A module keeps a tensor as a plain attribute, which stays behind when the module moves.",
    what=(
        "`self.mask = torch.ones(...)` in an `nn.Module`, used in `forward` after the module was moved; a tensor in a "
        "plain list or dict of the module, too. Tensors that are moved where they are used, replaced by a buffer or a "
        "parameter, or used on the CPU only are silent."
    ),
    why=(
        "`module.to()` moves parameters, buffers and submodules, and nothing else. A plain attribute stays on the "
        "device where it was created; `state_dict()`, `half()` and DataParallel pass it over too."
    ),
    example=Example(
        bad="""\
import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.tensor([1.0, 2.0, 3.0])  # DEV501: gpu1 gpu2

    def forward(self, x):
        return x * self.factor


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Scale().to(device)
print(model(torch.rand(3, device=device)))
""",
        good="""\
import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.tensor([1.0, 2.0, 3.0]), persistent=False)

    def forward(self, x):
        return x * self.factor


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Scale().to(device)
print(model(torch.rand(3, device=device)))
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety=(
        "Unsafe: a buffer follows `module.half()` and `module.double()` as well, and appears in `module.buffers()`, "
        "which DataParallel, DDP and averaged models copy. `persistent=False` keeps it out of `state_dict()`, so that "
        "old checkpoints still load."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer",),
)


@RULE.on(MixedDevices)
def left_behind(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A plain attribute of a moved module met a tensor on the module's device."""
    if event.cause == "attribute":
        culprit = event.culprit
        name = _attribute(event) or culprit.text
        container, is_held, _ = name.partition("[")
        what = "is a plain container: what it holds" if is_held else "is a plain attribute and"
        stays = f"{text.quoted(container)} {what} stays on {culprit.device} when the module moves"
        message = f"{stays}: it {text.meeting(event)}"
        of_a_part = name.count(".") > 1 or bool(is_held)
        yield Diagnosis(event.root, message, event, text.clash_trace(event), data=of_a_part)


def _attribute(event: MixedDevices) -> str:
    """The attribute's name as the mark of the assignment noted it, with `self.` where it is bare."""
    for mark in reversed(event.culprit.marks):
        if mark.kind == "left-behind" and mark.note:
            return mark.note if "." in mark.note else f"self.{mark.note}"
    return ""


@RULE.fix
def register(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Register the tensor as a buffer that is not saved, where the module's `__init__` assigns it once."""
    assignment = edits.assignment_at(context, diagnosis.site)
    if assignment is None or diagnosis.data:
        return None
    target = assignment.target if isinstance(assignment, cst.AnnAssign) else assignment.targets[0].target
    function = edits.scope_of(context, assignment)
    if not isinstance(target, cst.Attribute) or not isinstance(function, cst.FunctionDef) or assignment.value is None:
        return None
    path = edits.dotted(target)
    receiver, _, name = (path or "").rpartition(".")
    if function.name.value != "__init__" or not edits.is_first_parameter(function, receiver):
        return None
    places = edits.assignments_to(context, function, f"{receiver}.{name}")
    begin = context.span(assignment)[0]
    if any(context.span(place)[0] < begin for place in places):
        return None
    start, end = context.span(assignment)[0], context.span(assignment.value)[0]
    opened = Replacement(start, end, f'{receiver}.register_buffer("{name}", ')
    value, close = assignment.value, context.span(assignment.value)[1]
    if value.lpar:
        opened = Replacement(start, edits.opening(context, value), opened.content)
        close = edits.closing(context, value)
    if isinstance(value, cst.Tuple) or edits.makes_distribution(value):
        return None
    closed = Replacement(close, close, ", persistent=False)")
    why = "Register a buffer (unsafe: it follows `.half()` too and appears in `buffers()`)"
    return Mend("unsafe", why, (opened, closed))
