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


SCOPES = """
where = "file"

class Box:
    where = "class"
    seen = eval("where")
    def method(self):
        return eval("where")

def outer():
    where = "outer"
    def unused():
        return eval("where")
    def used():
        where
        return eval("where")
    class Inner:
        seen = eval("where")
    return unused(), used(), Inner.seen

def own(where):
    return eval("where"), [eval("word") for word in ("where",)]

def set_outside():
    global where
    return eval("where")

def local(only):
    return [eval("only") for _ in range(1)]
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(Box.seen, Box().method())", ("class", "file")),
        ("outer()", ("file", "outer", "file")),
        ("own('own')", ("own", ["where"])),
        ("set_outside()", "file"),
        ("[eval('where') for _ in range(1)]", ["file"]),
    ],
)
def test_the_names_that_a_text_sees(expression: str, expected: object) -> None:
    scope: dict[str, object] = {}
    exec(SCOPES + f"result = {expression}", scope)
    assert scope["result"] == expected
    assert Run(SCOPES + f"result = {expression}").python("result") == expected


def test_what_a_comprehension_sees_of_its_function() -> None:
    assert Run(SCOPES + "result = local('seen')").python("result") == ["seen"]
    assert isinstance(
        Run(SCOPES + "def f(where):\n  return [eval('where')  for _ in range(1)][0]\nr = f('x')")["r"], Unknown
    )


def test_a_text_that_evaluates_itself_ends() -> None:
    run = Run("text = 'eval(text)'\nresult = eval(text)\nagain = eval('3')")
    assert isinstance(run["result"], Unknown)
    assert run.python("again") == 3
    through = Run("text = 'list(map(eval, [text]))[0]'\nresult = eval(text)\nagain = eval('3')")
    assert through.python("again") == 3


@pytest.mark.parametrize(
    "expression",
    [
        "eval('boxes', globals={'boxes': 1})",
        "eval('boxes', locals={'boxes': 1})",
        "eval('boxes', *input())",
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
