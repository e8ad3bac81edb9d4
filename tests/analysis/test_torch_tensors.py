"""Tensors: where results are, what indexing gives, which operations demand one device."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.domain.values import MANY_RANK, SOME_RANK, Tensor
from devlint.analysis.events import MixedDevices, ToHost
from tests.analysis.analysed import analysed, told
from tests.analysis.annotated import assert_observed, assert_predicted
from tests.analysis.programs import Run
from tests.rules.machines import Machines

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "creation": """
a = torch.zeros(2)  #= cpu
b = torch.full((2,), 1.0, device=device)  #= gpu
c = torch.tensor([1.0]).to(device)  #= gpu
d = torch.arange(3, device=device)  #= gpu
e = torch.eye(2).to(device=device, dtype=torch.float64)  #= gpu
f = torch.empty_like(b)  #= gpu
g = b.new_tensor([1.0])  #= gpu
h = torch.full_like(b, 2)  #= gpu
i = torch.randint(0, 3, (2,), device=device)  #= gpu
j = torch.as_tensor([1, 2], device=device)  #= gpu
k = torch.linspace(0, 1, 3)  #= cpu
l = b.cpu()  #= cpu
m = torch.as_tensor(b)  #= gpu
n = b.to(torch.float16)  #= gpu
o = b.new_zeros(2, device="cpu")  #= cpu
""",
    "unpacked sizes": """
import json
shape = torch.Size([2, 3])
a = torch.randn(4, *shape)  #= cpu
b = list(shape)  #= [2,3]
sizes = json.loads("[2, 3]")
c = torch.randn(*sizes)  #= cpu
d = torch.zeros(4, *sizes, device=device)  #= gpu
options = json.loads('{"dtype": null}')
options["device"] = device
e = torch.ones(*sizes, **json.loads("{}"))  #= cpu ?
f = torch.ones(*sizes, **options)  #= gpu
g = d.new_zeros(*sizes)  #= gpu
torch.stack([d[0], c])  # DEV301: gpu1 gpu2
""",
    "unpacked sizes of what the caller gives": """
