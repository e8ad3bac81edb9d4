"""Objects of classes without an equality of their own: equal to nothing else, unless others may have given them one."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Const
from tests.analysis.programs import Run

PROGRAM = """
import dataclasses
import lib

class Plain:
    pass

@lib.comparable
class Decorated:
    pass

class Heir(Decorated):
    pass

@dataclasses.dataclass
class Record:
    pass

class Handed:
    pass

class HandedToMethod:
    pass

lib.add_equality(Handed)
lib.registry().add(HandedToMethod)
"""


def test_others_are_not_equal() -> None:
    run = Run(PROGRAM + "one = Plain()\nresult = one == Plain(), one != Plain()")
    assert run.python("result") == (False, True)


@pytest.mark.parametrize("name", ["Decorated", "Heir", "Record", "Handed", "HandedToMethod"])
@pytest.mark.parametrize("symbol", ["==", "!="])
def test_an_equality_that_is_out_of_sight(name: str, symbol: str) -> None:
    assert not isinstance(Run(PROGRAM + f"result = {name}() {symbol} {name}()")["result"], Const)
