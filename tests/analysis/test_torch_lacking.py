"""Plain values that are moved, or asked for their device: what has no such attribute, and what may have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.events import MoveOnArray
from tests.analysis.annotated import assert_observed, assert_predicted
from tests.analysis.programs import Run
from tests.rules.machines import Machines

HEAD = """\
import collections
import enum
import io
import numbers
from typing import NamedTuple
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a list": """
xs = [torch.zeros(2), torch.ones(2)]
xs = xs.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a list, and the result is dropped": """
xs = [torch.zeros(2), torch.ones(2)]
xs.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a dict": """
batch = {"x": torch.zeros(2)}
batch = batch.cuda() if torch.cuda.is_available() else batch  # DEV403: gpu1 gpu2
""",
    "a pair that a helper returns": """
def init_hidden():
    return torch.zeros(1), torch.zeros(1)

hidden = init_hidden().to(device)  # DEV403: cpu gpu1 gpu2
""",
    "the output of an LSTM": """
net = nn.LSTM(2, 3).to(device)
out, hidden = net(torch.zeros(4, 1, 2, device=device))
hidden = hidden.cpu()  # DEV403: cpu gpu1 gpu2
""",
    "the device of a list": """
def step(batch):
    return torch.zeros(2, device=batch.device)  # DEV403: cpu gpu1 gpu2

step([torch.zeros(2)])
""",
    "a number": """
n = 3
if torch.cuda.is_available():
    n = n.cuda()  # DEV403: gpu1 gpu2
""",
    "a text that is computed": """
name = input() if len(device.type) > 9 else f"run-{device}"
name.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a number among the values of a batch": """
def move(batch):
    return {k: v.to(device) for k, v in batch.items()}  # DEV403: cpu gpu1 gpu2

move({"x": torch.zeros(2), "n": 4})
""",
    "texts that default_collate leaves in a list": """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"x": torch.zeros(2), "name": "a row"}

for batch in torch.utils.data.DataLoader(Rows(), batch_size=2):
    batch = {k: v.to(device) for k, v in batch.items()}  # DEV403: cpu gpu1 gpu2
""",
    "a list from a collate function": """
def collate(rows):
    xs, names = zip(*rows)
    return torch.stack(xs), list(names)

