"""One set of servers for all tests of the companion: torch is loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from devlint.config import Overrides, Resolver
from devlint.confirm.confirming import Options, confirm
from devlint.confirm.machines import Machines, Outcome, Program
from devlint.confirm.sandbox import Limits
from devlint.confirm.verdicts import Confirmation
from devlint.files import find_files
from devlint.linter import lint

Run = Callable[..., Outcome]
Confirm = Callable[..., list[Confirmation]]


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    with Machines("simulated", Limits(seconds=60)) as started:
        yield started


@pytest.fixture(scope="session")
def guarded() -> Iterator[Machines]:
    """Machines of a system without namespaces: limits and audit hooks alone."""
    with Machines("simulated", Limits(seconds=60)) as started:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DEVLINT_SANDBOX", "guard")
            assert started.strength == "guard"
            started.machine("gpu1")  # the second server, as long as the variable is set
        yield started


@pytest.fixture(params=["namespaces", "guard"])
def sandboxed(request: pytest.FixtureRequest, machines: Machines) -> Machines:
    """Machines in each strength of the sandbox that this system has."""
    if request.param == "guard":
        chosen: Machines = request.getfixturevalue("guarded")
        return chosen
    if machines.strength != "namespaces":
        pytest.skip("this system lets nobody make namespaces")
    return machines


@pytest.fixture
def run(sandboxed: Machines, tmp_path: Path) -> Run:
    """Runs a text as a program in a folder of the test's own, in the `cpu` world unless told otherwise."""

    def play(text: str, world: str = "cpu", seconds: float = 60, processes: int = 64, **options: object) -> Outcome:
        path = tmp_path / "program.py"
        path.write_text(text, encoding="utf-8")
        program = Program(str(path), text, str(tmp_path))
        before = sandboxed.limits
        sandboxed.limits = Limits(seconds=seconds, processes=processes, **options)  # type: ignore[arg-type]
        try:
            return sandboxed.run(program, world)
        finally:
            sandboxed.limits = before

    return play


@pytest.fixture
def confirm_files(machines: Machines, tmp_path: Path) -> Confirm:
    """Lints and confirms files given by name and text."""

    def play(files: Mapping[str, str], select: tuple[str, ...] | None = None, **options: object) -> list[Confirmation]:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        resolver = Resolver(Overrides(select=select), None, True)
        report = lint(find_files([str(tmp_path)], resolver).files)
        return confirm(report, machines, Options(roots=(tmp_path,), **options))  # type: ignore[arg-type]

    return play
