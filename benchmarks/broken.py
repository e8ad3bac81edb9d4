"""Whether devlint tells what really breaks: right programs of which one move is left out, and what they come to then.

Run with `python -m benchmarks.broken [PROGRAM ...]`, by default on the fixtures that are right. Each move that
`benchmarks/moves.py` knows is left out by itself, and the program is run under simulated CUDA with one GPU. What raises
there and is not told is printed, and so is what is told and doesn't raise: most of that hangs on an option that the run
isn't given. Programs that fail as they are, and errors that don't speak of devices, don't count.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.moves import Move, moves
from devlint.config import Config
from devlint.linter import check
from tests.rules.machines import Machines
from tests.rules.programs import fixtures

WORLD = "gpu1"
_OF_DEVICES = re.compile(r"device|cuda|cpu", re.IGNORECASE)
Verdict = Literal["told", "missed", "told, and does not raise", "silent, and does not raise"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A program without one of its moves: what is raised on one GPU, and which rules say so."""

    move: Move
    error: str | None
    codes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict | None:
        """What devlint said of it; None where it raises something else."""
        if self.error is None:
            return "told, and does not raise" if self.codes else "silent, and does not raise"
        if not self.codes and not _OF_DEVICES.search(self.error.partition("\n")[0]):
            return None
        return "told" if self.codes else "missed"


def told(program: Path) -> Counter[tuple[str, str]]:
    """What is told of a program by itself for one GPU: code and message, advice left out."""
    found = check([program], Config(root=program.parent))
    return Counter((item.code, item.message) for item in found if item.severity != "advice" and WORLD in item.worlds)


def try_out(program: Path, drawn: Sequence[Move], machines: Machines) -> Iterator[Trial]:
    """Run and lint a program by itself without each of its moves, if it runs with all of them."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / program.name
        copy.write_bytes(program.read_bytes())
        if machines.run(copy.read_text(encoding="utf-8"), WORLD, path=copy).error is not None:
            return
        before = told(copy)
        for move in drawn:
            copy.write_bytes(move.left_out())
            outcome = machines.run(copy.read_text(encoding="utf-8"), WORLD, path=copy)
            new = told(copy) - before
            yield Trial(move, outcome.error, tuple(sorted({code for code, _ in new})))


def right_programs() -> list[Path]:
    """The fixtures that are right and stand in one file of Python which can be run here."""
    return [
        one.entry
        for one in fixtures()
        if one.files == [one.entry] and one.entry.name.startswith("right_") and one.entry.suffix == ".py"
        if WORLD in one.worlds_to_run
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="which share of the moves is left out")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, machines, verdicts = random.Random(given.seed), Machines(), Counter[Verdict]()
    for path in given.programs or right_programs():
        program = path.resolve()
        found = [move for move in moves(program) if draw.random() < given.share]
        for trial in try_out(program, found, machines) if found else ():
            if trial.verdict is None:
                continue
            verdicts[trial.verdict] += 1
            if trial.verdict in ("missed", "told, and does not raise"):
                line = program.read_text(encoding="utf-8").splitlines()[trial.move.row - 1].strip()
                said = trial.error or " ".join(trial.codes)
                print(f"{trial.verdict}: {path}:{trial.move.row}  {line[:90]}  {said[:120]}", flush=True)
    machines.close()
    print(f"{verdicts['told']} of {verdicts['told'] + verdicts['missed']} that raise are told")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