class Noise(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = torch.Size(shape)
        self.register_buffer("scale", torch.ones(shape))
    def sample(self, n):
        return torch.randn(n, *self.shape) * self.scale  # DEV303: gpu1 gpu2
    def right(self, n, *sizes, **options):
        return torch.randn(n, *sizes, **options) * self.scale
noise = Noise((3,)).to(device)
a = noise.right(2, *noise.shape, device=noise.scale.device)  #= gpu
noise.sample(2)
""",
    "a gradient of what was moved": """
x = torch.rand(3, requires_grad=True)
y = x.to(device)
(y * 2).sum().backward()
b = y.grad is None  #= False True True
c = x.grad  #= cpu
z = torch.rand(3).to(device).requires_grad_()
z.sum().backward()
d = z.grad.abs()  #= gpu
kept = torch.rand(3, requires_grad=True).to(device)
kept.retain_grad()
kept.sum().backward()
e = kept.grad * 2  #= gpu
given = torch.rand(3, requires_grad=True).to(device)
given.grad = torch.ones_like(given)
f = given.grad[0]  #= gpu
w = torch.rand(3, requires_grad=True).to(device)  # DEV203: gpu1 gpu2
w.sum().backward()
torch.abs(w.grad)
""",
    "the gradient of a result is missing everywhere": """
# runs: no
x = torch.rand(3, requires_grad=True)
# silent
y = (x * 2).to(device)
y.sum().backward()
z = x.to(device, torch.float64)
z.sum().backward()
try:
    print(y.grad.abs(), z.grad.abs())
except AttributeError:
    pass
print(y.grad[0], z.grad[0])
""",
    "results": """
x = torch.rand(2, 3, device=device)
a = x + 1  #= gpu
b = (x @ x.t()).sum(1).unsqueeze(0)  #= gpu
c = torch.cat([x, x], dim=0)  #= gpu
d = torch.stack((x, x)).mean()  #= gpu
values, indices = x.max(dim=1)
e = values  #= gpu
f = indices  #= gpu
g = torch.topk(x, 2).values  #= gpu
h = x.argmax(1) == torch.zeros(2, device=device)  #= gpu
i = torch.einsum("ij,ij->i", x, x)  #= gpu
j = -x.clone().detach().abs_()  #= gpu
k = x.split(1)[0]  #= gpu
l = x.chunk(2, dim=0)[0]  #= gpu
m = nn.functional.softmax(x, dim=-1)  #= gpu
n = torch.nn.functional.one_hot(f, 3)  #= gpu
o = x.cpu() + torch.zeros(2, 3)  #= cpu
p = x.size(0)  #= 2
q = x.T.contiguous().view(-1).float().requires_grad_()  #= gpu
r = torch.linalg.norm(x)  #= gpu
s = x.sum().item() * torch.ones(1)  #= cpu
t = 2 ** x  #= gpu
""",
    "rows and indices": """
x = torch.rand(4, 3, device=device)
i = torch.tensor([0, 1])
a = x[0]  #= gpu
b = x[:, 1:]  #= gpu
c = x[i]  #= gpu
d = x[x > 0.5]  #= gpu
e = x[None, ..., 0]  #= gpu
f = x[i, i]  #= gpu
x[0] = 1.0
x[i] = torch.tensor(2.0)
g = x  #= gpu
h = torch.zeros(4)[torch.tensor([0, 1])]  #= cpu
first, second, *rest = x
j = second  #= gpu
""",
    "an element of no dimension meets": """
x = torch.rand(3, device=device)
one = x[0]
out = one.cpu() * x  #= gpu
total = torch.tensor(0.0)
total = total + x.sum()  #= gpu
""",
    "an accelerator's element doesn't move the others": """
x = torch.rand(3, device=device)
y = torch.rand(3)
x[0] + y  # DEV301: gpu1 gpu2
""",
    "a row is no number": """
x = torch.rand(3, 2)
x[0] + torch.zeros(2, device=device)  # DEV301: gpu1 gpu2
""",
    "lists of tensors": """
parts = [torch.zeros(1), torch.zeros(1, device=device)]
torch.cat(parts)  # DEV301: gpu1 gpu2
""",
    "an index on the accelerator": """
table = torch.rand(4)
i = torch.tensor([1], device=device)
table[i]  # DEV304: gpu1 gpu2
""",
    "an element of the accelerator's, wherever it comes from, is read as a number": """
import numpy as np
table = torch.rand(9)
steps = torch.tensor(np.array([3, 2, 1, 0]).tolist()).to(device)
total = torch.zeros((), device=device)
for i, t in enumerate(steps):
    following = steps[i + 1] if i + 1 < len(steps) else t
    total = total + table[following] + table[following.long() + 1].to(device)
a = total  #= gpu
""",
    "the order of an array is turned": """
import numpy as np
a = table = torch.rand(9)  #= cpu
steps = torch.from_numpy(np.arange(4)[::-1].copy()).to(device)
b = steps[1]  #= gpu
table[steps[1]]
table[steps]  # DEV304: gpu1 gpu2
""",
    "a part of an array keeps the dimensions that it slices": """
import numpy as np
grid = np.zeros((2, 3))
a = grid[0][1:]  #= ndarray
b = torch.from_numpy(grid[:, 0]).ndim  #= 1
c = torch.from_numpy(grid[None, ..., 1:]).ndim  #= 3
d = torch.from_numpy(grid[1]).ndim  #= 1
""",
    "shapes that are written out": """
x = torch.zeros(4)
a = x.reshape(4, 1).ndim  #= 2
b = torch.reshape(x, (2, 2, 1)).ndim  #= 3
c = x.repeat(2, 1).ndim  #= 2
d = torch.zeros(1).reshape(()).ndim  #= 0
e = x.reshape(x.shape[0], *((1,) * 2)).ndim  #= 3
y = torch.ones(4, 2, device=device)
torch.zeros(1).reshape(()) * y
f = x.reshape(1, 4).expand_as(torch.zeros(2, 4)).ndim  #= 2
x.reshape(4, 1) * y  # DEV301: gpu1 gpu2
""",
    "tuples with names are indexed as others": """
x = torch.rand(4, 3, device=device)
a = x.max(1)[1]  #= gpu
b = torch.max(x, dim=1, keepdim=True)[0]  #= gpu
c = x.topk(2)[-1]  #= gpu
d = x.sort(1)[:1]  #= [cpu] [cuda:0] [cuda:0]
e = len(x.min(1))  #= 2 ?
x.max(1)[1].data.numpy()  # DEV401: gpu1 gpu2
""",
    "arrays are compared as tensors of the CPU": """
import numpy as np
labels = torch.tensor([0, 1, 0], device=device)
scores = torch.rand(3, 2, device=device).cpu().numpy()
a = labels == np.argmax(scores)  #= gpu
b = labels == np.argmax(scores, axis=1)[0]  #= gpu
c = labels.cpu() == np.argmax(scores, axis=1)  #= cpu
labels == np.argmax(scores, axis=1).flatten()  # DEV301: gpu1 gpu2
""",
    "arrays keep their dimensions": """
import numpy as np
scores, labels = torch.rand(4, 1, device=device), torch.ones(4, device=device)
found = np.round(scores.cpu().numpy()).reshape(-1)
above = (scores.sum(1).cpu().numpy() > 0.5).astype(int)
a = labels == found[0]  #= gpu
b = labels == above.max()  #= gpu
found == labels  # DEV301: gpu1 gpu2
""",
    "answers of an array keep its dimensions": """
import numpy as np
scores, labels = torch.rand(4, 1, device=device), torch.ones(4, device=device)
above = (scores.sum(1).cpu().numpy() > 0.5).astype(int)
labels == above  # DEV301: gpu1 gpu2
""",
    "arrays on the left are compared, too": """
import numpy as np
def accuracy(found, labels):
    return (found == labels).sum().item() / len(labels)  # DEV301: gpu1 gpu2
accuracy(np.array([0, 1]), torch.tensor([0, 1], device=device))
""",
    "operators take numbers of numpy's, and no arrays": """
import numpy as np
x = torch.rand(2, device=device)
a = x * np.float32(2.0) + np.sqrt(3.0)  #= gpu
b = x + np.random.normal(0, 0.1)  #= gpu
c = x.cpu() * np.array([1.0, 2.0])  #= cpu
x + np.random.normal(0, 0.1, size=2)  # DEV401: gpu1 gpu2
""",
    "a part of an array is filled": """
import numpy as np
grid = np.zeros((2, 3))
rows = torch.zeros(2, 3, device=device)
grid[0] = rows[0].cpu()
grid[1] = rows[1]  # DEV402: gpu1 gpu2
""",
    "a column of an array is filled from a list": """
import numpy as np
grid = np.zeros((2, 3))
values = [torch.zeros((), device=device), torch.ones((), device=device)]
grid[:, 0] = values  # DEV402: gpu1 gpu2
""",
    "an element of an array asks for the number, and so does an index": """
import numpy as np
grid, line, names = np.zeros((2, 3)), np.zeros(2), np.array(["a", "b"])
rows = torch.zeros(2, 3, device=device)
for i, row in enumerate(rows):
    grid[i, 0] = row.sum()
    grid[i][1] = row[2]
    line[i] = row.mean()
    name = names[row.argmax()]
line[np.random.choice(2)] = rows.sum()
things = np.empty(2, dtype=object)
things[1] = rows
a = grid  #= ndarray
grid[rows[:, 0] > 0]  # DEV402: gpu1 gpu2
""",
    "numpy arranges a tensor by the tensor's own method": """
import numpy as np
rows = torch.zeros(2, 3, device=device)
np.swapaxes(rows, 0, 1)
np.squeeze(rows)
a = np.reshape(np.zeros(4), (2, 2))  #= ndarray
b = np.diff(np.zeros(4))  #= ndarray
np.reshape(rows, (3, 2))  # DEV402: gpu1 gpu2
""",
    "what a program sets on a tensor": """
w = nn.Parameter(torch.zeros(3, device=device))
w.shift = torch.ones(3)
w.label = "shift"
a = w.shift  #= cpu
b = getattr(w, "shift", None)  #= cpu
c = w.data.to("cpu") + w.shift  #= cpu
d = hasattr(w, "label")  #= True
for name, value in {"mask": torch.ones(3), "spare": True}.items():
    setattr(w, name, value)
e = w.mask  #= cpu
f = w.spare  #= True
x = torch.zeros(3, device=device)
g = torch.zeros(2) if getattr(x, "is_shared_by_all", False) else torch.zeros(2, device=device)  #= gpu ?
w.data + w.shift  # DEV301: gpu1 gpu2
""",
    "a bound method on a parameter": """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))
        self.register_buffer("shifted", torch.zeros(3))
        self.weight.loader = self.load
    def load(self, weight, loaded):
        weight.data.copy_(loaded)
        self.seen = loaded.to(weight.device)
