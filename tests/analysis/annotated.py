"""Programs that say themselves what holds in them, per world; checked against the analyser and against torch.

`x = net.w  #= cpu cuda:0 cuda:0` says what the global name holds at the end in `cpu`, `gpu1` and `gpu2` (written as
`tests.analysis.observed.show` does); one word stands for all three, `gpu` for `cpu cuda:0 cuda:0`, `last` for
`cpu cuda:0 cuda:1`. A `?` after them says that the analyser may not know it; it must still not take it for another.
Findings are marked as in the fixtures: `# DEV303: gpu1 gpu2` at the end of their row. A program with `# runs: cpu`
can't be run here in the other worlds, with `# runs: no` in none; one with `# silent` has nothing else to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Files
from pathlib import Path

from devlint.analysis.domain.values import Array, Const, DeviceValue, Instance, Mapping, Sequence, Tensor, Value
from devlint.analysis.pytorch.modules import registered
from devlint.config import Config
from devlint.linter import check
from devlint.worlds import WORLDS, World
from tests.analysis.programs import Run
from tests.rules.expectations import RUNS, Expected, as_expected, breaks, expected_in_text
from tests.rules.machines import Machines

MAIN = "program.py"
NAMES = tuple(world.name for world in WORLDS)
SHORT = {"gpu": ("cpu", "cuda:0", "cuda:0"), "last": ("cpu", "cuda:0", "cuda:1")}
_MARK = re.compile(r"^\s*(\w+) = .*#= (\S.*)$", re.MULTILINE)


def marks(text: str) -> dict[str, dict[str, str]]:
    """Return what the marked names hold, by name and world."""
    found = {}
    for name, stated in _MARK.findall(text):
        words = tuple(stated.removesuffix(" ?").split())
        values = SHORT.get(words[0], words * 3) if len(words) == 1 else words
        assert len(values) == len(NAMES), f"{name} has {len(values)} values"
        open_mark = "?" if stated.endswith(" ?") else ""
        found[name] = {world: value + open_mark for world, value in zip(NAMES, values, strict=True)}
    return found


def show(value: Value) -> str:
    """Return how an abstract value is written in a mark."""
    if isinstance(value, Tensor):
        return value.device or "?"
    if isinstance(value, Instance) and value.module is not None:
        return "+".join(sorted({tensor.device or "?" for tensor, _, _ in registered(value)})) or "nothing"
    if isinstance(value, DeviceValue):
        return str(value)
    if isinstance(value, Const):
        return repr(value.value).replace(" ", "")
    if isinstance(value, Sequence) and not value.open:
        return "[" + ",".join(map(show, value.items)) + "]"
    if isinstance(value, Mapping) and not value.open:
        return "{" + ",".join(f"{key}:{show(item)}" for key, item in value.items.items()) + "}"
    return "ndarray" if isinstance(value, Array) else "?"


def found(files: str | Files[str, str], folder: Path) -> list[Expected]:
    """Lint a program of one or more files, from `MAIN`; return the findings."""
    for name, text in _files(files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return as_expected(check([folder / MAIN], Config(root=folder)))


def expected(files: str | Files[str, str]) -> list[Expected]:
    """Return the findings that are marked in the files."""
    return sorted(e for name, text in _files(files).items() for e in expected_in_text(text, Path(name).name))


def assert_predicted(text: str, folder: Path) -> None:
    """The analyser gives the marked findings, and the marked values in every world that doesn't break."""
    findings = expected(text)
    assert found(text, folder) == findings
    stated = marks(text)
    assert stated or findings or "# silent" in text, "the program says nothing"
    for world in WORLDS:
        if not breaks(findings, world.name):
            assert not _different(_values(text, world, list(stated)), stated, world.name)


def _different(held: Files[str, str], stated: Files[str, Files[str, str]], world: str) -> list[str]:
    return [
        f"{world}: {name} holds {value}, not {stated[name][world]}"
        for name, value in held.items()
        if value != stated[name][world].removesuffix("?") and not (value == "?" and stated[name][world].endswith("?"))
    ]


def _values(text: str, world: World, names: list[str]) -> dict[str, str]:
    run = Run(text, world)
    return {name: show(run.names[name]) if name in run.names else "unbound" for name in names}


def assert_observed(files: str | Files[str, str], folder: Path, machines: Machines) -> None:
    """Torch breaks in the marked worlds and no others; in these, the marked names hold what is marked."""
    for name, content in _files(files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    text = _files(files)[MAIN]
    stated = marks(text)
    names = list(stated)
    limited = RUNS.search(text)
    for world in NAMES if limited is None else [world for world in NAMES if world in limited.group(1).split()]:
        observe = f"[__import__('tests.analysis.observed', fromlist=['_']).show(x) for x in [{', '.join(names)}]]"
        outcome = machines.run(text, world, path=folder / MAIN, observe=observe)
        if breaks(expected(files), world):
            assert outcome.error is not None, world
        else:
            assert outcome.error is None, f"{world}: {outcome.error} at row {outcome.row}"
            assert not _different(
                dict(zip(names, outcome.value or [], strict=outcome.value is not None)), stated, world
            )


def _files(files: str | Files[str, str]) -> Files[str, str]:
    return {MAIN: files} if isinstance(files, str) else files
