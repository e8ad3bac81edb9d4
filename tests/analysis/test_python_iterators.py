"""Iterators, patterns, and what classes answer for: what a value is that comes by way of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import itertools
import re
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there = torch.zeros(1, device=device)
here = torch.zeros(1)
"""

PROGRAMS = {
    "what a generator returns": """
def total(parts):
    kept = here
    for part in parts:
        yield part
        kept = part
    return kept
def either(flag):
    if flag:
        return there
    yield here
    return here
def nothing():
    yield 1
found = []
def outer():
    found.append((yield from total([there, there])))
    found.append((yield from either(len(found) > 5)))
    found.append((yield from nothing()))
for _ in outer():
    pass
a = found[0]  #= gpu
b = found[1]  #= cpu ?
n = found[2]  #= None
""",
    "types in brackets": """
import asyncio
import collections
from typing import Generic, TypedDict, TypeVar
T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, inside: T) -> None:
        self.inside = inside
class Batch(TypedDict):
    rows: torch.Tensor
kept = dict[str, list[torch.Tensor]]()
kept.setdefault("x", []).append(there)
a = kept["x"][0]  #= gpu
b = Box[torch.Tensor](here).inside  #= cpu
grouped = collections.defaultdict[str, list[torch.Tensor]](list)
grouped["y"].append(there)
c = grouped["y"][0]  #= gpu
d = Batch(rows=there)["rows"]  #= gpu
async def hand_over():
    rows = asyncio.Queue[torch.Tensor]()
    await rows.put(there)
    return await rows.get()
e = asyncio.run(hand_over())  #= gpu
""",
    "a map that nobody asks for its items": """
calls = []
def kept(part):
    calls.append(part)
    return part.to(device)
map(kept, [there, here])
n = len(calls)  #= 0
moved = list(map(kept, [there, here]))
m = len(calls)  #= 2
a = moved[1]  #= gpu
b = here  #= cpu
""",
    "a function that is called until it gives nothing": """
left = [there, here, None, there]
given = list(iter(lambda: left.pop(0), None))
a = given[0]  #= gpu
b = given[1]  #= cpu
n = len(given)  #= 2
k = len(left)  #= 1
""",
    "a function of which nobody knows when it ends": """
import os
left = [there] * len(os.listdir("/"))
given = iter(lambda: left.pop() if left else None, None)
a = next(given)  #= gpu ?
b = next(iter(lambda: here, 3))  #= cpu
""",
    "columns of unlike lengths": """
rows = list(itertools.zip_longest([there, there], [here], fillvalue=torch.ones(2)))
n = len(rows)  #= 2
a = rows[1][0]  #= gpu
b = rows[1][1]  #= cpu
c = list(zip([there, there], [here]))[0][0]  #= gpu
""",
    "some of the items": """
both = [here, there]
a = list(itertools.compress(both, [0, 1]))[0]  #= gpu
b = list(itertools.takewhile(lambda x: x is not there, both))[0]  #= cpu
c = list(itertools.dropwhile(lambda x: x is not there, both))[0]  #= gpu
d = len(list(itertools.takewhile(lambda x: x is not there, both)))  #= 1
e = list(itertools.compress(both, [x.numel() > 3 for x in (here, there)] + [1]))  #= [] ?
""",
    "what a generator is sent": """
def running():
    total = None
    while True:
        given = yield total
        total = given if total is None else total + given
sums = running()
start = next(sums)  #= None
a = sums.send(there)  #= gpu ?
b = sums.send(there)  #= gpu ?
c = next(x for x in [there])  #= gpu
""",
    "a generator that is sent nothing": """
def both():
    yield here
    yield there
two = both()
a = two.send(None)  #= cpu
b = two.send(None)  #= gpu
""",
    "items of a class": """
class Places:
    known = {"host": torch.device("cpu"), "beside": device}
    def __class_getitem__(cls, name):
        return cls.known[name]
class Nearer(Places):
    known = {"beside": torch.device("cpu")}
a = torch.zeros(1, device=Places["beside"])  #= gpu
b = torch.zeros(1, device=Places["host"])  #= cpu
c = torch.zeros(1, device=Nearer["beside"])  #= cpu
""",
    "a class that is made for an item": """
class Placed:
    where = "cpu"
    def __class_getitem__(cls, where):
        return type("Given", (cls,), {"where": where})
    def make(self):
        return torch.zeros(2, device=self.where)
a = Placed[device]().make()  #= gpu
b = Placed().make()  #= cpu
""",
    "a class that answers for every attribute": """
class Moving:
    def __init__(self):
        self.x = torch.zeros(2)
    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return value.to(device) if torch.is_tensor(value) else value
class Heir(Moving):
    pass
a = Moving().x  #= gpu ?
b = Heir().x  #= gpu ?
c = Moving().x + there  #= gpu ?
""",
    "numbers in the name of a device": """
text = "cuda:0" if torch.cuda.is_available() else "cpu"
found = re.match(r"cuda:(\\d+)", text)
a = torch.zeros(1, device=torch.device("cuda", int(found.group(1))) if found else "cpu")  #= gpu
b = re.sub(r":\\d+$", "", text)  #= 'cpu' 'cuda' 'cuda'
c = re.split(":", text)[0]  #= 'cpu' 'cuda' 'cuda'
d = re.findall("[0-9]", text)  #= [] ['0'] ['0']
numbered = re.compile("([a-z]+):?([0-9]*)")
e = numbered.search(text)[1]  #= 'cpu' 'cuda' 'cuda'
f = numbered.fullmatch(text).groups()  #= ['cpu',''] ['cuda','0'] ['cuda','0']
g = numbered.sub(r"\\1", text)  #= 'cpu' 'cuda' 'cuda'
h = re.search("(x|)cpu|(y)", "cpu").group(2)  #= None
i = re.search("gpu", text)  #= None
""",
    "patterns that are left alone": """
text = "a" * 40 + "!"
a = bool(re.match("(a+)+b", "aaaaab"))  #= True ?
b = re.sub("A", "", text, flags=re.IGNORECASE)  #= '!' ?
d = re.match("a*a*a*a*a*a*a*a*b", text)  #= None ?
c = torch.zeros(1, device="cpu" if re.match("(", ")", 2) is None else device) if text == "" else here  #= cpu
""",
    "a class behind a sequence and a mapping": """
class Batch:
    def __init__(self, x):
        self.x = x
def moved(value):
    match value:
        case [*parts]:
            return [moved(part) for part in parts]
        case {"x": x}:
            return moved(x)
        case Batch(x=x):
            return x.to(device)
        case _:
            return value
a = moved(Batch(here))  #= gpu
b = moved([Batch(here), here])[0]  #= gpu
c = moved({"x": [here]})[0]  #= cpu
""",
    "a class that is a mapping": """
class Batch(dict):
    pass
def first(value):
    match value:
        case {"x": x}:
            return x
        case _:
            return here
a = first(Batch(x=there))  #= gpu ?
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
