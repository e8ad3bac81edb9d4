"""The interpreter's rooms: each is in force, and the architecture page knows it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from devlint.syntax.stacks import is_compiled

ROOT = Path(__file__).parents[2]
ROOMS = sorted((ROOT / "devlint" / "analysis").rglob("*.py"))
ON_DEMAND = {"devlint.analysis.reveal"}
of_sources = pytest.mark.skipif(not ROOMS, reason="the sources are not here: these are the tests of a compiled build")

IMPORT_EACH_FIRST = """
import importlib, json, sys, traceback

errors = {}
for name in sys.argv[1:]:
    for known in [known for known in sys.modules if known.startswith("devlint.analysis")]:
        del sys.modules[known]
    try:
        importlib.import_module(name)
    except Exception:
        errors[name] = traceback.format_exc()
print(json.dumps(errors))
"""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def in_python(*arguments: str) -> str:
    """What a Python of its own prints."""
    command = [sys.executable, "-c", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_every_room_is_loaded_with_the_analysis() -> None:
    loaded = in_python("import sys, devlint.analysis.run; print(*sys.modules)").split()
    assert set(map(module_of, ROOMS)) - ON_DEMAND <= set(loaded)


def imported_elsewhere() -> set[str]:
    """The modules of the interpreter that other parts of devlint import, and tests."""
    texts = [
        path.read_text(encoding="utf-8")
        for folder in (ROOT / "devlint", ROOT / "tests")
        for path in folder.rglob("*.py")
        if path not in ROOMS
    ]
    return set(re.findall(r"from (devlint\.analysis[\w.]*) import", "\n".join(texts)))


@pytest.mark.skipif(is_compiled(), reason="compiled modules are one library, which Python does not import anew")
def test_what_others_import_can_be_imported_first() -> None:
    modules = imported_elsewhere()
    assert {"devlint.analysis.run", "devlint.analysis.events"} <= modules
    assert json.loads(in_python(IMPORT_EACH_FIRST, *sorted(modules))) == {}


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)(?:\.py)?`", page))
    assert {path.stem for path in ROOMS if path.stem != "__init__"} <= named


LONGEST = 66
LISTS = {"machine.py: __init__", "running.py: __init__", "table.py: parse"}
"""Functions that are longer because they list what there is."""


@of_sources
def test_functions_fit_on_a_screen() -> None:
    found = set()
    for path in (ROOT / "devlint").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST:
                found.add(f"{path.name}: {node.name}")
    assert found == LISTS


def test_docstrings_name_what_there_is() -> None:
    """`module._name` and `module.py` in docstrings and comments of the interpreter, whatever has moved since."""
    texts: dict[str, str] = {}
    for path in ROOMS:
        texts[path.stem] = texts.get(path.stem, "") + path.read_text(encoding="utf-8")
    for path in ROOMS:
        page = path.read_text(encoding="utf-8")
        for module, name in re.findall(r"`(\w+)\.(_[a-z]\w*)`", page):
            assert module not in texts or re.search(rf"\b{name}\b", texts[module]), f"{path.name}: {module}.{name}"


def test_no_two_rooms_of_torch_have_functions_of_one_name() -> None:
    """Who looks for `product_rank` is to find one."""
    where: dict[str, list[str]] = {}
    for path in ROOMS:
        if path.parent.name == "pytorch":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    where.setdefault(node.name, []).append(path.name)
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


@of_sources
def test_the_machine_explains_what_it_holds() -> None:
    path = ROOT / "devlint" / "analysis" / "machine.py"
    text = path.read_text(encoding="utf-8")
    rows = text.splitlines()
    machine = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Machine")
    begin = next(node for node in machine.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    bare = set()
    for statement, after in zip(begin.body, [*begin.body[1:], None], strict=True):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not told and "  # " not in rows[statement.lineno - 1]:
                bare.add(ast.unparse(target))
    assert bare == {"self.project", "self.world", "self.entry"}  # the docstring of the class speaks of these
