"""DEV801 create-then-move: `torch.zeros(...).to(device)` instead of `device=`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import Transfer
from devlint.rules import edits, handles, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.dev303_default_device_tensor import FACTORIES
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV801",
    name="create-then-move",
    summary="A tensor is created on the CPU and moved at once, instead of being created where it is needed.",
    what=(
        "`torch.zeros(3).to(device)`, `torch.arange(n).cuda()` and the like, where the CPU tensor is used for nothing "
        "else."
    ),
    why=(
        "What it costs: host memory for a tensor that is thrown away, filling it there, and one copy to the device, "
        "for which the host waits. With `device=` none of the three happens."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mask = torch.zeros(64, 64).to(device)  # DEV801:
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mask = torch.zeros(64, 64, device=device)
""",
        observe="transfers",
        observed={"cpu": (0, 0), "gpu1": (1, 0), "gpu2": (1, 0)},
    ),
    severity="advice",
    default=False,
    worlds=(),
    error=None,
    fix_safety=(
        "Safe, but for random factories: on the GPU those draw from another generator, so that the numbers change, and "
        "the fix is unsafe."
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)

RANDOM = frozenset({"rand", "randn", "randint", "randperm"})
METHODS = frozenset({"to", "cuda"})


@RULE.on(Transfer)
def moved_at_once(event: Transfer, context: TextContext) -> Iterator[Diagnosis]:
    """A tensor was created for a move alone."""
    if event.fresh and event.target.startswith("cuda"):
        made = text.quoted(context.text(event.created or event.root))
        message = f"{made} is created on {event.source} and copied to {event.target} at once"
        yield Diagnosis(event.root, message, event, text.operand_trace(event, None, f"copied to {event.target} here"))


@RULE.fix
def create_there(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Pass the device to the factory."""
    call = edits.call_at(context, diagnosis.event.site)
    if call is None or diagnosis.event.site.path != diagnosis.site.path or edits.method_name(call) not in METHODS:
        return None
    inner = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not isinstance(inner, cst.Call) or inner.lpar or edits.keyword(inner, "device") is not None:
        return None
    name = edits.function_name(inner)
    device = _device(call)
    if name not in FACTORIES or device is None or edits.keyword(inner, "pin_memory") is not None:
        return None
    named = context.source(device) if isinstance(device, cst.CSTNode) else device
    added = edits.add_keyword(context, inner, f"device={named}")
    if added is None:
        return None
    removed = Replacement(context.span(inner)[1], context.span(call)[1], "")
    return Mend("unsafe" if name in RANDOM else "safe", f"Create it there: `device={named}`", (*added, removed))


def _device(call: cst.Call) -> cst.BaseExpression | str | None:
    """The device that the move names, None where the move may do more than change the device."""
    rest = [argument for argument in call.args if argument.keyword is None or argument.keyword.value != "non_blocking"]
    if edits.method_name(call) == "cuda" and not rest:
        return '"cuda"'
    value = handles.device_argument(call) if len(rest) == 1 and edits.method_name(call) == "to" else None
    if isinstance(value, cst.Name | cst.Attribute | cst.SimpleString | cst.FormattedString):
        return value
    return value if isinstance(value, cst.Call) and edits.function_name(value) == "device" else None
