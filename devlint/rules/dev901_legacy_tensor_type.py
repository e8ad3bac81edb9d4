"""DEV901: tensor types of before torch 0.4 that carry the device in their name. Advice.

https://docs.pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import LegacyType
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import spelling
from devlint.rules.legacy import dtype_of
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch

x = torch.cuda.FloatTensor([1.0, 2.0])  # DEV901: cpu
print(x * 2)
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.tensor([1.0, 2.0], device=device)
print(x * 2)
"""

BAD_DEFAULT = """\
import torch

if torch.cuda.is_available():
    torch.set_default_tensor_type("torch.cuda.FloatTensor")  # DEV901:
print(torch.zeros(2) + torch.ones(2))
"""

GOOD_DEFAULT = """\
import torch

if torch.cuda.is_available():
    torch.set_default_device("cuda")
print(torch.zeros(2) + torch.ones(2))
"""

RULE = Rule(
    code="DEV901",
    name="legacy-tensor-type",
    summary="A legacy tensor type such as `torch.cuda.FloatTensor` chooses device and dtype at once.",
    what="""\
`torch.cuda.FloatTensor(...)` and its sisters, and `torch.set_default_tensor_type("torch.cuda.FloatTensor")`. Where such
a type is used without CUDA the program breaks, and unguarded-cuda (DEV102) says so; this rule speaks of all of them and
has to be selected.""",
    why="""\
The names work with CUDA only, have no form for a chosen device, and `set_default_tensor_type` is deprecated since
torch 2.1. Guarded uses are right, hence advice.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(Example(bad=BAD_DEFAULT, good=GOOD_DEFAULT),),
    severity="advice",
    worlds=("cpu",),
    default=False,
    error="TypeError: type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled.",
    fix_safety="""\
Safe for constructors whose arguments are written out: numbers are a size, a list is the data. Unsafe for
`set_default_tensor_type`: `set_default_device` leaves the default dtype alone and reaches more functions. Both still
need CUDA; choosing the device is left to the author.""",
    references=(
        "https://docs.pytorch.org/docs/stable/tensors.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html",
    ),
)


@RULE.on(LegacyType)
def legacy(event: LegacyType, context: TextContext) -> Iterator[Diagnosis]:
    """A type that carries its device in the name."""
    message = f"`{event.text or context.text(event.site)}` is a legacy type that works with CUDA only"
    yield Diagnosis(event.site, message, event, trail(event, event.site), "give `dtype=` and `device=` instead")


@RULE.fix
def modern(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Write the constructor with `dtype=` and `device=`, or set the default device."""
    call = context.node(diagnosis.site)
    if not isinstance(call, cst.Call) or any(item.star or item.keyword is not None for item in call.args):
        return None
    values = [item.value for item in call.args]
    name = context.source(call.func)
    if name.endswith("set_default_tensor_type"):
        return _default_device(call, values, context)
    dtype = dtype_of(name, context)
    if dtype is None or not values:
        return None
    written = ", ".join(context.source(value) for value in values)
    if all(isinstance(value, cst.Integer) for value in values):
        constructor = spelling(context, "torch.empty")
    elif len(values) == 1 and isinstance(values[0], cst.List):
        constructor = spelling(context, "torch.tensor")
    else:
        return None
    if constructor is None:
        return None
    content = f'{constructor}({written}, dtype={dtype}, device="cuda")'
    return Mend("safe", "give dtype and device", (Replacement(*context.span(call), content),))


def _default_device(call: cst.Call, values: list[cst.BaseExpression], context: FixContext) -> Mend | None:
    function = spelling(context, "torch.set_default_device")
    is_float = len(values) == 1 and context.source(values[0]).strip("'\"").endswith("cuda.FloatTensor")
    if function is None or not is_float or context.min_torch < (2, 0):
        return None
    replacement = Replacement(*context.span(call), f'{function}("cuda")')
    return Mend("unsafe", "set the default device", (replacement,))
