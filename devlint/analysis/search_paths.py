"""Where a file says that modules are found besides: what stands at its top level for `sys.path`.

`sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))`, `sys.path.append("../src")`, and the modules that are
there to do so, which programs import for that (`import _init_paths`). It is read from the form of the file and of
those that it imports, never from what ran before, so that an import means the same whoever is linted first.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import dotted, walk

if TYPE_CHECKING:
    from devlint.analysis.project import Project

SETS_PATH: Final = re.compile(r"(?:.*[._])?(?:\w*paths?|\w*path_\w*|\w*rootutils|\w*root|context)")
"""Names of modules that are there to set where others are found."""
LIBRARIES_OF_PATHS: Final = frozenset({"pathlib", "os.path", "posixpath", "path", "importlib_resources"})

_SPEAKS: Final = re.compile(r"\bsys\b")
_GOES_ELSEWHERE: Final = re.compile(r"\bchdir\s*\(|^\s*%cd\b", re.MULTILINE)
_SAME: Final = frozenset(
    "os.path.abspath os.path.realpath os.path.normpath os.path.expanduser os.fspath builtins.str str pathlib.Path "
    "pathlib.PurePath pathlib.PosixPath".split()
)
"""What gives the path that it is given: links are not followed."""
_SAME_METHODS: Final = frozenset("resolve absolute as_posix expanduser __str__".split())
_DEEPEST: Final = 30


@dataclass(frozen=True, slots=True)
class Place:
    """A folder where modules are found, whether before the file's own, and the modules that were imported before it
    was one: these come from elsewhere."""

    folder: str
    is_first: bool
    known: frozenset[str]


@memoized
def places_of(project: Project, path: str) -> tuple[Place, ...]:
    """The folders of the project where a file says that modules are found, the first ones first."""
    module = project.module(path)
    if module is None:
        return ()
    found = _own(project, module, path)
    for name, level, _ in module.imports:
        if SETS_PATH.fullmatch(name) and name not in LIBRARIES_OF_PATHS:
            setter = project.find(name, level, os.path.dirname(path), ())
            text = None if setter is None or setter == path else project.module(setter)
            found += [] if setter is None or text is None else _own(project, text, setter)
    return tuple(dict.fromkeys(found))


def _own(project: Project, module: ir.Module, path: str) -> list[Place]:
    """What stands in one file. A path that is not whole begins where the program is started: there, or at the top."""
    if not _SPEAKS.search(module.text):
        return []
    here, found = os.path.dirname(path), []
    for start in (None,) if _GOES_ELSEWHERE.search(module.text) else (here, project.root):
        found += [place for place in _Reader(module, path, start).places() if _is_inside(place.folder, project.root)]
    return found


def _is_inside(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)


class _Reader:
    """The statements of a file at its top level, in their order, as far as they say where modules are found."""

    def __init__(self, module: ir.Module, path: str, start: str | None) -> None:
        self._module = module
        self._start = start
        self._texts: dict[str, str | None] = {"__file__": path}
        self._meant: dict[str, str] = {}
        self._known: set[str] = set()
        self._setters: dict[str, ir.Function] = {}
        self._first: list[Place] = []
        self._last: list[Place] = []

    def places(self) -> list[Place]:
        self._read(self._module.body, False)
        return self._first[::-1] + self._last

    def _read(self, statements: list[ir.Stmt], is_tried: bool) -> None:
        for statement in statements:
            if isinstance(statement, (ir.Import, ir.ImportFrom)):
                self._import(statement, is_tried)
            elif isinstance(statement, ir.Function):
                self._setters[statement.name] = statement
            elif isinstance(statement, ir.ExprStatement) and isinstance(statement.value, ir.Call):
                self._call(statement.value)
            elif isinstance(statement, ir.Assign):
                self._assign(statement)
            elif isinstance(statement, ir.Augment):
                if self._is_search_path(statement.target) and isinstance(statement.value, ir.Display):
                    self._add(statement.value.items, False)
            elif isinstance(statement, ir.For):
                self._loop(statement, is_tried)
            elif isinstance(statement, ir.If):
                self._read(statement.body, is_tried)
                self._read(statement.orelse, is_tried)
            elif isinstance(statement, ir.Try):
                self._read(statement.body, True)
                for handler in statement.handlers:
                    self._read(handler.body, is_tried)
                self._read(statement.orelse, is_tried)

    def _import(self, node: ir.Import | ir.ImportFrom, is_tried: bool) -> None:
        if isinstance(node, ir.Import):
            self._meant.update((alias, name) for name, alias in node.names if alias is not None)
            tops = {name.partition(".")[0] for name, _ in node.names}
        else:
            self._meant.update((alias or name, f"{node.module}.{name}") for name, alias in node.names)
            tops = set() if node.level else {node.module.partition(".")[0]}
        self._known |= set() if is_tried else tops

    def _assign(self, node: ir.Assign) -> None:
        if any(map(self._is_search_path, node.targets)):
            self._add(_added_before(node.value), True)
            return
        text = self._text(node.value)
        for target in node.targets:
            if isinstance(target, ir.Name):
                self._texts[target.id] = text
            elif isinstance(target, ir.Subscript) and self._is_search_path(target.value):
                if isinstance(target.index, ir.Slice) and isinstance(node.value, ir.Display):
                    self._add(node.value.items, True)

    def _loop(self, node: ir.For, is_tried: bool) -> None:
        if isinstance(node.iterable, ir.Display) and isinstance(node.target, ir.Name):
            for item in node.iterable.items:
                self._texts[node.target.id] = self._text(item)
                self._read(node.body, is_tried)

    def _call(self, node: ir.Call) -> None:
        name = dotted(node.function)
        setter = self._setters.get(name)
        if setter is not None:
            self._by_function(setter, node)
        elif name and isinstance(node.function, ir.Attribute) and self._is_search_path(node.function.value):
            self._method(node.function.name, node.args)
        elif self._path(node.function) == "site.addsitedir":
            self._add(node.args[:1], False)

    def _method(self, name: str, given: list[ir.Expr]) -> None:
        if name == "append":
            self._add(given[:1], False)
        elif name == "insert" and len(given) == 2:
            self._add(given[1:], isinstance(given[0], ir.Const))
        elif name == "extend" and given and isinstance(given[0], ir.Display):
            self._add(given[0].items, False)

    def _by_function(self, function: ir.Function, node: ir.Call) -> None:
        """`add_path(folder)`, where that function of the file puts what it is given into `sys.path`."""
        names = function.parameters.positional
        given = dict(zip(names, [self._text(argument) for argument in node.args], strict=False))
        for part in walk(function.body.statements):
            if isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute) and part.args:
                last = part.args[-1]
                if self._is_search_path(part.function.value) and isinstance(last, ir.Name):
                    self._put(given.get(last.id), part.function.name == "insert")

    def _add(self, items: list[ir.Expr], is_first: bool) -> None:
        for item in reversed(items) if is_first else items:
            self._put(self._text(item), is_first)

    def _put(self, text: str | None, is_first: bool) -> None:
        if text is None or (not os.path.isabs(text) and self._start is None):
            return
        folder = os.path.normpath(os.path.join(self._start or "", text))
        (self._first if is_first else self._last).append(Place(folder, is_first, frozenset(self._known)))

    def _is_search_path(self, node: ir.Expr) -> bool:
        return self._path(node) == "sys.path"

    def _path(self, node: object) -> str:
        """The dotted name of an expression, with the names that imports gave undone."""
        first, dot, rest = dotted(node).partition(".")
        return self._meant.get(first, first) + dot + rest

    # -- paths

    def _text(self, node: object, depth: int = 0) -> str | None:
        """The path that an expression names, None if that isn't known."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ir.Const):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ir.Name) and node.id in self._texts:
            return self._texts[node.id]
        if isinstance(node, (ir.Name, ir.Attribute)):
            named = _NAMED.get(self._path(node))
            if named is not None or isinstance(node, ir.Name):
                return named
            base = self._text(node.value, depth + 1) if node.name == "parent" else None
            return None if base is None else os.path.dirname(base) or "."
        if isinstance(node, ir.Subscript):
            return self._above(node, depth + 1)
        if isinstance(node, ir.Binary):
            return self._joined(node, depth + 1)
        if isinstance(node, ir.FString):
            parts = [self._text(part, depth + 1) for part in node.parts]
            return None if None in parts else "".join(part for part in parts if part is not None)
        return self._called(node, depth + 1) if isinstance(node, ir.Call) else None

    def _above(self, node: ir.Subscript, depth: int) -> str | None:
        """`path.parents[1]`, `os.path.split(path)[0]`."""
        if isinstance(node.value, ir.Call):
            is_first = isinstance(node.index, ir.Const) and node.index.value == 0
            if not is_first or self._path(node.value.function) != "os.path.split" or len(node.value.args) != 1:
                return None
            text = self._text(node.value.args[0], depth)
            return None if text is None else os.path.dirname(text)
        if not isinstance(node.value, ir.Attribute) or node.value.name != "parents":
            return None
        text, index = self._text(node.value.value, depth), node.index
        if text is None or not isinstance(index, ir.Const) or not isinstance(index.value, int) or index.value < 0:
            return None
        for _ in range(min(index.value, _DEEPEST) + 1):
            text = os.path.dirname(text)
        return text

    def _joined(self, node: ir.Binary, depth: int) -> str | None:
        left, right = self._text(node.left, depth), self._text(node.right, depth)
        if left is None or right is None or node.operator not in ("+", "/"):
            return None
        return left + right if node.operator == "+" else os.path.join(left, right)

    def _called(self, node: ir.Call, depth: int) -> str | None:
        path = self._path(node.function)
        if path in ("os.getcwd", "pathlib.Path.cwd"):
            return self._start
        given = [self._text(argument, depth) for argument in node.args]
        known = [text for text in given if text is not None]
        if len(known) != len(given) or node.keywords:
            return None
        if path in _SAME and len(known) == 1:
            is_whole = path.startswith("os.path.") and path != "os.path.expanduser"
            return self._whole(known[0], path) if is_whole else known[0]
        if path in ("os.path.join", "pathlib.Path") and known:
            return os.path.join(*known)
        if path == "os.path.dirname" and len(known) == 1:
            return os.path.dirname(known[0])
        return self._by_method(node.function, known, depth) if isinstance(node.function, ir.Attribute) else None

    def _by_method(self, function: ir.Attribute, given: list[str], depth: int) -> str | None:
        base = self._text(function.value, depth)
        if base is None:
            return None
        if function.name in ("resolve", "absolute"):
            return self._whole(base, function.name)
        if function.name == "joinpath" and given:
            return os.path.join(base, *given)
        return base if function.name in _SAME_METHODS else None

    def _whole(self, text: str, asked: str) -> str | None:
        """A path from the top of the file system."""
        if asked.endswith("normpath") or os.path.isabs(text):
            return os.path.normpath(text)
        return None if self._start is None else os.path.normpath(os.path.join(self._start, text))


_NAMED: Final = {"os.pardir": "..", "os.curdir": ".", "os.sep": "/", "os.path.pardir": "..", "os.path.sep": "/"}


def _added_before(value: ir.Expr) -> list[ir.Expr]:
    """What is put before others in `[folder, *sys.path]` and `[folder] + sys.path`."""
    if isinstance(value, ir.Binary) and value.operator == "+":
        value = value.left
    return [item for item in value.items if not isinstance(item, ir.Starred)] if isinstance(value, ir.Display) else []
