"""What an entry by protocol knows of CUDA: whether what it runs of its file speaks of it, or was told by a function of
another file. One that does neither does the same without a GPU, where all is on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Answer, Const, DeviceValue, OneOf, Scalar, Value, is_none
from devlint.analysis.memo import memoized

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.programs.entries import Entry
    from devlint.analysis.programs.outcomes import Outcome
    from devlint.analysis.project import Project

INFORMED: Final = "informed"
"""An entry has consulted this when another file has answered it with what hangs on whether there is CUDA."""

_TELLING: Final = (Const, DeviceValue, Answer, Scalar, OneOf)
"""Values by which a function may tell its caller whether there is CUDA."""

_ASKING: Final = frozenset({"availability", "count"})
"""What is consulted by a question whether there is CUDA."""

_WORDS: Final = re.compile(r"gpu|(?i:cuda|nccl|accelerator|device_count)|\bload\(")
"""By which a program asks for CUDA or demands it, or loads what may have been saved with it (comments say GPU)."""


def heed(machine: Machine, call: Callable[[], Value]) -> Value:
    """Run a call from the file that is entered into another, and note whether it tells of CUDA."""
    consulted, machine.entry.consulted = machine.entry.consulted, set()
    try:
        result = call()
        if not _ASKING.isdisjoint(machine.entry.consulted) and isinstance(result, _TELLING) and not is_none(result):
            consulted.add(INFORMED)
        return result
    finally:
        consulted |= machine.entry.consulted
        machine.entry.consulted = consulted


def speak_of_cuda(project: Project, path: str, entry: Entry, outcome: Outcome) -> bool:
    """Whether the text of what an entry was seen to run of its file has a word for CUDA."""
    rows = _speaking_rows(project, path)
    if not rows:
        return False
    run = (entry.node, *outcome.own)
    return any(node.at.lineno <= row <= node.at.end_lineno for node in run for row in rows)


@memoized
def _speaking_rows(project: Project, path: str) -> tuple[int, ...]:
    """The rows of a file with a word for CUDA, but for those of docstrings and comments."""
    module = project.module(path)
    if module is None or _WORDS.search(module.text) is None:
        return ()
    lines = module.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rows = [row for row, line in enumerate(lines, 1) if _WORDS.search(line.partition("# ")[0])]
    return tuple(row for row in rows if not any(first <= row <= last for first, last in module.docstrings))
