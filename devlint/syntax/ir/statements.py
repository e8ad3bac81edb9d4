"""Statements of the program form, except definitions and `match`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.syntax.ir.nodes import Node

if TYPE_CHECKING:
    from devlint.syntax.ir import Expr, Stmt
    from devlint.syntax.ir.expressions import Name


class Assign(Node):
    """`a = b = value`; an annotated assignment with a value."""

    __slots__ = ("targets", "value", "annotation")

    def __init__(self, targets: list[Expr], value: Expr, annotation: Expr | None, at: Any) -> None:
        self.targets = targets
        self.value = value
        self.annotation = annotation
        self.at = at


class Annotate(Node):
    """`target: annotation` without a value (a dataclass field)."""

    __slots__ = ("target", "annotation")

    def __init__(self, target: Expr, annotation: Expr, at: Any) -> None:
        self.target = target
        self.annotation = annotation
        self.at = at


class Augment(Node):
    """`target operator= value`."""

    __slots__ = ("target", "operator", "value")

    def __init__(self, target: Expr, operator: str, value: Expr, at: Any) -> None:
        self.target = target
        self.operator = operator
        self.value = value
        self.at = at


class ExprStatement(Node):
    """An expression whose value is not used."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, at: Any) -> None:
        self.value = value
        self.at = at


class If(Node):
    """`elif` is an If in `orelse`."""

    __slots__ = ("test", "body", "orelse")

    def __init__(self, test: Expr, body: list[Stmt], orelse: list[Stmt], at: Any) -> None:
        self.test = test
        self.body = body
        self.orelse = orelse
        self.at = at


class For(Node):
    """A for loop (async too)."""

    __slots__ = ("target", "iterable", "body", "orelse")

    def __init__(self, target: Expr, iterable: Expr, body: list[Stmt], orelse: list[Stmt], at: Any) -> None:
        self.target = target
        self.iterable = iterable
        self.body = body
        self.orelse = orelse
        self.at = at


class While(Node):
    """A while loop."""

    __slots__ = ("test", "body", "orelse")

    def __init__(self, test: Expr, body: list[Stmt], orelse: list[Stmt], at: Any) -> None:
        self.test = test
        self.body = body
        self.orelse = orelse
        self.at = at


class Try(Node):
    """try/except/else/finally."""

    __slots__ = ("body", "handlers", "orelse", "final")

    def __init__(
        self, body: list[Stmt], handlers: list[Handler], orelse: list[Stmt], final: list[Stmt], at: Any
    ) -> None:
        self.body = body
        self.handlers = handlers
        self.orelse = orelse
        self.final = final
        self.at = at


class Handler(Node):
    """One `except type as name`."""

    __slots__ = ("type", "name", "body")

    def __init__(self, type: Expr | None, name: Name | None, body: list[Stmt], at: Any) -> None:
        self.type = type
        self.name = name
        self.body = body
        self.at = at


class With(Node):
    """`with value as target` (async too)."""

    __slots__ = ("items", "body")

    def __init__(self, items: list[tuple[Expr, Expr | None]], body: list[Stmt], at: Any) -> None:
        self.items = items
        self.body = body
        self.at = at


class Return(Node):
    """Leaves the function."""

    __slots__ = ("value",)

    def __init__(self, value: Expr | None, at: Any) -> None:
        self.value = value
        self.at = at


class Raise(Node):
    """Raises, or re-raises when there is no value."""

    __slots__ = ("value",)

    def __init__(self, value: Expr | None, at: Any) -> None:
        self.value = value
        self.at = at


class Break(Node):
    """Leaves the loop."""

    __slots__ = ()

    def __init__(self, at: Any) -> None:
        self.at = at


class Continue(Node):
    """Goes on with the next round."""

    __slots__ = ()

    def __init__(self, at: Any) -> None:
        self.at = at


class Assert(Node):
    """An assertion."""

    __slots__ = ("test", "message")

    def __init__(self, test: Expr, message: Expr | None, at: Any) -> None:
        self.test = test
        self.message = message
        self.at = at


class Delete(Node):
    """`del targets`."""

    __slots__ = ("targets",)

    def __init__(self, targets: list[Expr], at: Any) -> None:
        self.targets = targets
        self.at = at


class Import(Node):
    """`import name as alias`."""

    __slots__ = ("names",)

    def __init__(self, names: list[tuple[str, str | None]], at: Any) -> None:
        self.names = names
        self.at = at


class ImportFrom(Node):
    """`from ..module import name as alias`; `*` is a name."""

    __slots__ = ("module", "level", "names")

    def __init__(self, module: str, level: int, names: list[tuple[str, str | None]], at: Any) -> None:
        self.module = module
        self.level = level
        self.names = names
        self.at = at
