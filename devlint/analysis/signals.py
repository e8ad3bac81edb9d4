"""How statements and runs end: what a statement passes on, a program that raises, a budget that is spent."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.values import Value


class Signal:
    """How a statement left, when it did not fall through: RETURN carries a value."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Value | None = None) -> None:
        self.kind = kind
        self.value = value

    def __repr__(self) -> str:
        return f"Signal({self.kind})"


BREAK: Final = Signal("break")
CONTINUE: Final = Signal("continue")
RAISE: Final = Signal("raise")


class OutOfBudget(Exception):
    """The entry point used up its evaluation steps; it ends in silence."""


class Crash(Exception):
    """The program surely raises here in this world (or ends: `sys.exit()`).

    `kind` names the builtin exception; it is "" for what torch raises about devices.
    """

    def __init__(self, kind: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
