"""Comments that hold findings back: `# noqa`, `# noqa: DEV301`, `# devlint: ignore[DEV301] reason`, file-level forms.

Comments are read from tokens, so that a string that looks like one suppresses nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from devlint.config import ConfigError
from devlint.findings import Finding
from devlint.lines import row_starts, split_rows
from devlint.selection import Described, expand
from devlint.sources import Source
from devlint.sources.source import Replacement

_CODES = r"[A-Z]+[0-9]*(?:[\s,]+[A-Z]+[0-9]+)*"
_NOQA = re.compile(rf"#\s*noqa(?:\s*:\s*(?P<codes>{_CODES}))?(?![\w:])", re.IGNORECASE)
_IGNORE = re.compile(
    r"#\s*devlint:\s*(?P<scope>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE
)
_FILE_NOQA = re.compile(rf"#\s*(?:devlint|flake8)\s*:\s*noqa(?:\s*:\s*(?P<codes>{_CODES}))?", re.IGNORECASE)
_SPEAKS = re.compile(r"#[^\r\n]*(?:noqa|devlint\s*:)", re.IGNORECASE)

Place = tuple[int | None, int]
"""Cell and row, as the author counts."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A suppression that held nothing back. `codes` are those without effect; none means the whole comment.

    `unknown` are those of `codes` that mean no rule at all.
    """

    filename: str
    cell: int | None
    row: int
    codes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(slots=True)
class Directive:
    """One comment. `codes` are codes, beginnings of codes or names of rules, in capitals; None means every code.

    `own` tells it from a `noqa` that may be meant for other linters.
    """

    place: Place
    codes: tuple[str, ...] | None
    own: bool
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Whether the comment speaks of the finding's rule; a prefix (`DEV3`) speaks of all that start with it."""
        if self.codes is None:
            self.used.add("")
            return True
        for mentioned in self.codes:
            if finding.code.startswith(mentioned) or (self.own and mentioned in ("ALL", finding.name.upper())):
                self.used.add(mentioned)
                return True
        return False

    def idle(
        self, enabled: frozenset[str], rules: Sequence[Described]
    ) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The codes that held nothing back although their rules ran, with those among them that mean none of `rules`;
        None if there is nothing to say."""
        if self.codes is None:
            return ((), ()) if self.own and not self.used else None
        idle: list[str] = []
        unknown: list[str] = []
        for code in self.codes:
            if code in self.used or not (self.own or code.startswith("DEV")):
                continue
            try:
                meant = expand(code, rules)[1]
            except ConfigError:
                unknown.append(code)
                idle.append(code)
            else:
                if meant & enabled:
                    idle.append(code)
        return (tuple(idle), tuple(unknown)) if idle else None


@dataclass(slots=True)
class Comments:
    """The suppressions of one file."""

    filename: str
    by_place: dict[Place, list[Directive]] = field(default_factory=dict)
    whole_file: list[Directive] = field(default_factory=list)
    ends: dict[Place, int] = field(default_factory=dict)
    """Rows that can't carry a comment (inside a string, before a continuation), with the row that can."""

    @classmethod
    def read(cls, source: Source, findings: bool = True) -> Comments:
        """Read the suppressions of a source; without findings only if there is one to be found unused."""
        comments = cls(source.filename)
        speaks = _SPEAKS.search(source.text) is not None
        if not speaks and not findings:
            return comments
        waiting: list[Directive] = []
        for token in _tokens(source.text):
            kind, text, (row, column), (end_row, _), _ = token
            if kind == tokenize.COMMENT:
                alone = not token.line[:column].strip()
                waiting += comments._comment(source, text, row, alone)
            elif end_row > row and kind not in (tokenize.NL, tokenize.NEWLINE):
                comments._span(source, row, end_row)
            if waiting and kind not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                place = _place(source, row)
                comments.by_place.setdefault(place, []).extend(waiting)
                waiting = []
        for row in _continued(source.text):
            comments._span(source, row, row + 1)
        return comments

    def _comment(self, source: Source, text: str, row: int, alone: bool) -> Iterator[Directive]:
        place = _place(source, row)
        ours = _IGNORE.search(text)
        if ours is not None:
            directive = Directive(place, _codes(ours["codes"]), own=True)
            if ours["scope"].lower() == "ignore-file":
                self.whole_file.append(directive)
            else:
                self.by_place.setdefault(place, []).append(directive)
                if alone:
                    yield directive
        whole = _FILE_NOQA.search(text)
        if whole is not None:
            self.whole_file.append(Directive(place, _codes(whole["codes"]), own="devlint" in whole[0].lower()))
            return
        noqa = _NOQA.search(text)
        if noqa is not None:
            self.by_place.setdefault(place, []).append(Directive(place, _codes(noqa["codes"]), own=False))

    def _span(self, source: Source, first: int, last: int) -> None:
        cell, end = _place(source, last)
        end = self.ends.get((cell, end), end)
        for row in range(first, last):
            place = _place(source, row)
            if place[0] == cell:
                self.ends[place] = max(end, self.ends.get(place, 0))

    def noqa_row(self, finding: Finding) -> int:
        """Return the row whose comment may suppress the finding."""
        row = finding.location.start.row
        for _ in range(len(self.ends)):
            end = self.ends.get((finding.location.cell, row), row)
            if end == row:
                break
            row = end
        return row

    def suppresses(self, finding: Finding) -> bool:
        """Whether a comment holds the finding back: on its first row, its last row, its `noqa_row`, or for the file."""
        where = finding.location
        rows = {where.start.row, where.end.row, finding.noqa_row or where.start.row}
        directives = list(self.whole_file)
        for row in rows:
            directives += self.by_place.get((where.cell, row), ())
        # All that cover it count as used: none of them could go without the others.
        covering = [directive for directive in directives if directive.covers(finding)]
        return bool(covering)

    def unused(self, enabled: frozenset[str], rules: Sequence[Described]) -> list[Unused]:
        """Return the suppressions that held nothing back; of all `rules`, those whose codes are `enabled` ran."""
        found: dict[int, Unused] = {}
        for directive in (*self.whole_file, *(item for items in self.by_place.values() for item in items)):
            idle = directive.idle(enabled, rules)
            if idle is not None:
                found[id(directive)] = Unused(self.filename, *directive.place, *idle)
        return sorted(found.values(), key=lambda item: (item.cell or 0, item.row))


