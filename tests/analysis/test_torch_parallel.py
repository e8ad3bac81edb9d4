"""Two devices: DataParallel, DistributedDataParallel, model parallel, ranks; and metrics."""

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
    "numbers of the replicas": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        out = self.body(x)
        return out.sum(), [out.mean(), out], {"kept": out.mean().unsqueeze(0)}
net = nn.DataParallel(Net()).to(device)
one, (other, rows), named = net(torch.zeros(4, 2, device=device))
a = one.dim() == (1 if torch.cuda.device_count() > 1 else 0)  #= True
b = other.dim() == one.dim()  #= True
c = rows.dim()  #= 2
d = named["kept"].dim()  #= 1
e = one.mean()  #= gpu
e.backward(retain_graph=True)
f = one[0].item() if one.dim() else one.item()
try:
    one.backward()
    g = True
except RuntimeError:
    g = torch.cuda.device_count() > 1  #= True
""",
    "numbers of the replicas are taken for one": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        return self.body(x).sum()
net = nn.DataParallel(Net()).to(device)
loss = net(torch.zeros(4, 2, device=device))  # DEV308: gpu2
total = (loss * 2).item()
loss.backward()
""",
    "a number that is asked of the replicas": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        return self.body(x).sum()
net = nn.DataParallel(Net()).to(device)
loss = net(torch.zeros(4, 2, device=device))  # DEV308: gpu2
print(loss.item())
""",
    "pools of threads": """
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool
net = nn.Linear(2, 2).to(device)
def work(count, scale=1.0):
    return net(torch.zeros(count, 2, device=device)) * scale
with ThreadPoolExecutor(1) as pool:
    a = pool.submit(work, 1, scale=2.0).result()  #= gpu
    b = list(pool.map(work, range(1, 3)))[0]  #= gpu
    waiting = {pool.submit(work, i): i for i in range(1, 3)}
    c = [future.result() for future in as_completed(waiting)][0]  #= gpu
with ThreadPool(1) as threads:
    d = threads.map(work, [1, 2])[0]  #= gpu
    e = threads.apply(work, (1,))  #= gpu
    f = threads.apply_async(work, (1,)).get()  #= gpu
    g = threads.starmap(work, [(1, 2.0)])[0]  #= gpu
""",
    "the devices of a thread": """
from concurrent.futures import ThreadPoolExecutor
if torch.cuda.device_count() > 1:
    torch.cuda.set_device(1)
torch.set_default_device(device)
def make():
    return torch.zeros(2)
def place(x):
    return x.cuda() if torch.cuda.is_available() else x
with ThreadPoolExecutor(1) as pool:
    a = pool.submit(make).result()  #= cpu
    b = pool.submit(place, torch.zeros(2, device="cpu")).result()  #= gpu
c = make()  #= last
""",
    "what a thread of a pool meets": """
from concurrent.futures import ThreadPoolExecutor
net = nn.Linear(2, 2).to(device)
with ThreadPoolExecutor(1) as pool:
    future = pool.submit(net, torch.zeros(1, 2))  # DEV302: gpu1 gpu2
    future.result()
""",
    "two halves of a model": """
