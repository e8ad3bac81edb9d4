"""Programs with hand-made events: what a rule says about them and how its fix mends them, without the analyser."""

from __future__ import annotations

from types import SimpleNamespace

from devlint.analysis.events import Event, Mark, MarkKind, Operand, Site
from devlint.rules.base import Diagnosis, Mend, Rule
from devlint.syntax.tree import Tree


class Program:
    """A program text whose places are named by the text that stands there."""

    def __init__(self, text: str, path: str = "/project/train.py") -> None:
        self.program = text
        self.path = path

    def site(self, snippet: str, nth: int = 0, path: str | None = None) -> Site:
        """Return the site of the `nth` place where `snippet` stands."""
        start = -1
        for _ in range(nth + 1):
            start = self.program.index(snippet, start + 1)
        row, column = self._row_and_byte_column(start)
        end_row, end_column = self._row_and_byte_column(start + len(snippet))
        at = SimpleNamespace(lineno=row, col_offset=column, end_lineno=end_row, end_col_offset=end_column)
        return Site(path or self.path, at)

    def _row_and_byte_column(self, offset: int) -> tuple[int, int]:
        before = self.program[:offset]
        return before.count("\n") + 1, len(before.rpartition("\n")[2].encode())

    def mark(self, kind: MarkKind, snippet: str, device: str | None = None, note: str = "", nth: int = 0) -> Mark:
        """Return a mark at the place of `snippet`."""
        return Mark(kind, self.site(snippet, nth), device, note)

    def operand(self, text: str, device: str, *marks: Mark, nth: int = 0, at: str | None = None) -> Operand:
        """Return an operand that stands at its own text, or at that of `at`."""
        return Operand(text, device, self.site(at or text, nth), marks)

    def text(self, site: Site) -> str:
        """Return the text at a site: a `TextContext`."""
        return Tree.parse(self.program).site_text(site)

    def say(self, rule: Rule, event: Event) -> list[Diagnosis]:
        """Return what the rule says about the event."""
        return [
            diagnosis
            for event_type, handler in rule.handlers
            if isinstance(event, event_type)
            for diagnosis in handler(event, self)
        ]

    def mend(self, rule: Rule, event: Event) -> Mend | None:
        """Return the fix that the rule offers for its only diagnosis of the event."""
        (diagnosis,) = self.say(rule, event)
        assert rule.fixer is not None
        return rule.fixer(diagnosis, Tree.parse(self.program))

    def mended(self, rule: Rule, event: Event) -> str | None:
        """Return the program with the fix applied, None where none is offered."""
        mend = self.mend(rule, event)
        if mend is None:
            return None
        text = self.program
        for item in sorted(mend.replacements, key=lambda item: item.start, reverse=True):
            text = text[: item.start] + item.content + text[item.end :]
        return text
