"""Dicts whose items are attributes, and objects that are given a dict for theirs: as CPython reads and writes them."""

from __future__ import annotations

from typing import Any

import pytest

from devlint.analysis.domain.plain import NotConstant
from tests.analysis.programs import Run

CLASSES = """
import copy

class Slots(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

class Gets(dict):
    __getattr__ = dict.get

class Both(dict):
    __getattr__, __setattr__, __delattr__ = dict.get, dict.__setitem__, dict.__delitem__

class Own(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self

class Old(dict):
    def __init__(self, *args, **kwargs):
        dict.__init__(self, *args, **kwargs)
    def __getattr__(self, name):
        return dict.__getitem__(self, name)
    def __setitem__(self, key, value):
        dict.__setitem__(self, key.lower(), value)

class Given:
    def __init__(self, settings):
        self.__dict__ = settings

class Shared:
    state = {}
    def __init__(self):
        self.__dict__ = self.state

class Rows(list):
    def __init__(self, rows):
        list.__init__(self, rows)
    def append(self, row):
        list.append(self, row * 2)
"""

PROGRAMS = [
    "c = Slots(a=1); c.b = 2; result = (c.a, c['b'], c.b, len(c), sorted(c))",
    "c = Slots({'a': 1}); c['b'] = 2; c.update(d=3); result = (c.b, c.d, 'b' in c)",
    "c = Gets(a=1); result = (c.a, c.b, c.get('z', 5))",
    "c = Both(); c.a = 4; result = (c['a'], c.a, c.nothing)",
    "c = Own(a=1); c.b = 2; c['d'] = 3; result = (c['b'], c.d, c.a, sorted(c.items()))",
    "c = Own(a=Own(b=2)); c.a.b = 3; result = c['a']['b']",
    "c = Own(a=1); d = copy.deepcopy(c); d.a = 2; result = (c.a, d.a, d['a'], c['a'])",
    "c = Own(a=1); c.update({'a': 5}); result = c.a",
    "c = Old(a=1); c['B'] = 2; result = (c.a, c.b)",
    "s = {'a': 1}; c = Given(s); c.b = 2; s['d'] = 3; result = (c.a, s['b'], c.d)",
    "c = Shared(); c.a = 1; d = Shared(); result = d.a",
    "r = Rows([1]); r.append(2); result = (r[0], r[1], len(r))",
    "d = {'a': 1}; dict.update(d, b=2); result = (dict.get(d, 'b'), dict.pop(d, 'a'), d)",
    "xs = [1]; list.append(xs, 2); list.extend(xs, [3]); result = xs",
    "c = Slots(a=1); result = [f'{k}={v}' for k, v in c.items()]",
    "def f(**kw): return kw\nresult = f(**Own(a=1))",
    "result = [getattr(Slots(a=3), 'a'), getattr(Own(a=3), 'a', 4), hasattr(Own(a=3), 'a')]",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_as_python_does(text: str) -> None:
    names: dict[str, Any] = {}
    exec(CLASSES + text, names)
    run = Run(CLASSES + text)
    assert run.ended
    assert run.python("result") == names["result"]


UNKNOWN_HERE = [
    "import json; c = Given(json.loads(input())); result = c.a",
    "c = Own(**eval(input())); result = c.a",
]


@pytest.mark.parametrize("text", UNKNOWN_HERE)
def test_what_is_not_known(text: str) -> None:
    run = Run(CLASSES + text)
    assert run.ended
    with pytest.raises(NotConstant):
        run.python("result")


def test_a_dict_that_each_way_gives_another_object_is_theirs() -> None:
    text = "s = {'a': 1}\nif input():\n    c = Given(s)\nelse:\n    d = Given(s)\ne = Given(s)\nresult = e.a"
    assert Run(CLASSES + text).python("result") == 1
