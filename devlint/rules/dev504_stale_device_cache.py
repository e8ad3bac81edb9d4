"""DEV504 stale-device-cache: a cached tensor that is keyed on its size but not on its device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import text
from devlint.rules.base import Diagnosis, Example, Rule, TextContext

RULE = Rule(
    code="DEV504",
    name="stale-device-cache",
    summary="A cached tensor is keyed on its size but not on its device.",
    what=(
        "A module or function keeps a tensor that it computed (rotary embeddings, a causal mask, a grid) and computes "
        "it anew only when a longer one is needed. Used on a second device, it hands out the tensor of the first."
    ),
    why=(
        "What is kept as a plain attribute doesn't move with the module, and the test that should renew it asks for "
        "the length only. Evaluation on the CPU after training on the GPU, or one module on two GPUs, breaks."
    ),
    example=Example(
        bad="""\
import torch


class Positions:
    def __init__(self):
        self.length, self.cached = 0, None

    def add_to(self, x):
        if x.shape[0] > self.length:
            self.length = x.shape[0]
            self.cached = torch.arange(self.length, device=x.device)  # DEV504: gpu1 gpu2
        return x + self.cached[: x.shape[0]]


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
positions = Positions()
positions.add_to(torch.rand(4, device=device))
print(positions.add_to(torch.rand(3, device="cpu")))
""",
        good="""\
import torch


class Positions:
    def __init__(self):
        self.length, self.cached = 0, None

    def add_to(self, x):
        if x.shape[0] > self.length or self.cached.device != x.device:
            self.length = x.shape[0]
            self.cached = torch.arange(self.length, device=x.device)
        return x + self.cached[: x.shape[0]]


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
positions = Positions()
positions.add_to(torch.rand(4, device=device))
print(positions.add_to(torch.rand(3, device="cpu")))
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety="There is none: the test that renews the cache has to ask for the device too.",
    references=("https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",),
)


@RULE.on(MixedDevices)
def stale(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A tensor that an earlier pass had cached on another device was handed out."""
    if event.cause == "cache":
        cached = f"{text.quoted(event.culprit.text)} was cached on {event.culprit.device} by an earlier call"
        message = f"{cached}, and is used again without asking for its device: it {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))
