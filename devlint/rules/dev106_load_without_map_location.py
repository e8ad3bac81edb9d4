"""DEV106: a checkpoint loaded to wherever it was saved from.

https://docs.pytorch.org/docs/stable/generated/torch.load.html
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import LoadWithoutMap
from devlint.findings import Severity
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Rule, TextContext
from devlint.rules.edits import add_keyword, keyword
from devlint.rules.text import trail
from devlint.syntax.late import cst

PREPARE = """\
import torch
from torch import nn

torch.save(nn.Linear(8, 2).cuda().state_dict(), "model.pt")
"""

BAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 2)
model.load_state_dict(torch.load("model.pt"))  # DEV106: cpu
model.to(device).eval()
print(model(torch.ones(1, 8, device=device)))
"""

GOOD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 2)
model.load_state_dict(torch.load("model.pt", map_location=device))
model.to(device).eval()
print(model(torch.ones(1, 8, device=device)))
"""

RULE = Rule(
    code="DEV106",
    name="load-without-map-location",
    summary="`torch.load` without `map_location` in a program that also runs without a GPU.",
    what="""\
`torch.load(path)` reached in the world without a GPU, in a program that chooses its device and loads what it did not
save itself. The file can't be looked into, so this rule rests on more than the other rules do: a program that never
chooses a device, a round trip within one program, and bytes that come from memory in the same program are left
alone. So is a load inside a `try`, unless its handler only tells of the error and goes on without what was loaded, and
what is read as data: its items are counted, a DataLoader takes samples out of it, or it becomes an array at once; and a
file under whose name the project saves its settings (`torch.save(args, ...)`).

What a network takes counts: a load is an error where a network or an optimizer takes it or a part of it, also under
other names (`{name[7:]: weight for name, weight in loaded.items()}`), or where it is used as a network. Any other may
be data, which are mostly saved from the CPU, and is advice.

Who saved the file decides, too. What a program that saves loads is its own, and left alone. Somebody else's is advice:
one that the program downloads, or would if it were not there, that a notebook or document gives to its readers, that a
file which the program imports names, and the program does not, that `torch.jit.load` reads, for most are exported on
the CPU, or that is loaded in a project of eight files or more (with a README, a `pyproject.toml` or the like at its
top) of which no file saves weights, as far as its text tells: then others have published it. So have they what is
loaded by a file whose networks no file of such a project that trains or saves has to do with: what it imports does not
name them, nor do its texts and the settings around where it finds classes by name. A project that was copied into
another with its license, or with what installs it, stands for itself. Advice is also a load beside programs of the same
run that bring weights, or a whole network, to the CPU before they save them; those nearest to it in the folders are
asked.""",
    why="""\
A checkpoint remembers the device of each tensor. One that was saved on a GPU can't be loaded without a GPU, unless
`map_location` says where its tensors go.""",
    example=Example(bad=BAD, good=GOOD, prepare=PREPARE),
    worlds=("cpu",),
    error="RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
    fix_safety="""\
Safe: with CUDA `map_location` is None, as before, and without CUDA the tensors go to the CPU. Where the program has a
device at hand, `map_location=device` reads better.""",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.load.html",
        "https://docs.pytorch.org/tutorials/recipes/recipes/save_load_across_devices.html",
    ),
)


@RULE.on(LoadWithoutMap)
def no_map(event: LoadWithoutMap, context: TextContext) -> Iterator[Diagnosis]:
    """A checkpoint that may have been saved on a GPU is loaded without one."""
    what = f"`{event.path_text}`" if event.path_text else "the checkpoint"
    message = f"{what} is loaded to the device that it was saved from, which may be a GPU"
    if event.error is None:
        message += "; the handler only tells of the error and goes on"
    if event.untaken and not event.foreign:
        message += "; no network is seen to take it"
    hint = "say where its tensors go: `map_location=device`"
    severity: Severity | None = (
        "advice" if event.foreign or event.untaken else "warning" if event.error is None else None
    )
    yield Diagnosis(event.site, message, event, trail(event, event.site), hint, severity=severity)


@RULE.fix
def map_to_cpu(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Map to the CPU where there is no CUDA."""
    call = context.node(diagnosis.site)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or keyword(call, "map_location"):
        return None
    torch_name = context.source(call.func.value)
    added = add_keyword(context, call, f'map_location=None if {torch_name}.cuda.is_available() else "cpu"')
    return None if added is None else Mend("safe", "map to the CPU where there is no CUDA", added)
