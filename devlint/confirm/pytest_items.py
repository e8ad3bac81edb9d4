"""`pytest --devlint`: each finding in the given paths is a test item that passes if the finding is confirmed.

A refuted finding fails, one that could not run is skipped with the reason. The code in the paths is run, in the same
sandbox as `devlint confirm` runs it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devlint.confirm.confirming import Options, confirm
from devlint.confirm.machines import MachineError, Machines
from devlint.confirm.report import headline, text
from devlint.confirm.verdicts import Confirmation

SUFFIXES = (".py", ".ipynb", ".md")


def register(config: pytest.Config) -> None:
    """Collect findings in this run of pytest."""
    config.pluginmanager.register(FindingCollector(), "devlint-findings")


class FindingCollector:
    """Adds a collector of findings for each file that pytest comes by."""

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path.suffix not in SUFFIXES:
            return None
        collector: pytest.Collector = FindingsFile.from_parent(parent, path=file_path)
        return collector

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Keep pytest from importing, outside the sandbox, a file that is named but is no test."""
        patterns = parent.config.getini("python_files")
        if any(fnmatch.fnmatch(module_path.name, pattern) for pattern in patterns):
            return None
        nothing: pytest.Collector = _Nothing.from_parent(parent, path=module_path)
        return nothing

    def pytest_report_header(self) -> str:
        return "devlint: RUNS the code in which it finds something, in a sandbox"


class _Nothing(pytest.File):
    """A file without tests."""

    def collect(self) -> Iterator[pytest.Item]:
        return iter(())


class FindingsFile(pytest.File):
    """The findings of one file, linted alone and confirmed when the first of them is run."""

    _confirmations: list[Confirmation] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from devlint.config import Overrides, Resolver
        from devlint.confirm.claims import NOT_RUN
        from devlint.files import find_files
        from devlint.linter import lint

        found = find_files([str(self.path)], Resolver(Overrides()))
        self._report = lint(found.files)
        self._roots = tuple(file.config.root for file in found.files)
        numbered = [item.finding for item in self._report.checked if item.finding.code not in NOT_RUN]
        seen: dict[str, int] = {}
        for number, finding in enumerate(numbered):
            where = finding.location
            name = f"{finding.code}:{f'cell {where.cell}:' if where.cell is not None else ''}{where.start.row}"
            seen[name] = seen.get(name, 0) + 1
            name = name if seen[name] == 1 else f"{name}#{seen[name]}"
            yield FindingItem.from_parent(self, name=name, number=number)

    def confirmation(self, number: int) -> Confirmation:
        """Return what became of a finding.

        Raises:
            devlint.confirm.machines.MachineError: torch can't be loaded.
        """
        if self._confirmations is None:
            machines = _machines(self.config)
            self._confirmations = confirm(self._report, machines, Options(roots=self._roots))
        return self._confirmations[number]


class FindingItem(pytest.Item):
    """One finding."""

    def __init__(self, *, number: int, **options: Any) -> None:
        super().__init__(**options)
        self._number = number

    def runtest(self) -> None:
        assert isinstance(self.parent, FindingsFile)
        try:
            confirmation = self.parent.confirmation(self._number)
        except MachineError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        if confirmation.status == "could not run":
            pytest.skip(f"{headline(confirmation)}: {confirmation.reason}")
        if confirmation.status == "refuted":
            pytest.fail(text([confirmation], ""), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


_KEY = pytest.StashKey[Machines]()


def _machines(config: pytest.Config) -> Machines:
    """The servers of this test run, started once."""
    if _KEY not in config.stash:
        machines = config.stash[_KEY] = Machines()
        config.add_cleanup(machines.close)
    return config.stash[_KEY]
