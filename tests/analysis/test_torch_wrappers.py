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
    "calls that are remembered": """
import functools
where = device
@functools.lru_cache(maxsize=None)
def mask(n):
    return torch.ones(n, n, device=where)
@functools.cache
def placed(n, where):
    return torch.ones(n, n, device=where)
def noted(function):
    @functools.wraps(function)
    def inner(*given):
        return function(*given)
    return inner
@noted
def made(n):
    return torch.ones(n, n, device=where)
a = mask(3)  #= gpu
where = "cpu"
b = mask(3)  #= gpu
c = mask(4)  #= cpu
d = placed(3, torch.device("cpu"))  #= cpu
e = placed(3, device)  #= gpu
f = made(3)  #= cpu
class Table:
    @functools.lru_cache()
    def of(self, n):
        return torch.ones(n, device=where)
g = Table().of(3)  #= cpu
where = device
h = Table().of(3)  #= gpu
""",
    "calls that are remembered for numbers that are not known": """
import functools
@functools.lru_cache()
def mask(n):  # DEV504: gpu1 gpu2
    return torch.ones(n, n, device=where)
def attend(scores):
    global where
    where = scores.device
    return scores * mask(scores.shape[-1])
attend(torch.zeros(3, 3, device=device))
attend(torch.zeros(3, 3, device="cpu"))
""",
    "properties that are kept": """
from functools import cached_property
class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    @cached_property
    def points(self):
        return torch.zeros(3, 2, device=self.layer.weight.device)
    @cached_property
    def device(self):
        return self.layer.weight.device
    def renew(self):
        del self.points
        self.__dict__.pop("device", None)
early, late = Grid(), Grid()
early.points, early.device
early.to(device)
late.to(device)
a = early.points  #= cpu
b = torch.zeros(1, device=early.device)  #= cpu
c = late.points  #= gpu
d = torch.zeros(1, device=late.device)  #= gpu
early.renew()
e = early.points  #= gpu
""",
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
    "what is inside a wrapper that there is not": """
net = nn.Linear(2, 2)
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net.cuda())
a = hasattr(net, "module")  #= False False True
b = getattr(net, "module", net).weight  #= cpu cpu cuda:0
c = (net.module if isinstance(net, nn.DataParallel) else net).weight  #= cpu cpu cuda:0
try:
    d = net.module.weight  #= cpu cpu cuda:0
except AttributeError:
    d = net.weight
if a:
    print(net.module)
print(net.module)  # DEV308: cpu gpu1
print(net.module)
""",
    "what is inside a wrapper of the program's own": """
class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.module = inner
class Passing(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def __getattr__(self, name):
        return super().__getattr__("inner") if name == "module" else super().__getattr__(name)
net, other = Wrapper(nn.Linear(2, 2)), Passing(nn.Linear(2, 2))
late = nn.Linear(2, 2)
late.module = late.weight
named = nn.Sequential()
named.add_module("mod" + "ule", nn.Linear(2, 2))
if torch.cuda.is_available():
    net, other, late, named = (nn.DataParallel(part.cuda()) for part in (net, other, late, named))
for part in (net, other, late, named):
    print(part.module)  # silent
""",
    "a wrapper that is chosen": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--parallel", action="store_true")
args = parser.parse_args()
net = nn.Linear(2, 2).to(device)
if args.parallel and torch.cuda.is_available():
    net = nn.DataParallel(net)
if args.parallel:
    print(net.module)  # silent
""",
    "methods that an object has only through its own getter": """
class Mover:
    def __init__(self):
        self.told = []
    def put(self, x):
        self.told.append(x)
        return x.to(device)
class Passing:
    def __init__(self, inner):
        self._inner = inner
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)
class Each:
    def __init__(self, *inner):
        self.inner = inner
    def __getattr__(self, name):
        def call_each(*args, **options):
            return [getattr(one, name)(*args, **options) for one in self.inner]
        return call_each
x = torch.zeros(2)
mover = Mover()
a = Passing(mover).put(x)  #= gpu
b = Passing(Passing(mover)).put(x)  #= gpu
c = Each(mover, Mover()).put(x)  #= [cpu,cpu] [cuda:0,cuda:0] [cuda:0,cuda:0]
d = len(mover.told)  #= 3
try:
    Passing(mover)._missing()
    e = 1
except AttributeError:
    e = 2
f = e  #= 2 ?
net = Passing(nn.Linear(2, 2))
net.to(device)
g = net.weight  #= gpu
h = Each(mover).put(x)[0] + torch.ones(2)  # DEV301: gpu1 gpu2
""",
    "a getter is not asked for methods that a class has from elsewhere": """
from collections import OrderedDict
class Settings(dict):
    def __getattr__(self, name):
        return self[name]
class Ordered(OrderedDict):
    def __getattr__(self, name):
        raise AttributeError(name)
class Failure(Exception):
    def __getattr__(self, name):
        raise AttributeError(name)
class Holder:
    def __init__(self, made):
        self.__dict__.update(made)
    def __getattr__(self, name):
        raise AttributeError(name)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return False
settings = Settings(x=torch.zeros(2))
settings.update(y=torch.zeros(2, device=device))
for key, value in settings.items():
    settings[key] = value.to(device)
a = settings.x  #= gpu ?
b = settings.setdefault("z", 3)
ordered = Ordered()
ordered.update(x=torch.zeros(2))
ordered.move_to_end("x")
error = Failure("no").with_traceback(None)
with Holder({"put": lambda x: x.to(device)}) as holder:
    c = holder.put(torch.zeros(2))  #= gpu ?
last = torch.zeros(2, device=device)  #= gpu
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
