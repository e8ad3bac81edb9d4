"""DEV102: CUDA used where a machine without a GPU arrives too.

https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import DeviceUnavailable, MixedDevices
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import spelling
from devlint.rules.text import clash, clash_trace, trail
from devlint.rules.unavailable import severity, speaker, what_follows, where
from devlint.syntax.late import cst

BAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
encoder = nn.Linear(8, 4).to(device)
head = nn.Linear(4, 2).cuda()  # DEV102: cpu

print(head(encoder(torch.randn(3, 8, device=device))).shape)
"""

GOOD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
encoder = nn.Linear(8, 4).to(device)
head = nn.Linear(4, 2).to(device)

print(head(encoder(torch.randn(3, 8, device=device))).shape)
"""

BAD_DEFAULT = """\
import torch


def smooth(x, device="cuda"):  # DEV102: cpu
    kernel = torch.ones(1, 1, 3, device=device) / 3
    return torch.nn.functional.conv1d(x.to(device), kernel)


print(smooth(torch.rand(1, 1, 8)).shape)
"""

GOOD_DEFAULT = """\
import torch


def smooth(x, device="cuda" if torch.cuda.is_available() else "cpu"):
    kernel = torch.ones(1, 1, 3, device=device) / 3
    return torch.nn.functional.conv1d(x.to(device), kernel)


print(smooth(torch.rand(1, 1, 8)).shape)
"""

RULE = Rule(
    code="DEV102",
    name="unguarded-cuda",
    summary="CUDA is used on a line that a machine without a GPU reaches too.",
    what="""\
`.cuda()`, `.to("cuda")`, `device="cuda"`, `torch.cuda.FloatTensor(...)`, `torch.cuda.Stream()` and the like, reached
where `torch.cuda.is_available()` is false; also `mps`, which Linux machines don't have. Every guard counts that the
machine answers: `if`, a conditional expression, an early return, `try` and `except`, `x.is_cuda`, a helper that picks
the device. A true flag of the program's own (`if args.cuda:`) is taken at its word. The world that breaks is the one
without a GPU; with `mps` it is all of them.

A program means to run without a GPU if it asks for CUDA and something hangs on the answer (more than an error or a
measurement), has a flag for it (`args.no_cuda`), chooses between `"cpu"` and `"cuda"`, or runs a module on the CPU
where there is a GPU: each place that forgets is an error. Such a run says nothing of a GPU that the script
names itself, outside of functions. What other files ask speaks for the code in them, and for what calls or imports
them. A program that does none of it may be for GPUs only: it gets one finding of severity advice, at its first use of
CUDA. What a document shows (a block of a Markdown file) is advice, too: for which machine it is the text around it
says.

Where there is a GPU, what was put on it whatever the program means may meet what it left on the CPU. That is the same
mistake, and told here.""",
    why="""\
The program stops on a laptop, on a build server, and for the reader who wants to try it. Nobody sees this on the
machine it was written on.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(Example(bad=BAD_DEFAULT, good=GOOD_DEFAULT),),
    error="AssertionError: Torch not compiled with CUDA enabled",
    fix_safety="""\
Safe, and offered only where the device is named by a string literal: with CUDA the literal stays what it was, without
CUDA it becomes `"cpu"`. `.cuda()` has no such fix, the right device is for the author to choose.""",
    references=(
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html",
    ),
)


@RULE.on(DeviceUnavailable)
def unguarded(event: DeviceUnavailable, context: TextContext) -> Iterator[Diagnosis]:
    """CUDA, or another accelerator, that this world does not have."""
    if speaker(event) != RULE.code:
        return
    site = where(event)
    text = context.text(site)
    trace = trail(event, site)
    kind = event.device.partition(":")[0]
    help_text = 'choose once: `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`'
    if kind != "cuda":
        message = f"`{text}` names {kind}, which this machine does not have"
        help_text = "ask whether it is there, and fall back to the CPU"
    elif event.visible is not None and event.world != "cpu":
        message = f"`{text}` needs CUDA, and CUDA_VISIBLE_DEVICES={event.visible!r} leaves no GPU here"
    elif event.evidence:
        message = f"`{text}` needs CUDA, and a machine without it reaches this line too{what_follows(event)}"
        if event.clash is not None:
            message += f"; with CUDA {clash(event.clash)}"
            trace = (*trace, clash_trace(event.clash)[-1])
    else:
        message = f"`{text}` needs CUDA; nothing here asks whether it is there{what_follows(event)}"
    yield Diagnosis(site, message, event, trace, help_text, event, severity(event))


@RULE.on(MixedDevices)
def meets_what_was_not_moved(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """Where there is a GPU, what was put there whatever the program means meets what is still on the CPU."""
    if event.cause == "forced":
        yield Diagnosis(event.root, clash(event), event, clash_trace(event))


@RULE.fix
def choose(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Turn the literal into a choice. The other uses of a program that never asks are left for the author."""
    event = diagnosis.data
    literal = context.node(diagnosis.site)
    if not isinstance(literal, cst.SimpleString) or not isinstance(event, DeviceUnavailable):
        return None
    if literal.raw_value not in ("cuda", "cuda:0") or (event.further and not event.evidence):
        return None
    call = next((parent for parent in context.parents(literal) if isinstance(parent, cst.Call)), None)
    if call is not None and len(call.args) > 1 and context.source(call.func) == spelling(context, "torch.device"):
        return None  # the index beside it would stay
    available = spelling(context, "torch.cuda.is_available")
    if available is None:
        return None
    text = context.source(literal)
    choice = f"{text} if {available}() else {literal.quote}cpu{literal.quote}"
    # where a conditional expression stands without parentheses
    bare = cst.Arg | cst.Param | cst.Assign | cst.AnnAssign | cst.Return | cst.DictElement | cst.Element
    if not isinstance(context.parents(literal)[0], bare):
        choice = f"({choice})"
    return Mend("safe", "fall back to the CPU where there is no CUDA", (Replacement(*context.span(literal), choice),))
