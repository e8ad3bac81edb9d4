"""Functions and classes of which a value is one: what two of them are joined to behind a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import UNKNOWN, Answer, Bound, Class, Function, OneOf, Value

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey

CALLED: Final = frozenset({Function, Bound, Class, OneOf})
_MOST: Final = 3
"""Of so many functions behind conditions it is kept which they are."""


def callables(value: Value) -> list[Value]:
    """Return the functions and classes of which a value is one; none if it is something else."""
    if isinstance(value, OneOf):
        return value.options if not value.open and all(map(callables, value.options)) else []
    return [value] if isinstance(value, (Function, Bound, Class)) else []


def is_same_code(a: Value, b: Value) -> bool:
    """Whether a call of either runs the same."""
    if isinstance(a, OneOf) and isinstance(b, OneOf):
        return len(a.options) == len(b.options) and all(map(is_same_code, a.options, b.options))
    if isinstance(a, Bound) and isinstance(b, Bound):
        return a.function is b.function and a.receiver is b.receiver
    return a is b


def one_of_two(a: Value, b: Value, key: ChoiceKey, answer: bool) -> Value:
    """Return what stands for `a` where the condition `key` has this answer, and for `b` where it has the other: a call
    takes it by that. Of more than three, and of two that are several each, nothing is known."""
    if isinstance(a, OneOf) and isinstance(b, OneOf):
        return UNKNOWN
    first, rest, holds = (b, a, not answer) if isinstance(a, OneOf) else (a, b, answer)
    options = [first, *callables(rest)]
    if len(options) > _MOST or (isinstance(rest, OneOf) and not rest.asked):
        return UNKNOWN
    return OneOf(options, asked=[Answer(key, holds), *(rest.asked if isinstance(rest, OneOf) else ())])
