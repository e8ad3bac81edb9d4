"""DEV308 parallel-device: a DataParallel or DDP module is not on `device_ids[0]`, or is taken for the one inside."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import ParallelDevice, WrapperAttribute, WrapperMissing
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV308",
    name="parallel-device",
    summary="A DataParallel or DDP module is not on `device_ids[0]`, or wrapper or replica is not what the module is.",
    what=(
        "`nn.DataParallel(model, device_ids=[...])` called while the model's parameters are on the CPU or on another "
        "GPU than the first of `device_ids`; a `DistributedDataParallel` built over a module elsewhere than its "
        "device.\n\n"
        "Also a method or attribute of the wrapped module that is asked of the wrapper (`model.init_hidden()` where it "
        "takes `model.module.init_hidden()`), which often is there only where there are several GPUs; and the "
        "`.module` of a module that has a wrapper on other machines, and on this one has none.\n\n"
        "Also `next(self.parameters())` in what DataParallel runs on several GPUs: the copies that it makes for a call "
        "have no parameters. A default (`next(..., None)`) or `except StopIteration` around it is right. Nor have "
        "these copies what the program has set on a parameter (`self.weight.fast = None`), and what the forward sets "
        "on the module (`self.attention = scores`) goes with the copies: the module itself is asked for it in vain.\n\n"
        "And a module that returns a number, its loss: on several GPUs each copy returns one, the caller gets a vector "
        "of them, and `loss.backward()` or `loss.item()` wants one number.\n\n"
        "And a state that was taken of the wrapper, whose names begin with `module.`, and is loaded into a module "
        "without one, or the other way round: `load_state_dict` misses all the names that it knows."
    ),
    why=(
        "DataParallel copies the module from `device_ids[0]` to the others at each call and expects it there. With one "
        "GPU it moves the module itself, without one it passes the call on, so the mistake shows from two GPUs on. The "
        "wrapper passes on nothing but the call itself: all else is an attribute of `.module`. In the copies what were "
        "parameters are plain tensors, since a copy of a parameter is no leaf."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.DataParallel(torch.nn.Linear(4, 2))
x = torch.rand(8, 4, device=device)
print(model(x).shape)  # DEV308: gpu2
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.DataParallel(torch.nn.Linear(4, 2)).to(device)
x = torch.rand(8, 4, device=device)
print(model(x).shape)
""",
    ),
    more_examples=(
        Example(
            bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        device = next(self.parameters()).device  # DEV308: gpu2
        return self.layer(x) + torch.ones(2, device=device)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.DataParallel(Net().to(device))
print(net(torch.rand(8, 4, device=device)).shape)
""",
            good="""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x) + torch.ones(2, device=x.device)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.DataParallel(Net().to(device))
print(net(torch.rand(8, 4, device=device)).shape)
""",
            errors={"gpu2": "StopIteration: Caught StopIteration in replica 0 on device 0."},
        ),
    ),
    error=(
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of "
        "them on device: cpu"
    ),
    fix_safety="There is none: whether the module moves or `device_ids` changes is for the author to say.",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    ),
)


@RULE.on(ParallelDevice)
def elsewhere(event: ParallelDevice, context: TextContext) -> Iterator[Diagnosis]:
    """The wrapped module is not where the wrapper expects it, or a replica is asked for what it does not have."""
    if event.kind == "replica":
        message = f"`{context.text(event.root)}`: a replica of `DataParallel` has no parameters"
        trace = text.operand_trace(event, None, "a replica on one of several GPUs gets here")
        yield Diagnosis(event.root, message, event, trace, "take the device of the input")
        return
    if event.kind == "attribute":
        message = f"`{context.text(event.root)}`: a replica of `DataParallel` has copies without `{event.attribute}`"
        trace = text.operand_trace(event, None, "a replica on one of several GPUs gets here")
        yield Diagnosis(event.root, message, event, trace, f"keep `{event.attribute}` on the module")
        return
    if event.kind == "set":
        message = f"`{event.attribute}` is set by the forward of replicas, which `DataParallel` throws away"
        trace = text.operand_trace(event, None, "asked of the module itself here")
        yield Diagnosis(event.root, message, event, trace, f"return `{event.attribute}` from the forward")
        return
    if event.kind == "gathered":
        message = f"`{context.text(event.root)}` returns a number of each replica, and a vector of them is no number"
        trace = text.operand_trace(event, None, "one number is needed here")
        yield Diagnosis(event.root, message, event, trace, "take the mean: `loss = loss.mean()`")
        return
    if event.kind == "keys":
        one, other = ("a wrapper's", "has none") if event.attribute else ("a bare module's", "is a wrapper")
        message = f"the names of this state are {one}, and the `{event.wrapper}` that takes it {other}"
        trace = text.operand_trace(event, None, "loaded here")
        yield Diagnosis(event.root, message, event, trace, "take and load the state of the module inside (`.module`)")
        return
    message = f"`{event.wrapper}` expects its module on {event.expected} (`device_ids[0]`), and it is on {event.found}"
    trace = text.operand_trace(event, None, f"called with the module on {event.found} here")
    yield Diagnosis(event.root, message, event, trace)


@RULE.on(WrapperAttribute)
def inside(event: WrapperAttribute, context: TextContext) -> Iterator[Diagnosis]:
    """What only the wrapped module has is asked of the wrapper."""
    receiver = text.quoted(event.text)
    message = f"{receiver} is a `{event.wrapper}` and has no `{event.name}`; the module inside does"
    yield Diagnosis(event.root, message, event, help=f"ask the wrapped module: `{event.text}.module.{event.name}`")


@RULE.on(WrapperMissing)
def outside(event: WrapperMissing, context: TextContext) -> Iterator[Diagnosis]:
    """What only a wrapper has is asked of a module that this machine leaves without one."""
    receiver = text.quoted(event.text)
    message = f"{receiver} has no wrapper on this machine, so that the `{event.class_name}` is asked for `.module`"
    help_text = f'`{event.text}.module if hasattr({event.text}, "module") else {event.text}`'
    yield Diagnosis(event.root, message, event, help=f"ask whether there is one: {help_text}")
