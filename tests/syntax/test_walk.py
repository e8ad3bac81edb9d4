"""What is read off the program form without running it."""

from __future__ import annotations

import textwrap

import pytest

from devlint.syntax import ir, lower_ast
from devlint.syntax.walk import calls, dotted, walk


def lowered(text: str) -> ir.Module:
    return lower_ast.lower(textwrap.dedent(text), "program.py")


def value_of(text: str) -> object:
    (statement,) = lowered(text).body
    assert isinstance(statement, ir.ExprStatement)
    return statement.value


@pytest.mark.parametrize(
    ("text", "written"),
    [("x", "x"), ("self.layer.weight", "self.layer.weight"), ("f().weight", ""), ("x[0].weight", ""), ("1", "")],
)
def test_dotted(text: str, written: str) -> None:
    assert dotted(value_of(text)) == written


def test_calls_are_named_by_what_was_imported() -> None:
    text = """
        import torch as pt
        import numpy
        from torch import save as keep, nn
        from torch.nn import functional as F

        def write(model):
            keep(model, "model.pt")
            return [F.relu(pt.ones(2)) for _ in nn.Linear(2, 2).parameters()]

        class Writer:
            def write(self, x):
                self.file.write(numpy.asarray(x))
    """
    assert [path for path, _ in calls(lowered(text)) if path] == [
        "torch.save",
        "torch.nn.functional.relu",
        "torch.ones",
        "torch.nn.Linear",
        "self.file.write",
        "numpy.asarray",
    ]


def test_walk_finds_every_node_of_every_body() -> None:
    text = """
        def outer(a):
            def inner(b):
                return lambda: one(b)
            try:
                with two(a) as c:
                    yield three(c)
            except four() as error:
                match a:
                    case five.six:
                        assert seven(), f"{eight(a)}"
            finally:
                return inner
    """
    names = {node.id for node in walk(lowered(text).body) if isinstance(node, ir.Name)}
    assert names >= {"one", "two", "three", "four", "five", "seven", "eight", "inner"}
