"""Device handles from everywhere; the current and the default device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import argparse
import functools
import types
import numpy as np
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "deterministic algorithms": """
a = torch.are_deterministic_algorithms_enabled()  #= False
torch.use_deterministic_algorithms(True)
b = torch.are_deterministic_algorithms_enabled()  #= True
torch.use_deterministic_algorithms(False)
c = torch.are_deterministic_algorithms_enabled()  #= False
""",
    "an item of a list of all GPUs": """
gpus = tuple(range(torch.cuda.device_count()))
a = gpus  #= [] [0] [0,1]
b = [f"cuda:{i}" for i in gpus if i]  #= [] [] ['cuda:1']
first = gpus[0]  # DEV107: cpu
second = [torch.device(f"cuda:{i}") for i in gpus][1]  # DEV101: gpu1
""",
    "a share of each GPU": """
count = torch.cuda.device_count()
c = torch.ones(2) / count  #= cpu
d = 0 if count == 0 else 6 // count  #= 0 6 3
try:
    e = 6 % count
except ZeroDivisionError:
    e = 1
f = e  #= 1 0 0
g = 6 // count  # DEV107: cpu
""",
    "handles": """
x = torch.zeros(1, device=device)
net = nn.Linear(1, 1).to(device)
a = torch.zeros(1).to(x.device)  #= gpu
b = torch.zeros(1, device=next(net.parameters()).device)  #= gpu
c = torch.zeros(1).to(net.weight.device)  #= gpu
d = torch.zeros_like(x)  #= gpu
e = x.new_zeros(2)  #= gpu
f = torch.zeros(1).to(x)  #= gpu
g = torch.zeros(1, device=str(device))  #= gpu
h = torch.zeros(1, device=device.type)  #= gpu
i = torch.zeros(1, device=f"{device.type}")  #= gpu
j = torch.zeros(1, device=torch.device(device))  #= gpu
k = device.type  #= 'cpu' 'cuda' 'cuda'
l = x.is_cuda  #= False True True
m = x.device == torch.zeros(1, device=device).device  #= True
n = torch.rand_like(x, device="cpu")  #= cpu
o = torch.device("cuda", 1).index  #= 1
p = torch.device("cuda:1").index  #= 1
q = x.device.index  #= None 0 0
""",
    "a property": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)
    @property
    def device(self):
        return next(self.parameters()).device
net = Net()
before = net.device  #= cpu
net.to(device)
after = net.device  #= cpu cuda:0 cuda:0
made = torch.zeros(1, device=net.device)  #= gpu
""",
    "a dummy parameter": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("anchor", torch.empty(0), persistent=False)
    def make(self):
        return torch.zeros(2, device=self.anchor.device)
made = Net().to(device).make()  #= gpu
""",
    "configuration objects": """
class Config:
    device = "cuda" if torch.cuda.is_available() else "cpu"
cfg = {"train": {"device": Config.device}}
ns = types.SimpleNamespace(device=torch.device(cfg["train"]["device"]))
a = torch.zeros(1, device=Config.device)  #= gpu
b = torch.zeros(1, device=cfg["train"]["device"])  #= gpu
c = torch.zeros(1, device=ns.device)  #= gpu
d = torch.zeros(1, device=getattr(ns, "device", "cpu"))  #= gpu
""",
    "arguments": """
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--cpu", action="store_true")
args = parser.parse_args([])
args.device = torch.device("cuda" if torch.cuda.is_available() and not False else "cpu")
a = torch.zeros(1, device=args.device)  #= gpu
args.use_cuda = torch.cuda.is_available()
b = torch.zeros(1).cuda() if args.use_cuda else torch.zeros(1)  #= gpu
""",
    "a helper that tries": """
def try_gpu(i=0):
    if torch.cuda.device_count() >= i + 1:
        return torch.device(f"cuda:{i}")
    return torch.device("cpu")
def try_all():
    devices = [torch.device(f"cuda:{i}") for i in range(torch.cuda.device_count())]
    return devices if devices else [torch.device("cpu")]
a = torch.zeros(1, device=try_gpu())  #= gpu
b = torch.zeros(1, device=try_gpu(1))  #= cpu cpu cuda:1
c = torch.zeros(1, device=try_all()[-1])  #= last
d = [str(d) for d in try_all()]  #= ['cpu'] ['cuda:0'] ['cuda:0','cuda:1']
""",
    "the current device": """
if torch.cuda.device_count() > 1:
    torch.cuda.set_device(1)
