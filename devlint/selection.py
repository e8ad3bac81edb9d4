"""Which rules are wanted: prefixes of codes, names, `ALL`; the more precise word wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from devlint.config import ConfigError, Selection, nearest

PARSE_CODE = "DEV000"
"""Source that can't be checked: always reported, never selected away."""


class Described(Protocol):
    """What selection needs to know of a rule."""

    @property
    def code(self) -> str:
        """`DEV` and three digits."""

    @property
    def name(self) -> str:
        """The name that a person would say."""

    @property
    def default(self) -> bool:
        """Whether it is on without configuration."""


def expand(selector: str, rules: Sequence[Described]) -> tuple[int, frozenset[str]]:
    """Return how precise `selector` is (the longer, the more), and the codes that it means.

    Raises:
        ConfigError: it means none.
    """
    word = selector.strip()
    if word.upper() == "ALL":
        return 0, frozenset(rule.code for rule in rules)
    for rule in rules:
        if word.lower() == rule.name:
            return len(rule.code), frozenset([rule.code])
    codes = frozenset(rule.code for rule in rules if rule.code.startswith(word.upper())) if word else frozenset()
    if not codes and word.upper() != PARSE_CODE:
        known = [rule.code for rule in rules] + [rule.name for rule in rules]
        close = nearest(word, known) if len(word) > 3 else ""
        raise ConfigError(f"unknown rule `{selector}`" + (close if close.startswith(";") else ""))
    return len(word), codes


def select_rules(selections: Iterable[Selection], rules: Sequence[Described]) -> frozenset[str]:
    """Return the codes of the rules that are on. Layers run from low to high; one with `select` starts afresh.

    Raises:
        ConfigError: a selector means no rule.
    """
    enabled = {rule.code for rule in rules if rule.default}
    for layer in selections:
        if layer.select is not None:
            enabled = set()
        steps = [(*expand(word, rules), True) for word in (*(layer.select or ()), *layer.extend_select)]
        steps += [(*expand(word, rules), False) for word in layer.ignore]
        # A longer prefix is applied later; at equal length `ignore` comes last and wins.
        for _, codes, on in sorted(steps, key=lambda step: (step[0], not step[2])):
            enabled = enabled | codes if on else enabled - codes
    return frozenset(enabled) | {PARSE_CODE}


def expand_all(selectors: Iterable[str], rules: Sequence[Described]) -> frozenset[str]:
    """Return the codes that the selectors mean together.

    Raises:
        ConfigError: one of them means no rule.
    """
    return frozenset[str]().union(*(expand(word, rules)[1] for word in selectors))
