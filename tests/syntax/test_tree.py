"""The libcst tree: every `ast` expression and statement finds its node, in small programs and in torch's own files."""

from __future__ import annotations

import ast
import importlib.util
import random
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from devlint.syntax.parsing import Unparsable, parse_cst
from devlint.syntax.tree import Tree


@dataclass(frozen=True)
class At:
    """A site of a node."""

    at: Any
    path: str = "x.py"


def nodes_with_a_counterpart(module: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Yield expressions and statements, save those for which libcst has no node of the same extent.

    These are a tuple of subscripts without parentheses (`x[1, 2]`), and the parts of f-strings, whose positions are
    made up before Python 3.12.
    """
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            yield node
        if isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            stack += [node.value, *node.slice.elts]
            continue
        stack.extend(ast.iter_child_nodes(node))


def missing(text: str) -> list[str]:
    """Return what has no libcst node."""
    tree = Tree.parse(text)
    return [
        f"{node.lineno}:{node.col_offset} {type(node).__name__} {tree.site_text(At(node))[:60]!r}"
        for node in nodes_with_a_counterpart(ast.parse(text))
        if tree.node(At(node)) is None
    ]


PROGRAM = """\
# héllo
import os, torch as t
from a.b import (c, d as e)
@decorated(1)
async def f(x: int = 3, *args: "é", k=(1, 2), **kw) -> list[int]:
    \"\"\"Döc.\"\"\"
    async with open("日本") as g, (h): pass
    await x; return -x ** 2, (yield_ := 3)
class A(B, metaclass=M):
    y: int = (1)
    def m(self): return (yield)
for i, (j, *k) in ((1, (2, 3)),): break
else:
    x = y = ((1, 2))
if (a): pass
elif not (b): pass
else: del a[1:2, ::3], b.c
try: f(*a, **b, k=1)
except (E, F) as e: raise X from e
finally: z = f(x for x in y) + f((x for x in y)) + f ( # hm
    x for x in y )
lambda x, *y: (x, y)
(a)
((a).b)[(1, 2)]
x[-len(y) :], x[1 : 2 : ], x[::]
w = "a" 'b' f"{x!r:>{y}}" if a < b <= c is not d else [*a, {**b, 1: 2}, {1, *c}]
while 1: global q; nonlocal_ = {k: v for k in a if b for v in c}
with (open(a) as b, c): x += 1; assert x, y
print(a and b and c or not d)
match x:
    case {"a": 1, **rest} if rest: pass
    case Point(x=0) | [1, *_]: pass
"""


def test_every_kind_of_node_is_found() -> None:
    assert missing(PROGRAM) == []


def test_rows_end_as_in_python() -> None:
    assert missing("x = '\x0c\u2028'\r\ny = f(é)\rz = (x,\x0cy)\n\x0c\nw = z\n") == []


def test_torch_files() -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    files = sorted((Path(spec.origin).parent / "nn").rglob("*.py")) + sorted(Path(spec.origin).parent.glob("*.py"))
    for file in random.Random(0).sample(files, 20):
        with tokenize.open(file) as stream:
            assert missing(stream.read()) == [], file


def parsed(text: str, source: str) -> tuple[Tree, cst.CSTNode]:
    """Return the tree, and the node of the first expression whose text is `source`."""
    tree = Tree.parse(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr) and tree.site_text(At(node)) == source:
            found = tree.node(At(node))
            assert found is not None
            return tree, found
    raise AssertionError(source)


def test_parentheses_stay_outside() -> None:
    tree, node = parsed("y = ( (é.to(d)) )\n", "é.to(d)")
    assert isinstance(node, cst.Call)
    assert tree.source(node) == "é.to(d)"
    assert tree.span(node) == (7, 14)


def test_tuple_and_generator_keep_theirs() -> None:
    assert isinstance(parsed("f(((1, 2)))\n", "(1, 2)")[1], cst.Tuple)
    assert isinstance(parsed("f(x for x in y)\n", "(x for x in y)")[1], cst.GeneratorExp)


def test_innermost_node_of_an_extent() -> None:
    tree, node = parsed("f(x)\n", "x")
    assert isinstance(node, cst.Name)
    assert isinstance(tree.parents(node)[0], cst.Arg)
    assert tree.parents(node)[-1] is tree.module


def test_statement_and_indentation() -> None:
    text = "class A:\n\tdef f(self):\n\t    a = 1; b = g(\n  x)\n\t    if c: d = x.y\n"
    tree, node = parsed(text, "x")
    assert tree.source(tree.statement(node)) == "b = g(\n  x)"
    assert tree.indentation(node) == "\t    "
    tree, node = parsed(text, "x.y")
    assert tree.source(tree.statement(node)) == "d = x.y"
    assert tree.indentation(node) == "\t    "


def test_statement_of_a_comment() -> None:
    tree = Tree.parse("a = 1  # one\nif b:\n    c = 2; d = 3  # two\n")
    one, compound = tree.module.body
    assert isinstance(one, cst.SimpleStatementLine)
    assert isinstance(compound, cst.If)
    assert one.trailing_whitespace.comment is not None
    assert tree.statement(one.trailing_whitespace.comment) is one.body[0]
    two = compound.body.body[0]
    assert isinstance(two, cst.SimpleStatementLine)
    assert two.trailing_whitespace.comment is not None
    assert tree.statement(two.trailing_whitespace.comment) is compound
    assert tree.statement(tree.module) is tree.module


def test_no_node_for_a_part_of_one() -> None:
    tree = Tree.parse("x + y + z\n")
    at = ast.parse("x + y + z").body[0].value  # type: ignore[attr-defined]
    at.col_offset = 4
    assert tree.node(At(at)) is None
    assert tree.site_text(At(at)) == "y + z"


def test_a_node_of_another_tree_is_refused() -> None:
    with pytest.raises(KeyError):
        Tree.parse("x\n").span(cst.Name("y"))


def test_syntax_newer_than_this_python() -> None:
    text = "type X = int\ndef f[T](x: T) -> T:\n    return x.to(d)\n"
    tree = Tree.parse(text)
    assert tree.module.code == text


@pytest.mark.parametrize("text", ["x = = 1\n", "f(\n", "if x:\ny\n", "x\0y\n", "'\ud800'\n"])
def test_what_is_not_python(text: str) -> None:
    with pytest.raises(Unparsable):
        parse_cst(text)


def test_where_it_is_not_python() -> None:
    with pytest.raises(Unparsable, match="invalid syntax") as caught:
        parse_cst("ok = 1\né = = 1\n")
    assert (caught.value.row, caught.value.column) == (2, 5)


DEEP = {
    "brackets": "'(' * 5000 + ')' * 5000",
    "lists": "'[' * 100000",
    "unary": "'-' * 50000 + '1'",
    "not": "'not ' * 2900 + 'x'",
    "lambda": "'lambda: ' * 950 + 'x'",
    "power": "'**'.join(['x'] * 20000)",
    "attributes": "'x' + '.y()' * 20000",
    "subscripts": "'x' + '[0]' * 2900",
    "sum": "'+'.join(['x'] * 2900)",
    "blocks": "''.join(' ' * i + 'if x:\\n' for i in range(3000)) + ' ' * 3000 + 'x'",
    "new syntax": "'type X = ' + '(' * 5000 + ')' * 5000",
    "new syntax, unary": "'type X = ' + '-' * 50000 + '1'",
    "allowed": "'(' * 190 + 'x' + ')' * 190",
}


@pytest.mark.parametrize("expression", DEEP.values(), ids=DEEP.keys())
def test_deep_nesting_never_ends_the_process(expression: str) -> None:
    program = (
        "from devlint.syntax.tree import Tree\nfrom devlint.syntax.parsing import Unparsable\n"
        f"try: Tree.parse({expression})\nexcept Unparsable as error: print('refused', error)\nelse: print('parsed')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr[-500:]
    assert result.stdout.startswith(("refused", "parsed"))
    if "190" in expression:
        assert result.stdout == "parsed\n"
