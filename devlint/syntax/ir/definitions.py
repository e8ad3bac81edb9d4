"""Functions, classes and files of the program form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from devlint.syntax.ir.nodes import Node

if TYPE_CHECKING:
    from devlint.syntax.ir import Expr, Stmt


class Parameters:
    """The parameters of a function. `positional` holds the positional-only ones first (there are `only` of them)."""

    __slots__ = ("positional", "only", "variadic", "keyword", "variadic_keyword", "defaults", "annotations")

    def __init__(
        self,
        positional: list[str],
        only: int,
        variadic: str | None,
        keyword: list[str],
        variadic_keyword: str | None,
        defaults: dict[str, Expr],
        annotations: dict[str, Expr],
    ) -> None:
        self.positional = positional
        self.only = only
        self.variadic = variadic
        self.keyword = keyword
        self.variadic_keyword = variadic_keyword
        self.defaults = defaults
        self.annotations = annotations


class Body:
    """A lowered function body and the facts that lowering it found."""

    __slots__ = ("statements", "locals", "globals", "nonlocals", "is_generator")

    def __init__(
        self,
        statements: list[Stmt],
        locals: frozenset[str],
        globals: frozenset[str],
        nonlocals: frozenset[str],
        is_generator: bool,
    ) -> None:
        self.statements = statements
        self.locals = locals
        self.globals = globals
        self.nonlocals = nonlocals
        self.is_generator = is_generator


class Function(Node):
    """A function definition or (with the name `<lambda>`) a lambda. Its body is lowered on first use.

    `speaks`: device vocabulary stands between its first and last row (see `devlint.syntax.vocabulary`).
    """

    __slots__ = ("name", "parameters", "decorators", "returns", "is_async", "speaks", "_lower", "_body")

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        decorators: list[Expr],
        returns: Expr | None,
        is_async: bool,
        speaks: bool,
        lower: Callable[[], Body],
        at: Any,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.decorators = decorators
        self.returns = returns
        self.is_async = is_async
        self.speaks = speaks
        self._lower = lower
        self._body: Body | None = None
        self.at = at

    @property
    def body(self) -> Body:
        """The body, lowered once."""
        body = self._body
        if body is None:
            body = self._body = self._lower()
        return body


class Class(Node):
    """A class definition. `locals` are the names bound in its body; `speaks` as for functions."""

    __slots__ = ("name", "bases", "keywords", "body", "decorators", "speaks")

    def __init__(
        self,
        name: str,
        bases: list[Expr],
        keywords: list[tuple[str | None, Expr]],
        body: list[Stmt],
        decorators: list[Expr],
        speaks: bool,
        at: Any,
    ) -> None:
        self.name = name
        self.bases = bases
        self.keywords = keywords
        self.body = body
        self.decorators = decorators
        self.speaks = speaks
        self.at = at


class Module:
    """A lowered program text. `imports` lists what its import statements name, at any depth (absolute or dotted);
    `docstrings` their first and last rows."""

    __slots__ = ("path", "text", "body", "speaks", "imports", "docstrings", "has_main_guard")

    def __init__(
        self,
        path: str,
        text: str,
        body: list[Stmt],
        speaks: bool,
        imports: list[tuple[str, int, tuple[str, ...]]],
        docstrings: list[tuple[int, int]],
        has_main_guard: bool,
    ) -> None:
        self.path = path
        self.text = text
        self.body = body
        self.speaks = speaks
        self.imports = imports
        self.docstrings = docstrings
        self.has_main_guard = has_main_guard
