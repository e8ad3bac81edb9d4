"""Named conditions: what they are called, of which parts they are made, and what follows for one from others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from devlint.analysis.values import Const, Unknown, Value

if TYPE_CHECKING:
    from devlint.analysis.choices import ChoiceKey
    from devlint.analysis.machine import Machine


def follows(machine: Machine, known: Mapping[ChoiceKey, bool], key: str) -> bool | None:
    """What is known of a named condition, itself or as a part of `a and b`, or of all or one of its own parts."""
    answer = known.get(key)
    if answer is not None:
        return answer
    parts = machine.project.conjuncts.get(key)
    if parts is not None:
        answers = [known[part] is holds if part in known else None for part, holds in parts.items()]
        return False if False in answers else None if None in answers else True
    for other, holds in known.items():
        parts = machine.project.conjuncts.get(other) if isinstance(other, str) else None
        if parts is None or key not in parts:
            continue
        if holds:
            return parts[key]
        if all(known.get(part) is needed for part, needed in parts.items() if part != key):
            return not parts[key]  # the others hold, and not all do
    return None


def both(machine: Machine, a: Unknown, b: Unknown, *, is_and: bool) -> Unknown:
    """The named condition `a and b` (or `a or b`) of two named ones."""
    assert a.path is not None and b.path is not None
    joined = machine.project.joined
    first, second = (_bracketed(path, joined, is_and) for path in (a.path, b.path))
    if first.startswith("not "):
        first, second = second, first
    if first.startswith("not "):
        first = f"({first})"  # it is not the whole that is denied
    text = f"{first} {'and' if is_and else 'or'} {second}"
    joined[text] = is_and
    if is_and:
        machine.project.conjuncts[text] = {**_conjuncts(machine, a.path), **_conjuncts(machine, b.path)}
    return Unknown(text, a.named and b.named)


def _bracketed(path: str, joined: Mapping[str, bool], is_and: bool) -> str:
    """A part of a condition as text that tells it from others: in brackets if it is made by the other connective, or
    denied as a whole."""
    bare = path.removeprefix("not ")
    if bare not in joined or (bare == path and joined[bare] is is_and):
        return path
    return path.removesuffix(bare) + f"({bare})"


def _conjuncts(machine: Machine, path: str) -> dict[str, bool]:
    """The parts of which a condition is made by `and`, with what each must be."""
    known = machine.project.conjuncts.get(path)
    if known is not None:
        return known
    bare = path.removeprefix("not ")
    return {bare: bare == path}


def named_unknown(left: Value, operator: str, right: Value) -> Unknown | None:
    """The name of a comparison of an unknown with a constant: `args.gpu is None`, `args.device == 'cuda'`."""
    if isinstance(left, Const) and isinstance(right, Unknown) and operator in ("==", "!="):
        return named_unknown(right, operator, left)
    if not (isinstance(left, Unknown) and left.path and isinstance(right, Const)):
        return None
    negation = {"!=": "==", "is-not": "is", "not-in": "in"}.get(operator)
    text = f"{left.path} {negation or operator} {right.value!r}"
    return Unknown(f"not {text}" if negation else text, left.named)
