"""Wording that several rules share: how an operand is described, and how its marks become a trace.

Rows are named in messages for Python files only: in notebooks and documents a row of the program text is not a row that
the author sees, and the trace, which is mapped back, shows the place there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from devlint.analysis.events import Event, Mark, MarkKind, MixedDevices, Operand, Site
from devlint.rules.base import Note

LONGEST = 60
SHOWN_MARKS = 4

ORIGINS: dict[MarkKind, str] = {
    "factory": "created{at} without `device=`",
    "placed": "created{at}",
    "input": "an input of `forward`",
    "loader": "yielded by the DataLoader{at}",
    "parameter": "of the module built{at}",
    "moved": "moved{at}",
    "module-moved": "moved with its module{at}",
    "dropped": "its moved copy is thrown away{at}",
    "rebound": "only the loop variable is moved{at}",
    "left-behind": "a plain attribute assigned{at}",
    "unregistered": "in a plain container assigned{at}",
    "rebuilt": "rebuilt{at}",
    "owner-moved": "of a module that was moved{at}",
    "attached": "attached{at}",
    "layer-in-forward": "of a layer built{at} inside `forward`",
    "loss-weight": "a weight of the loss built{at}",
    "metric-state": "state of the metric built{at}",
    "cached": "cached{at}",
    "type-cast": "cast{at} to a CPU tensor type",
    "async-copy": "copied{at} with `non_blocking=True`",
    "host": "from host memory{at}",
    "loaded": "loaded{at}",
    "optimizer-state": "state of the optimizer{at}",
    "gathered": "gathered{at} from the replicas",
    "traced": "frozen by the trace{at}",
}
"""How a value came to where it is, in brackets behind its device. `{at}` becomes ` at line 12`, or nothing."""

STEPS: dict[MarkKind, str] = {
    "factory": "created{on} here, without `device=`",
    "placed": "created{on} here",
    "input": "an input of `forward`, taken to be{on}",
    "loader": "the DataLoader yields it{on}",
    "parameter": "the module is built{on} here",
    "moved": "moved{to} here",
    "module-moved": "moved{to} with its module here",
    "dropped": "the moved copy is thrown away here",
    "rebound": "the moved copy is bound to the loop variable only",
    "left-behind": "assigned as a plain attribute here: a move of the module leaves it behind",
    "unregistered": "put into a plain container here: a move of the module leaves it behind",
    "rebuilt": "a fresh module replaces the moved one here",
    "owner-moved": "the module that gets it is moved{to} here, before",
    "attached": "attached here: the move is over",
    "layer-in-forward": "the layer is built{on} here, inside `forward`",
    "loss-weight": "the loss keeps its weight{on}",
    "metric-state": "the metric keeps its state{on}",
    "cached": "written to the cache{on} here",
    "type-cast": "the cast moves it to cpu here",
    "async-copy": "copied to the host here, without waiting",
    "host": "comes from host memory here",
    "loaded": "loaded{on} here",
    "optimizer-state": "the optimizer makes its state{on} here",
    "gathered": "gathered{on} from the replicas here",
    "traced": "the trace keeps the device of its example{on} here",
}
"""A mark as a step of the trace. `{on}` becomes ` on cpu`, `{to}` ` to cuda:0`, or nothing where it is not known."""


def quoted(text: str) -> str:
    """Return program text in backticks, on one line, shortened in the middle when it is long.

    What is said of a text that stands in backticks (`` an item of `xs` ``) stays as it is.
    """
    before, mark, inner = text.partition("`")
    if mark and before:
        return before + quoted(inner.rstrip("`"))
    line = " ".join(text.split())
    if len(line) > LONGEST:
        half = (LONGEST - 3) // 2
        line = f"{line[:half]}...{line[-half:]}"
    return f"`{line}`"


def at(site: Site, near: Site) -> str:
    """Return ` at line 12` (` of model.py` where that is another file than that of `near`), or nothing."""
    path = PurePath(site.path)
    if path.suffix not in {".py", ".pyi"}:
        return ""
    return f" at line {site.row}" + (f" of {path.name}" if site.path != near.path else "")


def origin(operand: Operand, near: Site) -> str:
    """Return how the operand came to its device (`created at line 12 without `device=``); nothing if not known.

    Where the newest mark stands at `near`, the finding itself says it, and the mark before it speaks, if that is of
    the same device.
    """
    for number, mark in enumerate(reversed(operand.marks)):
        if number and mark.device not in (None, operand.device):
            return ORIGINS[operand.marks[-number].kind].format(at=" here")
        if mark.site.key != near.key:
            where, how = at(mark.site, near), ORIGINS[mark.kind]
            return how.format(at=where) if where or " " in how else ""
    return ""


def described(operand: Operand, near: Site) -> str:
    """Return `` `pos` is on cpu (created at line 12 without `device=`)``."""
    how = origin(operand, near)
    return f"{quoted(operand.text)} is on {operand.device}" + (f" ({how})" if how else "")


def partner(event: MixedDevices) -> Operand:
    """Return the operand that the culprit clashes with: the first on another device."""
    culprit = event.culprit
    for operand in event.operands:
        if operand.device != culprit.device:
            return operand
    return culprit


def meeting(event: MixedDevices) -> str:
    """Return `` meets `x` on cuda:0 at line 20``, the row only where the finding doesn't stand there itself."""
    other = partner(event)
    where = at(event.site, event.root) if event.site.row != event.root.row or event.site.path != event.root.path else ""
    return f"meets {quoted(other.text)} on {other.device}{where}"


