"""What programs seldom do, as CPython does it: `__new__`, unary operators, coroutines, heaps, weak references."""

from __future__ import annotations

from typing import Any

import pytest

from devlint.analysis.domain.plain import NotConstant
from tests.analysis.programs import Run

CLASSES = """
import asyncio, heapq, itertools, weakref
from contextvars import ContextVar

class Once:
    made = None
    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
            cls.made.first = args
        return cls.made
    def __init__(self, *args):
        self.last = args

class Base:
    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.kind = cls.__name__
        return made

class Heir(Base):
    def __init__(self, size):
        self.size = size

class Other:
    def __new__(cls, value):
        return Heir(value)
    def __init__(self, value):
        self.lost = value

class Signed:
    def __init__(self, n):
        self.n = n
    def __neg__(self):
        return Signed(-self.n)
    def __invert__(self):
        return self.n + 1

async def twice(n):
    await asyncio.sleep(0)
    return n * 2

async def both(a, b):
    return await asyncio.gather(twice(a), twice(b))

place = ContextVar("place", default="cpu")
"""

PROGRAMS = [
    "result = (heapq.nlargest(1, [3, 1]), heapq.nsmallest(2, [3, 1, 2], key=lambda n: -n), heapq.nlargest(9, [1, 2]))",
    "Once(1); one = Once(2); result = (one.first, one.last, Once(3) is one)",
    "h = Heir(4); result = (h.kind, h.size)",
    "o = Other(4); result = (o.size, o.kind, hasattr(o, 'lost'))",
    "result = ((-Signed(3)).n, ~Signed(3))",
    "result = asyncio.run(twice(3))",
    "result = asyncio.run(both(1, b=2))",
    "result = asyncio.new_event_loop().run_until_complete(both(1, 2))",
    "async def main(): return await asyncio.to_thread(max, 3, 4)\nresult = asyncio.run(main())",
    "before = place.get(); place.set('cuda'); result = (before, place.get())",
    "h = []; heapq.heappush(h, (1, 'a')); result = (heapq.heappop(h), h)",
    "result = list(itertools.starmap(lambda a, b: a - b, [(3, 1), [5, 2]]))",
    "h = Heir(1); r = weakref.ref(h); p = weakref.proxy(h); result = (r().size, p.size)",
    "h = Heir(1); d = weakref.WeakValueDictionary(); d['h'] = h; result = d['h'].size",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_as_python_does(text: str) -> None:
    names: dict[str, Any] = {}
    exec(CLASSES + text, names)
    run = Run(CLASSES + text)
    assert run.ended
    assert run.python("result") == names["result"]


NOT_KNOWN = [
    "h = [3, 1]; result = heapq.heappushpop(h, 2)",
    "class T(tuple):\n    def __new__(cls, a):\n        return super().__new__(cls, (a, 1))\nresult = T(2)[0]",
    "token = place.set('cuda'); place.reset(token); result = place.get()",
    "result = -Heir(1) if input() else 1",
]


@pytest.mark.parametrize("text", NOT_KNOWN)
def test_what_is_not_known(text: str) -> None:
    run = Run(CLASSES + text)
    assert run.ended
    with pytest.raises(NotConstant):
        run.python("result")
