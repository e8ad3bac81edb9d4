"""The figures: findings in 100,000 lines and the share of them that is right, by repository and by rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.wild.ledger import VERDICTS, Entry, Ledger

WINDOW = 100_000


@dataclass(frozen=True, slots=True)
class Tally:
    """Findings by verdict, in so many lines. `waiting` are those not judged."""

    right: int = 0
    wrong: int = 0
    harmless: int = 0
    unclear: int = 0
    waiting: int = 0
    lines: int = 0

    @property
    def findings(self) -> int:
        """All of them."""
        return self.right + self.wrong + self.harmless + self.unclear + self.waiting

    @property
    def density(self) -> float:
        """Findings in 100,000 lines."""
        return self.findings * WINDOW / self.lines if self.lines else 0.0

    @property
    def share(self) -> float | None:
        """Share of the judged that is right: `harmless` and `unclear` count against it. None where none is judged."""
        judged = self.findings - self.waiting
        return self.right / judged if judged else None


def tally(entries: Iterable[Entry], lines: int = 0) -> Tally:
    """Count the entries that the last run still had."""
    counts = dict.fromkeys((*VERDICTS, "waiting"), 0)
    for entry in entries:
        if entry.present:
            counts[entry.verdict or "waiting"] += 1
    return Tally(**counts, lines=lines)


def by_rule(ledger: Ledger) -> dict[str, Tally]:
    """Return a tally for each rule that found something, in code order."""
    lines = sum(item.lines for item in ledger.measured.values())
    codes = sorted({entry.code for entry in ledger.entries.values() if entry.present})
    return {code: tally((e for e in ledger.entries.values() if e.code == code), lines) for code in codes}


def by_repository(ledger: Ledger) -> dict[str, Tally]:
    """Return a tally for each repository."""
    return {
        name: tally((e for e in ledger.entries.values() if e.repository == name), item.lines)
        for name, item in sorted(ledger.measured.items())
    }


def total(ledger: Ledger, aside: bool | None = None) -> Tally:
    """Return the tally of all repositories, or of those that were kept aside (or not)."""
    names = {name for name, item in ledger.measured.items() if aside is None or item.aside == aside}
    lines = sum(ledger.measured[name].lines for name in names)
    return tally((entry for entry in ledger.entries.values() if entry.repository in names), lines)


def report(ledger: Ledger) -> str:
    """Return the figures as Markdown tables."""
    groups = [("mended by", total(ledger, aside=False)), ("kept aside", total(ledger, aside=True))]
    parts = [_table("repositories", [*groups, ("all", total(ledger))])]
    parts.append(_table("rule", by_rule(ledger).items()))
    parts.append(_table("repository", by_repository(ledger).items()))
    return "\n\n".join(parts)


def _table(head: str, rows: Iterable[tuple[str, Tally]]) -> str:
    lines = [f"| {head} | lines | findings | in 100,000 lines | right | harmless | unclear | wrong | share right |"]
    lines.append("|---|" + "---:|" * 8)
    for name, item in rows:
        share = "" if item.share is None else f"{item.share:.2f}"
        numbers = f"{item.lines:,} | {item.findings} | {item.density:.1f} | {item.right} | {item.harmless}"
        lines.append(f"| {name} | {numbers} | {item.unclear} | {item.wrong} | {share} |")
    return "\n".join(lines)
