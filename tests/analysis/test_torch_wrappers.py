"""What runs code in another way and leaves devices alone: autograd, scripting, contexts, decorators."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a wrapper that asks inside for what it has not": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def extra(self, x):
        return self.layer(x)
class Passing(nn.DataParallel):
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)
net = Passing(Net().to(device))
w = net.layer.weight  #= gpu
y = net.extra(torch.zeros(2, 2, device=device))  #= gpu
""",
    "no_grad and inference_mode": """
@torch.no_grad()
def run(net, x):
    with torch.inference_mode():
        return net(x)
@torch.inference_mode
def make():
    return torch.zeros(2, device=device)
a = run(nn.Linear(2, 2).to(device), torch.zeros(1, 2, device=device))  #= gpu
b = make()  #= gpu
with torch.enable_grad(), torch.set_grad_enabled(False):
    c = a * 2  #= gpu
""",
    "autocast": """
net = nn.Linear(2, 2).to(device)
with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
    a = net(torch.zeros(1, 2, device=device))  #= gpu
scaler = torch.amp.GradScaler(device.type)
b = scaler.scale(a.sum())  #= gpu ?
""",
    "script, compile and checkpoint": """
@torch.jit.script
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2
@torch.compile(backend="eager")
def half(x):
    return x / 2
@torch.jit.ignore
def third(x):
    return x / 3
net = nn.Linear(2, 2).to(device)
x = torch.zeros(1, 2, device=device)
a = double(x)  #= gpu
c = third(x)  #= gpu
d = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)  #= gpu
e = torch.jit.trace(net, x)(x)  #= gpu
""",
    "a function of one's own": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2, None
a = Double.apply(torch.ones(2, device=device, requires_grad=True), 2)  #= gpu
""",
    "a function of one's own that forgets": """
class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + torch.ones(2)  # DEV303: gpu1 gpu2
    @staticmethod
    def backward(ctx, grad):
        return grad
Shift.apply(torch.ones(2, device=device))
""",
    "gradients": """
w = torch.ones(2, device=device, requires_grad=True)
loss = (w * 3).sum()
loss.backward()
g = w.grad  #= gpu
(h,) = torch.autograd.grad((w * w).sum(), w)
i = h  #= gpu
net = nn.Linear(2, 2).to(device)
net(torch.zeros(1, 2, device=device)).sum().backward()
j = net.weight.grad  #= gpu
""",
    "decorators that keep": """
import functools, contextlib
def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner
@logged
def make(n, device=device):
    return torch.zeros(n, device=device)
@contextlib.contextmanager
def on(d):
    yield torch.zeros(1, device=d)
a = make(2)  #= gpu
with on(device) as b:
    c = b  #= gpu
d = functools.partial(make, device="cpu")(2)  #= cpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
