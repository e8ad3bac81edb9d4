"""gitignore patterns, compiled: those of settings, which have to be right, and those of git's own files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class BadPattern(ValueError):
    """A text is no gitignore pattern; the message names it and says why."""


def compiled(patterns: Iterable[str]) -> GitIgnoreSpec:
    """Return what matches paths by patterns.

    Raises:
        BadPattern: one of them can't be understood: `[z-a].py`.
    """
    from pathspec import GitIgnoreSpec

    lines = list(patterns)
    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except (ValueError, re.error) as error:
                raise BadPattern(f"`{line}` is no gitignore pattern: {error}") from None
        raise


def of_git(lines: list[str]) -> GitIgnoreSpec:
    """Return what matches paths by the lines of a `.gitignore`. One that can't be understood matches nothing, as in
    git."""
    try:
        return compiled(lines)
    except BadPattern:
        return compiled(filter(_is_understood, lines))


def _is_understood(line: str) -> bool:
    try:
        compiled([line])
    except BadPattern:
        return False
    return True
