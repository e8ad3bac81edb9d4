"""The machines on which examples and fixtures run, shared by all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rules.machines import Machines


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    running = Machines()
    yield running
    running.close()
