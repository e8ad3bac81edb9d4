"""Fixes into files: those that don't overlap, until nothing changes; written all at once or not at all."""

from __future__ import annotations

import ast
import difflib
import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devlint.lines import keep_rows
from devlint.rules.base import Mend
from devlint.sources import Source
from devlint.sources.source import Replacement

MOST_ROUNDS = 20
"""How often a file is linted again after its fixes; a fix that undoes another would go on for ever."""


@dataclass(slots=True)
class Fixed:
    """What fixing did to one file: how it was and is, and how many findings of which code were mended."""

    source: Source
    before: bytes
    after: bytes
    codes: list[str] = field(default_factory=list)


def choose(mends: Iterable[tuple[str, Mend]], unsafe: bool) -> list[tuple[str, Mend]]:
    """Return the mends to apply together: safe ones, `unsafe` ones if wanted, the earlier of two that overlap.

    Two insertions at one place count as overlapping, since their order would be a guess.
    """
    wanted = [(code, mend) for code, mend in mends if mend.replacements and (unsafe or mend.applicability == "safe")]
    wanted.sort(key=lambda item: min((part.start, part.end) for part in item[1].replacements))
    taken: list[tuple[int, int]] = []
    chosen = []
    for code, mend in wanted:
        spans = [(part.start, part.end) for part in mend.replacements]
        if not any(_touch(span, other) for span in spans for other in taken):
            taken += spans
            chosen.append((code, mend))
    return chosen


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one == other or (one[0] < other[1] and other[0] < one[1])


def mended(source: Source, mends: Sequence[tuple[str, Mend]]) -> tuple[bytes, list[str]]:
    """Return the file's bytes after the mends, and the codes that were mended.

    A mend that can't be written, or after which the program would no longer parse, is left out.
    """
    applied: list[Replacement] = []
    codes: list[str] = []
    parsed_before = parses(source.text)
    for code, mend in mends:
        attempt = [*applied, *((part.start, part.end, part.content) for part in mend.replacements)]
        try:
            source.encode(source.apply(attempt))
        except ValueError:
            continue
        if parsed_before and not parses(replaced(source.text, attempt)):
            continue
        applied = attempt
        codes.append(code)
    return source.encode(source.apply(applied)), codes


def replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """Return `text` after replacements that don't overlap."""
    for start, end, content in sorted(replacements, reverse=True):
        text = text[:start] + content + text[end:]
    return text


def parses(text: str) -> bool:
    """Whether the running Python can parse the text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def write_atomically(path: Path, data: bytes, before: bytes | None = None) -> None:
    """Replace a file's content at once, keeping its mode; a link keeps pointing where it points.

    Raises:
        OSError: it can't be written, or no longer holds `before`, for somebody has saved it in the meantime; the file
            is then as it was.
    """
    target = Path(os.path.realpath(path))
    if before is not None and target.read_bytes() != before:
        raise OSError("changed while it was checked; it is left as it is")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))  # to replace it would be allowed
    mode = target.stat().st_mode if target.exists() else None
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".devlint")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(name, mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def diff(fixed: Fixed) -> str:
    """Return a unified diff of what fixing did."""
    name = fixed.source.filename
    encoding = fixed.source.encoding
    old, new = (keep_rows(data.decode(encoding, "replace")) for data in (fixed.before, fixed.after))
    lines = difflib.unified_diff(old, new, name, name)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
