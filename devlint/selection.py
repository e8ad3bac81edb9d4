"""Which rules are wanted: prefixes of codes, names, `ALL`; the more precise word wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from devlint.config import Config, ConfigError, Selection, nearest, place_of

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
        steps = [(*found, True) for found in _expanded(layer.file, "select", layer.select or (), rules)]
        steps += [(*found, True) for found in _expanded(layer.file, "extend-select", layer.extend_select, rules)]
        steps += [(*found, False) for found in _expanded(layer.file, "ignore", layer.ignore, rules)]
        # A longer prefix is applied later; at equal length `ignore` comes last and wins.
        for _, codes, on in sorted(steps, key=lambda step: (step[0], not step[2])):
            enabled = enabled | codes if on else enabled - codes
    return frozenset(enabled) | {PARSE_CODE}


def ignored_in_files(config: Config, rules: Sequence[Described]) -> list[tuple[str, frozenset[str]]]:
    """Return the patterns of `per-file-ignores`, each with the codes that are left out there.

    Raises:
        ConfigError: a selector means no rule.
    """
    ignores = []
    for pattern, words in config.per_file_ignores:
        expanded = _expanded(config.ignores_file, "per-file-ignores", words, rules)
        ignores.append((pattern, frozenset[str]().union(*(codes for _, codes in expanded))))
    return ignores


def _expanded(
    file: Path | None, key: str, words: Iterable[str], rules: Sequence[Described]
) -> list[tuple[int, frozenset[str]]]:
    """Expand the words that `key` has in `file`, or on the command line; an error says where they stand."""
    try:
        return [expand(word, rules) for word in words]
    except ConfigError as error:
        place = place_of(file, key)
        raise ConfigError(f"{place}[tool.devlint] `{key}`: {error}" if place else str(error)) from None
