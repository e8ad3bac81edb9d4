"""Every model takes whatever a program gives it, and what it gives can be used in any way."""

from __future__ import annotations

from textwrap import indent

import pytest

import devlint.analysis.rooms  # noqa: F401  each room registers its models
from devlint.analysis.dispatch import MODELS
from tests.analysis.analysed import analysed

GIVEN = ["", "x", "x, x", "x, x, x", "*xs", "**ks", "a=x", "t", "m, t", "'s'", "1", "None", "[t]", "{'a': t}", "f", "m"]
GIVEN += ["m, 'weight'", "t, 'cpu', 3", "K", "k", "k, t", "(), {}", "name='s', dim=0"]
HEAD = """\
import torch
from torch import nn
from elsewhere import ks, x, xs
t = torch.zeros(2)
m = nn.Linear(2, 2)
def f(*a):
    return t.cuda()
class K:
    pass
k = K()
"""
USES = "try:\n    r = {call}({given})\n    r.y\n    r(t)\n    r(m)\n    r.z(t)\nexcept Exception:\n    pass\n"
PACKAGES = sorted({path.partition(".")[0] for path in MODELS if "." in path})


def program(path: str) -> str:
    """A program that calls a function in all ways, each in a function of its own."""
    package, _, name = path.partition(".")
    call = name if package == "builtins" else path
    bodies = [indent(USES.format(call=call, given=given), "    ") for given in GIVEN]
    imported = "" if package == "builtins" else f"import {package}\n"
    functions = "".join(f"def g{index}():\n{body}" for index, body in enumerate(bodies))
    return imported + HEAD + functions + "".join(f"g{index}()\n" for index in range(len(bodies)))


@pytest.mark.parametrize("package", PACKAGES)
def test_any_arguments(package: str) -> None:
    """No model fails on arguments that it did not expect: too few, too many, of other kinds, or unknown."""
    for path in sorted(MODELS):
        if path.startswith(f"{package}."):
            assert analysed(program(path)).failures == [], path
