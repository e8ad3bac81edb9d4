"""The tables through which the interpreter finds what to do with a node or a value, by its class.

Each room registers its functions here when it is imported; `devlint.analysis.rooms` imports them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from devlint.analysis.domain.values import Const, Value

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

F = TypeVar("F", bound=Callable[..., Any])


class Call:
    """The arguments of one call, evaluated, and where it stands.

    `open`: there are `*args` or `**kwargs` of unknown content. `unused`: it is a statement of its own.
    `positional` holds only what stands before an unknown `*args`. `named`: it is open because of `**kwargs`, too,
    so that any keyword may be given.
    """

    __slots__ = ("positional", "keywords", "open", "node", "frame", "unused", "named")

    def __init__(
        self,
        positional: list[Value],
        keywords: dict[str, Value],
        node: ir.Node,
        frame: Frame,
        open: bool = False,
        unused: bool = False,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.node = node
        self.frame = frame
        self.open = open
        self.unused = unused
        self.named = open

    def argument(self, position: int, name: str) -> Value | None:
        """Return an argument by position or name, None when it was not given (or is not known to be)."""
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)

    def given(self, position: int, name: str) -> Value | None:
        """Like `argument`, but None also when None was passed."""
        value = self.argument(position, name)
        return None if value.__class__ is Const and value.value is None else value

    def values(self) -> list[Value]:
        """All arguments, positional first."""
        return [*self.positional, *self.keywords.values()]

    def with_arguments(self, positional: list[Value], keywords: dict[str, Value] | None = None) -> Call:
        """The same call with other arguments."""
        return Call(positional, {} if keywords is None else keywords, self.node, self.frame, self.open)


class Callback(Call):
    """A call that the program does not write: torch calls back, and what it passes nobody has chosen."""

    __slots__ = ()


class Iteration:
    """What iterating a value gives: known items in order, and whether there may be more."""

    __slots__ = ("items", "open")

    def __init__(self, items: list[Value], open: bool) -> None:
        self.items = items
        self.open = open


Model = Callable[["Machine", Call], "Value | None"]
MethodModel = Callable[["Machine", Any, Call], "Value | None"]
"""Answers a call of an external name; None: no answer, ask the tables."""

EVALUATE: Final[dict[type, Callable[[Machine, Any, Frame], Value]]] = {}
EXECUTE: Final[dict[type, Callable[[Machine, Any, Frame], Any]]] = {}

ATTRIBUTE: Final[dict[type, Callable[[Machine, Any, str, ir.Node, Frame], Value]]] = {}
"""`value.name` by class of the value."""
ASSIGN_ATTRIBUTE: Final[dict[type, Callable[[Machine, Any, str, Value, ir.Node, Frame], None]]] = {}
METHOD: Final[dict[type, Callable[[Machine, Any, str, Call], Value]]] = {}
"""`value.name(...)` where that is not an attribute that is then called."""
CALL: Final[dict[type, Callable[[Machine, Any, Call], Value]]] = {}
ITEM: Final[dict[type, Callable[[Machine, Any, Value, ir.Node, Frame], Value]]] = {}
ASSIGN_ITEM: Final[dict[type, Callable[[Machine, Any, Value, Value, ir.Node, Frame], None]]] = {}
ITERATE: Final[dict[type, Callable[[Machine, Any, ir.Node, Frame, int], Iteration | None]]] = {}
"""Iterating a value; the last argument is how many items are wanted at least (for unpacking), 0 if any number is."""
TRUTH: Final[dict[type, Callable[[Machine, Any], bool | None]]] = {}
BINARY: Final[dict[type, Callable[[Machine, str, Any, Any, ir.Node, Frame], Value | None]]] = {}
"""`left operator right` where either is of that class; asked for the left one first."""
ENTER: Final[
    dict[str, Callable[[Machine, Any, Value | None, ir.Node, Frame], tuple[Value, Callable[[], None] | None]]]
] = {}
"""`with value as target`, by external path: gives what is bound, and what to do at the end."""

MODELS: Final[dict[str, Model]] = {}
"""Calls of external names, by canonical path."""
METHODS: Final[dict[str, dict[str, MethodModel]]] = {}
"""Methods of instances of external classes: canonical class path -> method name -> model ("*" for all others)."""
INSTANCE_ATTRIBUTES: Final[dict[str, Callable[[Machine, Any, str, Site], Value | None]]] = {}
"""Attributes of instances of external classes, by canonical class path."""
BINDERS: Final[set[str]] = set()
"""External classes whose instances, as attributes of a class, are called with the receiver as methods are."""
UNBOUND: Final[set[str]] = set()
"""Methods of external classes by whole path, which are bound as the class's own where a class names them."""
VALUES: Final[dict[str, Callable[[Machine], Value]]] = {}
"""External names that stand for a value, not a callable (`os.environ`)."""

CLASS_CONSTRUCTORS: Final[dict[str, Callable[[Machine, Any, Call], Value | None]]] = {}
"""Building an instance of a user class that derives from this external class, where that is special; None: it isn't."""
CLASS_METHODS: Final[dict[str, tuple[str, ...]]] = {"torch.autograd.Function": ("apply",)}
"""Class methods that user classes inherit from an external class (`Function.apply`); models under `base.method`."""


def evaluates(node: type) -> Callable[[F], F]:
    """Register a function that evaluates an expression node."""
    return _into(EVALUATE, node)


def executes(node: type) -> Callable[[F], F]:
    """Register a function that executes a statement node."""
    return _into(EXECUTE, node)


def models(*paths: str) -> Callable[[F], F]:
    """Register a model for calls of external names."""
    return _into(MODELS, *paths)


def method_models(cls: str, *names: str) -> Callable[[F], F]:
    """Register a model for methods of an external class."""
    return _into(METHODS.setdefault(cls, {}), *names)


def on(table: dict[Any, Any], *keys: Any) -> Callable[[F], F]:
    """Register a function in one of the tables."""
    return _into(table, *keys)


def _into(table: dict[Any, Any], *keys: Any) -> Callable[[F], F]:
    def register(function: F) -> F:
        for key in keys:
            table[key] = function
        return function

    return register