net = Scale().to(device)
for name, weight in net.named_parameters():
    load = getattr(weight, "loader", None)
    load(weight, torch.ones(3))
a = net.seen  #= gpu
b = net.weight  #= gpu
""",
    "data that is put in place under a condition is no cache": """
def offload(net, limit):
    for p in net.parameters():
        if limit > 0:
            p.data = p.data.to("cpu")
nets = [nn.Linear(2, 2).to(device) for _ in range(2)]
for net in nets:
    offload(net, 1)
a = nets[0].weight  #= cpu
nets[0].weight.data + torch.ones(2, 2, device=device)  # DEV301: gpu1 gpu2
""",
    "in place": """
x = torch.zeros(2, device=device)
y = torch.ones(2)
x.add_(y)  # DEV301: gpu1 gpu2
""",
    "what is put on the CPU again stays what it is": """
host = torch.device("cpu")
x = torch.zeros(2)
y = x.to(host)
a = y  #= cpu
b = y is x  #= True ?
w = torch.zeros(2, requires_grad=True).to(host)
c = w.is_leaf  #= True ?
y.shape, y.add_(1)
x + torch.ones(2, device=device)  # DEV301: gpu1 gpu2
""",
    "what is put on the CPU in a function is no fault of its callers": """
class Wrapper:
    def __init__(self, device="cpu"):
        self.device = torch.device(device)
        self.net = nn.Linear(3, 1).to(self.device)
    def predict(self, x):
        return self.net(x.to(self.device))  # DEV302: gpu1 gpu2
    def train(self):
        self.net.to(device)
