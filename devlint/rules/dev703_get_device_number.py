"""DEV703: `get_device()` is -1 on the CPU, and -1 is no device.

https://docs.pytorch.org/docs/stable/generated/torch.Tensor.get_device.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceNumber
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import method_name
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(4, device=device)
offsets = torch.arange(4, device=scores.get_device())  # DEV703: cpu
print(scores + offsets)
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.rand(4, device=device)
offsets = torch.arange(4, device=scores.device)
print(scores + offsets)
"""

RULE = Rule(
    code="DEV703",
    name="get-device-number",
    summary="The number from `tensor.get_device()` is used as a device; on the CPU it is -1.",
    what="""\
The result of `get_device()` of a tensor on the CPU, used as a device: `device=x.get_device()`,
`y.to(x.get_device())`, `torch.device("cuda", x.get_device())`, directly or through variables. Comparing the number
(`x.get_device() >= 0`) or printing it is right. `get_device()` of classes other than tensors is not looked at.""",
    why="""\
`x.device` says the same and works on every device. The number works on GPUs only.""",
    example=Example(bad=BAD, good=GOOD),
    worlds=("cpu",),
    error="RuntimeError: Device index must not be negative",
    fix_safety="""\
Safe: on a GPU `x.device` is the device with that number. Offered where the call itself stands as the device of another
tensor; a number kept in a variable may have other uses.""",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.get_device.html",),
)


@RULE.on(DeviceNumber)
def minus_one(event: DeviceNumber, context: TextContext) -> Iterator[Diagnosis]:
    """The -1 was used as a device."""
    receiver = (event.text or context.text(event.root)).removesuffix(".get_device()")
    message = f"`{receiver}.get_device()` is -1 on the CPU, and -1 is no device"
    yield Diagnosis(event.root, message, event, trail(event, event.root), f"use `{receiver}.device`")


@RULE.fix
def use_device(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Take the device itself."""
    call = context.node(diagnosis.site)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or method_name(call) != "get_device":
        return None
    around = context.parents(call)[:2]
    if len(around) < 2 or not isinstance(around[0], cst.Arg) or not isinstance(around[1], cst.Call):
        return None
    named = around[0].keyword is not None and around[0].keyword.value == "device"
    moved = method_name(around[1]) == "to" and around[0].keyword is None and around[1].args[0] is around[0]
    if not named and not moved:
        return None
    start, end = context.span(call.func.attr)[0], context.span(call)[1]
    return Mend("safe", "take the device itself", (Replacement(start, end, "device"),))
