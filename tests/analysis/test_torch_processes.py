"""Processes that are forked after CUDA was initialised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_predicted

HEAD = """\
import multiprocessing as mp
import torch
import torch.multiprocessing as tmp
from concurrent.futures import ProcessPoolExecutor
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def work(value=None, where="cuda"):
    return torch.ones(2).to(device){mark}
"""

FORKED = {
    "a process": "w = torch.ones(1).to(device)\np = mp.Process(target=work, args=(1,))\np.start()\np.join()\n",
    "a process with names": "w = torch.ones(1, device=device)\ntmp.Process(target=work, kwargs={'where': 1}).start()\n",
    "a process of its own class": """\
w = torch.ones(1).to(device)
class Own(mp.Process):
    def __init__(self, task):
        super().__init__(daemon=True)
        self.task = task
    def run(self):
        self.task(1)
Own(work).start()
""",
    "a pool": "w = torch.ones(1).to(device)\nwith mp.Pool(2) as pool:\n    pool.map(work, [1, 2])\n",
    "a pool that is told to fork": """\
tmp.set_start_method("spawn")
w = torch.ones(1).to(device)
pool = mp.get_context("fork").Pool()
pool.apply_async(work, (1,))
""",
    "what a pool begins with": """\
w = torch.ones(1).to(device)
pool = mp.Pool(2, initializer=work, initargs=(1,))
pool.imap_unordered(str, [1])
""",
    "an executor": "w = torch.ones(1).to(device)\nProcessPoolExecutor().submit(work, 1)\n",
    "a child that asks": """\
w = torch.ones(1).to(device)
def ask():
    if torch.cuda.is_available():
        work()
mp.Process(target=ask).start()
""",
    "an executor that gets work later": """\
executor = ProcessPoolExecutor()
w = torch.ones(1).to(device)
executor.map(work, [1], [2])
""",
    "inside a try of the parent": """\
w = torch.ones(1).to(device)
try:
    mp.Process(target=work).start()
except RuntimeError:
    pass
""",
}

FINE = {
    "CUDA was only asked for": "mp.Process(target=work).start()\nmp.Pool(2).map(work, [1])\n",
    "perhaps CUDA was not used": """\
import sys
if len(sys.argv) > 2:
    w = torch.ones(1).to(device)
mp.Process(target=work).start()
""",
    "spawned": """\
tmp.set_start_method("spawn", force=True)
w = torch.ones(1).to(device)
mp.Process(target=work).start()
mp.Pool(2).map(work, [1])
ProcessPoolExecutor(2).submit(work, 1)
tmp.spawn(work, (device,), nprocs=1)
""",
    "a start method of the user's": """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--method", required=True)
mp.set_start_method(parser.parse_args().method)
w = torch.ones(1).to(device)
mp.Process(target=work).start()
""",
    "a context that does not fork": """\
w = torch.ones(1).to(device)
mp.get_context("forkserver").Process(target=work).start()
with ProcessPoolExecutor(2, mp_context=mp.get_context("spawn")) as executor:
    executor.submit(work, 1)
""",
    "a pool from before": "pool = mp.Pool(2)\nw = torch.ones(1).to(device)\npool.map(work, [1])\n",
    "nothing to do": "w = torch.ones(1).to(device)\nmp.Pool(2).map(work, [])\n",
    "never started": "w = torch.ones(1).to(device)\np = mp.Process(target=work)\n",
    "a function that nobody calls": """\
def run(values, device):
    w = torch.ones(1).to(device)
    return mp.Pool(2).map(work, values)
""",
    "the parent's errors": """\
w = torch.ones(1).to(device)
try:
    mp.Pool(2).map(work, [1])
except RuntimeError:
    pass
""",
}


@pytest.mark.parametrize("name", FORKED)
def test_cuda_in_a_forked_process(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD.format(mark="  # DEV605: gpu1 gpu2") + FORKED[name], tmp_path)


@pytest.mark.parametrize("name", FINE)
def test_processes_that_are_right(name: str, tmp_path: Path) -> None:
    text = HEAD.format(mark="") + FINE[name] + "# silent\n"
    assert_predicted(text, tmp_path)


def test_what_a_child_does_stays_there(tmp_path: Path) -> None:
    program = """
w = torch.ones(1).to(device)
seen = []
def note(box):
    global device
    box.append(1)
    device = "cpu"
mp.Process(target=note, args=(seen,)).start()
a = len(seen)  #= 0
b = torch.ones(1).to(device)  #= gpu
"""
    assert_predicted(HEAD.format(mark="") + program, tmp_path)
