"""DEV605: CUDA in the worker processes of a DataLoader.

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

RULE = Rule(
    code="DEV605",
    name="cuda-in-worker",
    summary="A Dataset or collate function uses CUDA and is run by forked DataLoader workers.",
    what="""\
A move to CUDA or a tensor created there in `__getitem__`, `__iter__`, a transform or a `collate_fn` that a DataLoader
with `num_workers` greater than 0 runs in its workers, after the program itself used CUDA; also a dataset that holds
CUDA tensors, which the workers read. With `num_workers=0` the same code is right, and so it is with
`multiprocessing_context="spawn"`.""",
    why="""\
On Linux workers are forked, and a forked process can't use a CUDA that its parent initialised. Even where it can,
each worker needs a CUDA context of its own.""",
    example=Example(bad=BAD, good=GOOD),
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
def in_worker(event: CudaInWorker, context: TextContext) -> Iterator[Diagnosis]:
    """CUDA is used in a forked worker."""
    where = "in a DataLoader worker, which is a forked process"
    if event.workers is None or event.workers > 1:
        where = "in DataLoader workers, which are forked processes"
    message = f"`{context.text(event.root)}` uses CUDA {where}"
    notes = [Note(event.loader, "this DataLoader runs it in its workers")] if event.loader is not None else []
    if event.loader == event.root:
        message, notes = f"the dataset holds CUDA tensors, and they are read {where}", []
    help_text = "return CPU tensors, and move the batch in the loop"
    yield Diagnosis(event.root, message, event, trail(event, event.root, notes), help_text)
