"""`nn.Module`: what is registered moves with it, whatever way it was registered; what is not stays."""

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
    "registered by assignment": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(2))
        self.layer = nn.Linear(2, 2)
        self.plain = torch.zeros(2)
net = Net()
net.to(device)
w = net.w  #= gpu
layer = net.layer  #= gpu
plain = net.plain  #= cpu
""",
    "a member that nothing shows to be a module, under an own _apply": """
from somewhere import Base
class Step(Base):
    pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.Sequential(nn.Linear(2, 2), Step())
    def _apply(self, fn):
        super()._apply(fn)
        return self
net = Net().to(device)
w = net.steps[0].weight  #= gpu ?
# runs: no
""",
    "members that may be None": """
import random
class Net(nn.Module):
    def __init__(self, skip):
        super().__init__()
        self.convs, self.sides = nn.ModuleList(), nn.ModuleList()
        for _ in range(2):
            self.sides.append(nn.Linear(2, 2) if skip else None)
            self.convs.append(nn.Linear(2, 2))
    def forward(self, x):
        for side, conv in zip(self.sides, self.convs):
            beside, x = x, conv(x)
            if side is not None:
                beside = side(beside)
            x = x + beside
        return x
net = Net(random.random() < 0.5).to(device)
out = net(torch.zeros(2, device=device))  #= gpu
""",
    "buffers": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("passing", torch.zeros(2), persistent=False)
        self.register_buffer("empty", None)
net = Net().to(device)
kept = net.kept  #= gpu
passing = net.passing  #= gpu
empty = net.empty  #= None
net.kept = torch.ones(2)
fresh = net.kept  #= cpu
net.to(device)
again = net.kept  #= gpu
saved = "kept" in net.state_dict()  #= True
""",
    "register_parameter and add_module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("w", nn.Parameter(torch.zeros(2)))
        self.register_parameter("nothing", None)
        self.add_module("first", nn.Linear(2, 2))
        self.register_module("second", nn.Linear(2, 2))
        for i in range(2):
            setattr(self, f"layer{i}", nn.Linear(2, 2))
net = Net().to(device)
w = net.w  #= gpu
nothing = net.nothing  #= None
first = net.first  #= gpu
second = net.second  #= gpu
numbered = getattr(net, "layer1")  #= gpu
""",
    "before super().__init__ is over nothing moves": """
class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.head = self.make_head()
    def make_head(self):
        return nn.Linear(self.width, 2)
class Net(Base):
    def __init__(self):
        super().__init__(4)
        self.scale = nn.Parameter(torch.ones(1))
    def make_head(self):
        return nn.Sequential(super().make_head(), nn.ReLU())
net = Net().to(device)
head = net.head[0]  #= gpu
width = net.width  #= 4
out = net.head(torch.zeros(1, 4, device=device)) * net.scale  #= gpu
""",
    "containers that register": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        self.layers.append(nn.Linear(2, 2))
        self.layers.extend([nn.Linear(2, 2)])
        self.layers.insert(0, nn.Linear(2, 2))
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 2)})
        self.heads["b"] = nn.Linear(2, 2)
        self.heads.update({"c": nn.Linear(2, 2)})
        self.weights = nn.ParameterList([nn.Parameter(torch.zeros(2))])
        self.weights.append(nn.Parameter(torch.zeros(2)))
        self.named = nn.ParameterDict({"a": nn.Parameter(torch.zeros(2))})
        self.stack = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        self.stack.add_module("last", nn.Linear(2, 2))
net = Net().to(device)
count = len(net.layers)  #= 5
last = net.layers[-1]  #= gpu
some = net.layers[1:3]  #= gpu
a = net.heads["a"]  #= gpu
b = net.heads["b"]  #= gpu
c = net.heads["c"]  #= gpu
keys = list(net.heads.keys())  #= ['a','b','c']
w0 = net.weights[0]  #= gpu
w1 = net.weights[1]  #= gpu
n = net.named["a"]  #= gpu
s = net.stack[-1]  #= gpu
last_by_name = net.stack.last  #= gpu
x = torch.zeros(1, 2, device=device)
for layer in net.layers:
    x = layer(x)
for name, head in net.heads.items():
    x = head(x)
y = net.stack(x)  #= gpu
""",
    "plain containers don't": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2)]  # DEV502: gpu1 gpu2
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
Net().to(device)(torch.zeros(1, 2, device=device))
""",
    "a plain dict of parameters": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = {"a": nn.Parameter(torch.zeros(2))}  # DEV502: gpu1 gpu2
    def forward(self, x):
        return x * self.w["a"]
Net().to(device)(torch.zeros(2, device=device))
""",
    "a parameter is moved into its own place": """
net = nn.Linear(2, 1)
net.weight = net.weight.to(device)  # DEV203: gpu1 gpu2
""",
    "a parameter moves itself in forward": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
    def forward(self, x):
        self.scale = self.scale.to(x.device)  # DEV203: gpu1 gpu2
        return x * self.scale
