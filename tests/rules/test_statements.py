"""What tutorials say about devices, a program a statement; the names count the statements of the project's sources.

S16 and S17 are advice (DEV103, DEV801 to DEV803), S35 is part of S36.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check
from devlint.worlds import WORLD_NAMES
from tests.rules.expectations import as_expected, breaks, expected_in_file
from tests.rules.machines import Machines
from tests.rules.programs import FIXTURES, program_text

STATEMENTS = sorted((FIXTURES / "statements").iterdir())

each_statement = pytest.mark.parametrize("path", STATEMENTS, ids=[path.stem for path in STATEMENTS])


@each_statement
def test_devlint_knows_it(path: Path) -> None:
    assert as_expected(check([path], Config(root=path.parent))) == sorted(expected_in_file(path))


@pytest.mark.parametrize("world", WORLD_NAMES)
@each_statement
def test_it_is_true(path: Path, world: str, machines: Machines) -> None:
    outcome = machines.run(program_text(path), world, path=path)
    assert (outcome.error is not None) == breaks(expected_in_file(path), world), outcome.error
