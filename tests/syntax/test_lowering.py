"""Each construct of Python has its form, and both front ends give it."""

from __future__ import annotations

import pytest

from devlint.syntax import lower_ast, lower_cst
from tests.syntax.dump import dump

STATEMENTS = {
    "x = y = 1": "Assign([x, y], 1, None)",
    "x: int = 1": "Assign([x], 1, int)",
    "x.y: int": "Annotate(Attribute(x, y), int)",
    "x @= y": "Augment(x, @, y)",
    "a, *b = c": "Assign([Display(tuple, [a, Starred(b)])], c, None)",
    "[a, b] = c": "Assign([Display(list, [a, b])], c, None)",
    "del a, b[0]": "Delete([a, Subscript(b, 0)])",
    "del (a, b)": "Delete([Display(tuple, [a, b])])",
    "f()": "ExprStatement(Call(f, [], []))",
    "pass": "",
    "global x": "",
    "if a: b\nelif c: d\nelse: e": "If(a, [ExprStatement(b)], [If(c, [ExprStatement(d)], [ExprStatement(e)])])",
    "for i, j in x: break\nelse: y": "For(Display(tuple, [i, j]), x, [Break()], [ExprStatement(y)])",
    "while a: continue\nelse: b": "While(a, [Continue()], [ExprStatement(b)])",
    "with a as b, c: pass": "With([(a, b), (c, None)], [])",
    "with (a as (b, d), c): pass": "With([(a, Display(tuple, [b, d])), (c, None)], [])",
    "try: a\nexcept A as e: b\nexcept: c\nelse: d\nfinally: e": (
        "Try([ExprStatement(a)], [Handler(A, e, [ExprStatement(b)]), Handler(None, None, [ExprStatement(c)])], "
        "[ExprStatement(d)], [ExprStatement(e)])"
    ),
    "raise A from b": "Raise(A)",
    "raise": "Raise(None)",
    "assert a, b": "Assert(a, b)",
    "import a.b as c, d": "Import([(a.b, c), (d, None)])",
    "from ..a import b as c": "ImportFrom(a, 2, [(b, c)])",
    "from . import *": "ImportFrom(, 1, [(*, None)])",
    "def f(a, /, b: int = 1, *c, d=2, e, **g) -> int: return": (
        "Function(f, Parameters([a, b], 1, c, [d, e], g, {b: 1, d: 2}, {b: int}), [], int, False, [Return(None)])"
    ),
    "@a.b\n@c(1)\nasync def f(*, k): await k": (
        "Function(f, Parameters([], 0, None, [k], None, {}, {}), [Attribute(a, b), Call(c, [1], [])], None, True, "
        "[ExprStatement(k)])"
    ),
    "@a\nclass C(B, *D, metaclass=M, **k): x: int = 1": (
        "Class(C, [B, Starred(D)], [(metaclass, M), (None, k)], [Assign([x], 1, int)], [a])"
    ),
    "async def f():\n async for x in y: pass\n async with z as w: pass": (
        "Function(f, Parameters([], 0, None, [], None, {}, {}), [], None, True, "
        "[For(x, y, [], []), With([(z, w)], [])])"
    ),
    "match x:\n case 1 | None: a\n case [b, *_] if c: d\n case _: e": (
        "Match(x, [Case(OrPattern([ValuePattern(1), ValuePattern(None)]), None, [ExprStatement(a)]), "
        "Case(SequencePattern([CapturePattern(b, None), StarPattern(None)]), c, [ExprStatement(d)]), "
        "Case(CapturePattern(None, None), None, [ExprStatement(e)])])"
    ),
    "match x:\n case {'k': 1, **r}: a\n case C(1, d=2) as z: b": (
        "Match(x, [Case(MappingPattern(['k'], [ValuePattern(1)], r), None, [ExprStatement(a)]), "
        "Case(CapturePattern(z, ClassPattern(C, [ValuePattern(1)], [(d, ValuePattern(2))])), None, "
        "[ExprStatement(b)])])"
    ),
}

