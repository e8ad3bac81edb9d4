"""Code in texts: what `eval` gives is what Python gives, as far as it is followed."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Instance, Unknown
from tests.analysis.programs import Run

PROGRAM = """
import ast
from torch import nn

class Box:
    size = 3
    def __init__(self, *items, **more):
        self.items, self.more = items, more

boxes = {"first": Box(1), "second": Box(2)}

def inner(width):
    local = width + 1
    return eval("local * 0 + 1"), eval("local"), eval("boxes")["first"].items
"""

EXPRESSIONS = [
    ("eval('[0, -1]')", [0, -1]),
    ("eval(' Box.size ')", 3),
    ("eval('Box')(4).items", (4,)),
    ("eval('Box(5, boxes)').items[0]", 5),
    ("eval('Box(more=Box.size)').more['more']", 3),
    ("eval('boxes[\\'second\\']').items", (2,)),
    ("inner(6)[1:]", (7, (1,))),
    ("eval('len(boxes)')", 2),
    ("ast.literal_eval('{\\'a\\': (1, None)}')", {"a": (1, None)}),
]


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=[expression for expression, _ in EXPRESSIONS])
def test_predicted(expression: str, expected: object) -> None:
    scope: dict[str, object] = {}
    exec(PROGRAM + f"result = {expression}", scope)
    assert scope["result"] == expected
    assert Run(PROGRAM + f"result = {expression}").python("result") == expected


@pytest.mark.parametrize(
    "expression",
    [
        "eval(input())",
        "eval('size +')",
        "eval('nobody')",
        "eval('boxes', {})",
        "eval('Box(*boxes)')",
        "eval('Box(**boxes)')",
        "eval('lambda: 1')",
        "ast.literal_eval('Box.size')",
    ],
)
def test_what_is_not_followed_is_unknown(expression: str) -> None:
    assert isinstance(Run(PROGRAM + f"result = {expression}")["result"], Unknown)


def test_a_class_of_torch_by_its_name() -> None:
    layer = Run(PROGRAM + "result = eval('nn.' + 'Linear')(2, 3)")["result"]
    assert isinstance(layer, Instance)
    assert layer.module is not None


def test_what_python_warns_of_in_a_text_is_not_passed_on(recwarn: pytest.WarningsRecorder) -> None:
    assert Run(PROGRAM + "result = eval(\"'\\\\d'\")").python("result") == "\\d"
    assert not recwarn.list
