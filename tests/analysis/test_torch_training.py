"""Optimizers, schedulers and their state; files; generators and distributions."""

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
    "a training step": """
net = nn.Linear(2, 1).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for _ in range(2):
    optimizer.zero_grad()
    loss = net(torch.zeros(3, 2, device=device)).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
a = loss  #= gpu
p = optimizer.param_groups[0]["params"][0]  #= gpu
""",
    "what objects are not": """
generator = torch.Generator()
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
a = isinstance(generator, (int, str, torch.Tensor))  #= False
b = isinstance(generator, torch.Generator)  #= True
c = isinstance(optimizer, (list, tuple))  #= False
d = isinstance(optimizer, object)  #= True
e = isinstance(optimizer, torch.optim.Optimizer)  #= True ?
f = isinstance(torch.return_types.max((torch.zeros(1), torch.zeros(1))), tuple)  #= True ?
""",
    "gradients handed to a copy on the host": """
net, shared = nn.Linear(2, 1).to(device), nn.Linear(2, 1)
net(torch.ones(1, 2, device=device)).sum().backward()
for p, q in zip(net.parameters(), shared.parameters()):
    if q.grad is not None:
        break
    q.grad = p.grad  # DEV302: gpu1 gpu2
""",
    "gradients handed over as copies": """
net, shared = nn.Linear(2, 1).to(device), nn.Linear(2, 1)
net(torch.ones(1, 2, device=device)).sum().backward()
for p, q in zip(net.parameters(), shared.parameters()):
    q._grad = p.grad.to(q.device)
    p.grad = None
a = shared.weight.grad  #= cpu
for p in net.parameters():
    p.grad = torch.zeros_like(p)
b = net.weight.grad  #= gpu
""",
    "built before the move": """
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.to(device)
p = optimizer.param_groups[0]["params"][0]  #= gpu
same = p is net.weight
s = same  #= True
""",
    "state that was made before the move": """
net = nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters())
net(torch.zeros(1, 2)).sum().backward()
optimizer.step()
net.to(device)
optimizer.zero_grad()
net(torch.zeros(1, 2, device=device)).sum().backward()
optimizer.step()  # DEV505: gpu1 gpu2
""",
    "a round trip through a file": """
net = nn.Linear(2, 1).to(device)
torch.save({"net": net.state_dict(), "x": torch.zeros(2, device=device), "epoch": 3}, "checkpoint.pt")
loaded = torch.load("checkpoint.pt")
a = loaded["x"]  #= gpu
n = loaded["epoch"]  #= 3
host = torch.load("checkpoint.pt", map_location="cpu")
b = host["x"]  #= cpu
placed = torch.load("checkpoint.pt", map_location=device)
c = placed["x"]  #= gpu
d = torch.load("checkpoint.pt", map_location=lambda storage, place: storage)["x"]  #= cpu
net.load_state_dict(host["net"])
e = net  #= gpu
""",
    "loaded tensors take the place of those with their names": """
net = nn.Module()
net.one, net.two = nn.Linear(2, 2).to(device), nn.Sequential(nn.Linear(2, 2)).to(device)
net.register_buffer("kept", torch.zeros(2, device=device), persistent=False)
state = {"two.0.weight": torch.zeros(2, 2), "two.0.bias": torch.zeros(2), "other": torch.zeros(2)}
net.load_state_dict(state, strict=False, assign=True)
a = net.one.weight + torch.zeros(2, device=device)  #= gpu
b = net.two[0].weight  #= cpu
net.load_state_dict({name: value.cpu() for name, value in net.state_dict().items()}, assign=True)
c = net.one.weight  #= cpu
d = net.kept  #= gpu
""",
    "names of parameters": """
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2, bias=False))).to(device)
host = {name: p.detach().cpu() for name, p in net.named_parameters()}
a = host["1.0.weight"]  #= cpu
names = [name for name, _ in net.named_parameters("m")]
b = names[0]  #= 'm.0.weight'
c = net.state_dict()["1.0.weight"]  #= gpu
inner = {name.removeprefix("1."): p for name, p in net.state_dict().items() if name.startswith("1.")}
d = inner["0.weight"]  #= gpu
""",
    "a round trip through a file with a name of its own": """
import io, os, tempfile
from pathlib import Path
x = torch.zeros(2, device=device)
name = os.path.join(tempfile.mkdtemp(), "c.pt")
torch.save({"o": {"pre": [x], "n": 3}}, name)
first = torch.load(name, map_location="cpu")
a = first["o"].pop("pre")  #= [cpu]
n = first["o"]["n"]  #= 3
folder = Path(tempfile.mkdtemp()) / "d"
folder.mkdir()
torch.save({"x": x}, folder / "c.pt")
b = torch.load(str(folder / "c.pt"))["x"]  #= gpu
c = torch.load(f"{folder}/c.pt", map_location="cpu")["x"]  #= cpu
buffer = io.BytesIO()
torch.save([x], buffer)
buffer.seek(0)
d = torch.load(buffer, map_location="cpu")  #= [cpu]
with tempfile.TemporaryDirectory() as inner:
    torch.save([x], os.path.join(inner, "a.pt"))
    e = torch.load(inner + "/a.pt")[0]  #= gpu
with tempfile.NamedTemporaryFile() as file:
    torch.save([x], file.name)
    f = torch.load(file.name)[0]  #= gpu
parts = (folder / "c.pt").parent.name, (folder / "c.pt").suffix
g = parts  #= ['d','.pt']
""",
    "what is saved stays as it was": """
import os, tempfile
saved, name = {"x": torch.zeros(2, device=device)}, os.path.join(tempfile.mkdtemp(), "c.pt")
torch.save(saved, name)
saved["x"] = torch.zeros(2)
a = torch.load(name)["x"]  #= gpu
again = torch.load(name)
again["x"] = torch.zeros(2)
b = torch.load(name)["x"]  #= gpu
""",
    "two files are two": """
import os, tempfile
def written(value):
    name = os.path.join(tempfile.mkdtemp(), "c.pt")
    torch.save(value, name)
    return name
here, there = written(torch.zeros(2)), written(torch.zeros(2, device=device))
a = torch.load(here)  #= cpu
b = torch.load(there)  #= gpu
""",
    "a file of unknown content, used as what it may hold": """
import os, tempfile
name = os.path.join(tempfile.mkdtemp(), "c.pt")
with open(name, "wb") as file:
    torch.save({"o": {"x": torch.zeros(2), "n": 3}, "device": "cpu" if device.type == "cpu" else "cuda"}, file)
loaded = torch.load(name, map_location="cpu")
a = loaded["o"].pop("x")  #= cpu
n = loaded["o"].get("n", 0) * torch.zeros(2, device=device)  #= gpu ?
b = torch.zeros(2).to(loaded["device"])  #= gpu ?
c = b + torch.zeros(2, device=device)  #= gpu ?
""",
    "a checkpoint used where it was mapped": """
torch.save({"mean": torch.zeros(2)}, "stats.pt")
stats = torch.load("stats.pt", map_location="cpu")
torch.zeros(2, device=device) - stats["mean"]  # DEV301: gpu1 gpu2
""",
    "generators": """
g = torch.Generator(device=device)
g.manual_seed(0)
a = torch.rand(2, generator=g, device=device)  #= gpu
b = torch.randperm(4, generator=torch.Generator())  #= cpu
d = g.device.type  #= 'cpu' 'cuda' 'cuda'
""",
    "a generator of the host": """
g = torch.Generator().manual_seed(0)
torch.randn(2, generator=g, device=device)  # DEV305: gpu1 gpu2
""",
    "state that is made with the optimizer": """
net = nn.Linear(2, 2)
late = torch.optim.Adam(net.parameters())
early = torch.optim.Adagrad(net.parameters())
net.to(device)
net(torch.ones(1, 2, device=device)).sum().backward()
late.step()
early.step()  # DEV505: gpu1 gpu2
""",
    "state that is made with the optimizer, after the move": """
net = nn.Linear(2, 2).to(device)
early = torch.optim.Adagrad(net.parameters())
net(torch.ones(1, 2, device=device)).sum().backward()
early.step()
early.step()
a = net.weight  #= gpu
""",
    "renewed averages of normalisation": """
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.zeros(4, 2), torch.zeros(4)), batch_size=2)
net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device).eval()
swa = AveragedModel(net)
update_bn(loader, swa, device=device)
update_bn(loader, swa, torch.device(device))
update_bn([(x.to(device), y) for x, y in loader], swa)
update_bn((x.to(device) for x, _ in loader), swa)
update_bn(loader, nn.Linear(2, 2).to(device))  # nothing to normalise: never called
a = net.training  #= False
b = net[1].running_mean  #= gpu
class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)
    def forward(self, x):
        return self.norm(x.to(self.norm.weight.device))
update_bn(loader, AveragedModel(Places().to(device)))
class Trains(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)
        self.seen = None
    def forward(self, x):
        if self.training:
            self.seen = x
        return self.norm(x)
trains = Trains().to(device).eval()
update_bn(loader, trains, device)
c = trains.seen  #= gpu
d = trains.training  #= False
""",
    "averages of normalisation, renewed with what the loader gives": """
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.zeros(4, 2), torch.zeros(4)), batch_size=2)
swa = AveragedModel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device))
update_bn(loader, swa)  # DEV302: gpu1 gpu2
""",
    "a handler that only tells of a load that fails": """
# runs: no
net = nn.Linear(2, 2).to(device)
def resume(path):
    try:
        with open(path, "rb") as file:
            net.load_state_dict(torch.load(file)["net"])  # DEV106: cpu
    except Exception as error:
        print("WARNING: cannot load", error)
resume("unknown.pt")
try:
    net.load_state_dict(torch.load("other.pt")["net"])  # DEV106: cpu
except RuntimeError:
    traceback.print_exc()
""",
    "a handler that answers to a load that fails": """
# runs: no
# silent
net = nn.Linear(2, 2).to(device)
try:
    net.load_state_dict(torch.load("unknown.pt"))
except RuntimeError as error:
    print(error)
    net.load_state_dict(torch.load("unknown.pt", map_location="cpu"))
try:
    net.load_state_dict(torch.load("unknown.pt"))
except Exception:
    print("nothing to resume from")
try:
    try:
        net.load_state_dict(torch.load("unknown.pt"))
    except RuntimeError as error:
        print(error)
        raise
except RuntimeError:
    net.reset_parameters()
""",
    "a tensor from a file": """
exec("torch.save(torch.ones(2, 4), 'unknown.pt')")
found = torch.load("unknown.pt", map_location="cpu")
a = found.float().unsqueeze(0)  #= cpu
b = found.to(device)  #= gpu
c = found.device.type  #= 'cpu'
d = torch.cat([b, torch.ones(1, 4, device=device)])  #= gpu
e = found @ torch.ones(4, 2)  #= cpu
first, second = found
g = second  #= cpu
torch.mm(found, torch.ones(4, 2, device=device))  # DEV301: gpu1 gpu2
""",
    "a tensor from a file in a module": """
exec("torch.save(torch.ones(2, 4), 'unknown.pt')")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.load("unknown.pt", map_location="cpu"))
        self.learned = nn.Parameter(torch.load("unknown.pt", map_location="cpu"))
net = Net().to(device)
a = net.kept  #= gpu
b = net.learned  #= gpu
c = net.kept @ torch.ones(4, 2, device=device)  #= gpu
data = torch.utils.data.TensorDataset(torch.load("unknown.pt", map_location="cpu"))
d = next(iter(torch.utils.data.DataLoader(data)))[0]  #= cpu
""",
    "a tensor from a file in a list": """
exec("torch.save(torch.ones(2, 4), 'unknown.pt')")
found = torch.load("unknown.pt", map_location="cpu")
torch.cat([found, torch.ones(1, 4, device=device)])  # DEV301: gpu1 gpu2
""",
    "a tensor from a file as input": """
exec("torch.save(torch.ones(2, 4), 'unknown.pt')")
net = nn.Linear(4, 2).to(device)
net(torch.load("unknown.pt", map_location="cpu"))  # DEV302: gpu1 gpu2
""",
    "tensors from a file": """
exec("torch.save([torch.ones(2, 4), torch.ones(2, 4)], 'unknown.pt')")
x = torch.ones(4, 2, device=device)
for found in torch.load("unknown.pt", map_location="cpu"):
    torch.mm(found, x)  # DEV301: gpu1 gpu2
""",
    "a file may hold anything": """
# silent
exec("torch.save({'net': nn.Linear(4, 2), 'state': nn.Linear(4, 2).state_dict(), 'epoch': 3}, 'unknown.pt')")
found = torch.load("unknown.pt", map_location="cpu", weights_only=False)
x = torch.ones(2, 4, device=device)
net = found["net"].float()
net.to(device)
y = net(x) * found["epoch"]
other = nn.Linear(4, 2).to(device)
other.load_state_dict(found["state"])
for key in found:
    print(key, other.state_dict().get(key))
for key in found["state"]:
    other.state_dict()[key].copy_(found["state"][key])
if isinstance(found, dict):
    found = found["state"]
other.load_state_dict({key.replace("module.", ""): value for key, value in found.items()})
print(other(x) + y, len(found))
""",
    "a module from a file": """
# silent
exec("torch.save(nn.Linear(4, 2), 'unknown.pt')")
net = torch.load("unknown.pt", map_location="cpu", weights_only=False)
net.to(device)
x = torch.ones(2, 4, device=device)
print(net(x))
net.cpu()
net = net.to(device).float()
net.cpu()
print(net(x.cpu()))
""",
    "a distribution of the user's own": """
class Prior(torch.distributions.Independent):
    def __init__(self, low, high, device="cpu"):
        inner = torch.distributions.Uniform(torch.as_tensor(low, device=device), torch.as_tensor(high, device=device))
        super().__init__(inner, 1)
class Unchanged(torch.distributions.Normal):
    pass
class Shifted(torch.distributions.Normal):
    def sample(self, *args, **kwargs):
        return super().sample(*args, **kwargs) + 1
a = Prior([0.0, 1.0], [1.0, 2.0]).sample()  #= cpu
b = Prior([0.0, 1.0], [1.0, 2.0], device).sample((3,))  #= gpu
c = Unchanged(torch.zeros(2, device=device), 1.0).rsample()  #= gpu
d = Shifted(torch.zeros(2), torch.ones(2)).sample()  #= cpu
Prior([0.0, 1.0], [1.0, 2.0]).log_prob(b)  # DEV301: gpu1 gpu2
""",
    "distributions": """
d = torch.distributions.Normal(torch.zeros(2, device=device), torch.ones(2, device=device))
a = d.sample()  #= gpu
b = d.log_prob(a)  #= gpu
c = torch.distributions.Categorical(logits=torch.zeros(3, device=device)).sample((2,))  #= gpu
m = d.mean  #= gpu ?
""",
    "distributions of the user's own": """
from torch.distributions import HalfCauchy, Independent, Normal, TransformedDistribution
from torch.distributions import Uniform
low, high = torch.zeros(3), torch.ones(3)
class Box(Uniform):
    def __init__(self, low, high):
        super().__init__(low, high)
class Boxes(Independent):
    def __init__(self, low, high):
        super().__init__(Uniform(low, high), 1)
class Same(Normal):
    pass
class Prior(nn.Module, Normal):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        Normal.__init__(self, loc, scale)
class Registered(nn.Module, Normal):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        Normal.__init__(self, loc, scale)
        for name in ("loc", "scale"):
            value = getattr(self, name).clone()
            delattr(self, name)
            self.register_buffer(name, value)
class First(Normal, nn.Module):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        super().__init__(loc, scale)
class Moved(nn.Module, HalfCauchy):
    def __init__(self, scale):
        nn.Module.__init__(self)
        HalfCauchy.__init__(self, scale)
    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.base_dist.loc, self.base_dist.scale = fn(self.base_dist.loc), fn(self.base_dist.scale)
        return self
a = Box(low, high).sample((1,))  #= cpu
b = Boxes(low, high).sample((1,))  #= cpu
c = Same(low, high).rsample()  #= cpu
d = Prior(low, high).to(device).sample()  #= cpu
e = Registered(low, high).to(device).sample()  #= gpu
f = First(low, high).to(device).rsample()  #= cpu
g = Boxes(low.to(device), high.to(device)).log_prob(low.to(device))  #= gpu
h = Moved(high).to(device).sample()  #= gpu ?
i = isinstance(Moved(high), TransformedDistribution)  #= True
j = isinstance(Prior(low, high), TransformedDistribution)  #= False
k = isinstance(Normal(low, high), torch.distributions.Distribution)  #= True
""",
    "what distributions hold": """
from torch.distributions import AffineTransform, Categorical, ExpTransform, HalfCauchy, Independent, Normal
from torch.distributions import TransformedDistribution, Transform
loc, scale = torch.zeros(3), torch.ones(3)
p = Normal(loc, 1.0)
a = p.loc  #= cpu
b = p.scale  #= cpu
c = Independent(Normal(loc.to(device), scale.to(device)), 1).base_dist.scale  #= gpu
d = TransformedDistribution(p, [ExpTransform()]).sample()  #= cpu
e = Categorical(logits=loc.to(device)).probs  #= gpu
f = HalfCauchy(scale)
f.base_dist.loc = f.base_dist.loc.to(device)
f.base_dist.scale = f.base_dist.scale.to(device)
g = f.scale  #= gpu
h = f.sample()  #= gpu
class Shift(Transform):
    domain = codomain = torch.distributions.constraints.real
    def __init__(self, by):
        super().__init__()
        self.by = by
    def _call(self, x):
        return x.to(device) + self.by
    def log_abs_det_jacobian(self, x, y):
        return torch.zeros_like(x)
i = TransformedDistribution(p, Shift(scale.to(device))).sample()  #= gpu ?
q = Normal(loc, scale)
q.loc, q.scale = q.loc.to(device), q.scale.to(device)
j = q.sample((2,)) + scale.to(device)  #= gpu
k = TransformedDistribution(p, [AffineTransform(0.0, 2.0)]).sample((2,))  #= cpu
""",
    "distributions of parameters": """
from torch.distributions import AffineTransform, Categorical, Dirichlet, Gamma, HalfNormal, Normal
from torch.distributions import TransformedDistribution
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2))
        self.normal = Normal(self.mu, self.sigma)
        self.gamma = Gamma(self.sigma, self.sigma)
        self.dirichlet = Dirichlet(self.sigma)
        self.categorical = Categorical(self.sigma)
        self.multi = torch.distributions.MultivariateNormal(self.mu, torch.eye(2))
        self.half = HalfNormal(self.sigma)
        self.shift = AffineTransform(self.mu, self.sigma)
    def now(self):
        return Normal(self.mu, self.sigma)
net = Net().to(device)
a = net.normal.loc  #= gpu
b = net.gamma.sample()  #= gpu
c = net.dirichlet.concentration  #= gpu
d = net.now().rsample()  #= gpu
e = TransformedDistribution(net.now(), [net.shift]).rsample()  #= gpu
f = net.categorical.sample()  #= cpu
g = net.half.base_dist.scale  #= gpu
m = net.multi.sample()  #= cpu
class Own(nn.Module, Normal):
    def __init__(self):
        nn.Module.__init__(self)
        Normal.__init__(self, nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2)), validate_args=False)
own = Own().to(device)
h = own.loc  #= gpu
i = own.rsample()  #= gpu
""",
    "a distribution of the program's own": """
from numbers import Number
from torch.distributions import Distribution
from torch.distributions.utils import broadcast_all
class Uniform(Distribution):
    arg_constraints = {}
    def __init__(self, low, high):
        self.low, self.high = broadcast_all(low, high)
        scalar = isinstance(low, Number) and isinstance(high, Number)
        super().__init__(torch.Size() if scalar else self.low.size(), validate_args=False)
    def rsample(self, sample_shape=torch.Size()):
        noise = torch.rand(self._extended_shape(sample_shape), device=self.low.device)
        return self.low + noise * (self.high - self.low)
x = torch.zeros(4, 2, device=device)
a = Uniform(x, 1.0).high  #= gpu
b = Uniform(x, 1.0).sample()  #= gpu
c = Uniform(0.0, 1.0).low  #= cpu
d = Uniform(0.0, 1.0).rsample() + x  #= gpu
e = len(Uniform(0.0, x[0])._extended_shape((3,)))  #= 2
f = len(Uniform(x, 1.0).batch_shape)  #= 2
""",
    "a distribution of the program's own that samples on the CPU": """
from torch.distributions import Distribution
from torch.distributions.utils import broadcast_all
class Uniform(Distribution):
    def __init__(self, low, high):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=False)
    def rsample(self, sample_shape=torch.Size()):
        noise = torch.rand(self._extended_shape(sample_shape))  # DEV303: gpu1 gpu2
        return self.low + noise * (self.high - self.low)
Uniform(torch.zeros(4, 2, device=device), 1.0).sample()
""",
    "tensors that are broadcast": """
x, y = torch.zeros(3, device=device), torch.zeros(2, 3)
a, b = torch.broadcast_tensors(x, y)
c = a  #= gpu
d = b  #= cpu
e = torch.atleast_2d(y)  #= cpu
f = torch.atleast_2d(x, y)[1]  #= cpu
g = torch.block_diag(x, x)  #= gpu
""",
    "objects that are saved": """
import io
class Factors:
    def __init__(self, of):
        self.sums = [torch.zeros(2, 2, device=of.device)]
        self.count, self.where, self.other = 0, of.device, None
class Own(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["factors"] = Factors(p)
    def step(self):
        return [self.state[p]["factors"].sums[0] for group in self.param_groups for p in group["params"]]
net = nn.Linear(2, 2).to(device)
own = Own(net.parameters())
a = own.step()[0]  #= gpu
file = io.BytesIO()
torch.save({"own": own.state_dict(), "factors": [Factors(net.weight)]}, file)
file.seek(0)
loaded = torch.load(file, map_location="cpu", weights_only=False)
b = loaded["factors"][0].sums[0]  #= cpu
c = torch.zeros(2, device=loaded["factors"][0].where)  #= gpu
own.load_state_dict(loaded["own"])
d = own.step()[0]  #= cpu
file.seek(0)
own.load_state_dict(torch.load(file, map_location=device, weights_only=False)["own"])
e = own.step()[0]  #= gpu
""",
    "half of a distribution moved": """
p = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
p.loc = p.loc.to(device)
p.rsample()  # DEV301: gpu1 gpu2
""",
    "a distribution of transforms elsewhere": """
from torch.distributions import AffineTransform, Normal, TransformedDistribution
p = Normal(torch.zeros(2), torch.ones(2))
q = TransformedDistribution(p, [AffineTransform(torch.zeros(2, device=device), 1.0)])
q.rsample()  # DEV301: gpu1 gpu2
""",
    "a distribution left behind": """
d = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
d.log_prob(torch.zeros(2, device=device))  # DEV301: gpu1 gpu2
""",
    "numpy and back": """
x = torch.zeros(2, device=device)
array = x.cpu().numpy()  #= ndarray
a = torch.from_numpy(array)  #= cpu
b = torch.from_numpy(array).to(device)  #= gpu
c = torch.tensor(array, device=device)  #= gpu
d = torch.as_tensor(np.zeros(2)) * 2  #= cpu
e = np.asarray(a)  #= ndarray
f = x.tolist()
""",
    "numbers in another order": """
losses = np.zeros((5, 1))
kept = np.zeros(5)
for i in np.random.permutation(len(losses)):
    loss = torch.zeros(2, device=device).mean()
    kept[i] = loss
    losses[i] = loss.item()
rows = np.random.default_rng().permutation(np.zeros((3, 2)))  #= ndarray
rows[0] = torch.zeros(2)
""",
    "a row of an array in another order": """
losses = np.zeros((5, 1))
for i in np.random.permutation(len(losses)):
    losses[i] = torch.zeros(2, device=device).mean()  # DEV402: gpu1 gpu2
""",
    "numpy of the accelerator": """
x = torch.zeros(2, device=device)
x.numpy()  # DEV401: gpu1 gpu2
""",
    "numpy functions of the accelerator": """
x = torch.zeros(2, device=device)
np.sqrt(x)  # DEV402: gpu1 gpu2
""",
    "arrays don't move": """
np.zeros(2).to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a copy that is read too early": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
host.numpy().sum()
""",
    "a copy that an operator reads": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
