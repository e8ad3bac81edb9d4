"""Files: what is saved, and what a loaded one may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check
from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import numpy as np
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a file whose name is chosen": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--path", default=None)
args = parser.parse_args([])
if args.path is None:
    args.path = "made.pt"
    torch.save({"x": torch.ones(2, device=device)}, args.path)
x = torch.load(args.path)["x"]
y = torch.zeros(2, device="cpu") + x  # DEV301: gpu1 gpu2
""",
    "files that are opened": """
import pickle
from pathlib import Path
class Buffer:
    def __init__(self, device):
        self.device = device
        self.rows = torch.ones(2, device=device)
def keep(path, buffer):
    with Path(path).open("wb") as file:
        pickle.dump(buffer, file, protocol=4)
def find(path):
    with open(path, "rb") as file:
        return pickle.load(file)
keep("buffer.pkl", Buffer(device))
found = find("buffer.pkl")
a = found.rows  #= gpu
b = torch.zeros(2, device=found.device)  #= gpu
with open("rows.pt", "wb") as file:
    torch.save(found.rows.cpu(), file)
c = torch.load("rows.pt")  #= cpu
with open("rows.pt", "rb") as file:
    d = torch.load(file, map_location=device)  #= gpu
""",
    "parts that load in a way of their own": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3))
        self.register_buffer("shift", torch.ones(3))
    def _load_from_state_dict(self, state_dict, prefix, *rest):
        if prefix + "scale" in state_dict:
            setattr(self, "scale", state_dict[prefix + "scale"])
        super()._load_from_state_dict(state_dict, prefix, *rest)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Scale()
torch.save(Net().state_dict(), "parts.pt")
net, other = Net().to(device), Net().to(device)
net.load_state_dict(torch.load("parts.pt", map_location="cpu"))
other.load_state_dict(torch.load("parts.pt", map_location=device))
a = net.part.scale  #= cpu
b = net.part.shift  #= gpu
c = other.part.scale  #= gpu
""",
    "what was loaded to the CPU stands where it was loaded": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        return x * self.scale  # DEV301: gpu1 gpu2
    def restore(self, state):
        self.scale = state["scale"]
torch.save(Scale().state_dict(), "scale.pt")
net = Scale().to(device)
net.restore(torch.load("scale.pt", map_location="cpu"))
net(torch.rand(2, 3, device=device))
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
    "bytes of what was saved in memory": """
import io, pickle
from collections import deque
def pack(content):
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()
sent = deque([pack({"x": torch.zeros(2, device=device)}), pack([torch.zeros(2)])])
a = torch.load(io.BytesIO(sent[0]), map_location="cpu")["x"]  #= cpu
b = torch.load(io.BytesIO(sent.popleft()))["x"]  #= gpu
c = torch.load(io.BytesIO(sent.popleft()))  #= [cpu]
file = io.BytesIO(pickle.dumps({"n": 3}))
d = pickle.load(file)["n"]  #= 3
file.seek(0)
e = pickle.loads(file.read())["n"]  #= 3
f = len(io.BytesIO(b"abc").getvalue())
torch.stack([b, c[0]])  # DEV301: gpu1 gpu2
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
    "indices that processes share": """
# runs: no
# silent
seeds = torch.load("seeds.pt")
seeds.share_memory_()
print(seeds.size(0))
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
    "a file whose places are named one by one": """
torch.save({"a": torch.zeros(2), "b": [torch.zeros(2, device=device)]}, "places.pt")
brought = torch.load("places.pt", map_location={"cuda:0": "cpu"})
a = brought["b"][0]  #= cpu
b = torch.load("places.pt", map_location={"cuda:1": "cpu"})["b"][0]  #= gpu
both = torch.load("places.pt", map_location={"cpu": str(torch.zeros(1, device=device).device), "cuda:0": "cpu"})
c = both["a"]  #= gpu
d = both["b"][0]  #= cpu
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)


LOADING = """\
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(2, 2)
model.load_state_dict(torch.load("weights.pth"))
model.to(device)
"""


def test_what_a_project_loads_that_saves_nothing_others_have_published(tmp_path: Path) -> None:
    loading = tmp_path / "demo.py"
    loading.write_text(LOADING)

    def severities() -> list[str]:
        return [f.severity for f in check([loading], Config(root=tmp_path)) if f.code == "DEV106"]

    assert severities() == ["error"]
    for number in range(8):
        (tmp_path / f"part{number}.py").write_text("import torch\n")
    assert severities() == ["error"]
    (tmp_path / "README.md").write_text("# Weights are on our page\n")
    assert severities() == ["advice"]
    (tmp_path / "part3.py").write_text("import torch\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'weights.pth')\n")
    assert severities() == ["error"]


def test_a_project_that_was_copied_with_its_license_saves_for_itself(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Trains, and speaks\n")
    (tmp_path / "train.py").write_text("import torch\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'weights.pth')\n")
    copied = tmp_path / "vendored" / "speech"
    (copied / "model").mkdir(parents=True)
    loading = copied / "model" / "demo.py"
    loading.write_text(LOADING)
    for number in range(8):
        (copied / f"part{number}.py").write_text("import torch\n")

    def severities() -> list[str]:
        return [f.severity for f in check([loading], Config(root=tmp_path)) if f.code == "DEV106"]

    assert severities() == ["error"]
    (copied / "LICENSE").write_text("Do with it what you like.\n")
    assert severities() == ["advice"]
    (copied / "part3.py").write_text("import torch\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'weights.pth')\n")
    assert severities() == ["error"]


def test_what_else_a_hub_would_be_asked_for_is_published(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'last.pth')\n")
    loading = tmp_path / "demo.py"
    loading.write_text(HUB)
    found = check([loading], Config(root=tmp_path))
    assert [(f.code, f.location.start.row, f.severity) for f in found] == [
        ("DEV106", 10, "advice"),
        ("DEV106", 17, "error"),
    ]


HUB = """\
import os
import torch
from torch.hub import load_state_dict_from_url as fetch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(2, 2).to(device)

def start(name):
    if os.path.isfile(name):
        state = torch.load(name)
    else:
        state = fetch("https://example.org/" + name)
    model.load_state_dict(state)

start("backbone.pth")
if os.path.isfile("last.pth"):
    model.load_state_dict(torch.load("last.pth"))
"""
