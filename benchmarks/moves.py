"""What devlint misses in real programs: leave out one move at a time, and see whether anything new is told.

Run with `python benchmarks/moves.py FOLDER ...`; each folder is a project. Of each some places are drawn:
`.to(device)`, `.to("cuda")` and `.cuda()`, `device=` of a factory of torch, and `register_buffer`, which becomes a
plain attribute. A place that is not told is no miss yet: some moves change nothing (of what is never used, of a loss
without weights, of what follows its input, in code that no run reaches). Read what is printed.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devlint.config import Config
from devlint.findings import Finding
from devlint.linter import check


@dataclass(frozen=True, slots=True)
class Move:
    """A stretch of a file (bytes, end exclusive) and what stands there when the move is left out; rows count from 1."""

    path: Path
    row: int
    start: int
    end: int
    instead: bytes

    def left_out(self) -> bytes:
        data = self.path.read_bytes()
        return data[: self.start] + self.instead + data[self.end :]


def moves(path: Path) -> Iterator[Move]:
    """Yield the moves that stand in a file; none in one that does not parse."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(row: int | None, column: int | None) -> int:
        return starts[(row or 1) - 1] + (column or 0)

    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        base, end = node.func.value, offset(node.end_lineno, node.end_col_offset)
        if _is_move(node):
            yield Move(path, node.lineno, offset(base.end_lineno, base.end_col_offset), end, b"")
        elif _registers(node):
            value = ast.get_source_segment(text, node.args[1])
            written = f"{ast.unparse(base)}.{ast.literal_eval(node.args[0])} = {value}"
            yield Move(path, node.lineno, offset(node.lineno, node.col_offset), end, written.encode())
        for keyword in node.keywords:
            begin = offset(keyword.lineno, keyword.col_offset)
            before = data[:begin].rstrip()
            if keyword.arg == "device" and ast.unparse(base) == "torch" and before.endswith(b","):
                last = offset(keyword.value.end_lineno, keyword.value.end_col_offset)
                yield Move(path, keyword.lineno, len(before) - 1, last, b"")


def _is_move(node: ast.Call) -> bool:
    """Whether a call is `x.cuda(...)`, or `x.to(...)` with one argument that speaks of a device."""
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr == "to":
        return len(node.args) == 1 and not node.keywords and _speaks_of_device(node.args[0])
    return node.func.attr == "cuda"


_NAME = re.compile(r"(cpu|cuda)(:\d+)?")


def _speaks_of_device(node: ast.expr) -> bool:
    """Whether an expression is the name of a device, or has "device" in its text."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _NAME.fullmatch(node.value) is not None
    return "device" in ast.unparse(node)


def _registers(node: ast.Call) -> bool:
    """Whether a call is `self.register_buffer("name", value)`."""
    assert isinstance(node.func, ast.Attribute)
    named = len(node.args) == 2 and not node.keywords and isinstance(node.args[0], ast.Constant)
    return node.func.attr == "register_buffer" and named and isinstance(node.func.value, ast.Name)


Told = frozenset[tuple[str, str, str]]


def told(project: Path) -> Told:
    """Lint a project; return code, file and message of each error and warning."""
    return frozenset(map(_key, filter(_counts, check(sorted(project.rglob("*.py")), Config(root=project)))))


def _counts(finding: Finding) -> bool:
    return finding.severity != "advice"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.location.filename, finding.message


def try_out(project: Path, drawn: Sequence[Move]) -> Iterator[tuple[Move, Told]]:
    """Yield each move with what is told only when it is left out. The project itself stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / project.name
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git"))
        before = told(copy)
        for move in drawn:
            path = copy / move.path.relative_to(project)
            path.write_bytes(move.left_out())
            yield move, told(copy) - before
            path.write_bytes(move.path.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=4, help="how many moves of a project are left out")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    count = seen = 0
    for folder in given.folders:
        project = folder.resolve()
        found = [move for path in sorted(project.rglob("*.py")) for move in moves(path)]
        for move, new in try_out(project, draw.sample(found, min(given.each, len(found)))):
            count, seen = count + 1, seen + bool(new)
            line = move.path.read_text(encoding="utf-8").splitlines()[move.row - 1].strip()
            codes = " ".join(sorted({code for code, _, _ in new})) or "-"
            print(f"{codes:8} {project.name}/{move.path.relative_to(project)}:{move.row}  {line[:90]}", flush=True)
    print(f"{seen} of {count} told")


if __name__ == "__main__":
    main()
