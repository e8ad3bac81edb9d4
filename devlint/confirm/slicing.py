"""Slices: the statements of a file that the flagged line needs, cut at the rows of its libcst tree."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from devlint.confirm.claims import Claim, Row
from devlint.confirm.machines import Program
from devlint.confirm.programs import Variant
from devlint.syntax.parsing import Unparsable
from devlint.syntax.tree import Tree

# Calls that change the state of the process, so that what follows depends on them without naming them.
GLOBAL_EFFECTS = (
    "torch.set_default_device",
    "torch.set_default_tensor_type",
    "torch.set_default_dtype",
    "torch.cuda.set_device",
    "torch.cuda.init",
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "os.environ",
    "os.putenv",
    "sys.path",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the outermost level, or of the `if __name__ == "__main__"` block (with the rows of its head).

    Rows count from 1, `last` inclusive. `binds` are the names that it gives a value, `touches` those that it may change
    by a call or an assignment to a part, `reads` all that it mentions.
    """

    first: int
    last: int
    text: str
    head: tuple[int, int] | None = None
    binds: frozenset[str] = frozenset()
    touches: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    definition: bool = False
    effect: bool = False


@dataclass(slots=True)
class Outline:
    """The statements of a program text, in order."""

    text: str
    statements: list[Statement] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Outline:
        """Read a program text.

        Raises:
            devlint.syntax.parsing.Unparsable: it is not Python.
        """
        tree = Tree.parse(text)
        outline = cls(text)
        outline._read(tree, tree.module.body, None)
        imported = frozenset(
            name
            for item in outline.statements
            if item.text.lstrip().startswith(("import ", "from "))
            for name in item.binds
        )
        # `torch.ones(3)` is a call, but it doesn't change the module; what does is a global effect.
        outline.statements = [replace(item, touches=item.touches - imported) for item in outline.statements]
        return outline

    def _read(self, tree: Tree, body: Iterable[cst.CSTNode], head: tuple[int, int] | None) -> None:
        for node in body:
            start, end = tree.span(node)
            for decorator in getattr(node, "decorators", ()):
                start = min(start, tree.span(decorator)[0])
            first, last = self._row(start), self._row(max(end - 1, start))
            if isinstance(node, cst.If) and _asks_for_main(tree, node) and node.orelse is None:
                inner = node.body.body
                below = self._row(tree.span(inner[0])[0]) if inner else last
                if below > first:
                    self._read(tree, inner, (first, below - 1))
                    continue
            if self.statements and self.statements[-1].last >= first:  # `a; b`: cut together
                first = self.statements.pop().first
            self.statements.append(_statement(self.text, first, last, head))

    def _row(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def goal(self, rows: Iterable[int]) -> int | None:
        """Return the index of the last statement, no definition, that one of the rows stands in."""
        wanted = set(rows)
        hits = [
            index
            for index, item in enumerate(self.statements)
            if not item.definition and wanted & set(range(item.first, item.last + 1))
        ]
        return hits[-1] if hits else None

    def needed(self, goals: Iterable[int], names: Iterable[str] = ()) -> list[Statement]:
        """Return the statements that some of them, and the names, depend on, in order."""
        chosen = set(goals)
        last = max(chosen, default=len(self.statements))
        wanted = set(names).union(*(self.statements[index].reads for index in chosen))
        while True:
            new = {
                index
                for index, item in enumerate(self.statements)
                if index not in chosen and self._matters(item, wanted, index < last)
            }
            if not new:
                break
            chosen |= new
            wanted = wanted.union(*(self.statements[index].reads for index in new))
        return [self.statements[index] for index in sorted(chosen)]

    def dependents(self, goals: Iterable[int]) -> set[int]:
        """Return the indices of the statements that what some of them do may reach: where the trace doesn't say."""
        found: set[int] = set()
        names = {name for index in goals for name in self.statements[index].binds | self.statements[index].touches}
        for index in range(min(goals, default=0), len(self.statements)):
            item = self.statements[index]
            if not item.definition and item.reads & names:
                found.add(index)
                names |= item.binds | item.touches
        return found

    def _matters(self, item: Statement, wanted: set[str], before: bool) -> bool:
        if item.definition:
            return bool(item.binds & wanted) or "__future__" in item.reads
        return before and (item.effect or bool(item.binds & wanted) or bool(item.touches & wanted))


def _asks_for_main(tree: Tree, node: cst.If) -> bool:
    return tree.source(node.test).replace("'", '"') in ('__name__ == "__main__"', '"__main__" == __name__')


def _statement(text: str, first: int, last: int, head: tuple[int, int] | None) -> Statement:
    rows = text.split("\n")[first - 1 : last]
    cut = "\n".join(rows)
    indent = len(rows[0]) - len(rows[0].lstrip())
    source = cut if not indent else "if 1:\n" + cut
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return Statement(first, last, cut, head, effect=True)
    body = tree.body[0].body if indent and isinstance(tree.body[0], ast.If) else tree.body
    names = _Names()
    for node in body:
        names.visit(node)
    definition = all(
        isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for node in body
    )
    simple = all(isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) for node in body)
    effect = simple and any(mark in cut for mark in GLOBAL_EFFECTS)
    return Statement(
        first,
        last,
        cut,
        head,
        frozenset(names.bound),
        frozenset(names.touched - set(dir(builtins))),
        frozenset(names.read),
        definition,
        effect,
    )


