"""What shows a silent fault in a run: one sentence a rule, and whether it says that the code is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devlint.confirm.claims import Claim, Row
from devlint.confirm.machines import Outcome
from devlint.semantics.devices import parse_device
from devlint.worlds import world_named

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Observation:
    """`wrong` is None where the run doesn't tell."""

    wrong: bool | None
    text: str


def observe(claim: Claim, outcome: Outcome) -> Observation | None:
    """Return what a run shows about a claim whose fault is silent; None where there is no way to see it."""
    observer = _OBSERVERS.get(claim.finding.code)
    return observer(claim, outcome) if observer is not None else None


def _records(claim: Claim, outcome: Outcome) -> Records:
    return outcome.records.get(2 * claim.number + 1, ())


def _dropped_move(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        left, moved = record["receiver"].get("device"), record["result"].get("device")
        if left and moved and left != moved:
            return Observation(True, f"after the statement the tensor is on {left}, its copy on {moved} is gone")
    return _unless_seen(_records(claim, outcome), "the tensor is where it was to go")


def _rebound(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        target = record["last"].get("device")
        held = {item.get("device") for item in record["held"]} - {None}
        if target and held and target not in held:
            return Observation(True, f"after the loop the container holds tensors on {', '.join(sorted(held))}")
    return _unless_seen(_records(claim, outcome), "the container holds what the loop moved")


def _moved_parameter(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        if record["receiver"].get("leaf") and not record["result"].get("leaf", True):
            return Observation(True, "the result is no leaf and no parameter: an optimizer refuses it")
    return _unless_seen(_records(claim, outcome), "the result is the parameter itself")


def _not_copied(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        if record["is_same"]:
            return Observation(True, "the call gives the weight itself, which goes on to change")
    return _unless_seen(_records(claim, outcome), "the call gives a copy")


def _type_moves(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        before, after = record["receiver"].get("device"), record["result"].get("device")
        if before and after and before != after:
            return Observation(True, f"the tensor goes from {before} to {after}")
    return _unless_seen(_records(claim, outcome), "the tensor stays where it is")


def _compared(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        sides = (record["left"], record["right"])
        texts = [side.get("text") or side.get("value") for side in sides]
        if not all(isinstance(text, str) for text in texts):
            continue
        if not any(side["type"] == "device" for side in sides) and None in map(parse_device, map(str, texts)):
            continue
        meant = _same_device(str(texts[0]), str(texts[1])) == (record["operator"] == "==")
        answer = record["answer"].get("value")
        if answer != meant:
            return Observation(True, f"{texts[0]} {record['operator']} {texts[1]} is {answer}")
    return _unless_seen(_records(claim, outcome), "the comparison answers as it is meant")


def _same_device(one: str, other: str) -> bool:
    """Whether two names mean the same device; one without an index means the first of its kind."""
    kinds = [text.partition(":") for text in (one, other)]
    return kinds[0][0] == kinds[1][0] and (kinds[0][2] or "0") == (kinds[1][2] or "0")


def _not_called(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        if record["value"].get("callable"):
            return Observation(outcome.world == "cpu", "the condition is the function itself, which is true")
    return _unless_seen(_records(claim, outcome), "the condition is the answer")


def _minus_one(claim: Claim, outcome: Outcome) -> Observation:
    for record in _records(claim, outcome):
        if record["value"].get("value") == -1:
            return Observation(True, "get_device() answers -1")
    return _unless_seen(_records(claim, outcome), "get_device() answers with a device's number")


def _unsynchronised(claim: Claim, outcome: Outcome) -> Observation:
    mine = claim.rows
    if world_named(outcome.world).has_cuda and not outcome.counted:
        return _UNNOTICED
    for kind, where, cause in outcome.silent:
        if kind == "unsynchronised-read" and (_row(where) in mine or _row(cause) in mine):
            return Observation(
                True, f"line {where[1]} reads memory that the copy of line {cause[1]} may not have filled"
            )
    return Observation(False, "nothing is read before it was waited for") if _ended_well(claim, outcome) else _UNSEEN


def _visible_devices(claim: Claim, outcome: Outcome) -> Observation:
    """The variable has no effect: more devices are there than it leaves, or it is not set at all."""
    there = world_named(outcome.world).device_count
    count, text = outcome.visible.get("count"), outcome.visible.get("CUDA_VISIBLE_DEVICES")
    if count is None or not _ended_well(claim, outcome):
        return _UNSEEN
    used = outcome.visible.get("used") or []
    shown = f"; memory was used on {', '.join(f'cuda:{at}' for at in used)}" if used else ""
    wanted = None if text is None else len([item for item in text.split(",") if item.strip() not in ("", "-1")])
    if there > 1 and count == there and (wanted is None or wanted != count or text != _all(there)):
        state = "is not set" if text is None else f"is {text!r}"
        return Observation(True, f"CUDA_VISIBLE_DEVICES {state}, and the program has all {count} GPUs{shown}")
    return Observation(False, f"the program has {count} GPUs{shown}")


def _all(count: int) -> str:
    return ",".join(str(number) for number in range(count))


def _transfers(claim: Claim, outcome: Outcome) -> Observation:
    return _counted(claim, outcome, 0, "transfers between host and device", 1)


def _transfers_in_loop(claim: Claim, outcome: Outcome) -> Observation:
    return _counted(claim, outcome, 0, "transfers between host and device", 2)


def _waits_in_loop(claim: Claim, outcome: Outcome) -> Observation:
    return _counted(claim, outcome, 1, "waits for the device", 2)


def _counted(claim: Claim, outcome: Outcome, which: int, what: str, least: int) -> Observation:
    if not world_named(outcome.world).has_cuda:
        return Observation(None, "")
    if not outcome.counted:
        return _UNNOTICED
    count = sum(counts[which] for row, counts in outcome.lines.items() if row in claim.rows)
    if count >= least:
        return Observation(True, f"{count} {what}")
    return Observation(False, f"{count} {what}") if _ended_well(claim, outcome) else _UNSEEN


def _row(line: tuple[str, int]) -> Row:
    return line[0], line[1]


def _ended_well(claim: Claim, outcome: Outcome) -> bool:
    return outcome.ended == "ran" and bool(outcome.reached.get(2 * claim.number))


_UNNOTICED = Observation(None, "only simulated CUDA notices it")
_UNSEEN = Observation(None, "the line is not reached")


def _unless_seen(records: Records, text: str) -> Observation:
    return Observation(False, text) if records else _UNSEEN


_OBSERVERS: dict[str, Callable[[Claim, Outcome], Observation]] = {
    "DEV104": _not_called,
    "DEV201": _dropped_move,
    "DEV202": _rebound,
    "DEV203": _moved_parameter,
    "DEV405": _unsynchronised,
    "DEV506": _not_copied,
    "DEV601": _visible_devices,
    "DEV602": _visible_devices,
    "DEV603": _visible_devices,
    "DEV701": _compared,
    "DEV702": _compared,
    "DEV703": _minus_one,
    "DEV801": _transfers,
    "DEV802": _transfers_in_loop,
    "DEV803": _waits_in_loop,
    "DEV902": _type_moves,
}