Scale()(torch.ones(2, device=device))
""",
    "a parameter is registered by its moved copy": """
net = nn.Linear(2, 1)
net.register_parameter("scale", nn.Parameter(torch.ones(2)).to(device))  # DEV203: gpu1 gpu2
""",
    "no parameter is left to a module": """
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.ones(1)).to(device)  # DEV203: gpu1 gpu2
torch.optim.SGD(Line().parameters(), lr=0.1)
""",
    "copies of parameters that may be kept": """
class Net(nn.Module):
    def __init__(self, other):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.fixed = nn.Parameter(torch.ones(2), requires_grad=False).to(device)
        self.start = other.weight.to(device)
        self.first = next(other.parameters()).to(device)
    def forward(self, x):
        self.weight = self.weight.to(x.device)
        return x * self.weight
other = nn.Linear(2, 1)
net = Net(other).to(device)
a = net(torch.ones(2, device=device))  #= gpu
weight = other.weight
del other.weight
other.weight = weight.to(device)
other.bias = nn.Parameter(other.bias.to(device))
b = other.weight  #= gpu
c = other.bias  #= gpu
""",
    "a layer is added in a later round": """
net = nn.Sequential(nn.Linear(2, 2)).to(device)
x = torch.ones(1, 2, device=device)
for epoch in range(4):
    y = net(x)  # DEV302: gpu1 gpu2
    if epoch == 1:
        net.append(nn.Linear(2, 2))
""",
    "a layer replaces another when that is called for": """
net = nn.Sequential(nn.Linear(2, 2)).to(device)
x = torch.ones(1, 2, device=device)
for epoch in range(4):
    y = net(x)  # DEV302: gpu1 gpu2
    if y.sum().item() < 1e9:
        net[0] = nn.Linear(2, 2)
""",
    "layers are added where the others are": """
net = nn.Sequential(nn.Linear(2, 2)).to(device)
x = torch.ones(1, 2, device=device)
for epoch in range(4):
    y = net(x)
    if y.sum().item() < 1e9:
        net.append(nn.Linear(2, 2).to(device))
        net.head = nn.Linear(2, 2, device=device)
a = x  #= gpu
""",
    "the names of torch's classes": """
net = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.LSTM(2, 2))
names = [type(part).__name__ for part in net]
a = names  #= ['Linear','LayerNorm','LSTM']
b = net.__class__.__name__  #= 'Sequential'
def build(factory):
    return factory(net.parameters(), lr=0.1)
c = type(build(torch.optim.Adam)).__name__  #= 'Adam'
d = type(build(torch.optim.SGD)) is torch.optim.SGD  #= True
class Own(nn.Linear):
    pass
e = type(Own(2, 2)).__name__  #= 'Own'
for part in net:
    if part.__class__.__name__.find("Lin") != -1:
        part.to(device)
f = net[0].weight  #= gpu
g = net[1].weight  #= cpu
h = type(nn.LazyLinear(2)).__name__  #= 'LazyLinear' ?
i = type(torch.jit.script(nn.Linear(2, 2))).__name__  #= 'RecursiveScriptModule' ?
j = type(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))).__name__  #= 'ParametrizedLinear' ?
k = type(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))[0]).__name__  #= 'SyncBatchNorm' ?
l = type(torch.compile(nn.Sequential(nn.Linear(2, 2)))).__name__  #= 'OptimizedModule' ?
m = nn.Linear.__name__ + nn.DataParallel.__name__  #= 'LinearDataParallel'
""",
    "the names that objects and classes list": """
