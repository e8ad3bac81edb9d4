"""Optimizers, schedulers and their state; closures and scaled losses."""

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
