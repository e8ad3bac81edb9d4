"""Changes to a program text that leave what it does, with the way from old rows to new ones.

Each function returns None where it doesn't apply. They are conservative: a name that reflection could see (a keyword,
a string, a builtin, an attribute of a class) is left alone.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAIN = "program.py"
MOVED = "moved_parts.py"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Changed:
    """The new files by name (`MAIN` is the program), and for each old row the places where it may stand now."""

    files: Mapping[str, str]
    rows: Mapping[int, tuple[Place, ...]]
    names: Mapping[str, str]


_REFLECTION = frozenset({"globals", "locals", "vars", "eval", "exec", "dir", "store_attr"})
_Edit = tuple[int, int, int, str]
"""Row, first and last column (UTF-8 bytes), new text."""


def rename(text: str) -> Changed | None:
    """Give every variable, function, class and parameter another name."""
    tree = ast.parse(text)
    if any(isinstance(node, ast.Name) and node.id in _REFLECTION for node in ast.walk(tree)):
        return None
    kept = _visible_to_others(tree) | set(re.findall(r"\{\s*(\w+)\s*=[}!:]", text))
    lines = [line.encode() for line in text.split("\n")]
    edits: list[_Edit] = []
    names: dict[str, str] = {}
    for _, _, name in _bindings_and_uses(tree, lines, bound_only=True):
        if name not in kept and not name.startswith("__"):
            names.setdefault(name, f"name_{len(names)}")
    if not names:
        return None
    for row, column, name in _bindings_and_uses(tree, lines, bound_only=False):
        if name in names:
            edits.append((row, column, column + len(name.encode()), names[name]))
    for row, first, last, new in sorted(set(edits), reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:first] + new.encode() + line[last:]
    return Changed({MAIN: b"\n".join(lines).decode()}, _unmoved(lines), names)


def insert(text: str) -> Changed:
    """Put a statement that has nothing to do with the program before each statement of modules and functions."""
    lines = text.split("\n")
    before: dict[int, str] = {}
    for statements in _blocks(ast.parse(text)):
        for statement in statements:
            row = min([statement.lineno, *(part.lineno for part in getattr(statement, "decorator_list", ()))])
            indentation = lines[row - 1][: len(lines[row - 1]) - len(lines[row - 1].lstrip())]
            if row == statement.lineno and lines[row - 1].encode()[: statement.col_offset].strip():
                continue
            before[row] = indentation
    new: list[str] = []
    rows: dict[int, tuple[Place, ...]] = {}
    for row, line in enumerate(lines, 1):
        if row in before:
            new.append(before[row] + _UNRELATED[len(new) % len(_UNRELATED)].format(len(new)))
        new.append(line)
        rows[row] = ((MAIN, len(new)),)
    return Changed({MAIN: "\n".join(new)}, rows, {})


_UNRELATED = (
    "spare_{0} = {0}",
    "spare_{0} = [number * 2 for number in range(3)]",
    "assert len('spare') == 5",
    "spare_{0} = {{'key': {0}}}",
    "for spare_{0} in (1, 2): pass",
    "spare_{0} = (lambda number: number + 1)({0})",
)


def extract(text: str, row: int) -> Changed | None:
    """Make a helper function of the value of the assignment on a row; finding there may move to the helper."""
    tree = ast.parse(text)
    found = [
        (function, statement)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        if isinstance(statement, ast.Assign) and statement.lineno == row == statement.end_lineno
    ]
    if not found or len(found) > 1:
        return None
    _, statement = found[0]
    value = statement.value
    if any(isinstance(node, _NOT_MOVABLE) for node in ast.walk(value)):
        return None
    used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    if used & (_REFLECTION | {"super"}):
        return None
    around = [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and _holds(part, row)]
    arguments = ", ".join(sorted(used & {name for function in around for name in _local_names(function)}))
    lines = text.split("\n")
    line = lines[row - 1].encode()
    source = line[value.col_offset : value.end_col_offset].decode()
    call = f"extracted_helper({arguments})"
    lines[row - 1] = (line[: value.col_offset] + call.encode() + line[value.end_col_offset :]).decode()
    top = next(node for node in tree.body if _holds(node, row))
    start = min([top.lineno, *(part.lineno for part in getattr(top, "decorator_list", ()))])
    helper = [f"def extracted_helper({arguments}):", f"    return {source}", "", ""]
    rows = {old: ((MAIN, old + len(helper) * (old >= start)),) for old in range(1, len(lines) + 1)}
    rows[row] = (*rows[row], (MAIN, start + 1))
    lines[start - 1 : start - 1] = helper
    return Changed({MAIN: "\n".join(lines)}, rows, {})


def unguarded(text: str) -> str | None:
    """Leave out what is run when a text is a program: what is left is entered by protocol. Rows stay."""
    lines = text.split("\n")
    guards = [node for node in ast.parse(text).body if _is_guard(node)]
    for guard in guards:
        for row in range(guard.lineno, (guard.end_lineno or guard.lineno) + 1):
            lines[row - 1] = ""
    return "\n".join(lines) if guards else None


def hand_out(text: str, row: int) -> Changed | None:
    """Make a function of another file of what a row assigns, returns or evaluates, if it needs nothing but what that
    can import and be given; finding there may move to the helper."""
    tree = ast.parse(text)
    found = [
        statement
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in ast.walk(function)
        if isinstance(statement, (ast.Assign, ast.Return, ast.Expr))
        and statement.lineno == row == statement.end_lineno
        and isinstance(statement.value, (ast.Call, ast.BinOp))
    ]
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_future(node)]
    if len(found) != 1 or not imports or any(isinstance(node, _NOT_MOVABLE) for node in ast.walk(found[0])):
        return None
    value = found[0].value
    assert value is not None
    used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    around = [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and _holds(part, row)]
    local = {name for function in around for name in _local_names(function)}
    origins = {(a.asname or a.name).partition(".")[0]: ast.unparse(node) for node in imports for a in node.names}
    needed = used - local - set(dir(builtins))
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    if used & (_REFLECTION | {"super"} | caught) or not needed <= set(origins):
        return None
    arguments = ", ".join(sorted(used & local))
    lines = text.split("\n")
    line = lines[row - 1].encode()
    source = line[value.col_offset : value.end_col_offset].decode()
    call = f"extracted_helper({arguments})"
    lines[row - 1] = (line[: value.col_offset] + call.encode() + line[value.end_col_offset :]).decode()
    first = imports[0].lineno - 1
    lines[first] = f"from {MOVED.removesuffix('.py')} import extracted_helper; {lines[first]}"
    helper = [*sorted({origins[name] for name in needed}), "", f"def extracted_helper({arguments}):"]
    rows = {old: ((MAIN, old),) for old in range(1, len(lines) + 1)}
    rows[row] = (*rows[row], (MOVED, len(helper) + 1))
    return Changed({MAIN: "\n".join(lines), MOVED: "\n".join([*helper, f"    return {source}", ""])}, rows, {})


_NOT_MOVABLE = (ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.GeneratorExp)
_NOT_MOVABLE += (ast.ListComp, ast.SetComp, ast.DictComp)


def move(text: str) -> Changed | None:
    """Move all but the main guard to another file, which the program then imports."""
    tree = ast.parse(text)
    if not tree.body or not _is_guard(tree.body[-1]) or any(_is_guard(node) for node in tree.body[:-1]):
        return None
    guard = tree.body[-1]
    names = [name for name, _ in _module_names(ast.Module(tree.body[:-1], []))]
    inside = {node.id for node in ast.walk(guard) if isinstance(node, ast.Name)}
    bound = {name for name, _ in _module_names(ast.Module([guard], []))}
    outside = {node.id for part in tree.body[:-1] for node in ast.walk(part) if isinstance(node, ast.Name)}
    if bound & (outside | set(names)) or (inside | outside) & (_REFLECTION | {"__file__"}):
        return None
    lines = text.split("\n")
    first = guard.lineno
    head: list[str] = []
    for node in tree.body[:-1]:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            head += lines[node.lineno - 1 : node.end_lineno]
    imported = {name for name, is_import in _module_names(tree) if is_import}
    needed = sorted({name for name in names if name in inside} - imported)
    if needed:
        head.append(f"from {MOVED.removesuffix('.py')} import {', '.join(needed)}")
    rows: dict[int, tuple[Place, ...]] = {row: ((MOVED, row),) for row in range(1, first)}
    for row in range(first, len(lines) + 1):
        rows[row] = ((MAIN, row - first + 1 + len(head)),)
    files = {MAIN: "\n".join([*head, *lines[first - 1 :]]), MOVED: "\n".join([*lines[: first - 1], ""])}
    return Changed(files, rows, {})


def assignments(text: str) -> list[int]:
    """The rows of the assignments that `extract` could take."""
    return sorted({node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign)})


def _unmoved(lines: list[bytes]) -> dict[int, tuple[Place, ...]]:
    return {row: ((MAIN, row),) for row in range(1, len(lines) + 1)}


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and not node.orelse and "__name__" in ast.unparse(node.test)


def _visible_to_others(tree: ast.Module) -> set[str]:
    """Names that something outside the rules of scopes may look at."""
    kept = set(dir(builtins)) | {"self", "cls"}
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            kept.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.keyword) and node.arg:
            kept.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            kept.update(re.findall(r"\w+", node.value) if len(node.value) < 60 else ())
        elif isinstance(node, ast.ClassDef):
            kept.update(name for name, _ in _module_names(ast.Module(node.body, [])))
        elif isinstance(node, ast.MatchClass):
            kept.update(node.kwd_attrs)
    return kept


def _bindings_and_uses(tree: ast.AST, lines: list[bytes], *, bound_only: bool) -> Iterator[tuple[int, int, str]]:
    """Row, column and text of each name that is bound, or of each name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if not bound_only or not isinstance(node.ctx, ast.Load):
                yield node.lineno, node.col_offset, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.col_offset, node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or (
            isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name
        ):
            yield from _searched(node.name, node, lines)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield from _searched(node.rest, node, lines)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                yield from _searched(name, node, lines)


