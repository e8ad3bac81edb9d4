"""`match` and its patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.syntax.ir.nodes import Node

if TYPE_CHECKING:
    from devlint.syntax.ir import Expr, Pattern, Stmt
    from devlint.syntax.ir.expressions import Name


class Match(Node):
    """A match statement."""

    __slots__ = ("subject", "cases")

    def __init__(self, subject: Expr, cases: list[Case], at: Any) -> None:
        self.subject = subject
        self.cases = cases
        self.at = at


class Case(Node):
    """One `case pattern if guard`."""

    __slots__ = ("pattern", "guard", "body")

    def __init__(self, pattern: Pattern, guard: Expr | None, body: list[Stmt], at: Any) -> None:
        self.pattern = pattern
        self.guard = guard
        self.body = body
        self.at = at


class ValuePattern(Node):
    """Equal to a value, or identical to None, True, False."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, at: Any) -> None:
        self.value = value
        self.at = at


class CapturePattern(Node):
    """Binds the subject; a None name is `_`; with a pattern it is `pattern as name`."""

    __slots__ = ("name", "pattern")

    def __init__(self, name: Name | None, pattern: Pattern | None, at: Any) -> None:
        self.name = name
        self.pattern = pattern
        self.at = at


class OrPattern(Node):
    """One of several."""

    __slots__ = ("patterns",)

    def __init__(self, patterns: list[Pattern], at: Any) -> None:
        self.patterns = patterns
        self.at = at


class SequencePattern(Node):
    """A sequence; a StarPattern takes the rest."""

    __slots__ = ("patterns",)

    def __init__(self, patterns: list[Pattern], at: Any) -> None:
        self.patterns = patterns
        self.at = at


class StarPattern(Node):
    """`*name` in a sequence pattern."""

    __slots__ = ("name",)

    def __init__(self, name: Name | None, at: Any) -> None:
        self.name = name
        self.at = at


class MappingPattern(Node):
    """A mapping with these keys."""

    __slots__ = ("keys", "patterns", "rest")

    def __init__(self, keys: list[Expr], patterns: list[Pattern], rest: Name | None, at: Any) -> None:
        self.keys = keys
        self.patterns = patterns
        self.rest = rest
        self.at = at


class ClassPattern(Node):
    """An instance of a class."""

    __slots__ = ("cls", "patterns", "keywords")

    def __init__(self, cls: Expr, patterns: list[Pattern], keywords: list[tuple[str, Pattern]], at: Any) -> None:
        self.cls = cls
        self.patterns = patterns
        self.keywords = keywords
        self.at = at