import json, os
from dataclasses import dataclass, field
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def reset(self):
        self.layer.to(device)
net = Net()
a = ["layer" in dir(net), "layer" in dir(Net), "reset" in dir(Net), "to" in dir(net)]  #= [True,False,True,True]
b = "nothing" in dir(net)  #= False
c = "set_submodule" in dir(net)  #= True ?
d = "_modules" in dir(net)  #= True ?
if "reset" in dir(type(net)):
    net.reset()
e = net.layer.weight  #= gpu
@dataclass
class Record:
    x: int
    y: list = field(default_factory=list)
f = "y" in dir(Record)  #= False ?
g = "y" in vars(Record)  #= False ?
h = "y" in dir(Record(1))  #= True
class Encoder(json.JSONEncoder):
    def own(self):
        pass
i = "own" in dir(Encoder)  #= True
j = "encode" in dir(Encoder)  #= True ?
class Listing:
    def __dir__(self):
        return ["hidden"]
k = "hidden" in dir(Listing())  #= True ?
class Bag:
    pass
bag, other, third = Bag(), Bag(), Bag()
name = "".join(sorted(set(os.environ.get("NO_SUCH_NAME", "q"))))
setattr(bag, name, 1)
other.__dict__.update({name: 1})
vars(third)[name] = 1
l = "q" in dir(bag)  #= True ?
m = "q" in dir(other)  #= True ?
n = "q" in dir(third)  #= True ?
o = "q" in dir(Bag())  #= False
setattr(Bag, name, 1)
p = "q" in dir(Bag())  #= True ?
q = "q" in vars(Bag)  #= True ?
""",
    "a function that gets every submodule": """
seen = []
def begin(part):
    seen.append(type(part).__name__)
    if isinstance(part, nn.Linear):
        part.weight.data = torch.zeros(2, 2)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to(device)
same = net.apply(begin) is net
a = same  #= True
b = net[0].weight  #= cpu
c = net[0].bias  #= gpu
n = len(seen)  #= 3
""",
    "a function that gets every submodule, and keeps it where it is": """
def begin(part):
    if isinstance(part, nn.Linear):
        part.weight.data.copy_(torch.zeros(2, 2))
        nn.init.zeros_(part.bias)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to(device).apply(begin)
a = net(torch.ones(1, 2, device=device))  #= gpu
""",
    "replaced after a move": """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to(device)
net[1] = nn.Linear(2, 3)
kept = net[0]  #= gpu
fresh = net[1].weight.device  #= cpu
net.to(device)
moved = net[1]  #= gpu
""",
    "replaced after a move, then used": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(self.body(x))
net = Net().to(device)
net.fc = nn.Linear(2, 4)  # DEV302: gpu1 gpu2
net(torch.zeros(1, 2, device=device))
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
    "state_dict and load_state_dict": """
source = nn.Linear(2, 2).to(device)
target = nn.Linear(2, 2)
state = source.state_dict()
w = state["weight"]  #= gpu
copied = {k: v.clone() for k, v in state.items()}
c = copied["bias"]  #= gpu
target.load_state_dict(state)
still = target.weight  #= cpu
host = {k: v.cpu() for k, v in state.items()}
h = host["weight"]  #= cpu
other = nn.Linear(2, 2).to(device)
other.load_state_dict(host)
o = other  #= gpu
""",
    "weight tying": """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(4, 2)
        self.out = nn.Linear(2, 4, bias=False)
        self.out.weight = self.embed.weight
net = Tied().to(device)
same = net.out.weight is net.embed.weight  #= True
w = net.out.weight  #= gpu
logits = net.out(net.embed(torch.tensor([1], device=device)))  #= gpu
""",
    "a copy keeps its devices": """
