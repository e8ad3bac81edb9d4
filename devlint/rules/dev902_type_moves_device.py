"""DEV902: `.type(torch.FloatTensor)` converts the type and moves to the CPU.

https://docs.pytorch.org/docs/stable/generated/torch.Tensor.type.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import call_at, method_name
from devlint.rules.legacy import dtype_of
from devlint.rules.text import clash_trace, meeting, quoted

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(4, device=device)
mask = (x > 0.5).type(torch.FloatTensor)  # DEV902: gpu1 gpu2
print((x * mask).sum())
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(4, device=device)
mask = (x > 0.5).type(torch.float32)
print((x * mask).sum())
"""

RULE = Rule(
    code="DEV902",
    name="type-moves-device",
    summary="`.type(torch.FloatTensor)` moves the tensor to the CPU, where it then meets a CUDA tensor.",
    what="""\
`x.type(torch.FloatTensor)`, `x.type("torch.LongTensor")` of a CUDA tensor, whose result meets tensors that are still on
the GPU. A result that is used on the CPU is right, and so are `.type(torch.float32)`, `.float()` and
`.type(y.type())`, which keep the device or name it.""",
    why="""\
The legacy types name a device along with the element type: `torch.FloatTensor` is a tensor on the CPU. In code that was
written on a CPU it looks like a conversion.""",
    example=Example(bad=BAD, good=GOOD),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety="Safe: on the CPU `.type(torch.float32)` does what `.type(torch.FloatTensor)` did.",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.type.html",
        "https://docs.pytorch.org/docs/stable/tensors.html#data-types",
    ),
)


@RULE.on(MixedDevices)
def cast_to_cpu(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The converted tensor is on the CPU and meets one that is not."""
    if event.cause != "type-cast":
        return
    message = f"{quoted(context.text(event.root))} moves the tensor to cpu, where it {meeting(event)}"
    yield Diagnosis(event.root, message, event, clash_trace(event), "name the dtype: `.type(torch.float32)`")


@RULE.fix
def name_the_dtype(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Write the dtype for the legacy type."""
    call = call_at(context, diagnosis.site)
    if call is None or method_name(call) != "type" or not call.args:
        return None
    value = call.args[0].value
    dtype = dtype_of(context.source(value).strip("'\""), context)
    if dtype is None:
        return None
    return Mend("safe", "name the dtype", (Replacement(*context.span(value), dtype),))
