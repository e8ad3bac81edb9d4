"""Threads, pools and queues: what a thread runs is run where it is started; and iterators of the program's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "a queue gives what was put first": """
q = queue.Queue(maxsize=4)
q.put(torch.rand(3))
q.put_nowait((torch.rand(3, device=device), 1))
a = q.get()  #= cpu
b, n = q.get(timeout=1)
c = b  #= gpu
""",
    "a queue that was filled in a loop": """
q = queue.Queue()
for _ in range(3):
    q.put(torch.rand(3))
while not q.empty():
    x = q.get()
x * torch.rand(3, device=device)  # DEV301: gpu1 gpu2
""",
    "a thread runs its target": """
found = []
def work(x, out):
    out.append(x.to(device))
threads = [threading.Thread(target=work, args=(torch.rand(3), found)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
a = found[0]  #= gpu
""",
    "a thread of a class of its own": """
class Work(threading.Thread):
    def __init__(self, x):
        threading.Thread.__init__(self)
        self.x, self.out = x, None
    def run(self):
        self.out = self.x.cpu() * 2
work = Work(torch.rand(3, device=device))
work.start()
work.join()
a = work.out  #= cpu
""",
    "a worker that ends with its queue": """
net = nn.Linear(3, 1).to(device)
q, results = queue.Queue(), []
def worker():
    while True:
        x = q.get()
        if x is None:
            break
        results.append(net(x.to(device)).detach())
thread = threading.Thread(target=worker, daemon=True)
thread.start()
for _ in range(3):
    q.put(torch.rand(2, 3))
q.put(None)
thread.join()
a = torch.cat(results)  #= gpu ?
""",
    "a pool gives the results": """
def load(i):
    return torch.rand(3)  # DEV303: gpu1 gpu2
with ThreadPoolExecutor(2) as pool:
    parts = list(pool.map(load, range(2)))
    futures = [pool.submit(load, i) for i in range(2)]
    results = [future.result() for future in as_completed(futures)]
a = parts[0]  #= cpu
b = results[0]  #= cpu
torch.stack(parts) * torch.rand(3, device=device)
""",
    "an error of a task is raised by its result": """
weight = torch.rand(3, device=device)
def weigh(x):
    return (x * weight).sum()  # DEV301: gpu1 gpu2
with ThreadPoolExecutor() as pool:
    print(pool.submit(weigh, torch.rand(3)).result())
""",
    "a loader in a thread": """
class Prefetch(threading.Thread):
    def __init__(self, batches):
        super().__init__()
        self.q, self.batches, self.daemon = queue.Queue(2), batches, True
        self.start()
    def run(self):
        for batch in self.batches:
            self.q.put(batch)
        self.q.put(None)
    def __iter__(self):
        return self
    def __next__(self):
        batch = self.q.get()
        if batch is None:
            raise StopIteration
        return batch
net = nn.Linear(3, 1).to(device)
for batch in Prefetch([torch.rand(2, 3)]):  # DEV303: gpu1 gpu2
    net(batch)
""",
    "an iterator that ends": """
class Once:
    def __init__(self, x):
        self.x = x
    def __iter__(self):
        return self
    def __next__(self):
        if self.x is None:
            raise StopIteration()
        x, self.x = self.x, None
        return x
parts = [part for part in Once(torch.rand(2, device=device))]
a = parts[0]  #= gpu
b = parts[0] + torch.rand(2, device=device)  #= gpu
""",
    "what a prefetcher holds is no cache": """
class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.preload()
    def preload(self):
        try:
            self.x, self.y = next(self.loader)
        except StopIteration:
            self.x = self.y = None
            return
        if device.type == "cuda":
            self.x = self.x.to(device, non_blocking=True)
    def next(self):
        x, y = self.x, self.y
        self.preload()
        return x, y
batches = Prefetcher([(torch.rand(2, 3), torch.rand(2, 1))] * 2)
net = nn.Linear(3, 1).to(device)
x, y = batches.next()
while x is not None:
    loss = (net(x) - y).pow(2).mean()  # DEV301: gpu1 gpu2
    x, y = batches.next()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
