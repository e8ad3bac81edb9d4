"""Methods that `collections.abc` makes of those of a mapping of the program's own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from devlint.analysis.domain.plain import NotConstant
from devlint.analysis.domain.values import NONE, Unknown
from tests.analysis.programs import Run

CONTAINER = """
from collections.abc import Mapping, MutableMapping
class Missing(KeyError):
    pass
class C(MutableMapping):
    def __init__(self, **store):
        self.store = store
        self.calls = []
    def __getitem__(self, key):
        if key == "own":
            raise Missing(key)
        if key == "raised":
            raise KeyError(key)
        if key == "index":
            return [][0]
        return self.store[key]
    def __setitem__(self, key, value):
        self.store[key] = value
    def __delitem__(self, key):
        self.calls.append(key)
        del self.store[key]
    def __iter__(self):
        return iter(self.store)
    def __len__(self):
        return len(self.store)
c = C(a=1, b=2)
"""
PROGRAMS = {
    "pop of what is not there": ("r = (c.pop('x', 3), c.pop('raised', None), c.calls)", (3, None, [])),
    "pop with a default": ("r = (c.pop('a', 3), c.calls, list(c))", (1, ["a"], ["b"])),
    "pop by keyword": ("r = (c.pop(key='x', default=3), c.pop(key='a'), list(c))", (3, 1, ["b"])),
    "pop of None": ("c['a'] = None\nr = (c.pop('a', 3), list(c))", (None, ["b"])),
    "pop without a default": ("try:\n    r = c.pop('x')\nexcept KeyError:\n    r = 'none'", "none"),
    "get": ("r = (c.get('a'), c.get('x'), c.get('x', 3), c.get('raised', default=4))", (1, None, 3, 4)),
    "get with an exception of its own": ("r = c.get('own', 3)", 3),
    "get raises what else is raised": (
        "try:\n    r = c.get('index', 3)\nexcept IndexError:\n    r = 'raised'",
        "raised",
    ),
    "pop raises what else is raised": (
        "try:\n    r = c.pop('index', 3)\nexcept IndexError:\n    r = 'raised'",
        "raised",
    ),
    "what is around is still expected": (
        "class D(C):\n    def __getitem__(self, key):\n        return {}[key].size\n"
        "try:\n    r = D().get('x', 3)\nexcept AttributeError:\n    r = 'raised'",
        3,
    ),
    "views are live": (
        "keys, values, items = c.keys(), c.values(), c.items()\nc['z'] = 3\ndel c['a']\n"
        "r = (list(keys), list(values), list(items), len(keys), 'z' in c.store, sorted(keys))",
        (["b", "z"], [2, 3], [("b", 2), ("z", 3)], 2, True, ["b", "z"]),
    ),
    "views are iterated": (
        "r = ([k for k in c.keys()], dict(c.items()), sum(c.values()), [*c.values()], next(iter(c.keys())))",
        (["a", "b"], {"a": 1, "b": 2}, 3, [1, 2], "a"),
    ),
    "views are unpacked": (
        "(x, y), z = c.values(), dict(zip(c.keys(), c.values()))\nr = (x, y, z)",
        (1, 2, {"a": 1, "b": 2}),
    ),
    "update by pairs": ("c.update([('a', 3), ('d', 4)], e=5)\nr = dict(c.items())", {"a": 3, "b": 2, "d": 4, "e": 5}),
    "update by a mapping": ("c.update(C(a=3))\nc.update({'d': 4})\nr = dict(c.items())", {"a": 3, "b": 2, "d": 4}),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_methods(case: str) -> None:
    program, value = PROGRAMS[case]
    assert Run(f"{CONTAINER}{program}\n").python("r") == value


@pytest.mark.parametrize("case", PROGRAMS)
def test_python_agrees(case: str, tmp_path: Path) -> None:
    program, value = PROGRAMS[case]
    path = tmp_path / "program.py"
    path.write_text(f"{CONTAINER}{program}\n", encoding="utf-8")
    assert runpy.run_path(str(path))["r"] == value


@pytest.mark.parametrize(
    "given", ["unknown", "**unknown", "*unknown", "{key: 3}", "{'d': 4, **unknown}", "[(key, 3)]", "[('d', 4), key]"]
)
def test_updates_that_are_not_wholly_known(given: str) -> None:
    """What is known is there, and there may be more."""
    run = Run(f"{CONTAINER}from elsewhere import unknown, key\nc.update({given})\nr = c['x']\ns = dict(c.items())")
    assert run.ended and run["r"] is not NONE
    if "'d'" in given:
        assert Run(f"{CONTAINER}from elsewhere import unknown, key\nc.update({given})\nr = c['d']").python("r") == 4
    with pytest.raises(NotConstant):
        run.python("s")


def test_defaults_that_are_not_known() -> None:
    run = Run(f"{CONTAINER}from elsewhere import given\nr = c.get('x', *given)\ns = c.pop('x', *given)\nt = c.calls")
    assert isinstance(run["r"], Unknown) and isinstance(run["s"], Unknown) and run.python("t") == []


def test_views_that_never_called_their_constructor() -> None:
    """Own methods come first; of the others nothing is known, for a model has kept nothing of the object."""
    run = Run(
        "from collections.abc import KeysView\n"
        "class Own(KeysView):\n    def __init__(self, names):\n        self.names = names\n"
        "    def __contains__(self, name):\n        return name in self.names\n"
        "class Bare(KeysView):\n    def __init__(self, names):\n        self.names = names\n"
        "a, b = 'x' in Own(['x']), 'x' in Own(['y'])\n"
        "c = 'x' in Bare(['x'])\nd = list(Bare(['x']))\nlast = 1\n"
    )
    assert run.ended and (run.python("a"), run.python("b"), run.python("last")) == (True, False, 1)
    with pytest.raises(NotConstant):
        run.python("c")
