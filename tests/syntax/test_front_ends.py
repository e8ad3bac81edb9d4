"""Both front ends give one form, with equal extents, on real code and on generated programs."""

from __future__ import annotations

import importlib.util
import random
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings

from devlint.syntax import ir, lower_ast, lower_cst
from devlint.syntax.frontend import lower
from tests.strategies import programs
from tests.syntax.dump import dump, extent, walk

HARD = '''\
# déjà vu
x = a[ b , c , ]; y = a[: , b:c : ]; z = a[
  (b) : ,
  ::
  # c
  , d ,
  ]
f ( # (
   q for q in w )
(f) (q for q in w)
f((q for q in w), 1)
é = "ü" 'x' f"{é}{{}}\\n{x!r:>{w}}" rf"\\n{{{y}}}"
f"""a'b
{x = }\\N{EM DASH}"""; f""; "" f"" ""; b"a" b"\\x00"; u"x"; r"\\d"; "\\d\\
e"
(a and b) and c and d or (e or f)
(a) . b [0] (1)
for a, *b in (1), *c, : pass
with (a, b) as c, (d): pass
with (a as b, c as (d, e),): pass
x: int; x.y: int = 1
async def f(a, /, b: int = 1, *c: int, d=2, e, **g) -> (x):
    "doc cuda"
    return await x, *y
lambda: (1, 2)
lambda: (x for x in y)
@a.b(c)
class C(B, *d, metaclass=M, **kw): x: int; y = 1; "s"
try: pass
except (A, B) as e: del e
except: raise
else: pass
finally: raise A from b
match a, b:
    case (1 | 2) as z, [a, *_], (b, *c), {"k": v, **r}, C.D(1, d=2), -1 + 2j, a.b, None, "a" "b" if x: pass
    case (a, ): pass
    case ( ): pass
    case a, : pass
    case (a as b): pass
{**a, b: c}; {*a, b}; {}; (); []
x = a = (b) = c
assert (a), (b)
if (a): pass
elif b: pass
elif c:
    pass
    # trailing
else:
    while x: break
return_ = x, y,
g(f"""é
b{q}""", f'{ x }' f'{ (x) }' f"{a['b']}", f"{x:{w}.{p}}{x!r}{y=}", f"{(a, b)}{ {1: 2}[1] }")
'''


def assert_same(text: str) -> None:
    first, second = lower_ast.lower(text, "x.py"), lower_cst.lower(text, "x.py")
    assert dump(first.body) == dump(second.body)
    assert ir.same(first, second)
    for one, other in zip(walk(first.body), walk(second.body), strict=True):
        if isinstance(one, ir.Display) and extent(one) != extent(other) and sys.version_info < (3, 12):
            # Before 3.12, `f"{a, b}"` is parsed as `(a, b)` in the quotes' place.
            assert text.splitlines()[other.at.lineno - 1].encode()[other.at.col_offset - 1 :][:1] == b"{"
            continue
        assert extent(one) == extent(other), type(one).__name__


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_hard_layout(newline: str) -> None:
    assert_same(HARD.replace("\n", newline))


@pytest.mark.parametrize("text", ["", "\n", "# c", "if x:\n\ty=1\n\tz=2\n", "x = 1 ; # é\ny=\\\n  2", "x"])
def test_small_layout(text: str) -> None:
    assert_same(text)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="unpacking in a subscript came with 3.11")
def test_unpacking_in_a_subscript() -> None:
    assert_same("x[*a]; x[*a, b]; x[(a, b)]; x[b, *(a), ]\n")


def test_libcst_extents_carry_their_node() -> None:
    import libcst as cst

    call = lower_cst.lower("y = f(x)\n", "x.py").body[0]
    assert isinstance(call, ir.Assign)
    assert isinstance(call.at.node, cst.Assign)
    assert isinstance(call.value.at.node, cst.Call)


@settings(max_examples=40, deadline=None)
@given(programs())
def test_generated_programs(text: str) -> None:
    assert_same(text)


def _real_files() -> list[Path]:
    roots = [Path(sysconfig.get_paths()["stdlib"])]
    for name in ("torch", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            roots.append(Path(spec.origin).parent)
    chosen: list[Path] = []
    for root in roots:
        files = sorted(path for path in root.rglob("*.py") if path.stat().st_size < 30_000)
        files = [
            path
            for path in files
            if not {"site-packages", "test", "tests", "lib2to3"} & set(path.relative_to(root).parts)
        ]
        chosen += random.Random(5).sample(files, 25)
    return chosen


@pytest.mark.parametrize("path", _real_files(), ids=lambda path: "/".join(path.parts[-3:]))
def test_real_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    try:
        compile(text, str(path), "exec")
    except SyntaxError:
        pytest.skip("written for another version of Python")
    assert_same(text)


NEWER = (
    "def first[T](items: list[T]) -> T:\n    return items[0]\ntype Pair[T] = tuple[T, T]\nclass Box[T]:\n    item: T\n"
)


class TestFrontEndChoice:
    def test_auto_reads_newer_syntax(self) -> None:
        module = lower(NEWER, "x.py")
        assert [type(form).__name__ for form in module.body] == ["Function", "Assign", "Class"]
        assert dump(module.body[1]) == "Assign([Pair], None, None)"
        assert ir.same(module, lower(NEWER, "x.py", "libcst"))

    def test_type_parameters_leave_the_bases(self) -> None:
        (form,) = lower("class Box[T](Base[T], other.Base): pass\n", "x.py").body
        assert dump(form) == "Class(Box, [Base, Attribute(other, Base)], [], [], [])"

    @pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows the syntax")
    def test_ast_alone_refuses_it(self) -> None:
        with pytest.raises(SyntaxError):
            lower(NEWER, "x.py", "ast")

    @pytest.mark.parametrize("front_end", ["ast", "libcst", "auto"])
    def test_no_python_is_no_python_for_any(self, front_end: str) -> None:
        with pytest.raises(SyntaxError):
            lower("def :\n", "x.py", front_end)  # type: ignore[arg-type]

    def test_template_strings(self) -> None:
        assert dump(lower("t'a{b}c{d=}'\n", "x.py").body) == (
            "[ExprStatement(FString(['a', b, 'cd=', Call(Attribute('{!r}', format), [d], [])]))]"
        )

    def test_except_star(self) -> None:
        text = "try: a\nexcept* E as e: b\n"
        assert dump(lower(text, "x.py", "libcst").body) == (
            "[Try([ExprStatement(a)], [Handler(E, e, [ExprStatement(b)])], [], [])]"
        )
