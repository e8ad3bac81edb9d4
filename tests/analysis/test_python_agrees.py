"""Wherever the interpreter claims a constant, CPython computes the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devlint.analysis.domain.plain import NotConstant
from devlint.analysis.domain.values import Unknown
from tests.analysis.programs import Run
from tests.strategies import pure_programs

KNOWN = """
xs = [1, 2]; ys = xs; ys.append(3); ys += [4]; result = xs
xs = [3, 1, 2]; xs.sort(); result = xs
xs = [3, 1, 2]; xs.sort(key=lambda x: -x); result = xs
xs = [3, 1, 2]; xs.insert(1, 9); xs.remove(3); result = (xs, xs.pop(), xs.index(9), xs.count(1))
xs = [1, 2, 3, 4]; xs[1:3] = [7]; del xs[0]; result = xs
xs = [1, 2, 3, 4]; xs.reverse(); result = (xs[::2], xs[-2:], xs[:-1], xs[1], xs[-1])
xs = [1]; xs.extend(x for x in (2, 3)); ys = xs.copy(); xs.clear(); result = (xs, ys)
a, (b, *c), d = 1, (2, 3, 4), 5; result = (a, b, c, d)
*a, b = range(4); result = (a, b)
result = [1] + [2] * 2 + list((3, 4))
result = ((1, 2) + (3,), (0,) * 3, 2 in [1, 2], 3 not in (1, 2))
result = ([1] == "1", "a" != ["a"], {"a": 1} == 1, () == 0, {1} != 1, [] == False, [3] == [3], "True" == ["True"])
s = {1, 2}; s.add(3); s.discard(1); result = (sorted(s), sorted(s | {9}), sorted(s & {2}), sorted(s - {2}), len(s))
result = (sorted({1, 2}.union([5])), {1}.issubset({1, 2}), {1}.isdisjoint({2}), sorted({1, 2} ^ {2, 3}))
d = {"a": 1}; d["b"] = 2; d.update(c=3); del d["a"]; result = (d, list(d), d.pop("b"), d.get("z"), d.get("z", 4))
d = dict(a=1, **{"b": 2}); result = (list(d.items()), list(d.keys()), list(d.values()), len(d), "a" in d)
d = {}; d.setdefault("x", []).append(1); d.setdefault("x", []).append(2); result = d
d = {"a": 1, "b": 2}; result = (d.popitem(), d, d | {"c": 3})
d = dict.fromkeys(["a", "b"], 0); result = d
d = dict([("a", 1), ("b", 2)]); result = {v: k for k, v in d.items()}
from collections import OrderedDict; d = OrderedDict(a=1, b=2); d.move_to_end("a"); result = list(d)
from collections import defaultdict; d = defaultdict(list); d["a"].append(1); result = list(d.items())
from collections import deque; q = deque([1, 2]); q.appendleft(0); q.popleft(); q.rotate(1); result = list(q)
from collections import namedtuple; P = namedtuple("P", "x y"); p = P(1, y=2); x, y = p
result = (p.x, p[1], x, y, len(p))
from collections import namedtuple; P = namedtuple("P", ["x", "y"], defaults=[5]); result = P(1)._asdict()
from collections import namedtuple; P = namedtuple("P", "x y"); p = P("a", "b")
for name in p._fields: p = p._replace(**{name: getattr(p, name) + "c"})
result = (p.x, p.y, P._fields)
from typing import NamedTuple
class P(NamedTuple):
    x: int
    y: int = 2
p = P(1); kinds = (isinstance(p, tuple), isinstance(p, (list, tuple)), isinstance(p, dict), isinstance(p, str))
result = (P._fields, p._fields, kinds)
from collections import namedtuple; P = namedtuple("P", "x y"); p = P(1, 2)
result = (P._fields, p._fields, hasattr(p, "_fields"), hasattr(p, "keys"), hasattr(p, "count"))
from collections import namedtuple; P = namedtuple("P", "x y"); p = P(1, 2)
result = (type(p)(*(v + 1 for v in p)).x, p.__class__(*[v + 2 for v in p]).y, p._replace(x=5).x, P._make([7, 8]).y)
found, start = [], 0
for name, size in (("a", 2), ("b", 3), ("c", 1)):
    found += [name + str(i) for i in range(start, start + size)]; start += size
