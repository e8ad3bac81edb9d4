"""Prediction against observation: what a run says about a claim, in one world and over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from devlint.confirm.claims import STYLE, Claim, Row
from devlint.confirm.machines import Machine, Outcome
from devlint.confirm.observations import observe
from devlint.findings import Finding
from devlint.semantics.errors import matches

Status = Literal["confirmed", "refuted", "could not run"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one world says about a claim.

    `observed` is one of `runs`, `breaks`, `wrong` (silently), `right` (where it should be wrong), `unknown`.
    `agrees` is None where nothing can be said; `note` says what happened, or why nothing can be said. `masked`: the
    run ended earlier, by what another finding predicts.
    """

    world: str
    predicted: str
    observed: str
    agrees: bool | None
    note: str = ""
    row: int | None = None
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What became of a finding. `how` says what was run: `whole program`, `slice`, `slice with made-up inputs`."""

    finding: Finding
    status: Status
    rulings: tuple[Ruling, ...]
    machines: Mapping[str, Machine]
    how: str = ""
    reason: str = ""
    program: str = ""
    filename: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the confirmation for JSON; `docs/confirm.md` describes the keys."""
        return {
            "finding": self.finding.as_json(),
            "status": self.status,
            "reason": self.reason or None,
            "how": self.how or None,
            "worlds": {
                ruling.world: {
                    "machine": self.machines[ruling.world].kind,
                    "torch": self.machines[ruling.world].torch,
                    "predicted": ruling.predicted,
                    "observed": ruling.observed,
                    "agrees": ruling.agrees,
                    "note": ruling.note or None,
                }
                for ruling in self.rulings
            },
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a run beside its outcome: the claims that may explain where it ended, and a map of rows for a
    program text that is not the linted one (a row that is not in it is as it was)."""

    others: Sequence[Claim] = ()
    rows: Mapping[Row, Row] = field(default_factory=dict)
    made_up: bool = False


def rule(claim: Claim, outcome: Outcome, evidence: Evidence) -> Ruling:
    """Say what a run in one world means for a claim."""
    world, predicted = outcome.world, claim.predicted(outcome.world)
    frames = [evidence.rows.get(frame, frame) for frame in outcome.frames]
    told = [text for text in (outcome.error, *outcome.errors) if text]

    def ruling(observed: str, agrees: bool | None, note: str = "", masked: bool = False) -> Ruling:
        return Ruling(world, predicted, observed, agrees, note, frames[-1][1] if frames else None, masked)

    if outcome.ended == "died":
        return ruling("unknown", None, outcome.error or "it ended without a word")
    said = observe(claim, outcome) if predicted == "silent" or not claim.finding.error else None
    if predicted == "silent":
        if said is not None and said.wrong is False and claim.is_advice:
            return ruling("right", None, said.text)
        if said is not None and said.wrong is not None:
            return ruling("wrong" if said.wrong else "right", said.wrong, said.text)
        return _silent_unknown(claim, outcome, evidence, said.text if said is not None else "", ruling)
    if predicted == "breaks":
        return _rule_break(claim, outcome, evidence, frames, told, ruling)
    if said is not None and said.wrong:
        return ruling("wrong", False, said.text)
    if outcome.ended == "ran":
        return ruling("runs", True)
    if any(matches(error, text) for error in _errors(claim) for text in told) and _at(frames, claim.crash_rows):
        if outcome.driver and outcome.world == "cpu":
            return ruling("unknown", None, "in this world torch is a CPU build, and not one for GPUs", masked=True)
        return ruling("breaks", False, _first_line(told[0]))
    other = explained(outcome, frames, told, evidence.others, claim)
    if other is not None:
        return ruling("unknown", None, f"ends earlier, as {other.finding.code} predicts", masked=True)
    if outcome.reached.get(2 * claim.number) and not _at(frames[-1:], claim.crash_rows):
        return ruling("runs", True, f"passes it, and ends later: {_first_line(told[0])}")
    return ruling("unknown", None, _first_line(told[0]) if told else "")


def _rule_break(
    claim: Claim, outcome: Outcome, evidence: Evidence, frames: list[Row], told: list[str], ruling: Any
) -> Ruling:
    expected = claim.finding.errors[outcome.world] or ""
    alike = any(same_failure(expected, text) for text in told)
    here = _at(frames[-1:], claim.rows) or _at(frames, claim.crash_rows)
    said = observe(claim, outcome)
    result: Ruling
    rival = _rival(claim, outcome, frames, evidence.others) if alike and here else None
    if rival is not None:
        result = ruling("unknown", None, f"ends earlier, as {rival.finding.code} predicts", masked=True)
    elif alike and here:
        result = ruling("breaks", True, _first_line(told[0]))
    elif alike and said is not None and said.wrong:
        result = ruling("breaks", True, f"{_first_line(told[0])}; {said.text}")
    elif outcome.ended == "ran":
        if outcome.reached.get(2 * claim.number, 0):
            result = ruling("runs", False, "it runs over the line where it should break")
        else:
            result = ruling("unknown", None, "the line is not reached")
    elif (other := explained(outcome, frames, told, evidence.others, claim)) is not None:
        result = ruling("unknown", None, f"ends earlier, as {other.finding.code} predicts", masked=True)
    elif alike:
        result = ruling("unknown", None, "breaks as predicted, but elsewhere")
    elif here and not evidence.made_up:
        result = ruling("unknown", None, f"breaks there, but otherwise: {_first_line(told[0])}")
    else:
        result = ruling("unknown", None, _first_line(told[0]) if told else "")
    return result


def _rival(claim: Claim, outcome: Outcome, frames: Sequence[Row], others: Iterable[Claim]) -> Claim | None:
    """Return the claim about another expression of the same row that the error's column speaks for, if there is one."""
    if outcome.column is None or not frames:
        return None
    at = (*frames[-1], outcome.column)
    if at == claim.crash.start:
        return None
    return next(
        (other for other in others if other is not claim and at == other.crash.start != claim.crash.start), None
    )


def _silent_unknown(claim: Claim, outcome: Outcome, evidence: Evidence, why: str, ruling: Any) -> Ruling:
    told = [text for text in (outcome.error, *outcome.errors) if text]
    frames = [evidence.rows.get(frame, frame) for frame in outcome.frames]
    result: Ruling
    if outcome.ended != "ran":
        other = explained(outcome, frames, told, evidence.others, claim)
        if other is not None:
            result = ruling("unknown", None, f"ends earlier, as {other.finding.code} predicts", masked=True)
        else:
            result = ruling("unknown", None, _first_line(told[0]) if told else "")
    elif not outcome.reached.get(2 * claim.number, 0):
        result = ruling("unknown", None, "the line is not reached")
    else:
        result = ruling("unknown", None, why or "nothing there can be observed in a run")
    return result


def explained(
    outcome: Outcome, frames: Sequence[Row], told: Sequence[str], others: Iterable[Claim], but: Claim
) -> Claim | None:
    """Return the other claim that predicts where and how a run ended."""
    for other in others:
        error = other.finding.errors.get(outcome.world)
        if other is but or not error:
            continue
        if any(same_failure(error, text) for text in told) and _at(frames[-1:], other.rows):
            return other
    return None


def same_failure(expected: str, told: str) -> bool:
    """Whether what was raised is the failure that was predicted; a subclass may be named differently."""
    return matches(expected, told) or matches(expected, told.replace("AcceleratorError:", "RuntimeError:", 1))


def _errors(claim: Claim) -> list[str]:
    return [error for error in claim.finding.errors.values() if error]


def _at(frames: Sequence[Row], rows: frozenset[Row]) -> bool:
    return any(frame in rows for frame in frames)


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 160 else line[:157] + "..."


def conclude(claim: Claim, rulings: Sequence[Ruling], played: Mapping[str, Machine]) -> tuple[Status, str]:
    """Return the verdict over all worlds, and the reason where there is none.

    Confirmed: wrong in each world that was predicted and played, at least one, and against it in none. A world that no
    machine plays, and one in which something else ends the program earlier, says nothing.
    """
    if claim.is_advice:
        return _conclude_advice(rulings)
    if claim.finding.code in STYLE and not claim.finding.worlds:
        return "could not run", "a matter of style: there is nothing to see in a run"
    against = [ruling for ruling in rulings if ruling.agrees is False]
    if against:
        return "refuted", f"{against[0].world}: {against[0].note or against[0].observed}"
    flagged = [ruling for ruling in rulings if ruling.predicted != "runs" and played[ruling.world].kind is not None]
    missing = [ruling for ruling in flagged if ruling.agrees is None]
    if missing:
        return "could not run", f"{missing[0].world}: {missing[0].note or 'nothing was observed'}"
    if not flagged:
        unplayed = next((machine.reason for machine in played.values() if machine.kind is None), "")
        return "could not run", unplayed or "it speaks of no world that was asked for"
    unknown = [ruling for ruling in rulings if ruling.agrees is None and played[ruling.world].kind is not None]
    loose = [ruling for ruling in unknown if not ruling.masked]
    if loose:
        return "could not run", f"{loose[0].world}: {loose[0].note or 'nothing was observed'}"
    return "confirmed", ""


def _conclude_advice(rulings: Sequence[Ruling]) -> tuple[Status, str]:
    """What costs time is true if it does so on some machine, and false if the line runs without it on one and on none
    with it."""
    if any(ruling.agrees for ruling in rulings if ruling.predicted == "silent"):
        return "confirmed", ""
    without = [ruling for ruling in rulings if ruling.observed == "right"]
    if without:
        return "refuted", f"{without[0].world}: {without[0].note}"
    return "could not run", next(
        (ruling.note for ruling in rulings if ruling.note), "no machine with a GPU was asked for"
    )