(torch.zeros(1000) + host).sum()
""",
    "a copy that is copied out of": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
torch.empty(10).copy_(host[:10])
""",
    "a copy that goes on to the GPU": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)
y = torch.empty(1000, device=device)
a = y.copy_(host, non_blocking=True)  #= gpu
""",
    "a copy that a comparison reads": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
(host > 0).all()
""",
    "a copy that is printed": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
print(host)
""",
    "a copy that is formatted": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
text = f"mean {host}"
""",
    "copies into buffers by name": """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to(device)
host = {name: torch.empty(p.shape, pin_memory=device.type == "cuda") for name, p in net.named_parameters()}
for name, p in net.named_parameters():
    host[name].copy_(p.detach(), non_blocking=True)  # DEV405: gpu1 gpu2
host["1.bias"].numpy()
""",
    "copies into buffers by names that aren't known": """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to(device)
host = {str(object())[:0]: torch.empty(2, 2, pin_memory=device.type == "cuda") for _ in range(2)}
host[""].copy_(net[0].weight.detach(), non_blocking=True)  # DEV405: gpu1 gpu2
host[""].numpy()
""",
    "copies that are waited for, then read": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)
shape = host.shape
if torch.cuda.is_available():
    torch.cuda.synchronize()
print(host, f"{host}", host + 1, host > 0)
a = host * 2  #= cpu
""",
    "a copy that is waited for": """
