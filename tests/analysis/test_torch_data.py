"""Datasets, collate functions and loaders decide what is yielded, and where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
from collections import namedtuple
from typing import NamedTuple, Optional
import numpy as np
import torch
from torch import nn
from torch.utils.data import (ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset,
                              WeightedRandomSampler, random_split)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a dataset decides": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return {"x": torch.zeros(2), "name": "a", "pair": (torch.ones(1), i)}
loader = DataLoader(Data(), batch_size=2, shuffle=True)
batch = next(iter(loader))
x = batch["x"]  #= cpu
first = batch["pair"][0]  #= cpu
index = batch["pair"][1]  #= cpu
names = batch["name"]
moved = batch["x"].to(device)  #= gpu
length = isinstance(names, list)  #= True
""",
    "numbers become tensors": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return 1.0, np.zeros(2), [i, i]
for a, b, c in DataLoader(Data(), 2):
    break
number = a  #= cpu
array = b  #= cpu
inner = c[0]  #= cpu
""",
    "what is written to a loader": """
def move(items):
    return torch.stack(items).to(device)
class Loader(DataLoader):
    def __init__(self, data, **options):
        self.collate_fn = None
        super().__init__(data, batch_size=2, **options)
        self.collate_fn = self.gather
    def gather(self, items):
        return torch.stack(items).to(device)
rows = [torch.zeros(2) for _ in range(4)]
loader = DataLoader(rows, batch_size=2, num_workers=1, collate_fn=move)
loader.num_workers = 0
moved = next(iter(loader))  #= gpu
loader.collate_fn = torch.stack
stacked = next(iter(loader))  #= cpu
again = DataLoader(loader.dataset, 2, collate_fn=loader.collate_fn, num_workers=loader.num_workers)
same = next(iter(again))  #= cpu
workers = again.num_workers  #= 0
own = next(iter(Loader(rows)))  #= gpu
plain = Loader(rows, pin_memory=True)
plain.pin_memory = False
unpinned = next(iter(plain))  #= gpu
""",
    "a dataset on the accelerator": """
class Data(Dataset):
    def __init__(self):
        self.x = torch.zeros(4, 2, device=device)
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return self.x[i], torch.tensor(1)
for x, y in DataLoader(Data(), batch_size=2):
    pass