a = torch.zeros(1, device=device)  #= last
b = torch.zeros(1)
if torch.cuda.is_available():
    b = b.cuda()
    n = torch.cuda.current_device()
    with torch.cuda.device(0):
        c = torch.zeros(1).cuda()
    d = torch.zeros(1).cuda()
else:
    n, c, d = -1, b, b
r = b  #= last
number = n  #= -1 0 1
inside = c  #= gpu
outside = d  #= last
""",
    "the current device as a context that is left": """
if torch.cuda.device_count() > 1:
    with torch.cuda.device(1):
        x = torch.zeros(1, device="cuda")
        y = nn.Linear(1, 1).cuda()
    z = torch.zeros(1, device="cuda")
    with torch.cuda.device_of(x):
        w = torch.zeros(1, device="cuda")
else:
    x = y = z = w = torch.zeros(1)
a = x  #= cpu cpu cuda:1
c = z  #= cpu cpu cuda:0
d = w  #= cpu cpu cuda:1
""",
    "the default device": """
torch.set_default_device(device)
a = torch.zeros(1)  #= gpu
b = nn.Linear(1, 1)  #= gpu
c = torch.get_default_device().type  #= 'cpu' 'cuda' 'cuda'
d = torch.zeros(1, device="cpu")  #= cpu
with torch.device("cpu"):
    e = torch.zeros(1)  #= cpu
f = torch.arange(3)  #= gpu
torch.set_default_device(None)
g = torch.zeros(1)  #= cpu
h = torch.from_numpy(np.zeros(2))  #= cpu
""",
    "a check of the program's own": """
x = torch.ones(2)
y = torch.ones(2, device=device)
def check(one, other):
    if one.device != other.device or one.dtype != other.dtype:
        raise ValueError(f"{one.device} is not {other.device}")
check(y, y)
check(x, y)  # DEV301: gpu1 gpu2
""",
    "a check of the type": """
x = torch.ones(2)
net = nn.Linear(2, 2).to(device)
weight = next(net.parameters())
assert not x.device.type != weight.device.type and x.dtype == weight.dtype, "elsewhere"  # DEV301: gpu1 gpu2
""",
    "a check against a handle": """
y = torch.arange(2)
assert device.type != "cuda" or y.device == torch.device("cuda", 0)  # DEV301: gpu1 gpu2
""",
    "checks that are no news": """
# silent
def check(one, other, kind=RuntimeError):
    if one.device != other.device:
        raise kind("elsewhere")
class Elsewhere(Exception):
    pass
x = torch.ones(2)
y = torch.ones(2, device=device)
for kind in (RuntimeError, ValueError, Elsewhere):
    try:
        check(x, y, kind)
    except (RuntimeError, ValueError, Elsewhere):
        pass
try:
    if x.device != y.device:
        raise Elsewhere("elsewhere")
except Elsewhere:
    pass
if x.device != y.device:
    x = x.to(y.device)
check(x, y)
assert torch.ones(2).device == torch.device("cpu")
""",
    "a check that refuses a generator": """
def draw(n, rng, place="cpu"):
    if torch.device(place).type != rng.device.type:
        raise ValueError("another device")  # DEV305: gpu1 gpu2
    return torch.rand(n, generator=rng, device=place)
rng = torch.Generator(device=device)
a = draw(3, rng, device)  #= gpu
draw(3, rng)
""",
    "a generator that is asked for before it is used": """
# silent
def draw(n, rng):
    if rng.device != torch.device("cpu"):
        return torch.rand(n, generator=rng, device=rng.device)
    return torch.rand(n, generator=rng)
a = draw(3, torch.Generator(device=device))  #= gpu
try:
    assert torch.Generator(device=device).device.type == torch.device("cpu").type
except AssertionError:
    pass
""",
    "a check of a generator that fails everywhere": """
# silent
# runs: no
assert torch.Generator().device == torch.device("cuda:0")
""",
    "a check that demands a GPU": """
# silent
# runs: no
x = torch.ones(2)
if x.device.type != "cuda":
    raise RuntimeError("needs a GPU")
""",
    "a check that fails everywhere": """
# silent
# runs: no
x = torch.ones(2)
assert x.device == torch.device("cuda:0")
""",
    "the default device and legacy constructors": """
torch.set_default_device(device)
a = torch.Tensor([1.0, 2.0])  #= cpu
b = torch.FloatTensor(2)  #= cpu
c = torch.linspace(0, 1, 2).to(torch.Tensor().device)  #= cpu
d = torch.tensor(0.0)  #= gpu
e = a.new_zeros(2)  #= cpu
f = d.new(2)  #= gpu
with device:
    g = torch.Tensor(2)  #= cpu