x = torch.ones(1000, device=device)
host = x.to("cpu", non_blocking=True)
if torch.cuda.is_available():
    torch.cuda.synchronize()
a = torch.from_numpy(host.numpy())  #= cpu
""",
    "a closure that the optimizer calls": """
lin = nn.Linear(2, 1).to(device)
optimizer = torch.optim.LBFGS(lin.parameters())
out = {}
def closure():
    optimizer.zero_grad()
    out["x"] = lin(torch.ones(3, 2, device=device)).sum()
    out["x"].backward()
    return out["x"]
loss = optimizer.step(closure)  #= gpu
a = out["x"]  #= gpu
""",
    "what a closure leaves on the accelerator": """
lin = nn.Linear(2, 1)
optimizer = torch.optim.SGD(lin.parameters(), lr=0.1)
out = {}
def closure():
    out["x"] = torch.ones(2, device=device)
    return 1.0
b = optimizer.step(closure=closure)
np.sqrt(out["x"])  # DEV402: gpu1 gpu2
""",
    "a closure of an optimizer of one's own": """
class Mine(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)

out = []
lin = nn.Linear(2, 1).to(device)
def closure():
    out.append(lin(torch.ones(3, 2, device=device)).sum())
    return out[0]
loss = Mine(lin.parameters(), lr=0.1).step(closure)  #= gpu
""",
    "a loss that is scaled": """
