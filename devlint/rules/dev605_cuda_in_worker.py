"""DEV605: CUDA in a forked process: a worker of a DataLoader, or one that the program starts itself.

https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import CudaInWorker
from devlint.rules.base import Diagnosis, Example, Note, Rule, TextContext
from devlint.rules.text import trail

BAD = """\
import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)


class Points(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index)).to(device)  # DEV605: gpu1 gpu2


for batch in DataLoader(Points(), batch_size=4, num_workers=1):
    print(model(batch).sum())
"""

GOOD = """\
import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)


class Points(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index))


for batch in DataLoader(Points(), batch_size=4, num_workers=1):
    print(model(batch.to(device)).sum())
"""

BAD_POOL = """\
import multiprocessing

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3).to(device)


def score(value):
    return torch.full((3,), value).to(device).sum().item()  # DEV605: gpu1 gpu2


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(score, [1.0, 2.0]), weight.sum().item())
"""

GOOD_POOL = """\
import multiprocessing

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3).to(device)


def score(value):
    return torch.full((3,), value).sum().item()


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(score, [1.0, 2.0]), weight.sum().item())
"""

RULE = Rule(
    code="DEV605",
    name="cuda-in-worker",
    summary="CUDA is used in a forked process: by DataLoader workers, or in a Process or Pool of the program.",
    what="""\
A move to CUDA or a tensor created there in `__getitem__`, `__iter__`, a transform or a `collate_fn` that a DataLoader
with `num_workers` greater than 0 runs in its workers, after the program itself used CUDA; also a dataset that holds
CUDA tensors, which the workers read. With `num_workers=0` the same code is right, and so it is with
`multiprocessing_context="spawn"`.

Also CUDA in what a `Process`, a `Pool` or a `ProcessPoolExecutor` runs, where the program has surely initialised CUDA
before the processes are forked. The start method is taken to be `fork`, as it is on Linux before Python 3.14, unless
the program sets another one or asks for it by `get_context("spawn")`; functions that nobody calls are judged only if
they ask for `fork` themselves.""",
    why="""\
On Linux workers are forked, and a forked process can't use a CUDA that its parent initialised. Even where it can,
each worker needs a CUDA context of its own.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(Example(bad=BAD_POOL, good=GOOD_POOL),),
    worlds=("gpu1", "gpu2"),
    error="""\
RuntimeError: ...Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the \
'spawn' start method""",
    references=(
        "https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
        "https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing",
    ),
)


@RULE.on(CudaInWorker)
def in_forked_process(event: CudaInWorker, context: TextContext) -> Iterator[Diagnosis]:
    """CUDA is used in a forked process."""
    message, help_text, notes = (_in_worker if event.by_loader else _in_child)(event, context)
    yield Diagnosis(event.root, message, event, trail(event, event.root, notes), help_text)


def _in_worker(event: CudaInWorker, context: TextContext) -> tuple[str, str, list[Note]]:
    """What is said of a worker of a DataLoader."""
    where = "in a DataLoader worker, which is a forked process"
    if event.workers is None or event.workers > 1:
        where = "in DataLoader workers, which are forked processes"
    message = f"`{context.text(event.root)}` uses CUDA {where}"
    notes = [Note(event.forked, "this DataLoader runs it in its workers")] if event.forked is not None else []
    if event.forked == event.root:
        message, notes = f"the dataset holds CUDA tensors, and they are read {where}", []
    return message, "return CPU tensors, and move the batch in the loop", notes


def _in_child(event: CudaInWorker, context: TextContext) -> tuple[str, str, list[Note]]:
    """What is said of a process that the program starts itself."""
    message = f"`{context.text(event.root)}` uses CUDA in a process that is forked after CUDA was initialised"
    notes = [Note(event.initialised, "CUDA is initialised here")] if event.initialised is not None else []
    if event.forked is not None:
        notes.append(Note(event.forked, "this runs it in a forked process"))
    return message, 'start the processes by `multiprocessing.get_context("spawn")`', notes