def clash(event: MixedDevices) -> str:
    """Say where two tensors are that meet, and that a trace put one there."""
    near = event.root
    culprit = described(event.culprit, near)
    if newest(event.culprit) == "traced":
        return f"The trace keeps the device of its example: {culprit}, and {meeting(event)}"
    return f"{culprit}, {described(partner(event), near)}"


def step(mark: Mark) -> Note:
    """Return the mark as a step of the trace."""
    on = f" on {mark.device}" if mark.device else ""
    to = f" to {mark.device}" if mark.device else ""
    return Note(mark.site, STEPS[mark.kind].format(on=on, to=to))


def steps(operand: Operand) -> list[Note]:
    """Return the way of an operand as steps, from old to new; of a long way the newest ones."""
    return [step(mark) for mark in operand.marks[-SHOWN_MARKS:]]


def called(event: Event) -> list[Note]:
    """Return the calls that led to the event, outermost first, as steps."""
    return [Note(site, "called here") for site in event.calls[-SHOWN_MARKS:] if site.key != event.site.key]


def without_repeats(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes with later repetitions of one place and message left out."""
    seen: dict[tuple[tuple[str, int, int], str], Note] = {}
    for note in notes:
        seen.setdefault((note.site.key, note.message), note)
    return tuple(seen.values())


def clash_trace(event: MixedDevices) -> tuple[Note, ...]:
    """Return the trace of two tensors that meet: the culprit's way, the other's newest steps, the crash."""
    culprit, other = event.culprit, partner(event)
    crash = f"{quoted(culprit.text)} ({culprit.device}) meets {quoted(other.text)} ({other.device}) here"
    if event.operation:
        crash += f", in {quoted(event.operation)}"
    return without_repeats([*steps(culprit), *steps(other)[-2:], *called(event), Note(event.site, crash)])


def operand_trace(event: Event, operand: Operand | None, crash: str) -> tuple[Note, ...]:
    """Return the trace of one tensor to the place where it is not accepted."""
    way = steps(operand) if operand is not None else []
    return without_repeats([*way, *called(event), Note(event.site, crash)])


def newest(operand: Operand | None) -> MarkKind | None:
    """Return the kind of the operand's newest mark: what was last done to it."""
    return operand.marks[-1].kind if operand is not None and operand.marks else None


def trail(event: Event, near: Site, notes: Iterable[Note] = (), crash: str = "breaks here") -> tuple[Note, ...]:
    """Return the trace of a finding that stands at `near`: `notes`, the calls, and the crash where it is elsewhere."""
    end = [] if event.site.key == near.key else [Note(event.site, crash)]
    return without_repeats([*notes, *called(event), *end])
