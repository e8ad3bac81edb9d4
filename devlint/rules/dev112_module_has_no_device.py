"""DEV112: `.device` of a plain `nn.Module`, which has none."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import ModuleHasNoDevice
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 2).to(device)


def predict(model, x):
    return model(x.to(model.device))  # DEV112: cpu gpu1 gpu2


print(predict(model, torch.randn(4, 8)).shape)
"""

GOOD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 2).to(device)


def predict(model, x):
    return model(x.to(next(model.parameters()).device))


print(predict(model, torch.randn(4, 8)).shape)
"""

RULE = Rule(
    code="DEV112",
    name="module-has-no-device",
    summary="`model.device` is read, but a plain `nn.Module` has no such attribute.",
    what="""\
`.device` read from an object that is known to be an `nn.Module` and whose class neither sets it nor defines a property
of that name. Modules of other libraries (Lightning, transformers) have one and are not reported, and a value whose
class is unknown is never judged by its name. Where no program or test in sight builds the module, an engine out of
sight may give it a device, and this is advice; nothing is said of a class from which one in another file of the run
derives that has one.""",
    why="""\
A module may be spread over several devices, so torch gives it none. The attribute that works with a module of one
library raises with a plain one.""",
    example=Example(bad=BAD, good=GOOD),
    unseen="advice",
    error="AttributeError: 'Linear' object has no attribute 'device'",
    fix_safety="""\
Unsafe: the device of the first parameter is the module's only if the module has parameters and all of them are on one
device.""",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html",
        "https://github.com/pytorch/pytorch/issues/7460",
    ),
)


@RULE.on(ModuleHasNoDevice)
def no_attribute(event: ModuleHasNoDevice, context: TextContext) -> Iterator[Diagnosis]:
    """The attribute does not exist."""
    kind = f" ({event.class_name})" if event.class_name else ""
    message = f"`{event.text}`{kind} is a plain `nn.Module`, which has no `.device`"
    help_text = f"its parameters have one: `next({event.text}.parameters()).device`"
    yield Diagnosis(event.site, message, event, trail(event, event.site), help_text)


@RULE.fix
def ask_a_parameter(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Take the device of the first parameter."""
    node = context.node(diagnosis.site)
    if not isinstance(node, cst.Attribute) or node.attr.value != "device":
        return None
    content = f"next({context.source(node.value)}.parameters()).device"
    return Mend("unsafe", "take the device of the first parameter", (Replacement(*context.span(node), content),))
