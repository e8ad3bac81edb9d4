"""DEV203 moved-parameter: `nn.Parameter(...).to(d)` is a non-leaf copy, no parameter."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MovedParameter
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV203",
    name="moved-parameter",
    summary="A parameter, or a tensor made with `requires_grad=True`, is moved, and the copy is kept in its place.",
    what="""\
`nn.Parameter(...).to(device)` and `torch.zeros(3, requires_grad=True).to(device)`, also with `.cuda()`: what is kept is
the result of a move, not the parameter. So is `module.weight = module.weight.to(device)`, which the module refuses. One
without a gradient (`requires_grad=False`) is reported if its module is asked for the `state_dict()`, which does not
have it. Where an attribute had a leaf, is given the copy, and an optimizer that was given the leaf before makes steps
with it, the copy stays as it was.""",
    why=(
        "A copy on another device is the result of an operation: no leaf, no `nn.Parameter`, and its `.grad` stays "
        "None. Optimizers refuse it, and a module doesn't register it. On the CPU the move returns the parameter "
        "itself, so the mistake shows on the GPU only."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scale = torch.nn.Parameter(torch.ones(3)).to(device)  # DEV203: gpu1 gpu2
optimizer = torch.optim.SGD([scale], lr=0.1)
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scale = torch.nn.Parameter(torch.ones(3, device=device))
optimizer = torch.optim.SGD([scale], lr=0.1)
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="ValueError: can't optimize a non-leaf Tensor",
    fix_safety=(
        "Moving the data before it becomes a parameter is safe: on the CPU, where the code worked, nothing changes."
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html",
    ),
)


@RULE.on(MovedParameter)
def moved(event: MovedParameter, context: TextContext) -> Iterator[Diagnosis]:
    """A parameter was moved and the copy kept."""
    is_parameter = event.is_parameter and "Parameter" in event.text
    what = "an `nn.Parameter`" if is_parameter else "a leaf that requires a gradient"
    where = f" to {event.device}" if event.device else ""
    moving = text.quoted(event.text or context.text(event.root))
    message = f"{moving} moves {what}{where}: the copy is no leaf and gets no gradient"
    kept = "the copy is kept here"
    if event.lacks == "state":
        message = f"{moving} moves {what}{where}: the copy is no parameter, and `state_dict()` does not have it"
        kept = "the state is taken here"
    elif event.lacks == "steps":
        message = f"{moving} moves {what}{where}: the optimizer keeps the leaf, and the copy never changes"
        kept = "the leaf is changed here"
    yield Diagnosis(event.root, message, event, text.operand_trace(event, None, kept))


@RULE.fix
def move_first(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Move what becomes the parameter, or create it on the device."""
    call = edits.call_at(context, diagnosis.site)
    if call is None or not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Call):
        return None
    inner = call.func.value
    if edits.method_name(call) not in {"to", "cuda"}:
        return None
    if edits.function_name(inner) == "Parameter" and inner.args and not inner.args[0].star:
        data = inner.args[0]
        suffix = context.text[context.span(inner)[1] : context.span(call)[1]]
        added = edits.after(context, data.value, suffix)
        dropped = Replacement(context.span(inner)[1], context.span(call)[1], "")
        return Mend("safe", "Move the data before it becomes a parameter", (*added, dropped))
    requires_grad = edits.keyword(inner, "requires_grad")
    device = handles.device_argument(call)
    if requires_grad is None or len(call.args) > 1 or edits.keyword(inner, "device") is not None:
        return None
    named = context.source(device) if device is not None else '"cuda"'
    placed = edits.add_keyword(context, inner, f"device={named}")
    if placed is None or (device is None and edits.method_name(call) == "to"):
        return None
    dropped = Replacement(context.span(inner)[1], context.span(call)[1], "")
    return Mend("safe", "Create the tensor on the device", (*placed, dropped))