class _Names(ast.NodeVisitor):
    """Which names a statement binds at its own level, which it may change, and which it mentions."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.touched: set[str] = set()
        self.read: set[str] = set()
        self._depth = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.add(node.id)
        elif not self._depth:
            self.bound.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self._touch(node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Store):
            self._touch(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A method may change its receiver; a function its arguments, unless it only prints them."""
        if isinstance(node.func, ast.Attribute):
            self._touch(node.func)
        if not (isinstance(node.func, ast.Name) and node.func.id in ("print", "len", "range", "str", "repr")):
            for argument in [*node.args, *(word.value for word in node.keywords)]:
                self._touch(argument)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._touch(node.target)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.bound.update(alias.asname or alias.name for alias in node.names)
        if node.module == "__future__":
            self.read.add("__future__")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node, node.name)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node, node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node, node.name)

    def visit_Global(self, node: ast.Global) -> None:
        self.touched.update(node.names)

    def _definition(self, node: ast.AST, name: str) -> None:
        if not self._depth:
            self.bound.add(name)
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def _touch(self, node: ast.expr) -> None:
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Name):
            self.touched.add(node.id)


def cut(claim: Claim, outline: Outline, path: str, root: str) -> Variant | None:
    """Return the slice that runs from the outermost level of a file to where the claim goes wrong.

    None where nothing at that level leads there.
    """
    rows = [place.row for place in (*claim.steps, claim.place, claim.crash) if place.path == path]
    goal = outline.goal(rows)
    if goal is None:
        return None
    # What stands on the way of the values at this level belongs to it, too.
    on_the_way = {
        index
        for index, item in enumerate(outline.statements)
        if index <= goal and not item.definition and any(item.first <= row <= item.last for row in rows)
    }
    if not claim.steps or claim.finding.error is None:
        on_the_way |= outline.dependents(on_the_way)
    return assemble(outline.needed(on_the_way), path, root)


def assemble(statements: Sequence[Statement], path: str, root: str, tail: str = "") -> Variant:
    """Put statements into a program text, with the map of its rows to those that they were cut from."""
    lines: list[str] = []
    rows: dict[Row, Row] = {}
    head: tuple[int, int] | None = None
    for item in statements:
        if item.head is not None and item.head != head:
            head = item.head
            lines.append('if __name__ == "__main__":')
            rows[path, len(lines)] = (path, head[0])
        for offset, line in enumerate(item.text.split("\n")):
            lines.append(line)
            rows[path, len(lines)] = (path, item.first + offset)
    text = "\n".join(lines) + "\n" + tail
    return Variant(Program(path, text, root), rows, made_up=bool(tail), shown=text)


def outlines(texts: dict[str, str]) -> dict[str, Outline]:
    """Return the outlines of the texts that are Python."""
    found = {}
    for path, text in texts.items():
        try:
            found[path] = Outline.of(text)
        except Unparsable:
            continue
    return found


def entries(claim: Claim) -> Iterator[str]:
    """Return the files at whose outermost level the way to the claim may begin, the likeliest first."""
    yield from dict.fromkeys([place.path for place in (*claim.calls[:1], claim.place, claim.crash)])