net = nn.Linear(2, 2).to(device)
twin = copy.deepcopy(net)
net.cpu()
t = twin.weight  #= gpu
n = net.weight  #= cpu
frozen = copy.copy(twin)
f = frozen.weight is twin.weight  #= True
""",
    "an average of the weights": """
class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.data.clone() for name, p in model.named_parameters()}
        self.model = copy.deepcopy(model).eval()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p.data
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.data.mul_(self.decay).add_(p.data, alpha=1 - self.decay)
net = nn.Linear(2, 2).to(device)
ema = EMA(net)
ema.update(net)
s = ema.shadow["weight"]  #= gpu
e = ema.model  #= gpu
""",
    "an average begun before the move": """
class EMA:
    def __init__(self, model):
        self.shadow = {name: p.data.clone() for name, p in model.named_parameters()}
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * p.data  # DEV301: gpu1 gpu2
net = nn.Linear(2, 2)
ema = EMA(net)
net.to(device)
ema.update(net)
""",
    "training flag": """
net = nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2)).to(device)
a = net.training  #= True ?
net.eval()
b = net[0].training  #= False
net.train(True)
c = net[1].training  #= True
""",
    "forward sees the state of the moment": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.memory = None
    def forward(self, x):
        if self.memory is None:
            self.memory = torch.zeros(1, 2, device=x.device)
        self.memory = self.memory + self.layer(x)
        return self.memory
net = Net()
first = net(torch.zeros(1, 2))  #= cpu
net.to(device)
net.memory = None
second = net(torch.zeros(1, 2, device=device))  #= gpu
""",
    "__call__ runs forward with hooks": """
log = []
def note(module, inputs, output):
    log.append(output)
def early(module, inputs):
    return (inputs[0].to(next(module.parameters()).device),)
net = nn.Linear(2, 2).to(device)
net.register_forward_pre_hook(early)
handle = net.register_forward_hook(note)
out = net(torch.zeros(1, 2))  #= gpu
logged = log[0]  #= gpu
handle.remove()
""",
    "what heirs set": """
# silent
class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 2)
    def forward(self, x):
        eps = torch.FloatTensor([1e-8]).to(self.device)
        return self.table(x) / (self.scale + eps)
class Layer(Pooled):
    def __init__(self, device):
        super().__init__()
        self.device, self.scale = device, 2.0
""",
    "bases that torch keeps for itself": """
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.loss import _Loss, _WeightedLoss
class Patches(_Loss):
    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)
        self.scale = nn.Parameter(torch.ones(2))
        self.offset = torch.ones(2)  # DEV501: gpu1 gpu2
    def forward(self, x):
        return self.scale * x + self.offset
class Weighted(_WeightedLoss):
    def forward(self, x):
        return (x * self.weight).sum()
weighted = Weighted(torch.ones(2)).to(device)
a = weighted.weight  #= gpu
b = weighted(torch.zeros(2, device=device))  #= gpu
norm = nn.SyncBatchNorm(2) if False else nn.BatchNorm2d(2)
c = isinstance(norm, _BatchNorm)  #= True
i = isinstance(nn.DataParallel(norm), nn.Module)  #= True
d = isinstance(norm, (_NormBase, nn.Linear))  #= True
e = isinstance(nn.Linear(2, 2), _BatchNorm)  #= False
f = isinstance(nn.MSELoss(), _Loss)  #= True
g = isinstance(nn.LSTM(2, 2), nn.RNNBase)  #= True
loss = Patches().to(device)
h = loss.scale  #= gpu
loss(torch.zeros(2, device=device))
""",
    "hooks that are given the keywords": """
class Align:
    def __init__(self, place):
        self.place = place
    def __call__(self, module, args, kwargs):
        moved = {key: value.to(self.place) for key, value in kwargs.items()}
        return tuple(value.to(self.place) for value in args), moved
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x, more=None):
        return self.layer(x) + more
seen = []
def note(module, args, kwargs, output):
    seen.append(kwargs["more"])
net = Net().to(device)
handle = net.register_forward_pre_hook(Align(device), with_kwargs=True)
net.register_forward_hook(note, with_kwargs=True)
y = net(torch.zeros(1, 2), more=torch.zeros(2))  #= gpu
z = seen[0]  #= gpu
handle.remove()
net(torch.zeros(1, 2, device=device), more=torch.zeros(2))  # DEV302: gpu1 gpu2
""",
    "a hook that meets the wrong device": """
offset = torch.ones(2)  # DEV303: gpu1 gpu2
net = nn.Linear(2, 2).to(device)
net.register_forward_hook(lambda module, inputs, output: output + offset)
net(torch.zeros(1, 2, device=device))
""",
    "helpers of torch.nn.utils": """
net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)).to(device)
v = next(net.parameters())  #= gpu
flat = nn.utils.parameters_to_vector(net.parameters())  #= gpu
norm = nn.utils.clip_grad_norm_(nn.Linear(2, 2).parameters(), 1.0)
spectral = nn.utils.spectral_norm(nn.Linear(2, 2)).to(device)
s = spectral(torch.zeros(1, 2, device=device))  #= gpu
""",
    "a trace keeps devices": """
import io, os, tempfile
class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        steps = torch.arange(3, device=x.device)
        return steps.float()
class Follows(Places):
    def forward(self, x):
        made = torch.zeros_like(x) + x.new_ones(3) + self.line(x) * self.scale
        return made + torch.tensor([1.0]).type_as(x)
class Other(Places):
    def forward(self, x):
        return torch.ones(3).to(x)
class Branch(Places):
    def forward(self, x):
        if x.is_cuda:
            return torch.ones(3, device=device)
        return torch.ones(3)
example = torch.zeros(3)
model = Places()
traced = torch.jit.trace(model, example)
a = traced.to(device)(torch.zeros(3, device=device))  #= cpu
b = traced.line.weight.detach()  #= gpu
c = traced.scale  #= gpu
d = model.line.weight.detach()  #= gpu
e = model(torch.zeros(3, device=device))  #= gpu
f = torch.jit.trace(Follows(), (example,)).to(device)(torch.zeros(3, device=device))  #= gpu
g = torch.jit.trace(Other(), example).to(device)(torch.zeros(3, device=device))  #= cpu
h = torch.jit.trace(Branch(), example).to(device)(torch.zeros(3, device=device))  #= cpu
i = torch.jit.trace(Places().to(device), example.to(device))(example.to(device))  #= gpu
j = torch.jit.script(Places()).to(device)(torch.zeros(3, device=device))  #= gpu
path = os.path.join(tempfile.mkdtemp(), "net.pt")
torch.jit.trace(Places(), example).save(path)
k = torch.jit.load(path).to(device)(torch.zeros(3, device=device))  #= cpu
l = torch.jit.load(path, map_location=device).line.weight  #= gpu
buffer = io.BytesIO()
torch.jit.save(torch.jit.trace(Places(), example), buffer)
buffer.seek(0)
m = torch.jit.load(buffer, map_location=device)(torch.zeros(3, device=device))  #= cpu
""",
    "a trace of functions, and what it only calls": """
def ramp(x):
    return torch.arange(3, device=x.device)
@torch.jit.script
def scripted(x):
    return torch.arange(3, device=x.device)
class Scripted(nn.Module):
    def forward(self, x):
        return torch.arange(3, device=x.device)
class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = torch.jit.script(Scripted())
    def forward(self, x):
        return scripted(x) + self.part(x)
class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
    @property
    def device(self):
        return next(self.parameters()).device
    def forward(self, x):
        return torch.zeros(3, device=self.device)
x, y = torch.zeros(3), torch.zeros(3, device=device)
a = torch.jit.trace(ramp, x)(y)  #= cpu
b = torch.jit.trace(ramp, (y,))(y)  #= gpu
c = torch.jit.trace(Calls(), x)(y)  #= gpu
d = torch.jit.trace(Reads(), x).to(device)(y)  #= cpu
e = ramp(y)  #= gpu
f = torch.jit.trace(torch.sin, x)(y)  #= gpu
g = nn.Sequential(torch.jit.trace(Reads(), x)).to(device)(y)  #= cpu
""",
    "a traced network that moved": """
class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 4)
    def forward(self, x):
        return self.table(torch.arange(x.shape[1], device=x.device))[None] + x
net = torch.jit.trace(Positions(), torch.zeros(1, 5, 4))  # DEV302: gpu1 gpu2
net.to(device)
net(torch.zeros(1, 5, 4, device=device))
""",
    "a normed weight is made by each call": """
import copy
layer = nn.utils.weight_norm(nn.Linear(2, 2)).to(device)
a = layer.weight  #= cpu
b = layer.weight_g.detach()  #= gpu
out = layer(torch.zeros(1, 2, device=device))  #= gpu
c = layer.weight  #= gpu
d = [n for n, _ in layer.named_parameters()] == ["bias", "weight_g", "weight_v"]  #= True ?
layer.cpu()
e = layer.weight  #= gpu
f = layer(torch.zeros(1, 2))  #= cpu
nn.utils.remove_weight_norm(layer)
layer.to(device)
g = layer.weight  #= gpu
h = hasattr(layer, "weight_g")  #= False ?
spectral = nn.utils.spectral_norm(nn.Conv2d(1, 1, 1), n_power_iterations=2).to(device)
i = spectral.weight  #= cpu
j = spectral.weight_orig  #= gpu
k = spectral.weight_u  #= gpu
twin = copy.deepcopy(spectral)
l = twin(torch.zeros(1, 1, 2, 2, device=device))  #= gpu
m = twin.weight  #= gpu
n = spectral.weight  #= cpu
nn.utils.remove_spectral_norm(spectral)
o = spectral.weight  #= gpu
first = nn.utils.weight_norm(nn.Linear(2, 2).to(device))
p = first.weight  #= gpu
q = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)).to(device).weight  #= gpu
r = nn.utils.weight_norm(nn.LSTM(2, 2), "weight_hh_l0").to(device)(torch.zeros(1, 1, 2, device=device))[0]  #= gpu
""",
    "a normed weight that no call made": """
layer = nn.utils.weight_norm(nn.Linear(2, 2)).to(device)  # DEV501: gpu1 gpu2
torch.zeros(1, 2, device=device) @ layer.weight.t()
""",
    "normed parts in a network": """
def start(m):
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
        m.weight.data.mul_(2.0)
def norm(layer):
    return nn.utils.spectral_norm(layer)
class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(norm(nn.Conv2d(1, 2, 1)), nn.LeakyReLU(), nn.Sequential(norm(nn.Conv2d(2, 1, 1))))
        self.head = nn.utils.weight_norm(nn.Linear(4, 1))
        self.apply(start)
    def forward(self, x):
        return self.head(self.body(x).flatten(1)) + nn.functional.linear(x.flatten(1), self.head.weight)
net = Discriminator().to(device)
a = net(torch.zeros(2, 1, 2, 2, device=device))  #= gpu
net.cpu()
b = net(torch.zeros(2, 1, 2, 2))  #= cpu
state = net.state_dict()
net.to(device).load_state_dict(state)
c = net(torch.zeros(2, 1, 2, 2, device=device))  #= gpu
""",
    "uninitialised parts take the input's shape": """
net = nn.LazyLinear(3).to(device)
out = net(torch.zeros(1, 2, device=device))  #= gpu
""",
    "containers of one's own": """
class Bare(nn.Sequential):
    pass
class Loop(nn.Sequential):
    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x
class Parts(nn.Sequential):
    def forward(self, x):
        for layer in self._modules.values():
            x = layer(x)
        return super().forward(x)
class Passes(nn.Sequential):
    def __init__(self, *layers):
        super().__init__(*layers)
        self.last = nn.Linear(2, 2)
class Named(nn.Sequential):
    def __init__(self):
        super().__init__()
        self.add_module("one", nn.Linear(2, 2))
        self.add_module("two", nn.Linear(2, 2))
class Stack(nn.ModuleList):
    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return self[0](x)
class Heads(nn.ModuleDict):
    def forward(self, x, name):
        for head in self.values():
            x = head(x)
        for key in self:
            x = self[key](x)
        return self[name](x)
x = torch.zeros(1, 2, device=device)
def two():
    return nn.Linear(2, 2), nn.Linear(2, 2)
a = Bare(*two()).to(device)(x)  #= gpu
b = Loop(*two()).to(device)(x)  #= gpu
c = Parts(*two()).to(device)(x)  #= gpu
d = Passes(*two()).to(device)(x)  #= gpu
e = Named().to(device)(x)  #= gpu
f = Stack(two()).to(device)(x)  #= gpu
g = Heads({"a": nn.Linear(2, 2)}).to(device)(x, "a")  #= gpu
passes = Passes(*two()).to(device)
n = len(passes)  #= 3
h = passes[2](x)  #= gpu
i = passes[-1] is passes.last  #= True
names = [name for name, _ in Passes(*two()).named_children()]  #= ['0','1','last']
j = Loop(*two()).to(device)[:1](x)  #= gpu
k = [name for name, _ in Named().named_children()]  #= ['one','two']
""",
    "a layer of one's own that only changes forward": """
class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)
a = Scaled(2, 2).to(device)(torch.zeros(1, 2, device=device))  #= gpu
w = Scaled(2, 2).weight  #= cpu
""",
    "a part of a container left behind": """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.ones(2)  # DEV501: gpu1 gpu2
    def forward(self, x):
        return x + self.by
class Chain(nn.Sequential):
    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x
Chain(nn.Linear(2, 2), Shift()).to(device)(torch.zeros(1, 2, device=device))
""",
    "parts by their dict": """
class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self._modules["second"] = nn.Linear(2, 2)
net = Grows().to(device)
a = net.second.weight  #= gpu
b = net._modules["first"].weight  #= gpu
c = [next(part.parameters()).is_cuda for part in net._modules.values()]
d = c == [torch.cuda.is_available()] * 2
""",
    "a forward that is set on a module": """
import functools
import types
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
    def forward(self, x):
        return self.linear(x)
def moving(module):
    old_forward = module.forward
    @functools.wraps(old_forward)
    def new_forward(*args, **kwargs):
        module.to(device)
        return old_forward(*args, **kwargs)
    module.forward = new_forward
    return module
def late(self, x):
    return self.linear(x.to(self.linear.weight.device))
x = torch.zeros(1, 2, device=device)
host = torch.zeros(1, 2)
a = moving(nn.Linear(2, 2))(x)  #= gpu
b = moving(moving(Net()))(x)  #= gpu
net = Net().to(device)
net.forward = types.MethodType(late, net)
c = net(host)  #= gpu
other = Net().to(device)
other.forward = late.__get__(other)
d = other(host)  #= gpu
other.forward = functools.partial(late, net)
e = other(host)  #= gpu
passes = Net()
passes.forward = lambda x: x
f = passes(x)  #= gpu
stays = moving(nn.Linear(2, 2))
before = stays  #= gpu
stays(x)
g = nn.Sequential(moving(nn.Linear(2, 2)), nn.ReLU()).forward(x)  #= gpu
""",
    "a forward chosen in the constructor": """
class Net(nn.Module):
    def __init__(self, fast):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.forward = self.forward_fast if fast else self.forward_slow
    def forward_fast(self, x):
        return self.linear(x.to(self.linear.weight.device))
    def forward_slow(self, x):
        return self.linear(x)
a = Net(True).to(device)(torch.zeros(1, 2))  #= gpu
b = Net(False).to(device)(torch.zeros(1, 2, device=device))  #= gpu
""",
    "a hook that is run before the forward only": """
def before(module, inputs):
    return (inputs[0].to(device),)
net = nn.Linear(2, 2).to(device)
net.register_forward_pre_hook(before)
a = net(torch.zeros(1, 2))  #= gpu
net.forward(torch.zeros(1, 2))  # DEV302: gpu1 gpu2
""",
    "a forward that brings the module back": """
def offloaded(module):
    old_forward = module.forward
    def new_forward(x):
        module.to(device)
        result = old_forward(x.to(device))
        module.to("cpu")
        return result
    module.forward = new_forward
    return module
head = offloaded(nn.Linear(2, 2))
a = head(torch.zeros(1, 2))  #= gpu
torch.zeros(1, 2, device=device) @ head.weight  # DEV301: gpu1 gpu2
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