EXPRESSIONS = {
    "1_000": "1000",
    "0x1F": "31",
    "1e3": "1000.0",
    "2j": "2j",
    "...": "Ellipsis",
    "True": "True",
    "None": "None",
    "-1": "Unary(-, 1)",
    "'a' \"b\" r'\\n'": repr("ab\\n"),
    "b'a' b'\\x00'": "b'a\\x00'",
    "u'é'": "'é'",
    "x.y.z": "Attribute(Attribute(x, y), z)",
    "x[1]": "Subscript(x, 1)",
    "x[1,]": "Subscript(x, Display(tuple, [1]))",
    "x[a:, ::b]": "Subscript(x, Display(tuple, [Slice(a, None, None), Slice(None, None, b)]))",
    "f(a, *b, k=c, **d)": "Call(f, [a, Starred(b)], [(k, c), (None, d)])",
    "f(k=a, *b)": "Call(f, [Starred(b)], [(k, a)])",
    "a + b * c - d": "Binary(-, Binary(+, a, Binary(*, b, c)), d)",
    "a ** b // c % d @ e << f >> g & h | i ^ j": (
        "Binary(|, Binary(&, Binary(>>, Binary(<<, Binary(@, Binary(%, Binary(//, Binary(**, a, b), c), d), e), f), "
        "g), h), Binary(^, i, j))"
    ),
    "not ~+a": "Unary(not, Unary(~, Unary(+, a)))",
    "a is not b": "Compare(is-not, a, b)",
    "a not in b": "Compare(not-in, a, b)",
    "a < b <= c != d": "Bool(True, [Compare(<, a, b), Compare(<=, b, c), Compare(!=, c, d)])",
    "a and b and c or d": "Bool(False, [Bool(True, [a, b, c]), d])",
    "(a and b) and c": "Bool(True, [Bool(True, [a, b]), c])",
    "a if b else c": "Conditional(b, a, c)",
    "[a, *b]": "Display(list, [a, Starred(b)])",
    "(a, b)": "Display(tuple, [a, b])",
    "()": "Display(tuple, [])",
    "{a, b}": "Display(set, [a, b])",
    "{a: b, **c}": "DictDisplay([(a, b), (None, c)])",
    "[a for b in c if d if e for f in g]": (
        "Comprehension(list, a, None, [Generator(b, c, [d, e]), Generator(f, g, [])])"
    ),
    "{a for b in c}": "Comprehension(set, a, None, [Generator(b, c, [])])",
    "{a: b for c in d}": "Comprehension(dict, b, a, [Generator(c, d, [])])",
    "(a async for b in c)": "Comprehension(generator, a, None, [Generator(b, c, [])])",
    "(a := b)": "Walrus(a, b)",
    "lambda a, b=1: a": (
        "Function(<lambda>, Parameters([a, b], 0, None, [], None, {b: 1}, {}), [], None, False, [Return(a)])"
    ),
    "f''": "FString([])",
    "f'a{b}{{c}}'": "FString(['a', b, '{c}'])",
    "f'{a!r:>{b}}'": "FString([Call(Attribute('{!r:>{}}', format), [a, b], [])])",
    "f'{a:>5}{b:}'": "FString([Call(Attribute('{:>5}', format), [a], []), Call(Attribute('{}', format), [b], [])])",
    "f'{a = }'": "FString(['a = ', Call(Attribute('{!r}', format), [a], [])])",
    "f'{a = :5}'": "FString(['a = ', Call(Attribute('{:5}', format), [a], [])])",
    "'x' f'{a}y' 'z' f'' 'w'": "FString(['x', a, 'yzw'])",
    "f'\\x41\\n' rf'\\n{a}'": repr("A\n\\n").join(["FString([", ", a])"]),
    "f'{\"lit\"}x'": "FString(['lit', 'x'])",
}


@pytest.mark.parametrize("lower", [lower_ast.lower, lower_cst.lower], ids=["ast", "libcst"])
@pytest.mark.parametrize(("text", "expected"), STATEMENTS.items(), ids=list(STATEMENTS))
def test_statement(lower, text: str, expected: str) -> None:
    assert dump(lower(text + "\n", "x.py").body) == f"[{expected}]"


@pytest.mark.parametrize("lower", [lower_ast.lower, lower_cst.lower], ids=["ast", "libcst"])
@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items(), ids=list(EXPRESSIONS))
def test_expression(lower, text: str, expected: str) -> None:
    if "async" in text:
        module = lower(f"async def f():\n    ({text})\n", "x.py")
        assert dump(module.body[0].body.statements) == f"[ExprStatement({expected})]"
        return
    assert dump(lower(f"({text})\n", "x.py").body) == f"[ExprStatement({expected})]"


@pytest.mark.parametrize("lower", [lower_ast.lower, lower_cst.lower], ids=["ast", "libcst"])
class TestModule:
    def test_the_middle_of_a_chain_is_one_node(self, lower) -> None:
        chain = lower("a < f() < c\n", "x.py").body[0].value
        assert chain.values[0].right is chain.values[1].left

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("if __name__ == '__main__': f()\n", True),
            ("if '__main__' == __name__ and x: f()\n", True),
            ("if __name__ != '__main__': f()\n", False),
            ("def g():\n    if __name__ == '__main__': f()\n", False),
        ],
    )
    def test_main_guard(self, lower, text: str, expected: bool) -> None:
        assert lower(text, "x.py").has_main_guard is expected

    def test_imports_at_any_depth(self, lower) -> None:
        text = (
            "import a.b as c, d; from . import e\n"
            "def f():\n    try: import g\n    except E: from ..h.i import j as k, l\n    else:\n        import m\n"
            "class C:\n    match x:\n        case 1:\n            with y:\n                from n import *\n"
            "'''\nimport no\n'''\n"
        )
        assert lower(text, "x.py").imports == [
            ("a.b", 0, ()),
            ("d", 0, ()),
            ("", 1, ("e",)),
            ("g", 0, ()),
            ("h.i", 2, ("j", "l")),
            ("m", 0, ()),
            ("n", 0, ("*",)),
        ]

    def test_null_byte(self, lower) -> None:
        with pytest.raises((ValueError, SyntaxError)):
            lower("x = 1\0\n", "x.py")

    def test_no_python(self, lower) -> None:
        with pytest.raises(SyntaxError) as caught:
            lower("x = 1\ny = = 2\n", "x.py")
        assert caught.value.lineno == 2

    def test_a_body_is_lowered_once(self, lower) -> None:
        function = lower("def f(): return 1\n", "x.py").body[0]
        assert function.body is function.body
        assert function.body.statements[0].value.value == 1
