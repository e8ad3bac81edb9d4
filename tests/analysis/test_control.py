"""Guards, choices, loops, what the worlds answer, unbound names: what runs in which world, and with what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import os, sys
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "the first number of an enumeration": """
losses = []
loader = torch.utils.data.DataLoader([torch.zeros(2)] * 4, batch_size=2)
for step, batch in enumerate(loader):
    losses.append(batch.to(device).mean() if step >= 1 else torch.tensor(0.0))
total = torch.stack(losses)  # DEV301: gpu1 gpu2
""",
    "a first round of its own": """
loader = torch.utils.data.DataLoader([torch.zeros(2)] * 4, batch_size=2)
for step, batch in enumerate(loader):
    if step == 0:
        total = torch.zeros(2, device=device)
    total += batch.to(device).sum(0)
a = total  #= gpu
for step, batch in enumerate(loader, 1):
    if step == 1:
        b = batch.to(device)  #= gpu
""",
    "a list that each round replaces by a longer one, up to a length": """
xs = []
for step in range(9):
    xs.append(step)
    xs = xs[-6:]
    if len(xs) == 6:
        a = torch.ones(2, device=device) + torch.ones(2)  # DEV303: gpu1 gpu2
""",
    "a list of another length that is the same in each round": """
xs = []
for step in range(9):
    xs = [step, step + 1]
    if len(xs) == 3:
        a = torch.ones(2, device=device) + torch.ones(2)  # silent
""",
    "what stands behind a part of unknown length": """
loader = torch.utils.data.DataLoader([torch.zeros(2)] * 4, batch_size=2)
ends = [torch.ones(2, device=device), *[x[0] for x in loader], torch.ones(2, device=device)]
a = ends[1:-1][-1]  #= cpu
b = ends[-1]  #= gpu
c = ends[-1:][0]  #= gpu
""",
    "what a loop appends behind it": """
loader = torch.utils.data.DataLoader([torch.zeros(2)] * 4, batch_size=2)
ends = [*[x[0] for x in loader], torch.ones(2, device=device)]
for step in range(9):
    if step == 7:
        ends.append(torch.ones(2))
if len(ends) == 3:
    a = torch.ones(2, device=device) + ends[-1]  # silent
""",
    "objects that either side of a branch made": """
class Batch:
    def __init__(self, x, y):
        self.x, self.y = x, y
if len(sys.argv) > 1 and sys.argv[1] == "ones":
    batch = Batch(torch.ones(2, device=device), torch.ones(2))
else:
    batch = Batch(torch.zeros(2, device=device), torch.zeros(2))
total = batch.x + batch.y  # DEV301: gpu1 gpu2
""",
    "objects of either side that fit": """
class Batch:
    def __init__(self, x, place):
        self.x, self.place = x, place
if len(sys.argv) > 1 and sys.argv[1] == "host":
    batch = Batch(torch.ones(2), torch.device("cpu"))
else:
    batch = Batch(torch.zeros(2, device=device), device)
total = batch.x + torch.ones(2, device=batch.place)  # silent
""",
    "options of one of two dicts": """
def mixes(plain=False, mixed=False, deep=False):
    return mixed
options = {"plain": True, "mixed": True} if os.path.exists("plain") else {"deep": True}
a = mixes(**options)  #= False ?
b = options.get("mixed", False)  #= False ?
options["deep"] = True
c = 1 if "deep" in options else 0  #= 1
""",
    "named tuples are joined by their fields": """
import random
from collections import namedtuple
from typing import NamedTuple
Step = namedtuple("Step", "state action reward")
class Pair(NamedTuple):
    image: torch.Tensor
    mask: torch.Tensor
    name: str = ""
    def moved(self, place):
        return self._replace(image=self.image.to(place))
steps = [Step(torch.ones(2, device=device), torch.tensor([1]), i) for i in range(3)]
one = random.choice(steps)
a = one.state  #= gpu
b = one.action  #= cpu
states, actions, rewards = zip(*random.sample(steps, 2))
e = torch.stack(states)  #= gpu
f = torch.stack(actions)  #= cpu
pairs = [Pair(torch.zeros(2), torch.zeros(2)), Pair(torch.ones(2), torch.ones(2), "ones")]
pair = random.choice(pairs)
c = pair.moved(device).image  #= gpu
d = pair.moved(device).mask  #= cpu
if len(sys.argv) > 1 and sys.argv[1] == "one":
    either = Pair(torch.ones(2, device=device), torch.ones(2))
else:
    either = Pair(torch.zeros(2, device=device), torch.zeros(2))
