"""Where names live: both front ends, against the rules of the language and against CPython's own symbol tables."""

from __future__ import annotations

import symtable
import sys

import pytest
from hypothesis import given, settings

from devlint.syntax import ir, lower_ast, lower_cst
from tests.strategies import programs
from tests.syntax.dump import dump, walk

BODIES = {
    "def f(x): y = x; return len(y), z": (
        "[Assign([y:local], x:local, None), Return(Display(tuple, [Call(len:global, [y:local], []), z:global]))]"
    ),
    "def f():\n global x\n x = 1": "[Assign([x:global], 1, None)]",
    "def f(x): return [y for y in x if z]": (
        "[Return(Comprehension(list, y:local, None, [Generator(y:local, x:local, [z:global])]))]"
    ),
    "def f(x, c): return [c for y in x for z in x]": (
        "[Return(Comprehension(list, c:free, None, [Generator(y:local, x:local, []), Generator(z:local, x:free, [])]))]"
    ),
    "def f(x): [(w := y) for y in x]; return w": (
        "[ExprStatement(Comprehension(list, Walrus(w:free, y:local), None, [Generator(y:local, x:local, [])])), "
        "Return(w:local)]"
    ),
    "def f(x):\n try: pass\n except E as e: x\n import a.b as c, d.e\n return e, c, d, a": (
        "[Try([], [Handler(E:global, e:local, [ExprStatement(x:local)])], [], []), Import([(a.b, c), (d.e, None)]), "
        "Return(Display(tuple, [e:local, c:local, d:local, a:global]))]"
    ),
    "def f(x):\n match x:\n  case [a, *b] | {'k': a, **b}: return a, b, k": (
        "[Match(x:local, [Case(OrPattern([SequencePattern([CapturePattern(a:local, None), StarPattern(b:local)]), "
        "MappingPattern(['k'], [CapturePattern(a:local, None)], b:local)]), None, "
        "[Return(Display(tuple, [a:local, b:local, k:global]))])])]"
    ),
    "def f(x): del x, y; return y": "[Delete([x:local, y:local]), Return(y:local)]",
    "def f(x):\n with x as (a, b[c]): pass\n for d, *e in x: a, d, e, c": (
        "[With([(x:local, Display(tuple, [a:local, Subscript(b:global, c:global)]))], []), "
        "For(Display(tuple, [d:local, Starred(e:local)]), x:local, "
        "[ExprStatement(Display(tuple, [a:local, d:local, e:local, c:global]))], [])]"
    ),
}

LOWERINGS = pytest.mark.parametrize("lower", [lower_ast.lower, lower_cst.lower], ids=["ast", "libcst"])


@LOWERINGS
@pytest.mark.parametrize(("text", "expected"), BODIES.items(), ids=list(BODIES))
def test_function(lower, text: str, expected: str) -> None:
    assert dump(lower(text + "\n", "x.py").body[0].body, scopes=True) == expected


@LOWERINGS
def test_module_level_is_global(lower) -> None:
    module = lower("x = [y for y in z]\nfor x in z: pass\n(x := 1)\n", "x.py")
    names = {(node.id, node.scope.name) for node in walk(module.body) if isinstance(node, ir.Name)}
    assert names == {("x", "GLOBAL"), ("z", "GLOBAL"), ("y", "LOCAL")}


@LOWERINGS
def test_class_scope_is_invisible_from_inside(lower) -> None:
    text = (
        "def f(free):\n"
        "    class C(free):\n"
        "        a = free\n"
        "        b = a, g\n"
        "        c = [a for _ in a]\n"
        "        def m(self, k=a): return a, free, C\n"
        "    return C\n"
    )
    cls = lower(text, "x.py").body[0].body.statements[0]
    assert dump(cls.bases, scopes=True) == "[free:local]"
    assert dump(cls.body[:3], scopes=True) == (
        "[Assign([a:class], free:free, None), Assign([b:class], Display(tuple, [a:class, g:global]), None), "
        "Assign([c:class], Comprehension(list, a:global, None, [Generator(_:local, a:class, [])]), None)]"
    )
    method = cls.body[3]
    assert dump(method.parameters.defaults, scopes=True) == "{k: a:class}"
    assert dump(method.body, scopes=True) == "[Return(Display(tuple, [a:global, free:free, C:free]))]"


@LOWERINGS
def test_nonlocal_and_facts(lower) -> None:
    text = (
        "def f(a, *b, c=1, **d):\n"
        "    x = y = 0\n"
        "    def g():\n"
        "        nonlocal x\n"
        "        global y\n"
        "        x = 1; y = 2; z = 3\n"
        "        yield x\n"
        "    return lambda: (x, y, (yield))\n"
    )
    f = lower(text, "x.py").body[0].body
    assert f.locals == {"a", "b", "c", "d", "x", "y", "g"}
    assert not f.is_generator
    g = f.statements[1].body
    assert (g.locals, g.globals, g.nonlocals, g.is_generator) == ({"z"}, {"y"}, {"x"}, True)
    assert dump(g.statements[:3], scopes=True) == (
        "[Assign([x:free], 1, None), Assign([y:global], 2, None), Assign([z:local], 3, None)]"
    )
    answer = f.statements[2].value.body
    assert answer.is_generator
    assert dump(answer, scopes=True) == "[Return(Display(tuple, [x:free, y:free, Yield(None)]))]"


@LOWERINGS
def test_a_global_declaration_hides_outer_locals(lower) -> None:
    text = "def f():\n    x = 1\n    def g():\n        global x\n        def h(): return x\n"
    h = lower(text, "x.py").body[0].body.statements[1].body.statements[0]
    assert dump(h.body, scopes=True) == "[Return(x:global)]"


@settings(max_examples=60, deadline=None)
@given(programs())
def test_functions_agree_with_the_symbol_table(text: str) -> None:
    tables = {table.get_lineno(): table for table in _functions(symtable.symtable(text, "x.py", "exec"))}
    module = lower_ast.lower(text, "x.py")
    functions = [node for node in walk(module.body) if isinstance(node, ir.Function) and node.name != "<lambda>"]
    for function in functions:
        table = tables[function.at.lineno]
        inlined = _of_comprehensions(function) if sys.version_info >= (3, 12) else set()
        assert function.body.locals == set(table.get_locals()) - (inlined - function.body.locals), text
        assert function.body.globals == {
            name for name in table.get_globals() if table.lookup(name).is_declared_global()
        }


def _of_comprehensions(function: ir.Function) -> set[str]:
    """The names that comprehensions of a function bind: since PEP 709 (Python 3.12) its symbol table has them, too."""
    return {
        node.id
        for comprehension in walk(function.body.statements)
        if isinstance(comprehension, ir.Comprehension)
        for generator in comprehension.generators
        for node in walk([generator.target])
        if isinstance(node, ir.Name)
    }


def _functions(table: symtable.SymbolTable) -> list[symtable.Function]:
    found = [table] if isinstance(table, symtable.Function) and table.get_name() not in _NAMELESS else []
    return found + [inner for child in table.get_children() for inner in _functions(child)]


_NAMELESS = frozenset({"lambda", "listcomp", "dictcomp", "setcomp", "genexpr"})
