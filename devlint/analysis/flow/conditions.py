"""Named conditions: what they are called, of which parts they are made, and what follows for one from others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, Unknown, Value

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.machine import Machine


class Conditions:
    """The named conditions that are made of others, by their names, and of what they are made."""

    def __init__(self) -> None:
        self.joined: dict[str, bool] = {}
        """Whether a condition is made of others by `and`, or by `or`."""
        self.conjuncts: dict[str, dict[str, bool]] = {}
        """The parts of `a and b`, with what each must be."""
        self.disjuncts: dict[str, dict[str, bool]] = {}
        """The parts of `a or b`, with what each must be so that it does not hold."""


def follows(machine: Machine, known: Mapping[ChoiceKey, bool], key: str) -> bool | None:
    """What is known of a named condition, itself or as a part of `a and b` or `a or b`, or of all or one of its own
    parts. (`a or b` is denied as `a and b` is met: by all of its parts.)"""
    answer = known.get(key)
    if answer is not None:
        return answer
    conditions = machine.project.conditions
    tables = ((conditions.conjuncts, True), (conditions.disjuncts, False))
    for table, met in tables:
        parts = table.get(key)
        if parts is not None:
            answers = [known[part] is needed if part in known else None for part, needed in parts.items()]
            return (not met) if False in answers else None if None in answers else met
    for other, holds in known.items():
        if holds and isinstance(other, str) and excludes(other, key):
            return False
        for table, met in tables:
            parts = table.get(other) if isinstance(other, str) else None
            if parts is None or key not in parts:
                continue
            if holds is met:
                return parts[key]
            if all(known.get(part) is needed for part, needed in parts.items() if part != key):
                return not parts[key]  # the others are as they must be, and not all are
    return None


@lru_cache(maxsize=4096)
def excludes(one: str, other: str) -> bool:
    """Whether two conditions ask one thing whether it is this text or number and that: `args.net == "vgg"`. Of
    `args.fast or args.net == "vgg"` and another such both may hold."""
    asked, _, first = one.partition(" == ")
    same, _, second = other.partition(" == ")
    if asked != same or first == second or _MADE.search(asked) is not None:
        return False
    return all(_PLAIN.fullmatch(part) is not None for part in (first, second))


_MADE: Final = re.compile(r"\b(and|or|not) ")
_PLAIN: Final = re.compile(r"'[^']*'|-?\d+")


def both(machine: Machine, a: Unknown, b: Unknown, *, is_and: bool) -> Unknown:
    """The named condition `a and b` (or `a or b`) of two named ones."""
    assert a.path is not None and b.path is not None
    conditions = machine.project.conditions
    joined = conditions.joined
    first, second = (_bracketed(path, joined, is_and) for path in (a.path, b.path))
    if first.startswith("not "):
        first, second = second, first
    if first.startswith("not "):
        first = f"({first})"  # it is not the whole that is denied
    text = f"{first} {'and' if is_and else 'or'} {second}"
    joined[text] = is_and
    table = conditions.conjuncts if is_and else conditions.disjuncts
    table[text] = {**_parts(conditions, a.path, is_and), **_parts(conditions, b.path, is_and)}
    return Unknown(text, a.named and b.named)


def _bracketed(path: str, joined: Mapping[str, bool], is_and: bool) -> str:
    """A part of a condition as text that tells it from others: in brackets if it is made by the other connective, or
    denied as a whole."""
    bare = path.removeprefix("not ")
    if bare not in joined or (bare == path and joined[bare] is is_and):
        return path
    return path.removesuffix(bare) + f"({bare})"


def _parts(conditions: Conditions, path: str, holds: bool) -> dict[str, bool]:
    """The parts that a condition is made of, with what each must be so that it holds, or does not."""
    bare = path.removeprefix("not ")
    if bare != path:
        holds = not holds
    table = conditions.conjuncts if holds else conditions.disjuncts
    return table.get(bare) or {bare: holds}


def named_unknown(left: Value, operator: str, right: Value) -> Unknown | None:
    """The name of a comparison of an unknown with a constant: `args.gpu is None`, `args.device == 'cuda'`."""
    if isinstance(left, Const) and isinstance(right, Unknown) and operator in ("==", "!="):
        return named_unknown(right, operator, left)
    if not (isinstance(left, Unknown) and left.path and isinstance(right, Const)):
        return None
    negation = {"!=": "==", "is-not": "is", "not-in": "in"}.get(operator)
    text = f"{left.path} {negation or operator} {right.value!r}"
    return Unknown(f"not {text}" if negation else text, left.named)