total = either.image + either.mask  # DEV301: gpu1 gpu2
""",
    "a guard by try": """
x = torch.zeros(2)
try:
    x = x.cuda()
    done = True
except Exception:
    done = False
a = x  #= gpu
b = done  #= False True True
""",
    "a handler of another error": """
def same(x, y):
    try:
        assert not torch.equal(x, y)  # DEV301: gpu1 gpu2
    except AssertionError:
        raise ValueError("they are the same")
same(torch.zeros(2), torch.ones(2, device=device))
""",
    "handlers of other errors, and of the right one": """
import numpy as np
x = torch.zeros(2, device=device)
try:
    a = np.asarray(x)
except TypeError:
    a = x.cpu().numpy()
b = a  #= ndarray
try:
    try:
        y = torch.zeros(2) + x
    except (AttributeError, ValueError):
        y = None
except RuntimeError:
    y = x
c = y  #= gpu
try:
    z = x.to("cuda")
except AssertionError:
    z = x
d = z  #= gpu
""",
    "a handler that expects something else of numpy": """
import numpy as np
x = torch.zeros(2, device=device)
try:
    np.asarray(x)  # DEV401: gpu1 gpu2
except (ValueError, RuntimeError):
    pass
""",
    "try, else and finally": """
order = []
try:
    torch.zeros(1, device="cuda")
except (RuntimeError, AssertionError):
    order.append("except")
else:
    order.append("else")
finally:
    order.append("finally")
a = order  #= ['except','finally'] ['else','finally'] ['else','finally']
""",
    "an assertion ends a world": """
assert torch.cuda.is_available(), "no GPU"
x = torch.zeros(1).cuda()
# silent
# runs: gpu1 gpu2
""",
    "the end of the program": """
if not torch.cuda.is_available():
    print("no GPU")
    sys.exit(0)
x = torch.zeros(1).cuda()
# silent
""",
    "an early return": """
def run():
    if not torch.cuda.is_available():
        return torch.zeros(1)
    return torch.zeros(1).cuda()
a = run()  #= gpu
""",
    "an early raise": """
def run():
    if torch.cuda.device_count() < 2:
        raise RuntimeError("two devices are needed")
    return torch.zeros(1, device="cuda:1")
try:
    x = run()
except RuntimeError:
    x = torch.zeros(1)
a = x  #= cpu cpu cuda:1
""",
    "and, or and conditional expressions": """
n = torch.cuda.device_count()
a = torch.cuda.is_available() and n > 1  #= False False True
b = n and torch.zeros(1, device="cuda")
c = torch.zeros(1, device=(n and "cuda") or "cpu")  #= gpu
d = torch.zeros(1).cuda() if n else torch.zeros(1)  #= gpu
e = 0 < n < 2  #= False True False
f = not n  #= True False False
if n > 1 and torch.cuda.get_device_name(1):
    g = 2
else:
    g = n
h = g  #= 0 1 2
""",
    "answers that are kept": """
USE_CUDA = torch.cuda.is_available()
class Settings:
    cuda = USE_CUDA
    count = torch.cuda.device_count()
    def __init__(self):
        self.gpu = self.cuda and self.count > 0
s = Settings()
def place(x):
    return x.cuda() if s.gpu else x
a = place(torch.zeros(1))  #= gpu
b = Settings.count  #= 0 1 2
has = torch.cuda.is_available
c = has()  #= False True True
""",
    "devices by their number": """
devices = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
xs = [torch.zeros(1, device=d) for d in devices]
a = [str(d) for d in devices]  #= [] ['cuda:0'] ['cuda:0','cuda:1']
b = xs  #= [] [cuda:0] [cuda:0,cuda:1]
for i in range(torch.cuda.device_count()):
    last = torch.zeros(1, device=f"cuda:{i}")
c = last if devices else None  #= None cuda:0 cuda:1
""",
    "a name that one world leaves unbound": """
if torch.cuda.is_available():
    stream = 1
print(stream)  # DEV105: cpu
""",
    "bound on all ways": """
if torch.cuda.is_available():
    place = "cuda"
else:
    place = "cpu"
del device
device = place
a = torch.zeros(1, device=device)  #= gpu
""",
    "visible devices that are named too late": """
os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # DEV602: gpu2
a = torch.cuda.device_count()  #= 0 1 2
# runs: no
""",
    "a second round of a loop": """
x = torch.zeros(2)
total = torch.zeros(2)
for step in range(2):
    total = total + x  # DEV301: gpu1 gpu2
    x = x.to(device)
""",
    "the first round alone": """
x = torch.zeros(2)
for step in range(3):
    if step == 0:
        x = x.to(device)
