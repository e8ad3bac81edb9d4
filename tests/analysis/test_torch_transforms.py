"""Functions that torch calls for a program, parameters that are made of others, tensors that are on the CPU."""

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
    "gradients and batches": """
from torch.func import grad, grad_and_value, jacrev, vjp, vmap
w = torch.rand(3, device=device)
def f(x):
    return (x * w).sum() * torch.tensor(2.0)
x = torch.rand(4, 3, device=device)
a = vmap(grad(f))(x)  #= gpu
b = jacrev(f)(x[0])  #= gpu
c, value = grad_and_value(f)(x[0])
d = c  #= gpu
e = value  #= gpu
f1, back = vjp(f, x[0])
g = f1  #= gpu
h = torch.vmap(lambda row: row.sum())(x)  #= gpu
""",
    "a batched function meets a tensor of the host": """
w = torch.rand(3)  # DEV303: gpu1 gpu2
torch.func.vmap(torch.func.grad(lambda x: (x * w).sum()))(torch.rand(4, 3, device=device))
""",
    "batches of both": """
def distance(a, b):
    return (a - b).pow(2).sum()  # DEV301: gpu1 gpu2
points, centers = torch.rand(4, 3, device=device), torch.rand(2, 3)
torch.vmap(lambda p: torch.vmap(lambda c: distance(p, c))(centers))(points)
""",
    "batches of both, and a function of torch": """
rows, others = torch.rand(4, 3, device=device), torch.rand(4, 3)
torch.vmap(torch.dot)(rows, others)  # DEV301: gpu1 gpu2
""",
    "a function of torch on rows": """
rows = torch.rand(4, 3, device=device)
a = torch.vmap(torch.dot)(rows, rows * 2)  #= gpu
""",
    "numbers of a batch may meet numbers": """
scale = torch.tensor(2.0)
out = torch.vmap(lambda row: row * scale)(torch.rand(4, device=device))  #= gpu
""",
    "gradients of parameters": """
from torch.func import functional_call, grad, vmap
net = nn.Linear(3, 1).to(device)
parameters = {name: p.detach() for name, p in net.named_parameters()}
def loss(parameters, x, y):
    return nn.functional.mse_loss(functional_call(net, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))
x, y = torch.rand(5, 3, device=device), torch.rand(5, 1, device=device)
found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
a = found["weight"].mean(0) + parameters["weight"]  #= gpu
""",
    "an ensemble at once": """
import copy
from torch.func import functional_call, stack_module_state, vmap
networks = [nn.Linear(3, 2).to(device) for _ in range(3)]
parameters, buffers = stack_module_state(networks)
a = parameters["weight"]  #= gpu
base = copy.deepcopy(networks[0]).to("meta")
def run(parameters, buffers, x):
    return functional_call(base, (parameters, buffers), (x,))  # DEV302: gpu1 gpu2
run_all = vmap(run, in_dims=(0, 0, None))
b = run_all(parameters, buffers, torch.rand(4, 3, device=device))  #= gpu
run_all(parameters, buffers, torch.rand(4, 3))
""",
    "nests": """
from torch.utils import _pytree as pytree
batch = {"x": torch.rand(2, 3), "y": [torch.rand(2)], "names": "ab", "n": 2}
moved = pytree.tree_map(lambda leaf: leaf.to(device) if torch.is_tensor(leaf) else leaf, batch)
a = moved["x"]  #= gpu
b = moved["n"]  #= 2
c = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.cpu(), moved)["y"][0]  #= cpu
moved["y"][0] - batch["y"][0]  # DEV301: gpu1 gpu2
""",
    "parts of a sparse matrix": """
matrix = torch.eye(3).to_sparse().to(device)
a = matrix._indices()  #= gpu
b = matrix._values() + matrix.values()  #= gpu
torch.ones(3)[matrix._indices()[0]]  # DEV304: gpu1 gpu2
""",
    "derivatives at once": """
from torch.autograd.functional import hessian, hvp, jacobian
x = torch.rand(3, device=device)
a = jacobian(lambda v: v * 2, x)  #= gpu
b = hessian(lambda v: (v ** 3).sum(), x)  #= gpu
c = hvp(lambda v: (v ** 2).sum(), x, torch.ones(3, device=device))[1]  #= gpu
matrix = torch.rand(3, 3)  # DEV303: gpu1 gpu2
jacobian(lambda v: matrix @ v, x)
""",
    "parts of a network in turn": """
from torch.utils.checkpoint import checkpoint_sequential
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)).to(device)
a = checkpoint_sequential(net, 2, torch.rand(2, 3, device=device), use_reentrant=False)  #= gpu
checkpoint_sequential(net, 2, torch.rand(2, 3), use_reentrant=False)  # DEV302: gpu1 gpu2
""",
    "an exported network runs its example": """
net = nn.Linear(3, 2).to(device)
torch.export.export(net, (torch.rand(1, 3, device=device),))
torch.export.export(net, (torch.rand(1, 3),))  # DEV302: gpu1 gpu2
""",
    "an embedding of given weights": """
import numpy as np
class Text(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(torch.FloatTensor(vectors), freeze=True)
        self.bags = nn.EmbeddingBag.from_pretrained(torch.from_numpy(vectors).float())
    def forward(self, x):
        return self.embed(x).mean(1) + self.bags(x)
net = Text(np.random.rand(9, 4)).to(device)
a = net.embed.weight  #= gpu
b = net(torch.zeros(2, 3, dtype=torch.long, device=device))  #= gpu
net(torch.zeros(2, 3, dtype=torch.long))  # DEV302: gpu1 gpu2
""",
    "an embedding of weights that are on the GPU": """
embed = nn.Embedding.from_pretrained(torch.rand(3, 2, device=device), freeze=False)
a = embed(torch.tensor([1], device=device))  #= gpu
optimizer = torch.optim.SGD(embed.parameters(), lr=0.1)
a.sum().backward()
optimizer.step()
embed(torch.tensor([1]))  # DEV302: gpu1 gpu2
""",
    "lengths that come back": """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
rnn = nn.GRU(4, 5, batch_first=True).to(device)
packed, _ = rnn(pack_padded_sequence(torch.rand(2, 3, 4, device=device), [3, 2], batch_first=True))
out, lengths = pad_packed_sequence(packed, batch_first=True)
a = out  #= gpu
b = lengths  #= cpu
c = out[torch.arange(2), lengths - 1]  #= gpu
d = out.sum(1) / lengths.to(device).unsqueeze(1)  #= gpu
out.sum(1) / lengths.unsqueeze(1)  # DEV301: gpu1 gpu2
""",
    "packed sequences": """
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence
embed, rnn = nn.Linear(4, 4).to(device), nn.LSTM(4, 5, batch_first=True).to(device)
packed = pack_padded_sequence(torch.rand(2, 3, 4), [2, 3], batch_first=True, enforce_sorted=False).to(device)
a = packed.data  #= gpu
b = packed.batch_sizes  #= cpu
again = PackedSequence(embed(packed.data), packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
out, (h, c) = rnn(again, (torch.zeros(1, 2, 5, device=device), torch.zeros(1, 2, 5, device=device)))
data, sizes, order, _ = out
d = data  #= gpu
e = sizes  #= cpu
f = order  #= gpu
padded, lengths = pad_packed_sequence(out._replace(data=data * 2), batch_first=True)
g = padded  #= gpu
i = isinstance(out, PackedSequence)  #= True
j = pack_sequence([torch.rand(3, 4), torch.rand(2, 4)])[0]  #= cpu
k = out.is_cuda  #= False True True
""",
    "a packed sequence left behind": """
from torch.nn.utils.rnn import pack_padded_sequence
rnn = nn.GRU(4, 5, batch_first=True).to(device)
packed = pack_padded_sequence(torch.rand(2, 3, 4), [3, 2], batch_first=True)
rnn(packed)  # DEV302: gpu1 gpu2
""",
    "a hidden state beside a packed sequence": """
from torch.nn.utils.rnn import pack_padded_sequence
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 5, batch_first=True)
    def init_hidden(self, batch):
        return torch.zeros(1, batch, 5)  # DEV303: gpu1 gpu2
    def forward(self, x, lengths):
        return self.rnn(pack_padded_sequence(x, lengths, batch_first=True), self.init_hidden(x.size(0)))[1]
Encoder().to(device)(torch.rand(2, 3, 4, device=device), torch.tensor([3, 2]))
""",
    "normal distributions of several dimensions": """
from torch.distributions import LowRankMultivariateNormal, MultivariateNormal
mean = torch.zeros(3, device=device)
a = MultivariateNormal(mean, torch.eye(3, device=device)).sample((4,))  #= gpu
b = MultivariateNormal(mean, scale_tril=torch.eye(3).to(device)).rsample() + mean  #= gpu
c = LowRankMultivariateNormal(mean, torch.rand(3, 2, device=device), torch.ones(3, device=device)).sample()  #= gpu
d = MultivariateNormal(mean, torch.eye(3, device=device)).covariance_matrix @ mean  #= gpu
host = MultivariateNormal(mean, torch.eye(3))
host.sample()  # DEV301: gpu1 gpu2
""",
    "pruned": """
from torch.nn.utils import prune
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
prune.l1_unstructured(net[0], name="weight", amount=0.3)
prune.custom_from_mask(net[1], "weight", torch.ones(2, 4))
net.to(device)
a = net[0].weight_mask  #= gpu
b = net[0].weight  #= cpu
c = net(torch.rand(2, 3, device=device))  #= gpu
d = net[0].weight  #= gpu
prune.remove(net[0], "weight")
e = net[0].weight  #= gpu
f = hasattr(net[0], "weight_mask")  #= False ?
""",
    "a mask of the host": """
from torch.nn.utils import prune
net = nn.Linear(3, 4)
masks = {name: (p.abs() > 0.1).float() for name, p in net.named_parameters()}
net.to(device)
prune.custom_from_mask(net, "weight", masks["weight"])  # DEV301: gpu1 gpu2
""",
    "pruned together": """
from torch.nn.utils import prune
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).to(device)
prune.global_unstructured([(layer, "weight") for layer in net], pruning_method=prune.L1Unstructured, amount=0.2)
a = net[1].weight_mask  #= gpu
b = net(torch.rand(2, 3, device=device))  #= gpu
""",
    "parts by a permutation of the default device": """
from torch.utils.data import TensorDataset, random_split as split
data = TensorDataset(torch.rand(4, 2))
parts = split(data, [2, 2])
a = parts[0][0][0]  #= cpu
torch.set_default_device(device)
split(data, [2, 2], generator=torch.Generator(device=device))
split(data, [2, 2])  # DEV305: gpu1 gpu2
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
