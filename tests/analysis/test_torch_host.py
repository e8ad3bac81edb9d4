"""numpy and copies to the host, and when they may be read."""

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
    "places that are drawn": """
kept = np.zeros(8)
rng = np.random.default_rng(0)
x = torch.ones(4, device=device)
kept[rng.integers(8)] = x[0]
kept[rng.integers(0, 8)] = x.max()
kept[rng.choice(8)] = x.sum()
kept[np.random.choice(8)] = x.mean()
kept[np.random.choice([1, 2])] = x.min()
mode = np.random.choice(["train", "test"])
a = x.cpu() if mode == "train" else x.cpu()  #= cpu
b = isinstance(rng.choice(8, size=2), np.ndarray)  #= True
kept[rng.integers(0, 8, 2)] = x[:2].cpu()
""",
    "several places that are drawn": """
kept = np.zeros(8)
kept[np.random.default_rng(0).choice(8, 2)] = torch.ones(2, device=device)  # DEV402: gpu1 gpu2
""",
    "places that a function draws": """
kept = np.zeros(8)
kept[np.random.choice(len(kept), 2, p=np.ones(8) / 8)] = torch.ones(2, device=device)  # DEV402: gpu1 gpu2
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
    "items of arrays may be numbers": """
import sys
t = torch.ones(3, device=device)
camera = np.array([float(len(sys.argv)), np.tan(len(sys.argv)), 1.0])
focal, center, _ = camera
a = center / focal * t  #= gpu ?
rows = np.eye(3)
b = rows[0][1] * t  #= gpu ?
c = np.mean(rows) * t  #= gpu ?
for number in camera:
    d = number * t  #= gpu ?
""",
    "arrays of numbers": """
from torch.utils.data import default_collate
numbers = np.random.randint(0, 3, size=(8,))
samples = [{name: np.array(value) for name, value in {"label": numbers[i], "size": 2}.items()} for i in range(2)]
a = default_collate(samples)["label"]  #= cpu
b = torch.as_tensor(np.asarray(numbers[0]), device=device)  #= gpu
""",
    "rows of arrays are none": """
t = torch.ones(3, device=device)
first, second, third = np.eye(3)
t * first  # DEV401: gpu1 gpu2
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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
