"""DEV701: a `torch.device` compared with a string, which is never equal.

https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceCompared
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import is_primary
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(3, device=device)
on_gpu = x.device == "cuda"  # DEV701: gpu1 gpu2
print("pinning is useless" if on_gpu else "pinning helps")
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(3, device=device)
on_gpu = x.device.type == "cuda"
print("pinning is useless" if on_gpu else "pinning helps")
"""

BAD_CPU = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
half = device != "cpu"  # DEV701: cpu
print(torch.ones(2).to(device, torch.float16 if half else torch.float32).dtype)
"""

GOOD_CPU = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
half = device.type != "cpu"
print(torch.ones(2).to(device, torch.float16 if half else torch.float32).dtype)
"""

RULE = Rule(
    code="DEV701",
    name="device-compared-with-string",
    summary="A `torch.device` is compared with a string: `==` is always False, `!=` always True.",
    what="""\
`x.device == "cuda"`, `device != "cpu"`, `x.device in ("cpu", "cuda")` where the value is known to be a `torch.device`
and not a string; also `"cuda" in x.device`, which raises a TypeError. It lists the worlds in which the answer differs
from the intended one. Device names that are kept as strings (`args.device == "cpu"`) are right. A function that is
called with both is judged by the calls with a `torch.device`.""",
    why="""\
A `torch.device` never equals a string, and the comparison says so in silence: one of the two branches is dead.""",
    example=Example(
        bad=BAD,
        good=GOOD,
        observe="on_gpu",
        observed={"cpu": (False, False), "gpu1": (False, True), "gpu2": (False, True)},
    ),
    more_examples=(
        Example(
            bad=BAD_CPU,
            good=GOOD_CPU,
            observe="half",
            observed={"cpu": (True, False), "gpu1": (True, True), "gpu2": (True, True)},
        ),
    ),
    severity="warning",
    fix_safety="""\
Unsafe: the comparison gets the answer that it seems to give, and a branch runs that never ran before.
`x.device.type` is compared with a name without an index, `str(x.device)` with a name that has one.""",
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)


@RULE.on(DeviceCompared)
def with_string(event: DeviceCompared, context: TextContext) -> Iterator[Diagnosis]:
    """A device and a string."""
    if event.kind != "string":
        return
    answer = f"is always {event.operator not in ('==', 'in')}" if event.error is None else "raises"
    device = event.right if event.reversed_operands else event.left
    message = f"`{event.left} {event.operator} {event.right}` {answer}: `{device}` is a `torch.device`"
    yield Diagnosis(event.site, message, event, trail(event, event.site), f"compare `{device}.type`")


@RULE.fix
def compare_type(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Compare the device's type, or its text where an index is named."""
    event = diagnosis.event
    node = context.node(diagnosis.site)
    if not isinstance(event, DeviceCompared) or not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return None
    device, name = node.left, node.comparisons[0].comparator
    if event.reversed_operands:
        device, name = name, device
    if event.error is not None or not isinstance(name, cst.SimpleString) or not is_primary(device):
        return None
    start, end = context.span(device)
    if ":" not in str(name.raw_value):
        return Mend("unsafe", "compare the type of the device", (Replacement(end, end, ".type"),))
    replacements = (Replacement(start, start, "str("), Replacement(end, end, ")"))
    return Mend("unsafe", "compare the name of the device", replacements)
