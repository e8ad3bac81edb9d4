"""Scopes of names, for every front end.

A front end opens a `Scope` for each function, class and comprehension, asks it for `Name` nodes while it lowers the
text inside, and closes it at the end. Only then is it known which names the scope binds, so the nodes get their
`NameScope` at `close`; no separate pass looks for bindings. Function bodies are lowered after the scope around them is
closed, which makes the chain of `parent`s complete whenever it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from devlint.syntax import ir
from devlint.syntax.ir import Name, NameScope

LOCAL: Final = NameScope.LOCAL
FREE: Final = NameScope.FREE
GLOBAL: Final = NameScope.GLOBAL
CLASS: Final = NameScope.CLASS


class Kind(Enum):
    """What opened a scope."""

    MODULE = 0
    FUNCTION = 1
    CLASS = 2
    COMPREHENSION = 3


class Scope:
    """One scope while it is lowered, and what it bound once it is closed.

    `context` is whatever the front end needs everywhere (it is handed on to inner scopes).
    """

    __slots__ = ("_inner", "_names", "bound", "context", "globals", "is_generator", "kind", "nonlocals", "parent")

    def __init__(self, kind: Kind, parent: Scope | None, context: Any) -> None:
        self.kind = kind
        self.parent = parent
        self.context = context
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.is_generator = False
        self._names: list[Name] = []
        self._inner: list[Name] = []

    def inner(self, kind: Kind) -> Scope:
        """Open a scope inside this one."""
        return Scope(kind, self, self.context)

    def load(self, id: str, at: Any) -> Name:
        """Read a name here."""
        name = Name(id, GLOBAL, at)
        self._names.append(name)
        return name

    def store(self, id: str, at: Any) -> Name:
        """Bind (or delete) a name here."""
        self.bound.add(id)
        name = Name(id, GLOBAL, at)
        self._names.append(name)
        return name

    def walrus(self, id: str, at: Any) -> Name:
        """Bind a name by `:=`, which skips comprehensions."""
        scope = self
        while scope.kind is Kind.COMPREHENSION and scope.parent is not None:
            scope = scope.parent
        scope.bound.add(id)
        return self.load(id, at)

    def declare_global(self, names: Iterable[str]) -> None:
        """`global names`."""
        if self.kind is not Kind.MODULE:
            self.globals.update(names)

    def declare_nonlocal(self, names: Iterable[str]) -> None:
        """`nonlocal names`."""
        self.nonlocals.update(names)

    def close(self) -> None:
        """Decide the scope of every name that was met."""
        if self.kind is Kind.MODULE:
            return
        self.bound -= self.globals
        self.bound -= self.nonlocals
        bound = self.bound
        own = CLASS if self.kind is Kind.CLASS else LOCAL
        open_parent = self._open_parent()
        outside: dict[str, NameScope] = {}
        for name in self._names:
            id = name.id
            if id in bound:
                name.scope = own
            elif id in self.globals:
                continue
            elif open_parent is not None:
                open_parent._inner.append(name)
            else:
                scope = outside.get(id)
                if scope is None:
                    scope = outside[id] = self._outside(id)
                name.scope = scope
        visible = frozenset() if self.kind is Kind.CLASS else bound
        for name in self._inner:
            id = name.id
            if id in visible:
                name.scope = FREE
            elif id in self.globals and self.kind is not Kind.CLASS:
                continue
            elif open_parent is not None:
                open_parent._inner.append(name)
            else:
                name.scope = self._outside(id)
        self._names = []
        self._inner = []

    def body(self, statements: list[ir.Stmt]) -> ir.Body:
        """Close a function's scope and give its lowered body."""
        self.close()
        return ir.Body(
            statements,
            frozenset(self.bound),
            frozenset(self.globals),
            frozenset(self.nonlocals),
            self.is_generator,
        )

    def _open_parent(self) -> Scope | None:
        """The scope around a class or comprehension, which is lowered with it and so is still open."""
        if self.kind is Kind.FUNCTION or self.parent is None or self.parent.kind is Kind.MODULE:
            return None
        return self.parent

    def _outside(self, id: str) -> NameScope:
        scope = self.parent
        while scope is not None and scope.kind is not Kind.MODULE:
            if scope.kind is not Kind.CLASS:
                if id in scope.bound:
                    return FREE
                if id in scope.globals:
                    return GLOBAL
            scope = scope.parent
        return GLOBAL


class ModuleScope(Scope):
    """Module-level code: every name is global, so nothing is kept."""

    __slots__ = ()

    def __init__(self, context: Any) -> None:
        super().__init__(Kind.MODULE, None, context)

    def load(self, id: str, at: Any) -> Name:
        """Read a name here."""
        return Name(id, GLOBAL, at)

    def store(self, id: str, at: Any) -> Name:
        """Bind (or delete) a name here."""
        return Name(id, GLOBAL, at)

    def walrus(self, id: str, at: Any) -> Name:
        """Bind a name by `:=` here."""
        return Name(id, GLOBAL, at)