wrapper = Wrapper()
wrapper.train()
x = torch.rand(3)
wrapper.predict(x)
""",
    "legacy types are of one device": """
i = torch.LongTensor([1, 2])
j = torch.zeros(2, dtype=torch.float).to(device)
k = torch.zeros(2).to(device)
a = isinstance(i, torch.LongTensor)  #= True
b = isinstance(i, torch.FloatTensor)  #= False
c = isinstance(j, torch.FloatTensor)  #= True False False
d = isinstance(j, torch.cuda.FloatTensor)  #= False True True
e = isinstance(k, torch.FloatTensor)  #= True False False ?
f = isinstance(k, (torch.FloatTensor, torch.cuda.FloatTensor))  #= True ?
g = isinstance(j.long(), torch.FloatTensor)  #= False
h = isinstance(k, torch.LongTensor) or isinstance(k, torch.cuda.HalfTensor)  #= False ?
l = isinstance(k, torch.Tensor)  #= True
m = torch.zeros(2) if isinstance(j, torch.FloatTensor) else torch.zeros(2, device=device)  #= gpu
m + j
""",
    "dtypes": """
x = torch.zeros(2, 2, dtype=torch.float64)
y = x.to(device)
a = y.dtype == torch.float64  #= True
b = x.argmax().dtype == torch.int64  #= True
c = x.long().dtype == torch.long  #= True
d = (x + x.half()).dtype == torch.float16  #= False ?
e = x.max(dim=1)[1].dtype == torch.float64  #= False ?
f = x.to(device, torch.float32).dtype == torch.float64  #= False ?
g = torch.isnan(x).dtype == torch.bool  #= True
h = x.type(torch.FloatTensor).dtype == torch.float32  #= True
i = x.view(torch.int64).dtype == torch.float64  #= False ?
j = x.sum(dim=0, dtype=torch.float32).dtype == torch.float32  #= True
k = torch.abs(x).dtype == torch.float64  #= True ?
""",
    "copy_ goes across": """
