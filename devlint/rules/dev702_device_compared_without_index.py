"""DEV702: `torch.device("cuda")` compared with `torch.device("cuda:0")`, which are not equal."""

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
x = torch.rand(3).to(device)
arrived = x.device == device  # DEV702: gpu1 gpu2
print("arrived" if arrived else "not there yet")
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.rand(3).to(device)
arrived = x.device.type == device.type
print("arrived" if arrived else "not there yet")
"""

RULE = Rule(
    code="DEV702",
    name="device-compared-without-index",
    summary="A device without an index is compared with one that has an index; they are never equal.",
    what="""\
`torch.device("cuda") == torch.device("cuda:0")`, and above all `x.device == device`: a tensor's device always has its
index, a handle made from `"cuda"` has none. The same holds of their names, compared as strings or looked up as keys of
a dict: `str(x.device)` is `"cuda:0"`. Reported where the GPU is the same and the comparison denies it. On the CPU both
have no index, and the comparison is right. Also the index of such a handle where it is compared with a number: it is
None, and `device.index >= 0` raises.""",
    why="""\
`torch.device` compares type and index, and "no index" is unequal to 0. An assertion fails on every machine with a GPU,
a test "is it there already" copies each time.""",
    example=Example(
        bad=BAD,
        good=GOOD,
        observe="arrived",
        observed={"cpu": (True, True), "gpu1": (False, True), "gpu2": (False, True)},
    ),
    severity="warning",
    worlds=("gpu1", "gpu2"),
    fix_safety="""\
Unsafe: types are compared and the index is left out, so with several GPUs devices of one type all become equal.""",
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)


@RULE.on(DeviceCompared)
def without_index(event: DeviceCompared, context: TextContext) -> Iterator[Diagnosis]:
    """One of the two has no index."""
    if event.kind == "key":
        message = f"`{event.left}` is no key of `{event.right}`: one has the device's index, the other has none"
        yield Diagnosis(event.site, message, event, trail(event, event.site), "make all keys from the same device")
    if event.kind == "number":
        side = event.right if event.reversed_operands else event.left
        message = f"`{side}` is None: the device was named without an index, and None is compared with a number"
        yield Diagnosis(
            event.site, message, event, trail(event, event.site), "give the handle an index, or ask for None"
        )
    if event.kind not in ("index", "text"):
        return
    answer = "False" if event.operator in ("==", "in") else "True"
    comparison = f"{event.left} {event.operator} {event.right}"
    message = f"`{comparison}` is {answer} on the same GPU: one has an index, the other has none"
    help_text = "compare the types, or give the handle an index"
    yield Diagnosis(event.site, message, event, trail(event, event.site), help_text)


@RULE.fix
def compare_types(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Compare the types of both."""
    event, node = diagnosis.event, context.node(diagnosis.site)
    if not isinstance(event, DeviceCompared) or event.kind != "index":
        return None
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return None
    sides = (node.left, node.comparisons[0].comparator)
    if not all(is_primary(side) for side in sides):
        return None
    ends = [context.span(side)[1] for side in sides]
    return Mend("unsafe", "compare the types of the devices", tuple(Replacement(end, end, ".type") for end in ends))
