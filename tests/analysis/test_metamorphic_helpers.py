"""The metamorphic changes leave what a program of plain Python does as it is."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests import metamorphic
from tests.metamorphic import MAIN, MOVED, Changed
from tests.strategies import pure_programs

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROGRAMS = sorted(FIXTURES.glob("**/*.py"))
SIMPLE = (int, str, list, dict)


def variables(files: dict[str, str]) -> dict[str, Any]:
    """Run a program of one or two files; return its module-level variables of plain types, by name."""
    if MOVED in files:
        module = types.ModuleType(MOVED.removesuffix(".py"))
        exec(compile(files[MOVED], MOVED, "exec"), module.__dict__)
        sys.modules[module.__name__] = module
    try:
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(files[MAIN], MAIN, "exec"), space)
    finally:
        sys.modules.pop(MOVED.removesuffix(".py"), None)
    return {name: value for name, value in space.items() if type(value) in SIMPLE and not name.startswith("__")}


def changes(text: str) -> Iterator[Changed | None]:
    yield metamorphic.rename(text)
    yield metamorphic.insert(text)
    yield metamorphic.move(text)
    for row in metamorphic.assignments(text)[:6]:
        yield metamorphic.extract(text, row)
    for row in range(1, text.count("\n") + 1, 3):
        yield metamorphic.hand_out(text, row)


@settings(max_examples=60, deadline=None)
@given(pure_programs())
def test_renamed(text: str) -> None:
    changed = metamorphic.rename(text)
    assert changed is not None
    before = variables({MAIN: text})
    assert variables(dict(changed.files)) == {changed.names.get(name, name): value for name, value in before.items()}


@settings(max_examples=60, deadline=None)
@given(pure_programs())
def test_inserted(text: str) -> None:
    changed = metamorphic.insert(text)
    after = {name: value for name, value in variables(dict(changed.files)).items() if not name.startswith("spare_")}
    assert after == variables({MAIN: text})
    old, new = text.split("\n"), changed.files[MAIN].split("\n")
    assert len(new) > len(old)
    assert all(new[changed.rows[row][0][1] - 1] == line for row, line in enumerate(old, 1))


@settings(max_examples=60, deadline=None)
@given(pure_programs())
def test_extracted(text: str) -> None:
    before = variables({MAIN: text})
    for row in metamorphic.assignments(text):
        changed = metamorphic.extract(text, row)
        if changed is not None:
            assert variables(dict(changed.files)) == before


FUNCTIONS = """
def outer(a, b=2):
    c = a + b
    def inner(d):
        e = c * d + len([a])
        return e
    f = inner(3)
    return f

class C:
    def __init__(self, a):
        self.a = a
        b = self.a + 1
        self.b = b

if __name__ == '__main__':
    i = outer(1) + C(2).b
    print(end='')
"""


@pytest.mark.parametrize("row", [3, 5, 7, 12, 13, 14])
def test_extracted_from_nested_functions_and_methods(row: int) -> None:
    changed = metamorphic.extract(FUNCTIONS, row)
    assert changed is not None
    assert "extracted_helper(" in changed.files[MAIN].split("\n")[changed.rows[row][0][1] - 1]
    assert "return" in changed.files[MAIN].split("\n")[changed.rows[row][1][1] - 1]
    assert variables(dict(changed.files)) == {"i": 13}


HANDED_OUT = """
import math
import os.path as places

def area(radius, kept):
    wide = math.pi * radius
    kept.append(places.basename(str(wide)))
    return int(wide * radius) + len(kept)

if __name__ == '__main__':
    size = area(2, [1])
"""


@pytest.mark.parametrize("row", [6, 7, 8])
def test_handed_out_to_another_file(row: int) -> None:
    changed = metamorphic.hand_out(HANDED_OUT, row)
    assert changed is not None
    (_, there), (file, moved) = changed.rows[row]
    assert "extracted_helper(" in changed.files[MAIN].split("\n")[there - 1]
    assert file == MOVED and "return" in changed.files[file].split("\n")[moved - 1]
    assert variables(dict(changed.files)) == {"size": 14}


def test_without_what_runs_it() -> None:
    bare = metamorphic.unguarded(FUNCTIONS)
    assert bare is not None
    assert bare.count("\n") == FUNCTIONS.count("\n")
    assert "def outer" in bare and "__main__" not in bare
    assert metamorphic.unguarded("x = 1\n") is None


def test_moved() -> None:
    changed = metamorphic.move(FUNCTIONS)
    assert changed is not None
    assert set(changed.files) == {MAIN, MOVED}
    assert "def outer" not in changed.files[MAIN]
    assert variables(dict(changed.files)) == {"i": 13}
    for row, line in enumerate(FUNCTIONS.split("\n"), 1):
        ((file, new),) = changed.rows[row]
        assert changed.files[file].split("\n")[new - 1] == line


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (metamorphic.rename, "def f(x): return locals()\n"),
        (metamorphic.rename, "import a\n"),
        (metamorphic.move, "x = 1\n"),
        (metamorphic.move, "def f(): return x\nif __name__ == '__main__':\n    x = 1\n    f()\n"),
    ],
)
def test_left_alone_where_it_would_change_something(change: Callable[[str], Changed | None], text: str) -> None:
    assert change(text) is None


def test_names_that_others_see_are_kept() -> None:
    text = (
        "from dataclasses import dataclass\n"
        "@dataclass\nclass C:\n    size: int = 1\n"
        "def f(width, height): return width + height + C(size=2).size\n"
        "total = f(width=1, height=2)\n"
        "print(f'{total=}', end='')\n"
    )
    changed = metamorphic.rename(text)
    assert changed is not None
    assert set(changed.names) == {"C", "f"}
    assert variables(dict(changed.files)) == {"total": 5}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_fixture_programs_still_parse(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for changed in changes(text):
        if changed is not None:
            for new in changed.files.values():
                ast.parse(new)
            assert set(changed.rows) >= set(range(1, len(text.splitlines()) + 1))