x = torch.zeros(2, device=device)
x.copy_(torch.ones(2))
a = x  #= gpu
y = torch.zeros(2)
y.copy_(x)
b = y  #= cpu
x.data = torch.ones(2, device=device)
c = x  #= gpu
""",
    "matrix products": """
a = torch.rand(2, 2, device=device)
b = torch.rand(2, 2)
torch.matmul(a, b)  # DEV301: gpu1 gpu2
""",
    "a function that keeps": """
def scale(x, factor=2):
    y = x * factor
    return y, {"mean": y.mean()}
y, stats = scale(torch.ones(2, device=device))
a = y  #= gpu
b = stats["mean"]  #= gpu
""",
    "views follow no move": """
x = torch.zeros(4)
v = x.view(2, 2)
x = x.to(device)
a = x  #= gpu
b = v  #= cpu
w = x.view(2, 2)
c = w  #= gpu
""",
    "lengths stay on the host": """
x = torch.zeros(2, 3, 4, device=device)
lengths = torch.tensor([3, 2], device=device)
nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)  # DEV306: gpu1 gpu2
""",
    "lengths from the host": """
x = torch.zeros(2, 3, 4, device=device)
lengths = torch.tensor([3, 2], device=device)
packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True)
out, n = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
a = out  #= gpu ?
b = n  #= cpu ?
c = packed.batch_sizes  #= cpu ?
""",
    "the name of a type says on what device": """
x = torch.zeros(2, device=device)
alpha = torch.Tensor([1.0, 2.0])
if alpha.type() != x.data.type():
    alpha = alpha.type_as(x.data)
a = alpha + x  #= gpu
beta = torch.zeros(2)
if x.type() == "torch.cuda.FloatTensor":
    beta = beta.cuda()
b = beta + x  #= gpu ?
c = "cuda" in x.type()  #= False True True
d = x.type().startswith("torch.cuda")  #= False True True
e = torch.zeros(1).type() in ("torch.cuda.FloatTensor", "torch.cuda.HalfTensor")  #= False
f = torch.zeros(1).type(x.type()) + x  #= gpu
g = x.type(torch.zeros(1).type())  #= cpu
h = torch.zeros(1).type().lower() == "torch.cuda.floattensor"  #= False
i = x.type() == "torch.HalfTensor"  #= False ?
j = x.type() is None  #= False ?
def half(y):
    w = torch.zeros(2)
    if y.type() == "torch.cuda.HalfTensor":
        w = w.cuda().half()
    elif y.type().startswith("torch.cuda"):
        w = w.to(y.device)
    return y + w
k = half(x)  #= gpu ?
""",
    "the name of a type of another device": """
x = torch.zeros(2, device=device)
w = torch.zeros(2)
if w.type() == x.type():
    w = w.to(device)
x + w  # DEV301: gpu1 gpu2
""",
    "lengths of what is turned": """
x = torch.tensor([[0.0, 1.0]])
a = len(x)  #= 1
b = len(x.transpose(-1, -2)) == 2  #= True ?
c = x.t().shape == (2, 1)  #= True ?
d = len(x.exp())  #= 1
if x.transpose(0, 1).shape[0] != 2:
    raise ValueError
e = x + 1  #= cpu
""",
    "rows that are picked may be none": """
x = torch.rand(4, 3, device=device)
picked = x[x[:, 0] > 2]
if picked.shape[0] == 0:
    a = torch.zeros(1)  #= cpu
if not len(picked[:, 1:].float()):
    b = torch.zeros(1)  #= cpu
if torch.cat([picked, picked], dim=1)[..., 0].numel() == 0:
    f = torch.zeros(1)  #= cpu
places = torch.nonzero(x.sum(1) > 9).squeeze(1)
if places.numel() == 0:
    c = x + 1  #= gpu
if x[places].size(0) == 0:
    d = x + 1  #= gpu
if torch.where(x > 2)[0].numel() < 1 and not torch.masked_select(x, x > 2).shape[0]:
    e = x + 1  #= gpu