a = x  #= gpu
""",
    "known strings are all visited": """
parts = {name: torch.zeros(1) for name in ["a", "b", "c", "d", "e"]}
for name in ["a", "b", "c", "d", "e"]:
    parts[name] = parts[name].to(device)
a = parts["a"]  #= gpu
e = parts["e"]  #= gpu
""",
    "break and continue": """
x = torch.zeros(1)
for name in ["keep", "skip", "stop", "never"]:
    if name == "skip":
        continue
    if name == "stop":
        break
    seen = name
else:
    x = None
a = seen  #= 'keep'
b = x  #= cpu
for name in ("a",):
    pass
else:
    y = torch.zeros(1, device=device)
c = y  #= gpu
""",
    "a loop until something moved": """
x = torch.zeros(1)
while x.device.type != device.type:
    x = x.to(device)
a = x  #= gpu
""",
    "recursion": """
def depth(x, n):
    if n == 0:
        return x.to(device)
    return depth(x, n - 1)
a = depth(torch.zeros(1), 1)  #= gpu
""",
    "what a bound left out is no choice": """
def is_tensor(x, n):
    if n == 0:
        return isinstance(x, torch.Tensor)
    return any(is_tensor(x, n - 1) for _ in range(1))
def to(x):
    if not is_tensor(x, 9):
        return x
    return x.to(device)
a = to(torch.zeros(1))  #= gpu ?
b = a + torch.zeros(1, device=device)
# silent
""",
    "chunks of a list, one for each device": """
blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])
places = [f"cuda:{i}" for i in range(torch.cuda.device_count())] or ["cpu"]
class Placed(nn.Module):
    def __init__(self, block, place):
        super().__init__()
        self.block, self.place = block.to(place), place
    def forward(self, x):
        return self.block(x.to(self.place))
start = 0
for place in places:
    count = round(len(blocks) / len(places))
    for i in range(start, min(start + count, len(blocks))):
        blocks[i] = Placed(blocks[i], place)
    start += count
a = start  #= 4
x = torch.zeros(1, 2)
for block in blocks:
    x = block(x)
b = x  #= last
# silent
""",
    "a long chain of calls": """
def f1(x): return x.to(device)
def f2(x): return f1(x)
def f3(x): return f2(x)
def f4(x): return f3(x)
def f5(x): return f4(x)
def f6(x): return f5(x)
a = f6(torch.zeros(1))  #= gpu
""",
    "match": """
match torch.cuda.device_count():
    case 0:
        place = "cpu"
    case 1 | 2 as n:
        place = f"cuda:{n - 1}"
a = torch.zeros(1, device=place)  #= last
""",
    "match: members, mappings, rests and guards": """
import enum
class Kind(enum.Enum):
    HOST = 1
    GPU = 2
def of_kind(kind):
    match kind:
        case Kind.HOST:
            return torch.zeros(1)
        case Kind.GPU:
            return torch.zeros(1, device=device)
def of_settings(settings):
    match settings:
        case {"kind": "host", "size": n}:
            return torch.zeros(n)
        case {"kind": "gpu", "size": n, **rest}:
            return torch.zeros(n, device=rest["where"])
def of_items(items):
    match items:
        case []:
            return None
        case [first]:
            return first
        case [first, *others, _]:
            return others[0]
def of_number(number):
    match number:
        case int(n) if n > 7:
            return torch.zeros(n, device=device)
        case int() | float():
            return torch.zeros(1)
def of_what_may_be_none(value):
    match value:
        case None:
            return torch.zeros(1)
        case torch.Tensor():
            return value.to(device)
a = of_kind(Kind.HOST)  #= cpu
b = of_kind(Kind.GPU)  #= gpu
c = of_settings({"kind": "host", "size": 2})  #= cpu
d = of_settings({"kind": "gpu", "size": 2, "where": device})  #= gpu
e = of_items([torch.zeros(1), torch.zeros(1, device=device), 1])  #= gpu
f = of_items((torch.zeros(1),))  #= cpu
g = of_number(8)  #= gpu
h = of_number(2)  #= cpu
i = of_what_may_be_none(None)  #= cpu
j = of_what_may_be_none(torch.zeros(1))  #= gpu
""",
    "match: positional patterns of classes": """
from dataclasses import dataclass
from typing import NamedTuple
@dataclass
class Move:
    tensor: torch.Tensor
    place: str = "here"
class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor
class Named:
    __match_args__ = ("held",)
    def __init__(self, held):
        self.held = held
