"""Hooks and functions of autograd: what runs in the backward pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import numpy as np
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a hook of a parameter": """
def masking(mask):
    def hook(gradient):
        return gradient * mask
    return hook
seen = []
net = nn.Linear(2, 1)
mask = torch.ones(1, 2)  # DEV303: gpu1 gpu2
net.weight.register_hook(masking(mask))
net.to(device)
net(torch.zeros(3, 2, device=device)).sum().backward()
""",
    "a hook that is right when it runs": """
seen = []
net = nn.Linear(2, 1)
host = torch.ones(1, 2)
net.weight.register_hook(lambda gradient: gradient * host.to(gradient.device))
net.bias.register_hook(lambda gradient: seen.append(gradient))
handle = net.weight.register_hook(lambda gradient: gradient * host)
handle.remove()
net.to(device)
h = net(torch.zeros(3, 2, device=device))
h.register_hook(seen.append)
h.sum().backward()
a = seen[0]  #= gpu
b = seen[1]  #= gpu
""",
    "hooks that no backward pass reaches yet": """
net, other = nn.Linear(2, 1), nn.Linear(2, 1).to(device)
scale = torch.ones(1, 2, device=device)
net.weight.register_hook(lambda gradient: gradient * scale)
other(torch.zeros(1, 2, device=device)).sum().backward()
net.to(device)
net(torch.zeros(1, 2, device=device)).sum().backward()
a = net.weight.grad  #= gpu ?
""",
    "a hook when the gradient is there": """
seen = []
net = nn.Linear(2, 1).to(device)
net.weight.register_post_accumulate_grad_hook(lambda parameter: seen.append(parameter))
torch.autograd.backward(net(torch.zeros(1, 2, device=device)).sum())
a = seen[0] is net.weight  #= True
""",
    "backward hooks of a module": """
seen = []
def after(module, of_inputs, of_outputs):
    seen.append(of_outputs[0])
net = nn.Linear(2, 1).to(device)
handle = net.register_full_backward_hook(after)
net(torch.zeros(1, 2, device=device, requires_grad=True)).sum().backward()
a = seen[0]  #= gpu
handle.remove()
net.register_full_backward_pre_hook(lambda module, of_outputs: seen.append(of_outputs[0]))
net(torch.zeros(1, 2, device=device)).sum().backward()
n = len(seen)  #= 2
b = seen[1]  #= gpu
""",
    "a backward hook of a module that meets the host": """
total = torch.zeros(1)  # DEV303: gpu1 gpu2
def after(module, of_inputs, of_outputs):
    total.add_(of_outputs[0].sum(0))
net = nn.Linear(2, 1).to(device)
net.register_full_backward_hook(after)
net(torch.zeros(1, 2, device=device, requires_grad=True)).sum().backward()
""",
    "the backward of a function": """
class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.mask = mask
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.mask, None
w = torch.ones(2, device=device, requires_grad=True)
mask = torch.ones(2)  # DEV303: gpu1 gpu2
Masked.apply(w, mask).sum().backward()
""",
    "the backward of a function whose methods are those of the class": """
class Masked(torch.autograd.Function):
    scale = torch.ones(2)  # DEV303: gpu1 gpu2
    @classmethod
    def forward(cls, ctx, x, *rest):
        ctx.save_for_backward(x, *rest)
        return x.clone()
    @classmethod
    @torch.autograd.function.once_differentiable
    def backward(cls, ctx, *gradients):
        x, y = ctx.saved_tensors
        gradients[0] * x * y  #= gpu
        return gradients[0] * cls.scale, None
w = torch.ones(2, device=device, requires_grad=True)
y = Masked.apply(w, w.detach())  #= gpu
y.sum().backward()
""",
    "a function whose methods are those of the class, in parts": """
class Split(torch.autograd.Function):
    place = "cpu"
    @classmethod
    def forward(cls, x):
        return (x * 2).to(cls.place)
    @classmethod
    def setup_context(cls, ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
    @classmethod
    def backward(cls, ctx, gradient):
        x, = ctx.saved_tensors
        return x * gradient.to(x.device)
class Heir(Split):
    place = device
w = torch.ones(2, device=device, requires_grad=True)
a = Split.apply(w)  #= cpu
b = Heir.apply(w)  #= gpu
a.sum().backward()
b.sum().backward()
""",
    "a function that keeps what it needs": """
seen = []
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale
    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        of_scale = gradient * x if ctx.needs_input_grad[1] else None
        seen.append(gradient)
        return gradient * scale, of_scale
class Split(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.where = output.device
    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * (x * 2).to(ctx.where)
class Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.host = x.detach().cpu()
        return x.to(device)
    @staticmethod
    def backward(ctx, gradient):
        return gradient.cpu() * ctx.host
host = torch.ones(2, requires_grad=True)
w = torch.ones(2, device=device, requires_grad=True)
y = Times.apply(Split.apply(w), Back.apply(host))  #= gpu
y.sum().backward()
a = seen[0]  #= gpu
b = host.grad  #= cpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