g = x.shape[0] > 0  #= True
h = torch.where(x > 2, x, x).shape[0] == 0  #= False
""",
    "lists of rounds that went two ways": """
x = torch.rand(4, 3, device=device) + 1
both = []
for row in x:
    if row.sum() > 1e9 or row is x:
        both.append(torch.zeros(3))
        continue
    both.append(row)
rows = [part.to(device) for part in both]
a = torch.stack(rows)  #= gpu
once = []
never = float(torch.rand(1)) > 2
for row in x:
    if never:
        once.append(row.cpu())
    else:
        once.append(row)
torch.stack(once)
for row in x:
    pair = []
    if row.sum() > 0:
        pair.append(row.cpu())
        pair.append(torch.zeros(3))
    else:
        pair.append(row)
        pair.append(torch.zeros(3, device=device))
    torch.stack(pair)
""",
    "lists of rounds that went two ways, stacked": """
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
both = []
for row in x:
    if row.sum() > 4:
        both.append(torch.zeros(2))
    else:
        both.append(row)
a = torch.stack(both)  # DEV301: gpu1 gpu2
""",
    "lists of rounds that went two ways, in another order": """
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
both = []
for row in x:
    large = row[row > 3]
    if not large.shape[0] > 0:
        both.append(row.cpu())
        continue
    both.append(row)
a = torch.cat(both)  # DEV301: gpu1 gpu2
""",
    "what is joined to empty tensors": """
x = torch.rand(4, 3, device=device) + 1
found = torch.tensor([])
rest = torch.zeros(0, 3)
for row in x:
    rest = torch.cat([rest.to(row), row[None]])
    if found.sum() != 0:
        found = torch.cat([found, row])
    else:
        found = row
a = torch.cat([found, rest.flatten()])  #= gpu
empty = torch.tensor([])
b = torch.cat([empty, torch.zeros(2)])  #= cpu
""",
    "an empty tensor to which others are joined": """
x = torch.rand(4, 3, device=device)
kept = torch.empty(0)
torch.cat([kept, x[0]])  # DEV301: gpu1 gpu2
""",
    "an attribute that grows": """
from abc import ABC, abstractmethod
class Collecting(ABC):
    @abstractmethod
    def add(self, x):
        ...
class Collector(Collecting):
    def __init__(self):
        self.kept = None
        self.reset()
    def reset(self):
        self.kept = torch.empty(0)  # DEV303: gpu1 gpu2
    def add(self, x):
        self.kept = torch.cat([self.kept, x])
Collector().add(torch.rand(3, device=device))
""",
    "a single value that is put in": """
x = torch.zeros(3)
x.index_put_((torch.tensor([0]),), torch.tensor(2.0, device=device))
y = torch.zeros(3, device=device)
a = y.index_put((torch.tensor([0]),), torch.tensor(2.0))  #= gpu
b = x.index_put((torch.tensor([0]),), torch.tensor(2.0, device=device))  #= cpu
""",
    "values that are put in": """
torch.zeros(3).index_put_((torch.tensor([0]),), torch.ones(1, device=device))  # DEV301: gpu1 gpu2
""",
    "a gradient over even steps": """
x = torch.rand(4, device=device)
a = torch.gradient(x, spacing=2.0)[0]  #= gpu
b = torch.gradient(x, spacing=(torch.arange(4.0, device=device),))[0]  #= gpu
c = torch.gradient(x, spacing=[0.5])[0]  #= gpu
""",
    "a gradient over steps that are elsewhere": """
torch.gradient(torch.rand(4, device=device), spacing=(torch.arange(4.0),))  # DEV301: gpu1 gpu2
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)


def test_an_element_of_what_has_no_dimensions() -> None:
    """`loss.data[0]` was a number before tensors without dimensions came; it raises now, and ends the program."""
    run = Run("import torch\nloss = torch.zeros(3).mean()\ny = loss[None]\nz = torch.zeros(3)[0]\nx = loss.data[0]\n")
    assert "x" not in run.names
    assert isinstance(run["y"], Tensor) and isinstance(run["z"], Tensor)