def handle(message):
    match message:
        case Move(tensor, "there"):
            return tensor
        case Move(tensor):
            return tensor.to(device)
        case Pair(_, second):
            return second
        case Named(held):
            return held
a = handle(Move(torch.zeros(1)))  #= gpu
b = handle(Move(torch.zeros(1), "there"))  #= cpu
c = handle(Pair(torch.zeros(1), torch.zeros(1, device=device)))  #= gpu
d = handle(Named(torch.zeros(1)))  #= cpu
""",
    "recursion that counts": """
def build(depth):
    if depth == 0:
        return torch.zeros(1, device=device)
    return build(depth - 1)
def rise(at, limit):
    return torch.zeros(1) if at == limit else rise(at + 1, limit)
a = build(6)  #= gpu
b = rise(1, 6)  #= cpu
""",
    "device types compared": """
x = torch.zeros(1, device=device)
if x.device.type == "cuda":
    y = x.cpu()
else:
    y = x
a = y  #= cpu
if x.is_cuda:
    z = torch.zeros(1, device="cuda")
else:
    z = torch.zeros(1)
b = (x + z)  #= gpu
c = str(x.device).startswith("cuda")  #= False True True
d = "cuda" in str(device)  #= False True True
""",
    "narrowing": """
def move(value):
    if isinstance(value, torch.Tensor) or hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, (int, str)):
        return value
    return None
a = move(torch.zeros(1))  #= gpu
b = move("text")  #= 'text'
c = move(nn.Linear(1, 1))  #= gpu
""",
    "what may be None": """
import random
from types import SimpleNamespace
def some():
    return random.random() < 2
x = torch.zeros(1, device=device) if some() else None
if x is not None:
    a = x  #= gpu
b = x if x is not None else torch.ones(1, device=device)  #= gpu
net = nn.Linear(1, 1) if some() else None
if net:
    c = net.to(device)(torch.zeros(1, device=device))  #= gpu
self = SimpleNamespace(mean=None)
if some():
    self.mean = torch.zeros(1)
if self.mean is not None and self.mean.shape[0] == 1:
    d = self.mean  #= cpu
def early(value):
    if value is None:
        return torch.zeros(1)
    return value
e = early(self.mean)  #= cpu
place = device if some() else None
if not (place is None):
    f = torch.zeros(1, device=place)  #= gpu
g = [part.to("cpu") for part in [x, x] if isinstance(part, torch.Tensor)][0]  #= cpu
assert x is not None
h = x  #= gpu
""",
    "every item of a long loop is placed": """
def chain(count):
    return nn.Sequential(*[nn.Linear(3, 3) for _ in range(count)])
a = chain(5)  #= gpu
for p in a.parameters():
    p.data = p.data.to(device)
b = chain(12)  #= gpu
for part in b.children():
    part.to(device)
c = nn.Sequential(chain(12), nn.ReLU(), chain(6))  #= gpu
for name, part in c.named_modules():
    if isinstance(part, nn.Linear):
        part.to(device)
names = []
d = chain(11)  #= gpu
for name, part in d.named_children():
    names.append(name)
places = {}
for name in names:
    places[name] = device
for name, part in d.named_children():
    if name in places:
        part.to(places[name])
e = len(names)  #= 11
""",
    "every place of a long list or dict is filled": """
xs = [torch.ones(2) for _ in range(12)]
for i in range(len(xs)):
    xs[i] = xs[i].to(device)
a = xs[11]  #= gpu
ys = {f"k{i}": torch.ones(2) for i in range(12)}
for k, v in ys.items():
    ys[k] = v.to(device)
b = ys["k11"]  #= gpu
for i in range(12):
    key = f"k{i}"
    ys[key] = ys[key].cpu()
c = ys["k11"]  #= cpu
grid = [[torch.ones(2) for _ in range(10)] for _ in range(10)]
for i in range(10):
    for j in range(10):
        grid[i][j] = grid[i][j].to(device)
f = grid[9][9]  #= gpu
g = grid[0][9]  #= gpu
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(12)])
for i in range(len(net)):
    net[i] = nn.Linear(3, 3).to(device)
d = net  #= gpu
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(12):
            setattr(self, f"fc{i}", nn.Linear(3, 3))
e = Named()  #= gpu
for i in range(12):
    getattr(e, f"fc{i}").to(device)
""",
    "some items of a long loop are placed": """
a = nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
for name, p in a.named_parameters():
    if name.endswith("weight"):
        p.data = p.data.to(device)
b = a[19].weight  #= gpu
c = a[19].bias  #= cpu
xs = [torch.ones(2) for _ in range(12)]
for i in range(len(xs) - 1):
    xs[i] = xs[i].to(device)
