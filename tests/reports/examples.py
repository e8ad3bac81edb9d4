"""Findings for the tests of the formats."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from devlint.findings import Condition, Edit, Finding, Fix, Location, Position, TraceStep
from devlint.reports import render
from devlint.sources import Source, read_source
from devlint.worlds import WORLDS
from tests.sources.helpers import code, notebook

MODEL = """\
import torch

class Encoder(torch.nn.Module):
    def __init__(self, heads, patches):
        self.attn_bias = alibi_2d(heads, patches)

    def forward(self, tokens):
        scores = tokens @ self.weight
        return scores + self.attn_bias
"""
MAIN = "import model\n\nmodel = model.Encoder(8, 4).to(device)\n"
MIXED = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def at(row: int, first: int, last: int, filename: str = "model.py", cell: int | None = None) -> Location:
    """Return the location of columns `first` to `last`, exclusive, of one row."""
    return Location(filename, Position(row, first), Position(row, last), cell)


def source(text: str, filename: str) -> Source:
    """Return a source without a file."""
    return read_source(Path(filename), filename, text.encode())


ATTRIBUTE = Finding(
    code="DEV501",
    name="tensor-attribute",
    message="`self.attn_bias` stays on the CPU when the module moves",
    location=at(5, 9, 23),
    severity="error",
    worlds=("gpu1", "gpu2"),
    errors={"gpu1": MIXED, "gpu2": MIXED},
    when=(Condition("args.cuda", True, "main.py", 1),),
    trace=(
        TraceStep(at(5, 9, 23), "a plain tensor attribute, created on cpu"),
        TraceStep(at(9, 16, 22), "cuda:0, from `tokens`"),
        TraceStep(at(9, 25, 39), "cpu"),
        TraceStep(at(3, 9, 39, "main.py"), "the module moves to cuda:0 here"),
    ),
    fix=Fix(
        "unsafe",
        "register it as a buffer",
        (
            Edit('self.register_buffer("attn_bias", ', Position(5, 9), Position(5, 26)),
            Edit(")", Position(5, 50), Position(5, 50)),
        ),
    ),
    noqa_row=5,
    url="https://devlint.readthedocs.io/rules/DEV501/",
    help="A buffer moves with its module.",
)
DROPPED = Finding(
    code="DEV201",
    name="dropped-move",
    message="the result of `x.to(device)` is thrown away",
    location=at(2, 1, 13, "nb.ipynb", 2),
    severity="error",
    worlds=("gpu1", "gpu2"),
    errors={"gpu1": MIXED, "gpu2": "RuntimeError: another error"},
    fix=Fix("safe", "assign it back", (Edit("x = ", Position(2, 1), Position(2, 1), 2),)),
)
COMPARED = Finding(
    code="DEV701",
    name="device-compared-with-string",
    message="never equal: 50 %, x,y:z\nsecond row",
    location=Location("main.py", Position(1, 8), Position(3, 5)),
    severity="warning",
    worlds=("cpu",),
    errors={"cpu": None},
)
UNREAD = Finding("DEV000", "not-analysed", "invalid syntax", at(3, 7, 7, "main.py"), "error")
SOURCES = {
    "model.py": source(MODEL, "model.py"),
    "main.py": source(MAIN, "main.py"),
    "nb.ipynb": source(notebook(code("y = 1"), code("x = f()\nx.to(device)")), "nb.ipynb"),
}


def rendered(name: str, *findings: Finding, sources: dict[str, Source] | None = None, **options: Any) -> str:
    """Render findings with the sources of this module."""
    return render(name, findings, sources=SOURCES if sources is None else sources, worlds=WORLDS, **options)


def page(text: str, *labels: tuple[int, int, int, str], **options: Any) -> str:
    """Render one finding in `text` whose labels are row, first and last column, message; the first is the finding."""
    steps = tuple(TraceStep(at(row, first, last, "a.py"), message) for row, first, last, message in labels)
    finding = Finding("DEV301", "mixed-devices", "message", steps[0].location, "error", trace=steps)
    return rendered("full", finding, sources={"a.py": source(text, "a.py")}, summary=False, **options)


def rows(text: str) -> Iterable[str]:
    """Return the rows of a page without its headline."""
    return text.splitlines()[1:]