net = nn.Linear(2, 1).to(device)
optimizer = torch.optim.Adam(net.parameters())
scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
scaled = scaler.scale(net(torch.zeros(1, 2, device=device)).sum())  #= gpu
scaled.backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update()
""",
    "scaled state that was made before the move": """
net = nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters())
scaler = torch.amp.GradScaler(enabled=False)
scaler.scale(net(torch.zeros(1, 2)).sum()).backward()
scaler.step(optimizer)
net.to(device)
optimizer.zero_grad()
scaler.scale(net(torch.zeros(1, 2, device=device)).sum()).backward()
scaler.step(optimizer)  # DEV505: gpu1 gpu2
""",
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
    "groups of an optimizer of one's own": """
from torch.optim.optimizer import Optimizer
class Scaled(Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr, scale=None))
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["mean"] = torch.zeros_like(p)
                if "seen" not in group:
                    group["seen"] = torch.zeros_like(p)
w = torch.ones(2, device=device)
v = torch.ones(2)
optimizer = Scaled([w])
a = "seen" in optimizer.param_groups[0]  #= False
optimizer.step()
b = optimizer.param_groups[0]["seen"]  #= gpu
c = "seen" in optimizer.param_groups[0]  #= True
state = optimizer.state_dict()
d = state["param_groups"][0]["seen"]  #= gpu
state["param_groups"][0]["seen"] = torch.zeros(2)
other = Scaled([{"params": [w]}, {"params": [v], "lr": 1}])
e = other.param_groups[1]["params"][0]  #= cpu
f = other.param_groups[1]["lr"]  #= 1
g = len(other.param_groups)  #= 2
again = Scaled([w])
again.load_state_dict(state)
h = again.param_groups[0]["seen"]  #= cpu
i = again.param_groups[0]["params"][0]  #= gpu
j = again.param_groups[0]["lr"]  #= 0.1
""",
    "numbers stand for parameters in what an optimizer saves": """