def test_what_a_file_holds_need_not_be_a_tensor() -> None:
    """A date, a list of names: until tensors alone can do what is done with it."""
    run = Run(
        "import datetime, numpy as np, torch\nheld = torch.load('x.pt', map_location='cuda')\n"
        "step = datetime.timedelta(days=held['days'])\ndates = np.array([held['start'] + step * t for t in range(3)])\n"
        "place = np.argmax(np.array(['a']) == held['names'])\n"
    )
    assert run.ended and not run.events(ToHost)
    counts = Run("import numpy as np, torch\nx = torch.load('x.pt', map_location='cuda')['n']\nnp.array(x.view(-1))\n")
    assert len(counts.events(ToHost)) == 1


LOSSES = """
import torch, torch.nn.functional as F
from torch import nn
x, y = torch.zeros(3, 2), torch.zeros(3).long()
def own(*args, **kwargs):
    return F.cross_entropy(x, y, *args, **kwargs)
"""


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("nn.CrossEntropyLoss()(x, y)", 0),
        ("nn.CrossEntropyLoss(reduction='sum')(x, y)", 0),
        ("nn.CrossEntropyLoss(reduction='none')(x, y)", None),
        ("nn.MSELoss(reduce=False)(x, x)", None),
        ("F.mse_loss(x, x)", 0),
        ("F.mse_loss(x, x, reduction='none')", None),
        ("F.kl_div(x, x, reduction='batchmean')", 0),
        ("own(reduction='none')", None),
    ],
)
def test_a_loss_is_one_number_unless_it_is_not_reduced(text: str, rank: int | None) -> None:
    loss = Run(LOSSES + f"loss = {text}\n")["loss"]
    assert isinstance(loss, Tensor) and loss.rank == rank


def test_a_tensor_is_no_scalar_of_numpy() -> None:
    run = Run("import numpy as np, torch\na = np.isscalar(torch.zeros(3))\nb = np.isscalar(2.5)\n")
    assert run["a"].value is False and run["b"].value is True  # type: ignore[attr-defined]


