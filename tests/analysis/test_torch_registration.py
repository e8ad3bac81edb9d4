"""What a module registers, in whatever way, and what it does not."""

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
    "classes that parents are told of": """
class Head(nn.Module):
    known = {}
    def __init_subclass__(cls, kind="", **kwargs):
        super().__init_subclass__(**kwargs)
        cls.known[kind or cls.__name__] = cls
    @classmethod
    def create(cls, name, width):
        return cls.known[name](width)
class Text(Head):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 2)
class Span(Text, kind="span"):
    pass
a = Head.create("Text", 3).to(device).layer.weight  #= gpu
b = Head.create("span", 3).layer.weight  #= cpu
""",
    "a registry of subclasses": """
class Part(nn.Module):
    pass
class Wide(Part):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
class Narrow(Part):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
class Narrower(Narrow):
    pass
PARTS = {cls.__name__: cls for cls in Part.__subclasses__()}
a = len(PARTS)  #= 2
b = PARTS["Wide"]().layer.weight  #= cpu
c = PARTS["Narrow"]().to(device).layer.weight  #= gpu
d = [cls.__name__ for cls in Narrower.mro()][1]  #= 'Narrow'
e = Narrower.__mro__[2].__name__  #= 'Part'
f = Wide.__bases__[0]().to(device).training  #= True
def below(cls):
    return [cls, *(found for heir in cls.__subclasses__() for found in below(heir))]
g = len(below(Part))  #= 4
""",
    "what classes derive from": """
class Base:
    device = "cpu"
class Mixin(object):
    extra = 1
class Both(Base, Mixin):
    own = 2
class Net(nn.Module):
    pass
a = Base.__bases__[0] is object  #= True
b = len(Base.__mro__)  #= 2
c = Both.__mro__[-1] is object  #= True
d = len(Both.mro())  #= 4
e = Both.__bases__[1].extra  #= 1
f = [cls.__name__ for cls in Both.__mro__][:3]  #= ['Both','Base','Mixin']
g = [getattr(cls, "device", None) for cls in Both.__mro__][3]  #= None ?
h = Net.__mro__[2] is object  #= True
i = len(Base.__bases__[0].__bases__)  #= 0 ?
names = set()
for cls in Both.__mro__:
    names.update(vars(cls))
for cls in type(Both()).mro():
    names.update(cls.__dict__)
j = "own" in names  #= True ?
kept = {}
for cls in reversed(Both.__mro__):
    kept.update(getattr(cls, "__annotations__", {}))
k = len(kept)  #= 0 ?
l = [cls for cls in Both.__mro__ if "device" in cls.__dict__][0].__name__  #= 'Base'
m = [cls.__name__ for cls in Both.__mro__ if cls is not object]  #= ['Both','Base','Mixin']
""",
    "classes that a call of type makes, among the subclasses": """
class Base:
    pass
class First(Base):
    place = "cpu"
Second = type("Second", (Base,), {"place": str(device)})
a = len(Base.__subclasses__())  #= 2
moved = [cls for cls in Base.__subclasses__() if cls.place != "cpu"]
net = nn.Linear(2, 2)
if moved:
    net.to(moved[0].place)
w = net.weight  #= gpu
net(torch.zeros(1, 2, device=device))
""",
    "subclasses of files that are not in sight": """
import importlib, os, sys
class Base:
    pass
class Known(Base):
    pass
before = len(Base.__subclasses__())  #= 1
for name in os.environ.get("PLUGINS", "").split():
    importlib.import_module(name)
a = len(Base.__subclasses__())  #= 1 ?
class Empty:
    pass
b = len(Empty.__subclasses__())  #= 0 ?
made = (Empty.__subclasses__() or [Known])[0]()
net = nn.Linear(2, 2).to(device)
net(torch.zeros(1, 2).to(device)) + torch.zeros(2)  # DEV301: gpu1 gpu2
""",
    "tensors that a dict of parameters is given": """
class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.given = nn.ParameterDict()
        self.given["a"] = torch.zeros(3)
        self.given.setdefault("b", torch.zeros(3))
        self.given.update({"c": torch.zeros(3)})
        self.given.update([("d", torch.zeros(3))])
        for name in ("e", "f"):
            self.given[name] = torch.zeros(3)
        self.listed = nn.ParameterList([torch.zeros(3)])
        self.listed[0] = torch.zeros(3)
net = Scales().to(device)
a = net.given["a"]  #= gpu
b = net.given["b"]  #= gpu
c = net.given["c"]  #= gpu
d = net.given["d"]  #= gpu
e = net.given["e"]  #= gpu
f = net.listed[0]  #= gpu
g = len(list(net.parameters()))  #= 7
torch.zeros(3, device=device) + net.given["a"] + net.given["c"]
""",
    "layers given after a move": """
class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
    def build(self):
        self.second = nn.Linear(2, 2)  # DEV302: gpu1 gpu2
        self.third = nn.Linear(2, 2)
    def forward(self, x):
        return self.third(self.second(self.first(x)))
again = Late().to(device)
again.build()
a = again.to(device)(torch.zeros(2, device=device))  #= gpu
net = Late().to(device)
net.build()
net(torch.zeros(2, device=device))
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
    "parts that are replaced by their path": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        self.body = nn.Linear(2, 2)
net = Net().to(device)
net.set_submodule("body", nn.Linear(2, 2))
net.set_submodule("head.1", nn.Linear(2, 2))
a = net.body.weight  #= cpu
b = net.head[0].weight  #= gpu
c = net.head[1].weight  #= cpu
d = [hasattr(net, "zero_grad"), hasattr(net, "own")]  #= [True,False]
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
    "registered by way of the tables": """