def _searched(name: str, node: Any, lines: list[bytes]) -> Iterator[tuple[int, int, str]]:
    """The place of a name that `ast` gives no place: the last one in a pattern, else the first after the keyword."""
    last_one = isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping))
    row = node.end_lineno if last_one else node.lineno
    start = node.col_offset if row == node.lineno else 0
    end = node.end_col_offset if last_one else len(lines[row - 1])
    pattern = rb"\b" + name.encode() + rb"\b"
    if isinstance(node, ast.ExceptHandler):
        pattern = rb"(?<=\bas )" + pattern
    found = [match.start() for match in re.finditer(pattern, lines[row - 1][start:end])]
    if found:
        yield row, start + (found[-1] if last_one else found[0]), name


def _holds(node: ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or node.lineno)


def _local_names(function: ast.FunctionDef) -> Iterator[str]:
    yield from (node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
    yield from (name for name, _ in _module_names(ast.Module(function.body, [])))


def _module_names(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The names that the statements of a block bind, and whether by an import."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, False
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0], True
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, False
        elif not isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            pending += ast.iter_child_nodes(node)


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The statement lists of the module and its functions, without docstrings and `from __future__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list) or not block or (field == "orelse" and _is_elif(block)):
                continue
            start = 0
            while start < len(block) and _must_come_first(block[start]):
                start += 1
            yield block[start:]


def _is_elif(block: list[ast.stmt]) -> bool:
    return len(block) == 1 and isinstance(block[0], ast.If)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _must_come_first(node: ast.stmt) -> bool:
    if _is_future(node):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
