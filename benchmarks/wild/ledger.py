"""The ledger: every finding that a reader judged, and the size of the code in which it stands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

VERDICTS = ("right", "wrong", "harmless", "unclear")
"""right: it breaks as said. harmless: it breaks as said, but nobody would get there (or would mind). wrong: it doesn't.
unclear: a reader couldn't tell."""


class Misjudged(Exception):
    """A row of judgements that can't be followed; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding, and what a reader thought of it. `mark` tells it from others, also after its row has moved.

    `verdict` is "" until it is judged. `present`: whether the last run over its repository still had it.
    """

    repository: str
    commit: str
    file: str
    cell: int | None
    row: int
    code: str
    mark: str
    verdict: str = ""
    reason: str = ""
    present: bool = True
    message: str = field(default="", compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """Repository and mark: one finding of one repository."""
        return self.repository, self.mark

    @property
    def place(self) -> str:
        """File, cell (in notebooks) and row."""
        return ":".join(str(part) for part in (self.file, self.cell, self.row) if part is not None)


@dataclass(frozen=True, slots=True)
class Measured:
    """A run over a repository: rows of program that were linted, seconds of processor time, peak memory.

    `aside`: no mechanism was mended by its findings, so its figures are fair.
    """

    repository: str
    commit: str
    files: int
    lines: int
    seconds: float
    megabytes: int
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What a run gave that the ledger had not, and what it no longer gave."""

    new: tuple[Entry, ...]
    gone: tuple[Entry, ...]


class Ledger:
    """Entries by key, in the order in which they came, and the last run over each repository."""

    def __init__(self, entries: Iterable[Entry] = (), measured: Iterable[Measured] = ()) -> None:
        self.entries = {entry.key: entry for entry in entries}
        self.measured = {item.repository: item for item in measured}

    @classmethod
    def read(cls, folder: Path) -> Ledger:
        """Read the two files in `folder`; what is not there is empty."""
        return cls(
            (Entry(**row) for row in _rows(folder / "ledger.jsonl")),
            (Measured(**row) for row in _rows(folder / "repositories.jsonl")),
        )

    def write(self, folder: Path) -> None:
        """Write both files, sorted, so that a change is a small difference."""
        entries = sorted(self.entries.values(), key=lambda entry: (entry.repository, entry.file, entry.row, entry.mark))
        _write(folder / "ledger.jsonl", [_without_message(entry) for entry in entries])
        _write(folder / "repositories.jsonl", [asdict(self.measured[name]) for name in sorted(self.measured)])

    def update(self, measured: Measured, found: Sequence[Entry]) -> Change:
        """Take in a run over one repository. Verdicts stay, what is gone stays in the ledger as not present."""
        self.measured[measured.repository] = measured
        now = {entry.key: entry for entry in found}
        gone = []
        for key, entry in self.entries.items():
            if entry.repository == measured.repository and entry.present and key not in now:
                self.entries[key] = replace(entry, present=False)
                gone.append(entry)
        new = []
        for key, entry in now.items():
            old = self.entries.get(key)
            self.entries[key] = entry if old is None else replace(entry, verdict=old.verdict, reason=old.reason)
            if old is None or not old.present or not old.verdict:
                new.append(self.entries[key])
        return Change(tuple(new), tuple(gone))

    def judge(self, text: str) -> int:
        """Take in judgements, rows as `form` makes them; return how many there were.

        Raises:
            Misjudged: a row has another form, means no finding, or lacks verdict or reason.
        """
        named = {(entry.repository, entry.place, entry.code, entry.mark): entry for entry in self.entries.values()}
        judged = 0
        for number, row in enumerate(text.splitlines(), start=1):
            if not row.strip() or row.startswith("#"):
                continue
            parts = [part.strip() for part in row.split("\t")]
            if len(parts) != 6:
                raise Misjudged(f"row {number}: {len(parts)} columns instead of 6, separated by tabs")
            repository, place, code, mark, verdict, reason = parts
            entry = named.get((repository, place, code, mark))
            if entry is None:
                raise Misjudged(f"row {number}: no finding {code} {mark} at {place} in {repository}")
            if verdict not in VERDICTS or not reason:
                raise Misjudged(f"row {number}: a verdict ({', '.join(VERDICTS)}) and a reason are needed")
            self.entries[entry.key] = replace(self.entries[entry.key], verdict=verdict, reason=reason)
            judged += 1
        return judged

    def waiting(self) -> list[Entry]:
        """Return the present findings that nobody has judged."""
        return [entry for entry in self.entries.values() if entry.present and not entry.verdict]


def form(entry: Entry) -> str:
    """Return the row in which a reader fills in verdict and reason (after a comment with the message)."""
    return f"# {entry.message}\n" + "\t".join(
        (entry.repository, entry.place, entry.code, entry.mark, entry.verdict, entry.reason)
    )


def _without_message(entry: Entry) -> Mapping[str, Any]:
    return {item.name: getattr(entry, item.name) for item in fields(entry) if item.name != "message"}


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines() if row]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
