"""DEV403 move-on-array: `.to()` or `.cuda()` on a numpy array, a list, a number."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MoveOnArray
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV403",
    name="move-on-array",
    summary="`.to()`, `.cuda()` or `.cpu()` is called on a numpy array, a list or another plain Python value.",
    what="""\
A numpy array (the result of `.numpy()`, of `np.array(...)`, of numpy arithmetic), a list, tuple or dict of tensors, a
number, a text or an optimizer is moved as if it were a tensor, or asked for its `.device`. It counts what surely is
such a value where the program surely comes: the texts of a batch that `default_collate` leaves in a list, the pair of
states that a helper returns for an LSTM.""",
    why="""\
Only tensors and modules live on devices. An array has to become a tensor first: `torch.from_numpy(array)`. Of a
container each tensor is moved by itself, `[x.to(device) for x in xs]`, and what is no tensor stays where it is.""",
    example=Example(
        bad="""\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
features = np.ones((4, 2), dtype=np.float32)
x = features.to(device)  # DEV403: cpu gpu1 gpu2
""",
        good="""\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
features = np.ones((4, 2), dtype=np.float32)
x = torch.from_numpy(features).to(device)
""",
    ),
    unseen="advice",
    error="AttributeError: 'numpy.ndarray' object has no attribute 'to'",
    fix_safety=(
        "The code works nowhere before the fix. The tensor has the array's dtype and shares its memory on the CPU."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html",),
)

KINDS = {"ndarray": "a numpy array", "str": "a text", "int": "a number", "float": "a number"}


@RULE.on(MoveOnArray)
def moved(event: MoveOnArray, context: TextContext) -> Iterator[Diagnosis]:
    """Something that has no device was moved."""
    name = event.type_name.rpartition(".")[2]
    what = KINDS.get(name, f"an instance of `{name}`" if name[0].isupper() else f"a {name}")
    asked, done = (".device", "asked") if event.method == "device" else (f".{event.method}()", "moved")
    message = f"{text.quoted(event.text)} is {what}, which has no `{asked}`"
    yield Diagnosis(event.root, message, event, text.operand_trace(event, None, f"{what} is {done} here"))


@RULE.fix
def make_a_tensor(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Make a tensor of the array and move that; an array stays as it is where the CPU was meant."""
    event = diagnosis.event
    call = edits.call_at(context, event.site)
    torch = edits.spelling(context, "torch.from_numpy")
    if not isinstance(event, MoveOnArray) or call is None or event.type_name != "numpy.ndarray":
        return None
    if not isinstance(call.func, cst.Attribute) or event.site.path != diagnosis.site.path:
        return None
    start, end = context.span(call.func.value)
    if event.method == "cpu":
        return Mend(
            "safe", "An array is on the CPU: leave out `.cpu()`", (Replacement(end, context.span(call)[1], ""),)
        )
    if torch is None:
        return None
    added = (Replacement(start, start, f"{torch}("), Replacement(end, end, ")"))
    return Mend("safe", "Make a tensor of it first: `torch.from_numpy(...)`", added)