RANKS = """
import torch, torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Independent, Normal
a, b, c = torch.zeros(4), torch.zeros(1, 4), torch.zeros(3, 1, 4)
from elsewhere import sizes
some = torch.zeros(2, *sizes())
grown = []
for n in range(3):
    grown.append(torch.zeros(2, 4))
def along(x, dim=None):
    return x.sum(dim)
"""


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("b.squeeze(0)", 1),
        ("c.squeeze(0)", 3),
        ("c.squeeze(1)", MANY_RANK),
        ("c.squeeze((0, 1))", SOME_RANK),
        ("torch.squeeze(c, dim=-2)", MANY_RANK),
        ("a.unsqueeze(1).squeeze(1)", SOME_RANK),
        ("torch.zeros(2, 1).T.squeeze((0, 1))", None),
        ("c.squeeze()", None),
        ("some.squeeze(0)", None),
        ("torch.stack([a, a])", 2),
        ("torch.stack([a for _ in range(3)])[0]", 1),
        ("torch.stack(grown)", 3),
        ("torch.stack([some, some])", MANY_RANK),
        ("torch.stack([some, some])[0]", SOME_RANK),
        ("torch.stack([some, a])", 2),
        ("torch.stack([torch.diag(a), torch.diag(a)])[1]", 2),
        ("b.squeeze(0).diag().diag()", 1),
        ("c[0].diagonal()", 1),
        ("some.diagonal()", SOME_RANK),
        ("b.unflatten(1, (2, 2))", 3),
        ("some.unflatten(0, sizes())", MANY_RANK),
        ("c.ravel()", 1),
        ("Normal(b, 1.0).sample((5,))", 3),
        ("Normal(0.0, 1.0).sample((5,))", SOME_RANK),
        ("Normal(0.0, 1.0).sample(sizes())", SOME_RANK),
        ("Normal(0.0, 1.0).log_prob(c)", SOME_RANK),
        ("Independent(Normal(b, 1.0), 1).log_prob(c)", 2),
        ("Independent(Normal(a, 1.0), 1).log_prob(a)", 0),
        ("Categorical(logits=b).log_prob(a)", None),
        ("torch.stack([torch.tensor(1.0)])[0]", 0),
        ("torch.stack([a.sum(), a.mean()]).mean(0)", 0),
        ("torch.cat([b, b])[0]", 1),
        ("torch.cat(grown)", 2),
        ("torch.cat([torch.zeros(0), b])", 2),
        ("torch.cat([a, a])[0]", 0),
        ("torch.cat([some, some])", SOME_RANK),
        ("torch.hstack([a, a])", 1),
        ("torch.vstack([a, a])", 2),
        ("torch.dstack([a, a])", 3),
        ("c.select(2, 0)", 2),
        ("a.select(0, 0)", 0),
        ("c.unbind(0)[0]", 2),
        ("c.chunk(3)[0]", 3),
        ("c.flatten(1)", 2),
        ("c.flatten(0, 1)", 2),
        ("c.flatten()", 1),
        ("some.flatten()", 1),
        ("torch.tile(a, (2, 1))", 2),
        ("c.repeat_interleave(2, dim=0)", 3),
        ("c.repeat_interleave(2)", 1),
        ("torch.matmul(c, a)", 2),
        ("a @ a", 0),
        ("c @ c.mT", 3),
        ("torch.einsum('b i, i j -> b j', b, b.T)", 2),
        ("torch.einsum('i,i', a, a)", 0),
        ("torch.einsum('...i->...', c)", None),
        ("torch.tensordot(b, b.T, dims=1)", 2),
        ("torch.cdist(b, b)", 2),
        ("torch.meshgrid(a, a)[0]", 2),
        ("F.one_hot(torch.arange(3))", 2),
        ("F.embedding(torch.arange(3), b)", 2),
        ("nn.Conv1d(1, 2, 1)(c)", 3),
        ("nn.LSTM(4, 2)(c)[0]", 3),
        ("nn.LSTM(4, 2)(c)[1][0]", 3),
        ("F.max_pool1d(c, 2)", 3),
        ("c.mean((0, 1))", 1),
        ("b.mean(dim=(0, 1))", 0),
        ("a.std(False)", 0),
        ("along(b)", 0),
        ("b.kthvalue(1).values", 1),
        ("b.nonzero(as_tuple=True)[0]", SOME_RANK),
        ("c.squeeze_(1)", MANY_RANK),
        ("c.squeeze(1).squeeze(0)", SOME_RANK),
        ("some[:, :1]", MANY_RANK),
        ("some[:, 0]", SOME_RANK),
        ("torch.cdist(some, some)", MANY_RANK),
        ("torch.cdist(some, some)[0]", SOME_RANK),
        ("torch.cdist(some, some)[0, 0]", None),
        ("c.unsqueeze_(1)", 4),
        ("c.view(2, *sizes())", SOME_RANK),
        ("c.view(2, -1, *sizes())", MANY_RANK),
        ("c.repeat(*sizes())", None),
        ("torch.tile(c, sizes())", None),
        ("torch.zeros(2, *sizes())", SOME_RANK),
        ("c.view(2, *c.shape[1:])", 3),
    ],
)
def test_ranks(text: str, rank: int | None) -> None:
    made = Run(RANKS + f"made = {text}\n")["made"]
    assert isinstance(made, Tensor) and made.rank == rank


HISTORY = """
import torch
from torch import nn
class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.past = torch.zeros(0, 2)
    def forward(self, x):
        y = self.layer(x)
        self.past = torch.cat([self.past, y])
        return y
"""


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ("", True),
        ("    def start(self, past):\n        self.past = past\n", False),
        ("    def start(self, device):\n        self.past = self.past.to(device)\n", False),
        ("    def start(self, name, past):\n        setattr(self, 'past', past)\n", False),
        ("    def add(self, y):\n        self.past = torch.cat((self.past, y.cpu()))\n", True),
        ("def start(recorder, past):\n    recorder.past = past\n", False),
        ("    def cuda(self):\n        self.past = self.past.cuda()\n        return self\nprint('ready')\n", False),
    ],
)
def test_an_attribute_that_others_may_fill_is_a_placeholder(more: str, is_told: bool) -> None:
    assert bool(told(analysed(HISTORY + more), MixedDevices)) is is_told
