"""Moving modules: by their own methods, by overridden ones, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import copy
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a `to` of one's own that parses what it is given": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.place = torch.device("cpu")

    def to(self, *args, **kwargs):
        place, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
        if place is not None:
            self.place = place
        return super().to(*args, **kwargs)

net = Net().to(device).to(torch.float64).to(device=device, dtype=torch.float32)
net.inner(torch.zeros(1, 2, device=net.place))
a = torch.zeros(1, device=net.place)  #= gpu
b = torch.zeros(1, device=Net().to(a).place)  #= gpu
c = torch._C._nn._parse_to(torch.float16)[0]  #= None
d = torch._C._nn._parse_to("cpu", torch.float16, True)[2]  #= True
e = torch._C._nn._parse_to(None, non_blocking=True)  #= [None,None,True,None]
f = torch.zeros(1, device=torch._C._nn._parse_to("cpu", memory_format=torch.channels_last)[0])  #= cpu
""",
    "a `to` of one's own that keeps the wrong half": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.place = torch.device("cpu")

    def to(self, *args, **kwargs):
        place, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None:
            self.place = place
        return super().to(*args, **kwargs)

net = Net().to(device)
net.inner(torch.zeros(1, 2, device=net.place))  # DEV302: gpu1 gpu2
""",
    "the ways to move": """
a = nn.Linear(2, 2).to(device)  #= gpu
b = nn.Linear(2, 2).to(device, torch.float32)  #= gpu
c = nn.Linear(2, 2).to(device=device, non_blocking=True)  #= gpu
d = nn.Linear(2, 2).to(torch.zeros(1, device=device))  #= gpu
e = nn.Linear(2, 2).to(torch.float64)  #= cpu
f = nn.Linear(2, 2, device=device)  #= gpu
g = nn.Linear(2, 2, device="meta").to_empty(device=device)  #= gpu
h = nn.Linear(2, 2).to(device).half().float().eval().train().requires_grad_(False)  #= gpu
i = nn.Linear(2, 2).to(device).cpu()  #= cpu
j = nn.Linear(2, 2).to(device).type(torch.float16)  #= gpu
k = nn.Linear(2, 2)
if torch.cuda.is_available():
    k.cuda()
l = k  #= gpu
m = nn.Linear(2, 2)
if torch.cuda.device_count() > 1:
    m = m.cuda(1)
n = m  #= cpu cpu cuda:1
o = nn.Linear(2, 2).to(device) is k  #= False
p = k.to(device) is k  #= True
""",
    "an overridden _apply": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.table = torch.zeros(2)
        self.extra = [torch.zeros(2)]
    def _apply(self, fn):
        super()._apply(fn)
        self.table = fn(self.table)
        self.extra = [fn(t) for t in self.extra]
        return self
net = Net().to(device)
table = net.table  #= gpu
extra = net.extra[0]  #= gpu
layer = net.layer  #= gpu
outer = nn.Sequential(Net()).to(device)
inside = outer[0].table  #= gpu
""",
    "an overridden _apply follows a tensor": """
class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = torch.device("cpu")
        self.head = nn.Linear(2, 2)
        self.state = {"total": torch.zeros(2)}
    def _apply(self, fn, recurse=True):
        this = super()._apply(fn)
        this.where = fn(torch.zeros(1, device=this.where)).device
        for key in this.state:
            this.state[key] = fn(this.state[key])
        return this
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.metric = Metric()
        self.layer = nn.Linear(2, 2)
net = Net().to(device)
a = net.metric.where  #= gpu
b = net.metric.state["total"]  #= gpu
c = net.metric.head  #= gpu
d = net.layer  #= gpu
torch.zeros(2, device=net.metric.where) + b
e = Net().to(device).cpu().metric.where  #= cpu
""",
    "an overridden _apply that wraps, and one that moves nothing": """
class Wraps(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("steps", torch.zeros(1))
        self.plain = torch.zeros(1)
    def _apply(self, fn):
        return super()._apply(lambda t: fn(t.contiguous()))
class Stays(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def _apply(self, fn):
        return self
net = nn.Sequential(Wraps(), Stays()).to(device)
a = net[0].layer  #= gpu
b = net[0].steps  #= gpu
c = net[1].layer.weight  #= cpu ?
d = net[0].plain  #= cpu ?
e = nn.Linear(2, 2)._apply(lambda t: t.to(device))  #= gpu
""",
    "a part elsewhere is to blame, not who called the whole": """
class Scale(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, device=device))
    def forward(self, x):
        return x * self.weight
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.scale = Scale(torch.cuda.current_device() if torch.cuda.is_available() else None)
    def forward(self, ids):
        return self.scale(self.embed(ids))  # DEV302: gpu1 gpu2
net = Net()
ids = torch.zeros(2, 3, dtype=torch.long)
net(ids)
""",
    "who called the whole is to blame where its first part refuses": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3).to(device)
        self.last = nn.Linear(3, 3)
    def forward(self, x):
        return self.last(self.first(x).to("cpu"))
net = Net()
x = torch.zeros(2, 3)
net.last(x)
net(x)  # DEV302: gpu1 gpu2
""",
    "an overridden to": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.anchors = torch.zeros(2)
    def to(self, *args, **kwargs):
        self.anchors = self.anchors.to(*args, **kwargs)
        return super().to(*args, **kwargs)
net = Net().to(device)
anchors = net.anchors  #= gpu
layer = net.layer  #= gpu
""",
    "an overridden cuda": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.anchors = torch.zeros(2)
    def cuda(self, device=None):
        super().cuda(device)
        self.anchors = self.anchors.cuda(device)
        return self
net = Net()
if torch.cuda.is_available():
    net = net.cuda()
anchors = net.anchors  #= gpu
layer = net.layer  #= gpu
""",
    "walks over parts": """
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2), nn.ReLU())).to(device)
names = [name for name, _ in net.named_children()]  #= ['0','1']
p = next(net.parameters())  #= gpu
q = [v for v in net[0].parameters()]  #= [cpu,cpu] [cuda:0,cuda:0] [cuda:0,cuda:0]
b = next(net.buffers())  #= gpu
named = dict(net[0].named_parameters())["weight"]  #= gpu
child = list(net.children())[1][0]  #= gpu
for m in net.modules():
    if isinstance(m, nn.BatchNorm1d):
        norm = m  #= gpu
got = net.get_submodule("1.0")  #= gpu
total = len(list(net.children()))  #= 2
""",
    "apply and parameters moved by hand": """
net = nn.Linear(2, 2)
for p in net.parameters():
    p.data = p.data.to(device)
net.bias.requires_grad_(False)
moved = net  #= gpu
seen = []
nn.Sequential(net).apply(lambda m: seen.append(m))
def init(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.weight)
net.apply(init)
after = net.weight  #= gpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