a = x  #= gpu
b = y  #= cpu
""",
    "collate_fn": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.zeros(i + 1)
def collate(items):
    lengths = torch.tensor([len(item) for item in items])
    return nn.utils.rnn.pad_sequence(items, batch_first=True).to(device), lengths
padded, lengths = next(iter(DataLoader(Data(), 2, collate_fn=collate)))
a = padded  #= gpu
b = lengths  #= cpu
""",
    "several at once": """
class Data(Dataset):
    def __init__(self):
        self.rows = torch.zeros(4, 2)
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return self.rows[i]
    def __getitems__(self, indices):
        return self.rows[indices].to(device)
rows = next(iter(DataLoader(Data(), 2, collate_fn=lambda rows: rows.to(device) * 2)))
a = rows  #= gpu
""",
    "TensorDataset": """
data = TensorDataset(torch.zeros(4, 2), torch.zeros(4, device=device))
x, y = data[0]
a = x  #= cpu
b = y  #= gpu
for i, (inputs, targets) in enumerate(DataLoader(data, batch_size=2)):
    inputs = inputs.to(device)
    c = inputs * 2  #= gpu
    d = targets  #= gpu
""",
    "random_split and Subset": """
data = TensorDataset(torch.zeros(4, 2))
train, test = random_split(data, [3, 1])
a = next(iter(DataLoader(train)))[0]  #= cpu
b = Subset(data, [0])[0][0]  #= cpu
c = next(iter(DataLoader(ConcatDataset([data, data]))))[0]  #= cpu
for (d,) in train:
    d  #= cpu
e = [x for x, in Subset(data, [2, 0])][1]  #= cpu
f = list(ConcatDataset([data, data]))[5][0]  #= cpu
""",
    "zip and enumerate": """
one = DataLoader(TensorDataset(torch.zeros(4, 2)), 2)
other = DataLoader(TensorDataset(torch.zeros(4, 2)), 2)
for step, ((a,), (b,)) in enumerate(zip(one, other)):
    a = a.to(device)
    s = a  #= gpu
    t = b  #= cpu
""",
    "half of the batch forgotten": """
for x, y in DataLoader(TensorDataset(torch.zeros(4, 2), torch.zeros(4, 2)), 2):
    x = x.to(device)
    x - y  # DEV301: gpu1 gpu2
""",
    "a batch moved key by key": """
class Data(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return {"x": torch.zeros(2), "y": torch.zeros(2)}
for batch in DataLoader(Data()):
    for key in batch:
        batch[key] = batch[key].to(device)
    x = batch["x"]  #= gpu
    y = batch["y"]  #= gpu
    batch = {k: v.cpu() for k, v in batch.items()}
    z = batch["y"]  #= cpu
""",
    "a recursive mover": """
def to(value):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {k: to(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(to(v) for v in value)
    return value
moved = to({"x": torch.zeros(2), "more": [torch.zeros(1), {"y": torch.zeros(3)}], "name": "n"})
x = moved["x"]  #= gpu
inner = moved["more"][0]  #= gpu
deep = moved["more"][1]["y"]  #= gpu
name = moved["name"]  #= 'n'
""",
    "a mover that asks first, and knows named tuples": """
class Rule(NamedTuple):
    text: str
    index: Optional[torch.Tensor] = None
def has_tensor(obj):
    if isinstance(obj, torch.Tensor):
        return True
    if isinstance(obj, dict):
        return any(has_tensor(value) for value in obj.values())
    if isinstance(obj, (list, tuple)):
        return any(has_tensor(item) for item in obj)
    return False
def to(obj):
    if not has_tensor(obj):
        return obj
    if isinstance(obj, torch.Tensor):
        return obj.to(device)
    if isinstance(obj, dict):
        return {key: to(value) for key, value in obj.items()}
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return obj.__class__(*[to(item) for item in obj])
    return [to(item) for item in obj]
batch = {"x": torch.zeros(2), "rules": [[Rule("a", torch.zeros(1)), Rule("b")]], "names": [{"id": "a"}]}
moved = to(batch)
x = moved["x"]  #= gpu
index = moved["rules"][0][0].index  #= gpu
none = moved["rules"][0][1].index  #= None
names = moved["names"]  #= [{id:'a'}]
""",
    "a mover that makes of a named tuple a list": """
Pair = namedtuple("Pair", "x y")
def to(obj):
    if isinstance(obj, dict):
        return {key: to(value) for key, value in obj.items()}
    return obj.to(device) if torch.is_tensor(obj) else obj
batch = to({"pair": Pair(torch.zeros(2), 1), "z": torch.zeros(2)})
batch["pair"].x + batch["z"]  # DEV301: gpu1 gpu2
""",
    "a mover that forgets lists": """
def to(batch):
    return {k: v.to(device) if torch.is_tensor(v) else v for k, v in batch.items()}
batch = to({"x": torch.zeros(2), "extra": [torch.zeros(2)]})
batch["x"] + batch["extra"][0]  # DEV301: gpu1 gpu2
""",
    "the loop variable alone": """
batch = [torch.zeros(2), torch.zeros(2)]
for t in batch:
    t = t.to(device)  # DEV202: gpu1 gpu2
batch[0] + torch.zeros(2, device=device)
""",
    "samplers and pinned memory": """
data = TensorDataset(torch.zeros(4, 2))
loader = DataLoader(data, sampler=WeightedRandomSampler([1.0] * 4, 4), pin_memory=True, num_workers=0)
x = next(iter(loader))[0]  #= cpu
moved = x.to(device, non_blocking=True)  #= gpu
""",
    "pinning what is on the accelerator": """
data = TensorDataset(torch.zeros(4, 2, device=device))
for (x,) in DataLoader(data, pin_memory=True):  # DEV404: gpu1 gpu2
    pass
""",
    "an iterable dataset": """
class Stream(IterableDataset):
    def __iter__(self):
        for i in range(3):
            yield torch.zeros(2), i
for x, i in DataLoader(Stream(), batch_size=2):
    a = x  #= cpu
    b = i  #= cpu
""",
    "a class around a loader": """
class OnDevice:
    def __init__(self, loader):
        self.loader = loader
    def __len__(self):
        return len(self.loader)
    def __iter__(self):
        for batch in self.loader:
            yield [part.to(device) for part in batch]
for x, y in OnDevice(DataLoader(TensorDataset(torch.zeros(4), torch.zeros(4)))):
    a = x  #= gpu
    b = y  #= gpu
""",
    "weights that are drawn from where they are": """
weights = torch.ones(4, device=device)
drawn = list(WeightedRandomSampler(weights, 2))
beside = list(WeightedRandomSampler(weights, 2, generator=torch.Generator(device=device)))
of_numbers = list(WeightedRandomSampler([1.0, 2.0], 2, generator=torch.Generator()))
a = weights  #= gpu
""",
    "a generator that is not where the weights are": """
sampler = WeightedRandomSampler(torch.ones(4, device=device), 2, generator=torch.Generator())  # DEV305: gpu1 gpu2
print(list(sampler))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