class Masked(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["mean"] = torch.zeros_like(p)
v, w = torch.ones(1, device=device), torch.ones(2, device=device)
optimizer = Masked([{"params": [v]}, {"params": [w]}])
optimizer.step()
saved = optimizer.state_dict()
a = list(saved["state"].keys())  #= [0,1]
b = saved["param_groups"][1]["params"]  #= [1]
c = 1 in saved["state"]  #= True
d = w in saved["state"]  #= False
e = saved["state"][1]["mean"]  #= gpu
host = {number: {"mean": part["mean"].cpu()} for number, part in saved["state"].items()}
f = host[1]["mean"]  #= cpu
again = Masked([{"params": [v]}, {"params": [w]}])
again.load_state_dict({"state": host, "param_groups": saved["param_groups"]})
g = again.state[w]["mean"]  #= gpu
""",
    "what load_state_dict of one's own puts beside": """
import io
class Masked(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "mask" not in self.state[p]:
                    self.state[p]["mask"] = torch.ones_like(p)
                p.data.mul_(self.state[p]["mask"])  # DEV301: gpu1 gpu2
    def load_state_dict(self, saved):
        masks = {number: part["mask"] for number, part in saved["state"].items()}
        super().load_state_dict({"state": {}, "param_groups": saved["param_groups"]})
        parameters = [p for group in self.param_groups for p in group["params"]]
        for number, p in enumerate(parameters):
            if number in masks:
                self.state[p]["mask"] = masks[number]
w = torch.ones(2, device=device)
optimizer = Masked([w])
optimizer.step()
file = io.BytesIO()
torch.save(optimizer.state_dict(), file)
file.seek(0)
again = Masked([w])
again.load_state_dict(torch.load(file, map_location="cpu"))
again.step()
""",
    "a group that was saved": """
import io
class Scaled(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "seen" in group:
                    group["seen"].add_(p)  # DEV301: gpu1 gpu2
                else:
                    group["seen"] = torch.zeros_like(p)
w = torch.ones(2, device=device)
optimizer = Scaled([w])
optimizer.step()
file = io.BytesIO()
torch.save({"optimizer": optimizer.state_dict()}, file)
file.seek(0)
again = Scaled([w])
again.load_state_dict(torch.load(file, map_location="cpu")["optimizer"])
again.step()
""",
    "a group that was saved, put where it belongs": """
import io
class Scaled(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    def load_state_dict(self, state):
        super().load_state_dict(state)
        for group in self.param_groups:
            if "seen" in group:
                group["seen"] = group["seen"].to(group["params"][0].device)
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if len(self.state[p]) == 0:
                    self.state[p]["mean"] = torch.zeros_like(p)
                self.state[p]["mean"].add_(p)
                if "seen" in group:
                    group["seen"].add_(p)
                else:
                    group["seen"] = torch.zeros_like(p)
w = torch.ones(2, device=device)
optimizer = Scaled([w])
optimizer.step()
file = io.BytesIO()
torch.save({"optimizer": optimizer.state_dict()}, file)
file.seek(0)
again = Scaled([w])
again.load_state_dict(torch.load(file, map_location="cpu")["optimizer"])
again.step()
a = again.param_groups[0]["seen"]  #= gpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
