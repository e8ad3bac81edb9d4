"""Sets: what their operators and comparisons give, where their items can be told apart."""

from __future__ import annotations

from devlint.analysis.dispatch import Iteration
from devlint.analysis.domain.plain import NotConstant, key_of, set_of
from devlint.analysis.domain.values import BOOL, Sequence, Value, const


def combine_sets(operator: str, left: Sequence, right: Iteration) -> Sequence:
    """Union, intersection, difference and symmetric difference of sets."""
    kind = "set" if left.kind not in ("set", "frozenset") else left.kind
    if operator == "|":
        return set_of(kind, [*left.items, *right.items], left.open or right.open)
    try:
        ours = {key_of(item): item for item in left.items}
        theirs = {key_of(item): item for item in right.items}
    except NotConstant:
        return Sequence(kind, list(left.items), True)
    if left.open or right.open:
        return Sequence(kind, list(left.items), True)
    if operator == "&":
        return Sequence(kind, [item for key, item in ours.items() if key in theirs])
    rest = [item for key, item in ours.items() if key not in theirs]
    if operator == "^":
        rest += [item for key, item in theirs.items() if key not in ours]
    return Sequence(kind, rest)


def compare_sets(name: str, left: Sequence, right: Iteration) -> Value:
    """`issubset`, `issuperset` and `isdisjoint`."""
    try:
        ours, theirs = {key_of(item) for item in left.items}, {key_of(item) for item in right.items}
    except NotConstant:
        return BOOL
    return BOOL if left.open or right.open else const(getattr(ours, name)(theirs))