class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self._modules.update(parts)
        self._modules["last"] = nn.Linear(2, 2)
        self.__dict__["_modules"]["first"] = nn.Linear(2, 2)
        vars(self)["_parameters"]["w"] = nn.Parameter(torch.ones(2))
        self._buffers.setdefault("b", torch.ones(2))
        self._modules |= {"more": nn.Linear(2, 2)}
        self._parameters = {**self._parameters, "v": nn.Parameter(torch.ones(2))}
        self.__dict__["plain"] = torch.ones(2)
        self.__dict__.update(own=nn.Linear(2, 2), late=torch.ones(2))
net = Net({"a": nn.Linear(2, 2)}).to(device)
a = net.a.weight  #= gpu
b = net.last.bias  #= gpu
c = net.first.weight  #= gpu
d = net.w  #= gpu
e = net.b  #= gpu
f = net.more.weight  #= gpu
g = net.v  #= gpu
h = net.plain  #= cpu
i = net.own.weight  #= cpu
j = net.late  #= cpu
k = net._parameters["w"]  #= gpu
l = net._buffers["b"]  #= gpu
m = net.__dict__["plain"]  #= cpu
n = net.__dict__["_modules"]["more"].weight  #= gpu
""",
    "taken out of the tables, and put back": """
class Wrapped(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.raw = inner._parameters.pop("weight")
        inner.__dict__["weight"] = torch.ones(2, 2)
        del inner._parameters["bias"]
        inner._parameters["bias"] = None
net = Wrapped(nn.Linear(2, 2)).to(device)
a = net.raw  #= gpu
b = net.inner.weight  #= cpu
off = nn.Linear(2, 2).to(device)
for name, parameter in off._parameters.items():
    off._parameters[name] = nn.Parameter(parameter.cpu())
c = off.weight.device.type  #= 'cpu'
off.to(device)
d = off.bias  #= gpu
class Taker(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.ones(2)
        self.layer = nn.Linear(2, 2)
    def to(self, *args, **kwargs):
        super().to(*args, **kwargs)
        for name, value in self.__dict__.items():
            if isinstance(value, torch.Tensor):
                self.__dict__[name] = value.to(*args, **kwargs)
        return self
e = Taker().to(device).kept  #= gpu
""",
    "a name that is not known, in a table": """
import os
class Net(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts
        for part in parts:
            self._modules[os.environ.get("NAME", "") + str(len(self._modules))] = part
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x
y = Net([nn.Linear(2, 2) for _ in range(2)]).to(device)(torch.zeros(1, 2, device=device))  # silent
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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