class Net(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.second = second
        self.a = nn.Linear(2, 2).to(first)
        self.b = nn.Linear(2, 2).to(second)
    def forward(self, x):
        return self.b(self.a(x).to(self.second))
n = torch.cuda.device_count()
first = torch.device("cuda:0" if n else "cpu")
last = torch.device(f"cuda:{n - 1}" if n else "cpu")
net = Net(first, last)
a = net.a  #= gpu
b = net.b  #= last
out = net(torch.zeros(1, 2, device=first))  #= last
""",
    "two halves that don't meet": """
n = torch.cuda.device_count()
first = torch.device("cuda:0" if n else "cpu")
last = torch.device(f"cuda:{n - 1}" if n else "cpu")
a = nn.Linear(2, 2).to(first)
b = nn.Linear(2, 2).to(last)
b(a(torch.zeros(1, 2, device=first)))  # DEV302: gpu2
""",
    "a second device by its number": """
x = torch.zeros(2, device="cuda:1")  # DEV101: cpu gpu1
""",
    "DataParallel": """
net = nn.Linear(2, 2)
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
net.to(device)
out = net(torch.zeros(4, 2, device=device))  #= gpu
inner = net.module if isinstance(net, nn.DataParallel) else net
w = inner.weight  #= gpu
""",
    "DataParallel of a module elsewhere": """
net = nn.DataParallel(nn.Linear(2, 2))
net(torch.zeros(4, 2, device=device))  # DEV308: gpu2
""",
    "DataParallel of a GPU that is not there": """
net = nn.Linear(2, 2)
x = torch.zeros(2, 2)
if torch.cuda.is_available():
    net = nn.DataParallel(net.cuda(), [0, 1])  # DEV101: gpu1
print(net(x), net.module if hasattr(net, "module") else net.weight, net(x.clone()) + x.to(device))
""",
    "DataParallel of what is no GPU": """
net = nn.Linear(2, 2)
x = torch.zeros(2, 2)
if torch.cuda.is_available():
    net = nn.DataParallel(net.cuda(), "[0]")  # DEV111: gpu1 gpu2
print(net(x), net.weight)
""",
    "a DataParallel of the program's own": """
class Wrapped(nn.DataParallel):
    def replicate(self, module, device_ids):
        return super().replicate(module, device_ids)
class Noted(nn.DataParallel):
    def __init__(self, module, **options):
        super().__init__(module, **options)
        self.calls = 0
    def forward(self, *inputs):
        self.calls += 1
        return super().forward(*inputs)
net = nn.Linear(2, 2).to(device)
out = Wrapped(net)(torch.zeros(4, 2))  #= gpu
ids = Wrapped(net).device_ids
other = Noted(Wrapped(net).module, device_ids=ids)(torch.zeros(4, 2))  #= gpu
w = Wrapped(net).module.weight  #= gpu
""",
    "a DataParallel of the program's own of a module elsewhere": """
class Wrapped(nn.DataParallel):
    pass
Wrapped(nn.Linear(2, 2))(torch.zeros(4, 2, device=device))  # DEV308: gpu2
""",
    "DataParallel of the last GPU": """
net = nn.Linear(2, 2)
if torch.cuda.is_available():
    last = torch.cuda.device_count() - 1
    net = nn.DataParallel(net, device_ids=[last]).cuda(last)
out = net(torch.zeros(4, 2))  #= last
""",
    "DataParallel of the last GPU moved to the first": """
net = nn.Linear(2, 2)
if torch.cuda.is_available():
    net = nn.DataParallel(net, device_ids=[torch.cuda.device_count() - 1]).cuda()
net(torch.zeros(4, 2))  # DEV308: gpu2
""",
    "data_parallel as a function runs on each replica": """
from torch.nn.parallel.data_parallel import data_parallel
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.scale = torch.ones(2, device=device)  # DEV501: gpu2
    def forward(self, x, y=None):
        return self.layer(x) * self.scale
net = Net().to(device)
count = torch.cuda.device_count()
def run(*xs):
    return data_parallel(net, xs, list(range(count))) if count else net(*xs)
run(torch.ones(4, 3), torch.ones(4, 2))
""",
    "data_parallel as a function moves what is passed": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
    def forward(self, x, y=0):
        return self.layer(x) + y
net = Net().to(device)
count = torch.cuda.device_count()
x, y = torch.ones(4, 3), torch.ones(4, 2)
run = nn.parallel.data_parallel if count else lambda net, x, *args, **options: net(x)
a = run(net, x)  #= gpu
b = run(net, (x, y), range(count)) if count else a  #= gpu
c = run(net, x, [0], module_kwargs={"y": y})  #= gpu
d = run(net, x, output_device=count - 1)  #= last
""",
    "data_parallel as a function moves no module": """
net = nn.Linear(3, 2)
run = nn.parallel.data_parallel if torch.cuda.is_available() else lambda net, x: net(x)
run(net, torch.ones(4, 3))  # DEV308: gpu1 gpu2
""",
    "what is set on a parameter is not on its copies": """
class Fast(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.weight.fast = None
        setattr(self.bias, "fast", None)
    def forward(self, x):
        if self.weight.fast is not None and self.bias.fast is not None:  # DEV308: gpu2
            return nn.functional.linear(x, self.weight.fast, self.bias.fast)
        return super().forward(x)
net = nn.Sequential(Fast(3, 4), nn.ReLU()).to(device)
net(torch.ones(4, 3, device=device))
net = nn.DataParallel(net)
net(torch.ones(4, 3))
""",
    "what is called on a copy": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.w.scaled = lambda x: x * 2
    def forward(self, x):
        return self.w.scaled(x) + self.w  # DEV308: gpu2
net = nn.DataParallel(Net().to(device))
net(torch.ones(4, 3))
""",
    "what is set on the copies, asked for with a default, or not missed": """
class Fast(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.weight.fast = None
        self.weight.gain = 2.0
        self.weight.numel = self.weight.numel
        self.ready = False
    def forward(self, x):
        gain = getattr(self.weight, "gain", 1.0)
        if not hasattr(self.bias, "fast"):
            self.bias.fast = self.bias * 2
        if not self.ready:
            self.weight.later = 1
            self.ready = True
        try:
            fast = self.weight.fast
        except AttributeError:
            fast = None
        self.weight.fast = self.weight * 2
        gain = gain * self.weight.later / self.weight.numel()
        return nn.functional.linear(x, self.weight.fast, self.bias.fast) * gain
net = Fast(3, 4).to(device)
net.ready = False
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
for _ in range(2):
    y = net(torch.ones(4, 3, device=device))  #= gpu
""",
    "what is set on a parameter is there where nothing is copied": """
class Fast(nn.Linear):
    def forward(self, x):
        return super().forward(x) * self.weight.gain
net = Fast(3, 4).to(device)
net.weight.gain = 2.0
net = nn.DataParallel(net, device_ids=[0] if torch.cuda.is_available() else None)
y = net(torch.ones(4, 3))  #= gpu
""",
    "the backward of a function runs on each replica": """
class Sharp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return torch.sign(x)
    @staticmethod
    def backward(ctx, g):
        x, k = ctx.saved_tensors
        return k * (1 - torch.tanh(x) ** 2) * g, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.k = torch.ones(1)
    def forward(self, x):
        return Sharp().apply(self.layer(x), self.k)
net = Net().to(device)
net.k = net.k.to(device)  # DEV501: gpu2
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
net(torch.randn(4, 3, device=device)).sum().backward()
""",
    "the backward of a function keeps to its replica": """
class Sharp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return torch.sign(x)
    @staticmethod
    def backward(ctx, g):
        x, k = ctx.saved_tensors
        here = torch.ones(1, device="cuda") if g.is_cuda else torch.ones(1)
        return k * x * g * here, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.k = torch.ones(1)
    def forward(self, x):
        return Sharp.apply(self.layer(x), self.k.to(x.device))
net = nn.DataParallel(Net().to(device))
net(torch.randn(4, 3, device=device)).sum().backward()
a = net.module.k  #= cpu
""",
    "a metric": """
# runs: no
import torchmetrics
metric = torchmetrics.Accuracy(task="multiclass", num_classes=3).to(device)
a = metric(torch.zeros(2, 3, device=device), torch.zeros(2, device=device))  #= gpu
""",
    "a metric left behind": """
# runs: no
import torchmetrics
metric = torchmetrics.MeanSquaredError()  # DEV309: gpu1 gpu2
metric(torch.zeros(2, device=device), torch.zeros(2, device=device))
""",
    "scattered, if it is there": """
import random
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 5)
    def forward(self, ids, task=None):
        first, found = ids.new(len(ids), 1).fill_(0), ids
        for _ in range(2):
            found = self.table(torch.cat((found, first), 1)).argmax(-1)
        return found
net = Net().to(device)
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
given = [torch.zeros(4, 2).long() if random.random() < 2 else None, None]
ids, task = [t.to(device) if t is not None else None for t in given]
a = net(ids, task=task)  #= gpu
""",
    "no group without a GPU, unless the program started one": """
import torch.distributed as dist
def started():
    return dist.is_available() and dist.is_initialized()
def total(x):
    if not started():
        return x
    x = torch.tensor(x, device="cuda")
    dist.all_reduce(x)
    return x.item()
a = total(3)
b = torch.ones(1, device=device)  #= gpu
""",
    "a group that was started": """
# runs: no
import torch.distributed as dist
dist.init_process_group("gloo")
if dist.is_initialized():
    x = torch.ones(1, device="cuda")  # DEV102: cpu
print(device)
""",
    "a group that was ended": """
# runs: no
import torch.distributed as dist
dist.init_process_group("gloo")
dist.destroy_process_group()
x = torch.ones(1, device="cuda" if dist.is_initialized() else device)
a = x + torch.ones(1).to(device)
# silent
""",
    "ranks": """
# runs: no
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
net = DDP(nn.Linear(2, 2).to(f'cuda:{rank}'), device_ids=[rank])
# silent
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
