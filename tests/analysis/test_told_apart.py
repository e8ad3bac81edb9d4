"""States that are alike and not the same: remembered calls, names of conditions, modes of functions, wrappers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_predicted

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

OPTIMISED = """
parameter = make(device)
parameter.requires_grad = True
optimizer = torch.optim.SGD([parameter], lr=0.1)
parameter.sum().backward()
optimizer.step()
print(parameter.grad.shape)  # silent, but for what is marked
"""

MODEL = """
from transformers import LlamaForCausalLM
model = LlamaForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
layers = model.model.layers
"""

PROGRAMS = {
    "a call with a part of a model is none of those before": MODEL
    + """
from somewhere import thing
def put(x):
    x.to(device)
def run(other):
    put(other)
    put(other)
    put(layers)
run(thing())
print(model(torch.randint(0, 100, (1, 16)).to(device)))  # silent
""",
    "what a part of a model gives is no part": MODEL
    + """
vectors = layers[0].encode(torch.randint(0, 100, (1, 16))).to(device)
print(model(torch.randint(0, 100, (1, 16)).to(device)))  # DEV302: gpu1 gpu2
""",
    "a method asks again for a field that was used since": """
class Owner:
    def __init__(self):
        self.helper = None
    def where(self):
        return "cpu" if self.helper is None else device
    def run(self):
        print(torch.zeros(2, device=self.where()))
        self.helper.step()
        print(torch.zeros(2, device=self.where()) + torch.zeros(2, device=device))  # silent
Owner().run()
""",
    "two conditions of the same words": """
import argparse
parser = argparse.ArgumentParser()
for name in "abc":
    parser.add_argument("--" + name, action="store_true")
options = parser.parse_args()
first = (options.a or options.b) and options.c
second = options.a or (options.b and options.c)
model = nn.Linear(2, 2)
if second:
    if options.c:
        model.to(device)
    print(model(torch.zeros(1, 2).to(device)))  # DEV302: gpu1 gpu2
""",
    "a comparison beside an option is evaluated once": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=0)
options = parser.parse_args()
if torch.cuda.is_available():
    torch.cuda.set_device(options.gpu)
stack = [device, "cpu", 3]
if stack.pop() == 3:
    print(torch.zeros(2, device=stack.pop()) + torch.zeros(2, device="cpu"))  # silent
""",
    "another function of the same body": """
def make(device):
    return nn.Parameter(torch.rand(2)).to(device)  # DEV203: gpu1 gpu2
fast = torch.no_grad()(make)
make.gradients = False
"""
    + OPTIMISED,
    "the inner mode of two": """
@torch.enable_grad()
@torch.no_grad()
def make(device):
    return nn.Parameter(torch.rand(2)).to(device)
"""
    + OPTIMISED,
    "a mode under a cache": """
import functools
@functools.lru_cache
@torch.no_grad()
def make(device):
    return nn.Parameter(torch.rand(2)).to(device)
"""
    + OPTIMISED,
    "a mode around what nobody knows": """
from somewhere import decorator
@torch.no_grad
@decorator
def move(x):
    return x.to(device)
print(move(torch.zeros(2)) + torch.zeros(2, device=device))  # silent
""",
    "two models in one kind of wrapper": """
import sys
def wrap(model):
    return nn.DataParallel(model)
no_cuda = len(sys.argv) < 2
chosen = torch.device("cuda" if torch.cuda.is_available() and not no_cuda else "cpu")
if torch.cuda.device_count() > 1:
    first = wrap(nn.Linear(2, 2).to(chosen))
    second = wrap(nn.Linear(3, 3).to(chosen))
    print(first(torch.rand(4, 2)))  # DEV308: gpu2
    print(second(torch.rand(4, 3)))  # DEV308: gpu2
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


def test_a_mode_does_not_forget_what_was_remembered(tmp_path: Path) -> None:
    body = "".join(f"    x = x + {number}\n" for number in range(100))
    calls = "".join(f"helper(start)\nkeep{number} = 1\n" for number in range(30))
    text = (
        f"@torch.no_grad()\ndef helper(x):\n{body}    return x\n"
        f"start = torch.zeros(2, device=device)\n{calls}"
        "print(helper(start) + torch.ones(2))  # DEV301: gpu1 gpu2\n"
    )
    assert_predicted(HEAD + text, tmp_path)
