"""What an entry by protocol knows of CUDA: whether what it runs of its file speaks of it, or was told by a function of
another file. One that does neither does the same without a GPU, where all is on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import (
    Answer,
    Const,
    DeviceValue,
    Instance,
    Mapping,
    OneOf,
    Scalar,
    Sequence,
    Value,
    is_none,
)
from devlint.analysis.memo import memoized
from devlint.analysis.python.names import statements_of, target_names
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.programs.entries import Entry
    from devlint.analysis.programs.outcomes import Outcome
    from devlint.analysis.project import Project

INFORMED: Final = "informed"
"""An entry has consulted this when another file has answered it with what hangs on whether there is CUDA."""

_TELLING: Final = (Const, DeviceValue, Answer, Scalar, OneOf)
"""Values by which a function may tell its caller whether there is CUDA."""

_WORDS: Final = re.compile(r"gpu|(?i:cuda|nccl|accelerator|device_count)|\bload\(")
"""By which a program asks for CUDA or demands it, or loads what may have been saved with it (comments say GPU)."""


def heed(machine: Machine, receiver: Value | None, call: Callable[[], Value]) -> Value:
    """Run a call from the file that is entered into another, and note whether it tells of CUDA: by what it gives, or by
    what it leaves in the object that it is a method of."""
    consulted, machine.entry.consulted = machine.entry.consulted, set()
    try:
        result = call()
        if "availability" in machine.entry.consulted and (_tells(result) or _is_filled(receiver)):
            consulted.add(INFORMED)
        return result
    finally:
        consulted |= machine.entry.consulted
        machine.entry.consulted = consulted


def _tells(value: Value) -> bool:
    """Whether a value may say whether there is CUDA, itself or by what it holds."""
    if isinstance(value, Sequence):
        return any(map(_is_telling, value.items))
    if isinstance(value, Mapping):
        return any(map(_is_telling, value.items.values()))
    return _is_telling(value) or _is_filled(value)


def _is_filled(value: Value | None) -> bool:
    """Whether an object, and no network, holds what may say whether there is CUDA."""
    return isinstance(value, Instance) and value.module is None and any(map(_is_telling, value.fields.values()))


def _is_telling(value: Value) -> bool:
    return isinstance(value, _TELLING) and not is_none(value)


def speak_of_cuda(project: Project, path: str, entry: Entry, outcome: Outcome) -> bool:
    """Whether the text of what an entry was seen to run of its file has a word for CUDA."""
    rows = _speaking_rows(project, path)
    if not rows:
        return False
    nodes = [entry.node, *(node for node in outcome.own if isinstance(node, ir.Function))]
    spans = [(_first_row(node), node.at.end_lineno) for node in nodes]
    return any(first <= row <= last for first, last in spans for row in rows)


def _first_row(node: ir.Function | ir.Class) -> int:
    """Where a definition begins, its decorators included."""
    first: int = min([node.at.lineno, *(decorator.at.lineno for decorator in node.decorators)])
    return first


@memoized
def _speaking_rows(project: Project, path: str) -> tuple[int, ...]:
    """The rows of a file with a word for CUDA, but for those of docstrings and comments. Names that the file binds in
    such rows are words for it, too: `from torch.cuda import is_available as found`."""
    module = project.module(path)
    if module is None or _WORDS.search(module.text) is None:
        return ()
    lines = module.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    code = [_without_comment(line) for line in lines]
    rows = {row for row, line in enumerate(code, 1) if _WORDS.search(line)}
    for first, last in module.docstrings:
        rows.difference_update(range(first, last + 1))
    names = _bound_in(module, rows)
    if "*" in names:  # any name may be one of them
        return tuple(range(1, len(code) + 1))
    if names:
        bound = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
        rows.update(row for row, line in enumerate(code, 1) if bound.search(line))
    return tuple(sorted(rows))


def _without_comment(line: str) -> str:
    """A row up to its comment; where a text begins before it, that may be no comment: the whole row."""
    before = line.partition("# ")[0]
    return line if '"' in before or "'" in before else before


def _bound_in(module: ir.Module, rows: set[int]) -> set[str]:
    """The names that imports and assignments of a file, outside functions and classes, bind in these rows."""
    found: set[str] = set()
    for statement, _ in statements_of(module.body, None) if rows else ():
        if rows.isdisjoint(range(statement.at.lineno, statement.at.end_lineno + 1)):
            continue
        if isinstance(statement, (ir.Import, ir.ImportFrom)):
            found.update(alias or name for name, alias in statement.names)
        elif isinstance(statement, ir.Assign):
            found.update(name for target in statement.targets for name in target_names(target))
    return {name for name in found if "." not in name}  # those are written out where they are used
