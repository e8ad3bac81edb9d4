"""The machines on which annotated programs run, shared by all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.analysis.annotated")

from tests.rules.machines import Machines  # noqa: E402


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    running = Machines()
    yield running
    running.close()