rows = [(torch.zeros(3), "a"), (torch.zeros(3), "b")]
for x, names in torch.utils.data.DataLoader(rows, batch_size=2, collate_fn=collate):
    x, names = x.to(device), names.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "an optimizer": """
optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
optimizer.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a loader": """
loader = torch.utils.data.DataLoader(torch.zeros(4, 2))
loader = loader.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "a handler for something else": """
try:
    [torch.zeros(2)].to(device)  # DEV403: cpu gpu1 gpu2
except KeyError:
    pass
""",
    "classes that know how to be moved": """# silent
class Bag(list):
    def to(self, device):
        return Bag(x.to(device) for x in self)

class Fields(dict):
    def to(self, device):
        return Fields({k: v.to(device) for k, v in self.items()})

class Pair(NamedTuple):
    x: torch.Tensor

    def to(self, device):
        return Pair(self.x.to(device))

class Row(collections.namedtuple("Row", "x")):
    def to(self, device):
        return Row(self.x.to(device))

class Place(str, enum.Enum):
    HOST = "cpu"

    @property
    def device(self):
        return torch.device(self.value)

class Count(int):
    def to(self, device):
        return self

x = torch.zeros(1)
Bag([x]).to(device), Fields(a=x).to(device), Pair(x).to(device), Row(x).to(device), Count(3).to(device)
torch.zeros(1, device=Place.HOST.device)
""",
    "an optimizer of one's own": """# silent
class Movable(torch.optim.SGD):
    def to(self, device):
        return self

Movable(nn.Linear(2, 2).parameters(), lr=0.1).to(device)
""",
    "values that are told apart": """
def by_class(x):
    if isinstance(x, torch.Tensor):
        return x.to(device)
    if isinstance(x, collections.abc.Mapping):
        return {k: by_class(v) for k, v in x.items()}
    if isinstance(x, (str, numbers.Number)):
        return x
    if isinstance(x, collections.abc.Sequence):
        return [by_class(v) for v in x]
    return x.to(device)

def by_attribute(x):
    if hasattr(x, "to"):
        return x.to(device)
    move = getattr(x, "cuda", None)
    if callable(move):
        return move()
    return [by_attribute(v) for v in x] if isinstance(x, (list, tuple)) else x

def by_error(x):
    try:
        return x.to(device)
    except AttributeError:
        return x

def by_any_error(x):
    try:
        return x.to(device)
    except Exception:
        return x

batch = {"x": torch.zeros(2), "n": 3, "s": "abc", "l": [torch.zeros(1), 2], "t": (torch.zeros(2),)}
a = by_class(batch)["l"][0]  #= gpu
b = [by_attribute(v) for v in batch.values()][3][0]  #= gpu
c = by_error(batch)["x"]  #= cpu
d = by_any_error([torch.zeros(1)])[0]  #= cpu
e = {k: v.to(device) for k, v in batch.items() if isinstance(v, torch.Tensor)}["x"]  #= gpu
f = {k: v.to(device) if k in ("x",) else v for k, v in batch.items()}["x"]  #= gpu
""",
    "told apart by what is not known": """# silent
def read(lines):
    rows = {}
    for line in lines:
        name, _, text = line.partition("=")
        rows[name] = [text]
    return rows

rows = read(io.StringIO("a=1\\nb=2"))
seen = torch.rand(1).item()
for name, row in rows.items():
    if name.startswith("tensor"):
        row.to(device)
for name, row in rows.items():
    if not name.startswith("tensor"):
        continue
    row.to(device)
kept = [row.to(device) for name, row in rows.items() if name.startswith("tensor")]
first = seen > 2 and rows["a"].to(device)
other = rows["a"].to(device) if seen > 2 else None

def one(name, row):
    if not name.startswith("tensor"):
        return row
    return row.to(device)

for name, row in rows.items():
    one(name, row)
""",
    "a state that has its tensor by then": """# silent
class Meter:
    def __init__(self):
        self.total = 0
        self.last = []

    def add(self, x):
        self.total = self.total + x
        self.last = x

    def get(self):
        return self.total.cpu(), self.last.to(device), self.total.device

meter = Meter()
for i in range(3):
    meter.add(torch.zeros(2))
meter.get()
previous = []
for i, x in enumerate([torch.zeros(1), torch.ones(1)]):
    if i > 0:
        previous = previous.to(device)
    previous = x
total = 0
for x in torch.utils.data.DataLoader(torch.zeros(2, 1)):
    if torch.rand(1).item() < 2:
        total = total + x
total.cpu()
""",
    "what a dict makes where nothing was put": """# silent
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--fine", type=int, default=1)
args = parser.parse_args()
found = collections.defaultdict(list)
for name in ("coarse", "fine"):
    if name == "coarse" or args.fine > 0:
        found[name] += [torch.zeros(1)]
for name, parts in found.items():
    found[name] = torch.cat(parts)
found["fine"].cpu()
""",
    "code that nobody in sight calls": """# silent
class Net(nn.Module):
    def __init__(self, mask=0):
        super().__init__()
        self.mask, self.memory, self.table = mask, [], [[1, 2], [3, 4]]
        self.inner = nn.Linear(2, 2)

    def remember(self, memory):
        self.memory, self.table = memory, torch.tensor(self.table)

    def forward(self, x, index=0, pads=[0]):
        self.table.to(x.device), pads.to(x.device), index.to(x.device)
        return self.inner(x) + self.memory.to(x.device) + self.mask.to(x.device)
""",
    "a pair in code that nobody in sight calls": """# runs: no
def states(size, device):
    hidden = (torch.zeros(1, size), torch.zeros(1, size))
    return hidden.to(device)  # DEV403: cpu gpu1 gpu2
""",
    "tokens as a list and as a tensor": """# runs: no
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2")
x = tokenizer.encode("a text", return_tensors="pt").to(device)  #= gpu
y = tokenizer.encode("a text", **vars(tokenizer)).to(device)  #= gpu
tokenizer.encode("a text").to(device)  # DEV403: cpu gpu1 gpu2
""",
    "what plain values are": """
a = [isinstance(3, kind) for kind in (numbers.Number, int, str, collections.abc.Hashable)]  #= [True,True,False,True]
b = isinstance({}, (str, numbers.Number))  #= False
c = isinstance([1], collections.abc.Collection)  #= True
d = isinstance({}, torch.Tensor)  #= False
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)


TEXTS = {
    "[1].to(0)": "AttributeError: 'list' object has no attribute 'to'",
    "(1,).cuda()": "AttributeError: 'tuple' object has no attribute 'cuda'",
    "{1: 2}.device": "AttributeError: 'dict' object has no attribute 'device'",
    "(3).cpu()": "AttributeError: 'int' object has no attribute 'cpu'",
    "(0.5).to(0)": "AttributeError: 'float' object has no attribute 'to'",
    "'a'.to(0)": "AttributeError: 'str' object has no attribute 'to'",
    "collections.OrderedDict(a=1).to(0)": "AttributeError: 'collections.OrderedDict' object has no attribute 'to'",
    "collections.defaultdict(int, a=1).to(0)": "AttributeError: 'collections.defaultdict' object has no attribute 'to'",
    "torch.optim.Adam([nn.Parameter(torch.ones(1))]).to(0)": "AttributeError: 'Adam' object has no attribute 'to'",
}


@pytest.mark.parametrize("expression", TEXTS)
def test_what_python_says(expression: str) -> None:
    (told,) = Run(f"{HEAD}{expression}\n").events(MoveOnArray)
    assert told.error == TEXTS[expression]
    with pytest.raises(AttributeError) as raised:
        exec(f"{HEAD}{expression}\n", {})
    assert str(raised.value) == TEXTS[expression].removeprefix("AttributeError: ")