result = (found, start)
def total(x): return sum(total(part) for part in x) if isinstance(x, (list, tuple)) else x
result = total([1, [2, (3, [4, [5, (6,)]])]])
def leaves(x): return [y for part in x.values() for y in leaves(part)] if isinstance(x, dict) else [x]
result = leaves({"a": {"b": {"c": {"d": {"e": {"f": 1}}}, "g": 2}}, "h": 3})
result = ("cuda:{}".format(1), "cuda:%d" % 1, "%s:%s" % ("cuda", 0), f"cuda:{0}", "{a}-{b}".format(a=1, b="x"))
result = ("a,b".split(","), " x ".strip(), "abc".upper(), "abc"[1:], "abc"[-1], "b" in "abc", "abc".replace("b", "d"))
result = ("cuda:0".startswith("cuda"), "cuda:0".partition(":"), "-".join(str(i) for i in range(3)), "ab" * 2)
result = ("abc".find("c"), "7".isdigit(), "7".zfill(3), "a b".title(), "%(x)s" % {"x": 1}, "x".encode())
result = (ord("a"), chr(98))
result = (7 // 2, 7 % 3, 2 ** 10, 7 / 2, 1 << 4, 6 & 3, 6 | 1, 6 ^ 2, -7 // 2, abs(-3), round(2.567, 2), divmod(7, 2))
result = (int("3"), float("1.5"), int(2.9), str(3), bool([]), bool("x"), int(), float(), complex(1, 2).imag)
result = (len("abc"), len([1, 2]), max(3, 1, 2), min([4, 2]), max("a", "bb", key=len), sum([1, 2], 3), pow(2, 3))
result = (sum([[1], [2, 3]], []), sum(((1,), (2,)), (0,)), sum([], [4]), sum((x for x in ([1], [2])), start=[0]))
result = (max([], default=0), min((3, 1), key=lambda x: -x), sum(x for x in (1, 2)), any([0, 1]), all([1, 0]), any([]))
result = [(i, x) for i, x in enumerate("ab", 1)]
result = list(zip([1, 2, 3], "ab"))
result = (list(map(lambda x: x + 1, [1, 2])), list(filter(None, [0, 1, 2])), list(reversed([1, 2])), sorted("ba"))
result = (list(range(3)), list(range(1, 6, 2)), list(range(3, 0, -1)), tuple(range(2)), len(range(5)), range(9)[3])
it = iter([1, 2]); result = (next(it), next(it), next(it, None))
result = (isinstance(1, int), isinstance("a", (int, str)), isinstance([], list), isinstance(None, str))
result = (hasattr("a", "upper"), getattr("a", "nope", 3), callable(len) or True, callable(3), hasattr([], "append"))
result = (type(1) is int, type("a") is str, type([]) is list, type({}) is dict)
def f(): pass
class A: pass
result = ([] == None, [1] != None, {} == None, f == None, A() == None, A != None)
result = ([1].__class__((2, 3)), {}.__class__(a=1), (1,).__class__([2]), "a".__class__ is str)
class A: x = 1
result = (hasattr(A(), "__dict__"), hasattr(A(), "__class__"), hasattr(A(), "__call__"), hasattr(A(), "__len__"))
class A: x = 1
result = (getattr(A(), "x"), hasattr(A(), "x"), hasattr(A(), "y"), getattr(A(), "y", 5), isinstance(A(), A))
def f(): pass
f.n = 1; setattr(f, "k", 2); result = (hasattr(f, "n"), hasattr(f, "m"), getattr(f, "m", 3), f.n, f.k)
class A: pass
a = A(); setattr(a, "n", 4); result = (a.n, vars(a))
B = type("B", (object,), {"x": 3}); result = B().x
import functools; result = (functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.partial(max, 3)(5))
import itertools; result = (list(itertools.chain([1], [2])), list(itertools.islice(range(9), 2)))
import itertools; result = (list(itertools.product([1, 2], "ab")), list(itertools.chain.from_iterable([[1], [2]])))
import itertools
result = (list(itertools.repeat(1, 2)), list(itertools.accumulate([1, 2, 3])), next(itertools.count(5)))
import operator; result = (operator.itemgetter("a")({"a": 1}), operator.add(1, 2), operator.itemgetter(0, 1)([5, 6]))
import operator; result = operator.attrgetter("real", "imag")(3)
import copy; a = [1, [2]]; b = copy.deepcopy(a); b[1].append(3); c = copy.copy(a); c[1].append(4); result = (a, b)
import math; result = (math.ceil(1.2), math.sqrt(4), math.pi > 3, math.log2(8), math.prod([2, 3]))
import os
result = (os.path.join("a", "b.py"), os.path.basename("x/y"), os.path.splitext("m.pt"), os.path.dirname("x/y"))
import dataclasses
@dataclasses.dataclass
class C:
    x: int = 1
    y: list = dataclasses.field(default_factory=list)
c = C(y=[2]); d = dataclasses.replace(c, x=3); result = (c.x, c.y, d.x, dataclasses.asdict(d), C().y is C().y)
from types import SimpleNamespace; n = SimpleNamespace(a=1); n.b = 2; result = n.a + n.b
class D(dict): pass
d = D(a=1); d["b"] = 2; result = (d["a"], d.get("b"), len(d), "a" in d, list(d.items()))
from collections import UserDict
class U(UserDict): pass
u = U({"a": 1}); u["b"] = 2; result = (u["a"], u.data["b"], list(u.keys()))
class V:
    def __init__(self, n): self.n = n
    def __add__(self, other): return V(self.n + other.n)
    def __setitem__(self, k, v): self.n = v
v = V(1) + V(2); w = V(0); w["k"] = 7; result = (v.n, w.n)
class K: pass
class L(K): pass
Number = int | float | None
asked = (isinstance([1], list | tuple), isinstance(L(), int | K), isinstance(None, Number), isinstance("a", Number))
result = (asked, issubclass(L, int | K), isinstance(L(), str | int), isinstance(2.5, Number | str))
class Known:
    def __contains__(self, key): return key == 1
result = (1 in Known(), 2 in Known(), 2 not in Known())
class A:
    x = 1
    def __init__(self): self.n = 1
    def f(self): pass
    def __getattr__(self, name): return 1
class B(A):
    def g(self): pass
b = B(); result = ["f" in dir(b), "n" in dir(b), "n" in dir(B), "g" in dir(A), "h" in dir(b), "h" not in dir(type(b))]
class A:
    x = 1
    def f(self): pass
class B(A):
    def g(self): return 3
result = ["f" in B.__dict__, "g" in vars(B), "x" in A.__dict__, "__doc__" in vars(B), "y" in vars(A), A.__dict__["x"]]
"""


def _snippets() -> list[str]:
    """One snippet ends where its `result` is bound."""
    found, lines = [], []
    for line in KNOWN.strip().splitlines():
        lines.append(line)
        if re.search(r"(^|; )result = ", line):
            found.append("\n".join(lines))
            lines = []
    return found


def _executed(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(text, names)
    return names


@pytest.mark.parametrize("text", _snippets(), ids=lambda text: text.splitlines()[-1][:60])
def test_known(text: str) -> None:
    """The result is known, and it is what CPython computes."""
    run = Run(text)
    assert run.ended
    expected = _executed(text)["result"]
    assert run.python("result") == expected


RAISING = [
    "[].pop()",
    "def f(a): pass\nf()",
    "def f(a): pass\nf(1, 2)",
    "def f(a, *, b): pass\nf(1)",
    "def f(a): pass\nf(1, b=2)",
    "class C:\n    def __init__(self, a): pass\nC()",
    "class C:\n    def f(self, a): pass\nC().f()",
    "[1][3]",
    "(1, 2)[2]",
    "'abc'[9]",
    "1 / 0",
    "'a' + 1",
    "int('x')",
    "a, b = [1]",
    "next(iter([]))",
    "max([])",
    "len(3)",
    "[1].remove(2)",
    "[1].index(2)",
    "t = (1,); t[0] = 2",
    "'%d' % 'a'",
    "range('a')",
    "'a' in 3",
    "for x in 3: pass",
    "'{}'.format()",
]


@pytest.mark.parametrize("text", RAISING)
def test_raises(text: str) -> None:
    """What surely raises ends the program, silently."""
    with pytest.raises(Exception):  # noqa: B017 - whichever it is
        _executed(text)
    run = Run(text)
    assert not run.ended
    assert not run.machine.entry.events


PLACEHOLDERS = [
    "{'a': 1}['b']",
    "None.x",
    "None.x()",
    "None[0]",
    "del {}['a']",
    "{}.pop('a')",
    "for x in None: pass",
    "'a' in None",
    "a, b = None",
]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_placeholders(text: str) -> None:
    """What code out of sight may have filled ends nothing, unless the program expects that it raises."""
    with pytest.raises((KeyError, AttributeError, TypeError)):
        _executed(text)
    assert Run(text).ended
    assert Run(f"found = 0\ntry:\n    {text}\nexcept Exception:\n    found = 1\n").python("found") == 1


HANDLED = [
    ("int('x')", "ValueError"),
    ("1 / 0", "ZeroDivisionError"),
    ("{}['a']", "KeyError"),
    ("[][0]", "IndexError"),
    ("[][0]", "LookupError"),
    ("next(iter([]))", "StopIteration"),
    ("None.x", "(TypeError, AttributeError)"),
    ("import sys; sys.exit()", "SystemExit"),
]


@pytest.mark.parametrize(("text", "kind"), HANDLED)
def test_handled(text: str, kind: str) -> None:
    """A handler runs that names the exception or a base of it."""
    program = f"found = 0\ntry:\n    {text}\n    found = 1\nexcept {kind}:\n    found = 2\n"
    assert _executed(program)["found"] == 2
    assert Run(program).python("found") == 2


def test_not_handled() -> None:
    assert not Run("try:\n    [][0]\nexcept KeyError:\n    pass").ended
    assert not Run("import sys\ntry:\n    sys.exit()\nexcept Exception:\n    pass").ended


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(pure_programs())
def test_random_programs(text: str) -> None:
    """Constants of random programs. Loops are left out: they are run for their devices, not for their numbers."""
    if re.search(r"^ *(for|while) |!s:", text, re.MULTILINE):
        return
    _compare(text)


def _compare(text: str) -> int:
    expected = _executed(text)
    run = Run(text)
    assert run.ended
    known = 0
    for name, value in expected.items():
        if name.startswith("__") or callable(value) or isinstance(value, type(re)):
            continue
        try:
            found = run.python(name)
        except NotConstant:
            continue
        known += 1
        assert (found, type(found)) == (value, type(value)), name
    return known


INTEGERS = st.integers(-9, 9).map(str)
TEXTS = st.sampled_from(["'cuda'", "'cpu:0'", "''", "'a b'", "'%s'", "'{}'"])
LISTS = st.lists(st.one_of(INTEGERS, TEXTS), max_size=4).map(lambda items: f"[{', '.join(items)}]")
DICTS = st.dictionaries(TEXTS, INTEGERS, max_size=3).map(
    lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
)

EXPRESSIONS = [
    "({i} + {j}) * {i} - {j}",
    "{x}[{i}]",
    "{x}[{i}:{j}]",
    "{x}[::{i}]",
    "{s}[{i}:{j}]",
    "{s}.split({t})",
    "{s}.join([{t}, {s}])",
    "{s} % ({i},)",
    "{s}.format({i}, {t})",
    "{s}.replace({t}, 'z')",
    "{s}.partition(':')",
    "{s} * {i}",
    "{x} * {i}",
    "{x} + {y}",
    "{x}.index({i})",
    "{x}.count({i})",
    "{d}[{s}]",
    "{d}.get({s}, {i})",
    "{{**{d}, **{e}}}",
    "list({d}.items())",
    "{d} | {e}",
    "{i} in {x}",
    "{s} in {d}",
    "{s} in {t}",
    "sorted({x}, key=str)",
    "sorted({x})",
    "list(zip({x}, {y}))",
    "dict(zip({x}, {y}))",
    "list(enumerate({x}, {i}))",
    "list(reversed({x}))",
    "max({x}, key=str, default=None)",
    "min({x})",
    "sum({x})",
    "len({x}) + len({s}) + len({d})",
    "list(map(str, {x}))",
    "list(filter(lambda v: v != {i}, {x}))",
    "any({x}), all({x})",
    "list(range({i}, {j}))",
    "tuple({x})[{i}]",
    "sorted(set(map(str, {x})))",
    "divmod({i}, {j})",
    "{i} ** abs({j})",
    "int({s})",
    "round({i} / {j}, 2)",
    "isinstance({x}, (list, str)), isinstance({i}, str)",
    "[a for a in {x} if a in {y}]",
    "{{str(a): a for a in {x}}}",
    "next(iter({x}))",
    "str({x}) + repr({s})",
    "bool({x}) and {i} or {s}",
    "{x}.pop({i})",
    "(lambda *a, **k: (a, k))(*{x}, k={i})",
]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_expressions(data: st.DataObject) -> None:
    """Constant expressions: what CPython computes is known and the same; what raises ends the program."""
    template = data.draw(st.sampled_from(EXPRESSIONS))
    parts = {"i": INTEGERS, "j": INTEGERS, "s": TEXTS, "t": TEXTS, "x": LISTS, "y": LISTS, "d": DICTS, "e": DICTS}
    text = "result = " + template.format(**{name: data.draw(strategy) for name, strategy in parts.items()})
    try:
        expected = _executed(text)["result"]
    except KeyError:
        assert isinstance(Run(text)["result"], Unknown), text
        return
    except Exception:
        assert not Run(text).ended, text
        return
    run = Run(text)
    assert run.ended, text
    assert run.python("result") == expected, text