def _codes(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(code.upper() for code in re.split(r"[\s,]+", text.strip()) if code) or None


def _place(source: Source, row: int) -> Place:
    cell, position = source.locate(row, 1)
    return cell, position.row


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    except (tokenize.TokenError, SyntaxError):
        return  # what comes before the fault still counts


def _continued(text: str) -> Iterator[int]:
    """The rows that end in a backslash, last first. One at the end of a comment or string costs nothing here: its row
    is then only asked about if a finding starts on it."""
    rows = split_rows(text)
    for index in range(len(rows) - 1, 0, -1):
        row = rows[index - 1]
        if row.endswith("\\") and "#" not in row:
            yield index


def noqa_replacements(source: Source, findings: Sequence[Finding]) -> list[Replacement]:
    """Return what puts a `# noqa` on the rows of the findings, or adds codes to the one that stands there."""
    wanted: dict[Place, list[str]] = {}
    for finding in findings:
        place = (finding.location.cell, finding.noqa_row or finding.location.start.row)
        wanted.setdefault(place, []).append(finding.code)
    replacements: list[Replacement] = []
    starts = row_starts(source.text)
    comments = {token.start[0]: token.start[1] for token in _tokens(source.text) if token.type == tokenize.COMMENT}
    for row, line in enumerate(split_rows(source.text), 1):
        codes = wanted.pop(_place(source, row), None) if wanted else None
        if codes is None:
            continue
        kept = line.rstrip()
        spoken = _NOQA.finditer(kept, comments[row]) if row in comments else ()  # what texts say is theirs
        match = next((found for found in spoken if found["codes"]), None)
        present = (_codes(match["codes"]) or ()) if match else ()
        listed = ", ".join(dict.fromkeys((*present, *sorted(codes))))
        offset = starts[row - 1]
        if match is not None:
            replacements.append((offset + match.start("codes"), offset + match.end("codes"), listed))
        else:
            replacements.append((offset + len(kept), offset + len(line), f"  # noqa: {listed}"))
    return replacements
