"""What became of the findings, as text, JSON or JUnit XML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from devlint.confirm.verdicts import Confirmation, Ruling
from devlint.sources import Source

COLUMN = 12


def render(
    form: str,
    confirmations: Sequence[Confirmation],
    sources: Mapping[str, Source],
    strength: str,
    quiet: bool = False,
) -> str:
    """Return the report in one of the forms `text`, `json`, `junit`."""
    if form == "json":
        return json.dumps([item.as_json() for item in confirmations], indent=2) + "\n"
    if form == "junit":
        return junit(confirmations)
    return text(confirmations, strength, quiet)


def text(confirmations: Sequence[Confirmation], strength: str, quiet: bool = False) -> str:
    """Return a block a finding and a summary. `quiet` leaves out what is not refuted."""
    shown = [item for item in confirmations if item.status == "refuted" or not quiet]
    blocks = [_block(item) for item in shown]
    return "\n".join([*blocks, summary(confirmations, strength)]) + "\n"


def headline(item: Confirmation) -> str:
    """Return `model.py:12 DEV501 tensor-attribute`."""
    where = item.finding.location
    cell = f"cell {where.cell}:" if where.cell is not None else ""
    return f"{where.filename}:{cell}{where.start.row} {item.finding.code} {item.finding.name}"


def _block(item: Confirmation) -> str:
    rows = [headline(item)]
    rows.append(_row("", [ruling.world for ruling in item.rulings]))
    rows.append(_row("predicted", [_predicted(ruling) for ruling in item.rulings]))
    rows.append(_row("observed", [_observed(item, ruling) for ruling in item.rulings]) + f"  ({_machines(item)})")
    rows.append(f"    {item.status:<14}{_why(item)}")
    rows += [f"                  {note}" for note in _notes(item)]
    return "\n".join(rows) + "\n"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"    {name:<14}" + "".join(f"{cell:<{COLUMN}}" for cell in cells).rstrip()


def _predicted(ruling: Ruling) -> str:
    return "goes wrong" if ruling.predicted == "silent" else ruling.predicted


def _observed(item: Confirmation, ruling: Ruling) -> str:
    if item.machines[ruling.world].kind is None:
        return "not played"
    names = {"wrong": "goes wrong", "right": "goes right", "unknown": "?"}
    return names.get(ruling.observed, ruling.observed)


def _machines(item: Confirmation) -> str:
    kinds = dict.fromkeys(
        str(machine) for world, machine in item.machines.items() if machine.kind is not None and world != "cpu"
    )
    return "; ".join(kinds) or "the CPU"


def _why(item: Confirmation) -> str:
    if item.status != "confirmed":
        return item.reason
    first = next(ruling for ruling in item.rulings if ruling.predicted != "runs" and ruling.agrees)
    if first.predicted == "silent":
        return f"{first.note} ({item.how})"
    kind = first.note.partition(":")[0]
    return f"{kind} at line {first.row}, as predicted ({item.how})"


def _notes(item: Confirmation) -> list[str]:
    return [
        f"{ruling.world}: {ruling.note}"
        for ruling in item.rulings
        if ruling.note and (item.status == "refuted" or ruling.agrees is None)
    ]


def summary(confirmations: Sequence[Confirmation], strength: str) -> str:
    """Return `3 findings: 2 confirmed, 0 refuted, 1 could not run`, and what they were run in."""
    counts = Counter(item.status for item in confirmations)
    total = f"{len(confirmations)} finding{'' if len(confirmations) == 1 else 's'}"
    parts = ", ".join(f"{counts[status]} {status}" for status in ("confirmed", "refuted", "could not run"))
    kept = {"namespaces": " Sandbox: namespaces of the kernel.", "guard": " Sandbox: limits and audit hooks only."}
    return f"{total}: {parts}.{kept.get(strength, '')}"


def junit(confirmations: Sequence[Confirmation]) -> str:
    """Return JUnit XML: a refuted finding is a failure, one that could not run is skipped."""
    counts = Counter(item.status for item in confirmations)
    rows = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="devlint confirm" tests="{len(confirmations)}" failures="{counts["refuted"]}" '
        f'errors="0" skipped="{counts["could not run"]}">',
    ]
    for item in confirmations:
        name, filename = (quoteattr(_printable(part)) for part in (headline(item), item.finding.location.filename))
        row = item.finding.location.start.row
        rows.append(f'  <testcase classname={filename} name={name} file={filename} line="{row}">')
        told = escape(_printable(_block(item)))
        if item.status == "refuted":
            rows.append(f"    <failure message={quoteattr(_printable(item.reason))}>{told}</failure>")
        elif item.status == "could not run":
            rows.append(f"    <skipped message={quoteattr(_printable(item.reason))}/>")
        rows.append(f"    <system-out>{told}</system-out>")
        rows.append("  </testcase>")
    return "\n".join([*rows, "</testsuite>"]) + "\n"


def _printable(text: str) -> str:
    """The text without what XML can't hold."""
    return "".join(
        character if character in "\t\n\r" or " " <= character <= "\ud7ff" or "\ue000" <= character <= "\ufffd" else "?"
        for character in text
    )