torch.ones(2) + a  # DEV301: gpu1 gpu2
""",
    "the default type and legacy constructors": """
# runs: cpu
if torch.cuda.is_available():
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
a = torch.Tensor([1.0, 2.0])  #= gpu
b = torch.zeros(2)  #= gpu
c = torch.FloatTensor(2)  #= cpu
torch.set_default_device("cpu")
d = torch.Tensor(2)  #= gpu
e = torch.zeros(2)  #= cpu
torch.set_default_tensor_type(torch.FloatTensor)
f = torch.Tensor(2)  #= cpu
""",
    "a default device as a context": """
with device:
    a = torch.zeros(1)  #= gpu
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    b = torch.zeros(1, device="cpu")  #= cpu
c = net  #= gpu
d = torch.zeros(1)  #= cpu
""",
    "the accelerator": """
if torch.accelerator.is_available():
    chosen = torch.accelerator.current_accelerator()
else:
    chosen = torch.device("cpu")
a = torch.zeros(1, device=chosen)  #= gpu
b = torch.accelerator.device_count()  #= 0 1 2
acc = torch.accelerator.current_accelerator() or torch.device("cpu")
c = torch.zeros(1, device=acc)  #= gpu
d = torch.accelerator.current_accelerator() is None  #= True False False
""",
    "the current device and the CPU": """
torch.cuda.set_device(-1)
if device.type == "cuda":
    torch.cuda.set_device(0)
    with torch.cuda.device(None), torch.cuda.device(-1), torch.cuda.device("cuda"):
        a = torch.zeros(1).cuda()
else:
    a = torch.zeros(1)
with torch.cuda.device_of(a):
    b = a  #= gpu
c = 0
try:
    torch.cuda.set_device(torch.device("cpu"))
except ValueError:
    c = 1
d = c  #= 1
with torch.cuda.device(device):  # DEV111: cpu
    e = torch.zeros(1)  #= cpu
""",
    "names of devices as strings": """
name = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.zeros(2, device=name)
a = str(x.device)  #= 'cpu' 'cuda:0' 'cuda:0'
b = f"{x.device}" == a  #= True
c = str(x.device).split(":")[0] == name  #= True
d = {str(x.device): 1}.get(name, 0)  #= 1 0 0
e = str(torch.device(name)) == name  #= True
f = str(x.device) == name  # DEV702: gpu1 gpu2
g = name == f"{x.device}"  # DEV702: gpu1 gpu2
h = str(x.device) == "cuda"  # DEV702: gpu1 gpu2
i = str(x.device) == "cuda" or str(x.device) == "cuda:0"  #= False True True
j = str(x.device) in ["cpu", name]  # DEV702: gpu1 gpu2
k = a if torch.rand(1) > 0 else "cuda:0" if torch.cuda.is_available() else "cpu"
l = k == name  #= True False False
m = torch.zeros(2, device=f"cuda:{torch.cuda.device_count() - 1}" if torch.cuda.is_available() else "cpu")
def is_there(tensor, name):
    return str(tensor.device) == name
if torch.cuda.device_count() > 1:
    n = is_there(m, name)
""",
    "names of devices as keys": """
# runs: cpu
name = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.zeros(2, device=name)
cache = {str(x.device): x}
cache[name]  # DEV702: gpu1 gpu2
table = {"cuda": 1, "cpu": 2}
table[f"{x.device}"]  # DEV702: gpu1 gpu2
assert name in cache  # DEV702: gpu1 gpu2
""",
    "negative numbers": """
gpu = 0 if torch.cuda.is_available() else -1
if gpu >= 0:
    a = torch.zeros(1, device=gpu)
else:
    a = torch.zeros(1)
b = a  #= gpu
try:
    c = torch.device("cuda", -1)
except RuntimeError:
    c = None
d = c  #= None
e = nn.Linear(1, 1).to(gpu)  # DEV111: cpu
f = 2  #= 2
""",
    "types for autocast": """
with torch.autocast(device.type, enabled=False), torch.autocast("cuda:0", enabled=False):
    a = torch.zeros(1)  #= cpu
b = 0
try:
    torch.autocast(device)
except ValueError:
    b = 1
c = b  #= 1
kind = ("cuda:0" if torch.cuda.is_available() else "cpu")[-1:]  # DEV111: cpu gpu1 gpu2
torch.autocast(kind)
""",
    "lazily chosen": """
@functools.lru_cache(maxsize=None)
def get_device():
    return torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
@functools.cache
def other():
    return get_device()
a = torch.zeros(1, device=get_device())  #= gpu
b = torch.zeros(1, device=other())  #= gpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
