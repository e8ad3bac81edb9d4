"""The programs that the rules are tested on: the examples of the rule files, and `tests/fixtures/DEVnnn/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devlint.rules.base import Example
from devlint.rules.catalogue import CATALOGUE
from devlint.sources import read_source
from tests.rules.expectations import RUNS, Expected, expected_in_file
from tests.rules.machines import Machines, Outcome

FIXTURES = Path(__file__).parents[1] / "fixtures"
SUFFIXES = {".py", ".ipynb", ".md"}
EXAMPLES = [
    (rule, number, example) for rule in CATALOGUE for number, example in enumerate((rule.example, *rule.more_examples))
]
EXAMPLE_IDS = [f"{rule.code}-{number}" for rule, number, _ in EXAMPLES]


@dataclass(frozen=True, slots=True)
class Program:
    """A fixture: one file, or a folder whose `main.py` is the program and which holds what it imports.

    A `prepare.py` beside it is no program of its own: it is run before the others, on a machine with one GPU.
    """

    code: str
    entry: Path

    @property
    def files(self) -> list[Path]:
        """The entry and, in a folder of its own, the files beside it."""
        if self.entry.name != "main.py":
            return [self.entry]
        return sorted(path for path in self.entry.parent.iterdir() if path.suffix in SUFFIXES)

    @property
    def expected(self) -> list[Expected]:
        """What should be found in it."""
        return sorted(item for path in self.files for item in expected_in_file(path))

    @property
    def name(self) -> str:
        """How the tests call it."""
        inside = self.entry.relative_to(FIXTURES)
        return str(inside.parent if self.entry.name == "main.py" else inside)

    @property
    def worlds_to_run(self) -> tuple[str, ...]:
        """The worlds in which it can be run as it stands; `# runs: no, <why>` in the file says none."""
        stated = RUNS.search(self.entry.read_text(encoding="utf-8"))
        if stated is None:
            return ("cpu", "gpu1", "gpu2")
        return tuple(world for world in ("cpu", "gpu1", "gpu2") if world in stated.group(1).split())


def fixtures() -> list[Program]:
    """Return all fixtures."""
    found = []
    for folder in sorted(FIXTURES.glob("DEV[0-9][0-9][0-9]")):
        for path in sorted(folder.iterdir()):
            if path.is_dir() and (path / "main.py").exists():
                found.append(Program(folder.name, path / "main.py"))
            elif path.suffix in SUFFIXES and path.name != "prepare.py":
                found.append(Program(folder.name, path))
    return found


def libraries() -> list[Path]:
    """Return the fixtures that are folders without a `main.py`: files of a project that nobody in sight runs, or that
    are run one by one."""
    folders = sorted(path for path in FIXTURES.glob("DEV[0-9][0-9][0-9]/*") if path.is_dir())
    return [folder for folder in folders if not (folder / "main.py").exists() and any(folder.rglob("*.py"))]


def program_text(path: Path) -> str:
    """Return the program text of a file: its code cells or fences one after the other, magics masked."""
    return str(read_source(path, path.name).text)


def lay_out(example: Example, source: str, folder: Path) -> Path:
    """Write an example and the files beside it into a folder; return the program's path."""
    for name, text in example.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "example.py"
    path.write_text(source, encoding="utf-8")
    return path


def play(machines: Machines, example: Example, source: str, folder: Path, world: str) -> Outcome:
    """Run an example, or its mended form, in a world."""
    path = lay_out(example, source, folder)
    if example.prepare:
        prepared = machines.run(example.prepare, "gpu1", path=folder / "prepare.py")
        assert prepared.error is None, prepared.error
    return machines.run(
        source, world, path=path, args=example.args, environment=example.environment, observe=example.observe
    )