d = xs[10]  #= gpu
e = xs[11]  #= cpu
picked = []
for name in [f"k{i}" for i in range(12)]:
    if name != "k3":
        picked.append(name)
f = "k10" in picked  #= True
for i, x in enumerate(xs):
    if i == 9:
        break
g = i  #= 9
""",
    "names that are perhaps picked": """
net = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(3, 3), nn.Dropout(0.1))])
names = []
for name, part in net.named_children():
    if any(True for _ in part.parameters()):
        names.append(name)
places = {}
for name in names:
    places[name] = device
for name, part in net.named_children():
    if name in places:
        part.to(places[name])
net(torch.ones(2, 3, device=device))
a = net[10].weight  #= gpu
""",
    "a long loop that is not cheap": """
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(60)])
count = 0
names = []
for name, part in net.named_children():
    for number in range(3):
        for other in ("a", "b", "c", "d"):
            for third in ("a", "b", "c", "d"):
                last = other + third
    part.to(device)
    count += 1
    names.append(name)
a = net[0].weight  #= gpu
b = net[59].weight  #= gpu ?
c = count  #= 60 ?
d = "59" in names  #= True ?
net(torch.ones(2, 3, device=device))
""",
    "what is left of a very long loop may be anywhere": """
net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(50)])
for p in net.parameters():
    p.data = p.data.to(device)
a = net[0].weight  #= gpu
b = net[49].weight  #= gpu ?
net(torch.ones(2, 3, device=device))
biases = nn.Sequential(*[nn.Linear(3, 3) for _ in range(50)])
for name, p in biases.named_parameters():
    if name.endswith("bias"):
        p.data = p.data.to(device)
c = biases[0].weight  #= cpu
xs = [torch.ones(2)] * 60
for i in range(100):
    if i < 60:
        xs[i] = xs[i].to(device)
d = xs[59]  #= gpu ?
e = xs[59] + torch.ones(2, device=device)  #= gpu ?
parts = nn.ModuleList([nn.Linear(3, 3) for _ in range(60)])
for i in range(100):
    if i < 60:
        parts[i].to(device)
f = parts[59].weight  #= gpu ?
parts[59](torch.ones(2, 3, device=device))
state = [torch.ones(2), torch.ones(2)]
for epoch in range(100):
    state[0] = state[0].to(device)
g = state[1]  #= cpu
""",
    "one of two numbers": """
import random
n = 0 if random.random() < 0 else 2
if random.random() < 0:
    m = -1
else:
    m = 3
k = 1
if random.random() < 2:
    k = torch.cuda.device_count()
def either():
    if random.random() < 0:
        return 0
    return 1
def within():
    for i in range(9):
        if i == 5 and random.random() < 2:
            return i
    return -1
a = [n > 2, n == 1, n != 7]  #= [False,False,True]
g = n == 2  #= True ?
b = [m == 0, m >= -1, m > 3]  #= [False,True,False]
c = [k > 2, k < 0]  #= [False,False]
d = [either() > 1, bool(either() + 1), either() in (5, 6)]  #= [False,True,False]
e = within() > 3  #= True ?
f = torch.zeros(2, device="cuda:1") if n > 2 or k > 2 or either() > 1 else device
""",
    "numbers that go on in a loop": """
import random
count, last, seen, many = 0, -1, -1, [0]
for i in range(50):
    if random.random() < 2:
        count += 1
    if random.random() < 2:
        last = i
    if i == 20 and random.random() < 2:
        seen = i
        break
    if random.random() < 2:
        many[0] += 1
    one = 0 if random.random() < 0 else 1
    assert not one > 1
a = count > 5  #= True ?
c = last > 3  #= True ?
d = seen > 3  #= True ?
e = many[0] > 9  #= True ?
turns = 0
while turns < 10:
    turns += 1 if random.random() < 2 else 2
b = turns > 3  #= True ?
""",
    "containers of modules have a length": """
empty, full = nn.ModuleList(), nn.Sequential(nn.ReLU())
a = True if empty else False  #= False
b = True if full and nn.Linear(1, 1) else False  #= True
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)


def test_visible_devices_are_renumbered(tmp_path: Path) -> None:
    assert_predicted(
        """
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
import torch
a = torch.cuda.device_count()  #= 0 0 1
b = torch.cuda.is_available()  #= False False True
x = torch.zeros(1, device="cuda:0" if b else "cpu")  #= cpu cpu cuda:0
y = torch.zeros(1, device="cuda:1") if a > 1 else x  #= cpu cpu cuda:0
""",
        tmp_path,
    )
