"""Expressions of the program form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.syntax.ir.nodes import Node

if TYPE_CHECKING:
    from devlint.syntax.ir import Expr
    from devlint.syntax.ir.nodes import NameScope


class Const(Node):
    """A literal: number, string, bytes, bool, None or Ellipsis."""

    __slots__ = ("value",)

    def __init__(self, value: object, at: Any) -> None:
        self.value = value
        self.at = at


class Name(Node):
    """A name, resolved when lowered."""

    __slots__ = ("id", "scope")

    def __init__(self, id: str, scope: NameScope, at: Any) -> None:
        self.id = id
        self.scope = scope
        self.at = at


class Attribute(Node):
    """`value.name`."""

    __slots__ = ("value", "name")

    def __init__(self, value: Expr, name: str, at: Any) -> None:
        self.value = value
        self.name = name
        self.at = at


class Subscript(Node):
    """`value[index]`; several indices are a tuple display."""

    __slots__ = ("value", "index")

    def __init__(self, value: Expr, index: Expr, at: Any) -> None:
        self.value = value
        self.index = index
        self.at = at


class Call(Node):
    """A call; `*xs` is a Starred argument, `**kw` has the keyword None."""

    __slots__ = ("function", "args", "keywords")

    def __init__(self, function: Expr, args: list[Expr], keywords: list[tuple[str | None, Expr]], at: Any) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords
        self.at = at


class Binary(Node):
    """`left operator right`."""

    __slots__ = ("operator", "left", "right")

    def __init__(self, operator: str, left: Expr, right: Expr, at: Any) -> None:
        self.operator = operator
        self.left = left
        self.right = right
        self.at = at


class Unary(Node):
    """`not`, `-`, `+`, `~`."""

    __slots__ = ("operator", "value")

    def __init__(self, operator: str, value: Expr, at: Any) -> None:
        self.operator = operator
        self.value = value
        self.at = at


class Compare(Node):
    """One comparison; chains are a Bool of comparisons. Operators: == != < <= > >= is is-not in not-in."""

    __slots__ = ("operator", "left", "right")

    def __init__(self, operator: str, left: Expr, right: Expr, at: Any) -> None:
        self.operator = operator
        self.left = left
        self.right = right
        self.at = at


class Bool(Node):
    """`and` or `or`."""

    __slots__ = ("is_and", "values")

    def __init__(self, is_and: bool, values: list[Expr], at: Any) -> None:
        self.is_and = is_and
        self.values = values
        self.at = at


class Conditional(Node):
    """`body if test else orelse`."""

    __slots__ = ("test", "body", "orelse")

    def __init__(self, test: Expr, body: Expr, orelse: Expr, at: Any) -> None:
        self.test = test
        self.body = body
        self.orelse = orelse
        self.at = at


class Display(Node):
    """A list, tuple or set display."""

    __slots__ = ("kind", "items")

    def __init__(self, kind: str, items: list[Expr], at: Any) -> None:
        self.kind = kind
        self.items = items
        self.at = at


class DictDisplay(Node):
    """A dict display; a None key is `**value`."""

    __slots__ = ("items",)

    def __init__(self, items: list[tuple[Expr | None, Expr]], at: Any) -> None:
        self.items = items
        self.at = at


class Comprehension(Node):
    """list, set, dict or generator; it has a scope of its own."""

    __slots__ = ("kind", "element", "key", "generators")

    def __init__(self, kind: str, element: Expr, key: Expr | None, generators: list[Generator], at: Any) -> None:
        self.kind = kind
        self.element = element
        self.key = key
        self.generators = generators
        self.at = at


class Generator:
    """One `for target in iterable if ...` of a comprehension."""

    __slots__ = ("target", "iterable", "conditions")

    def __init__(self, target: Expr, iterable: Expr, conditions: list[Expr]) -> None:
        self.target = target
        self.iterable = iterable
        self.conditions = conditions


class FString(Node):
    """An f-string; the text between the fields is Const."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Expr], at: Any) -> None:
        self.parts = parts
        self.at = at


class Slice(Node):
    """`lower:upper:step` in a subscript."""

    __slots__ = ("lower", "upper", "step")

    def __init__(self, lower: Expr | None, upper: Expr | None, step: Expr | None, at: Any) -> None:
        self.lower = lower
        self.upper = upper
        self.step = step
        self.at = at


class Starred(Node):
    """`*value` in a call, a display or a target."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, at: Any) -> None:
        self.value = value
        self.at = at


class Walrus(Node):
    """`target := value`."""

    __slots__ = ("target", "value")

    def __init__(self, target: Name, value: Expr, at: Any) -> None:
        self.target = target
        self.value = value
        self.at = at


class Yield(Node):
    """`yield value`."""

    __slots__ = ("value",)

    def __init__(self, value: Expr | None, at: Any) -> None:
        self.value = value
        self.at = at


class YieldFrom(Node):
    """`yield from value`."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, at: Any) -> None:
        self.value = value
        self.at = at
