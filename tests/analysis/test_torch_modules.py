"""Modules: their state, copies and averages, and what calling them runs."""

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
    "training flag by an own train": """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = None
    def train(self, mode=True):
        self.kept = torch.zeros(1, device=device if mode else "cpu")
        return super().train(mode)
class Frozen(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
    def train(self, mode=True):
        super().train(mode)
        self.part.eval()
net = nn.Sequential(Part(), Frozen(Part()), nn.Identity())
net.train()
a = net[0].kept  #= gpu
b = net[1].part.kept  #= cpu
c = net[1].training  #= True
d = net[1].part.training  #= False
e = net[2].training  #= True
net.eval()
f = net[0].kept  #= cpu
g = net[2].training  #= False
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
    "what is of one kind is of no other": """
weight = nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD([weight], lr=0.1)
a = isinstance(weight, nn.Module)  #= False
b = isinstance(torch.zeros(2), (list, nn.Module, torch.optim.Optimizer))  #= False
c = isinstance(optimizer, nn.Module)  #= False
d = isinstance(weight, torch.optim.lr_scheduler.LRScheduler)  #= False
e = isinstance(torch.Generator(), nn.Module)  #= False
f = isinstance(torch.zeros(2), torch.nn.utils.rnn.PackedSequence)  #= False
g = isinstance(weight, nn.Parameter)  #= True
h = isinstance(nn.Linear(2, 2), torch.distributions.Distribution)  #= False
""",
    "abstract classes ask for methods": """
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
import numpy as np
class Batches:
    def __iter__(self):
        yield torch.ones(2)
class Net(nn.Module):
    def __len__(self):
        return 2
class Point:
    __hash__ = None
a = isinstance(torch.zeros(2), Iterable)  #= True
b = isinstance(torch.zeros(2), (Sequence, Mapping, Iterator))  #= False
c = isinstance(np.zeros(2), Collection)  #= True
d = isinstance(np.zeros(2), Hashable)  #= False
e = isinstance(device, Iterable)  #= False
f = isinstance(Batches(), Iterable)  #= True
g = isinstance(Batches(), (Sized, Iterator))  #= False
h = isinstance(Net(), Sized)  #= True
i = isinstance(Net(), Iterable)  #= False
j = isinstance(Net(), Callable)  #= True
k = isinstance(nn.Sequential(), (Mapping, Iterable))  #= True
l = isinstance(nn.Linear(2, 2), Iterable)  #= False
m = isinstance(nn.ModuleDict(), Collection)  #= True
n = isinstance(Point(), Hashable)  #= False
o = isinstance(torch.zeros(2), object)  #= True
p = isinstance(Batches(), Hashable)  #= True
""",
    "what a table of modules holds": """
table = nn.ModuleDict({"a": nn.Linear(2, 2)})
table["b"] = nn.Linear(2, 2)
a = "a" in table  #= True
b = "b" not in table  #= False
c = "c" in table  #= False
del table["a"]
d = "a" in table  #= False
h = len(table)  #= 1
table["c"] = nn.Linear(2, 2).to(device)
i = table.pop("c").weight  #= gpu
j = "c" in table  #= False
kept = nn.ParameterDict({"w": nn.Parameter(torch.zeros(2))})
e = "w" in kept  #= True
f = "v" in kept  #= False
kept.update(nn.ParameterDict({"u": nn.Parameter(torch.zeros(2, device=device))}))
l = kept["u"]  #= gpu
n = kept.get("w")  #= cpu
o = kept.get("v", 3)  #= 3
p = kept.setdefault("v", nn.Parameter(torch.ones(2)))  #= cpu
q = len(nn.ParameterDict(kept))  #= 3
pairs = nn.ModuleDict([("a", nn.Linear(2, 2)), ("b", nn.Linear(2, 2).to(device))])
r = pairs["b"].weight  #= gpu
s = pairs["a"].weight  #= cpu
class Named(nn.ModuleDict):
    def __contains__(self, name):
        return True
g = "x" in Named()  #= True
""",
    "parametrizations are asked for each use": """
from torch.nn.utils import parametrize
class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor  # DEV501: gpu1 gpu2
    def forward(self, weight):
        return weight * self.factor
class Kept(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
    def forward(self, weight):
        return weight * self.mask
right = nn.Linear(2, 2)
parametrize.register_parametrization(right, "weight", Kept(torch.eye(2)))
parametrize.register_parametrization(right, "bias", Kept(torch.ones(2)))
right.to(device)
a = right(torch.ones(1, 2, device=device))  #= gpu
b = right.weight  #= gpu
again = nn.Linear(2, 2)
parametrize.register_parametrization(again, "weight", Scaled(torch.ones(2, 2)))
parametrize.remove_parametrizations(again, "weight")
again.to(device)
c = again(torch.ones(1, 2, device=device))  #= gpu
wrong = nn.Sequential(nn.Linear(2, 2))
parametrize.register_parametrization(wrong[0], "weight", Scaled(torch.ones(2, 2)))
wrong.to(device)
wrong(torch.ones(1, 2, device=device))
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
    "a hook that takes what is loaded as it is": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("table", torch.zeros(2))
        self._register_load_state_dict_pre_hook(self.take)
    def take(self, state, prefix, *rest):
        self.table = state[prefix + "table"]
saved = Net().state_dict()
net = Net().to(device)
net.load_state_dict(saved)
a = net.table  #= cpu
b = net.layer.weight  #= gpu
whole = nn.Sequential(Net()).to(device)
whole.load_state_dict({f"0.{name}": part for name, part in saved.items()})
c = whole[0].table  #= cpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
