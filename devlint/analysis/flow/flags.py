"""Options that are on or off, and what the conditions around a statement have answered of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Unknown, constant
from devlint.analysis.flow.choices import ask_later
from devlint.analysis.frames import held
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def answered(machine: Machine, test: ir.Expr, frame: Frame, holds: bool) -> dict[str, bool]:
    """The flags of the user's (options that are on or off) that a condition settles where it holds, or does not."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        return answered(machine, test.value, frame, not holds)
    if isinstance(test, ir.Bool):
        if test.is_and is holds:
            return {key: value for part in test.values for key, value in answered(machine, part, frame, holds).items()}
        for part in test.values:
            found = answered(machine, part, frame, holds)
            others = [other for other in test.values if other is not part]
            if found and ask_later(machine, part, others, frame, not test.is_and) == []:
                return found
        return {}
    value = held(test, frame)
    if value.__class__ is not Unknown or not isinstance(value, Unknown) or value.path is None:
        return {}
    return {value.path: holds} if isinstance(constant(value.default), bool) else {}
