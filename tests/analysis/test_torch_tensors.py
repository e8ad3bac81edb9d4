"""Tensors: where results are, what indexing gives, which operations demand one device."""

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
    "in place": """
x = torch.zeros(2, device=device)
y = torch.ones(2)
x.add_(y)  # DEV301: gpu1 gpu2
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
    "rows that are picked may be none": """
x = torch.rand(4, 3, device=device)
picked = x[x[:, 0] > 2]
if picked.shape[0] == 0:
    a = torch.zeros(1)  #= cpu
if not len(picked[:, 1:].float()):
    b = torch.zeros(1)  #= cpu
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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
