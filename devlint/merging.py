"""From events of three worlds to findings: what the rules say about one place is one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from devlint.analysis.events import Choice, Event, MixedDevices
from devlint.findings import SEVERITIES, Condition, Finding, Fix, Severity, TraceStep
from devlint.places import Places
from devlint.rules.base import Diagnosis, Mend, Rule, TextContext
from devlint.sources import Source
from devlint.sources.notebook import Notebook
from devlint.worlds import CPU, WORLD_NAMES

FORCED_CODE = "DEV102"
"""The rule that tells of what was put on a GPU whatever the program means, and of what that meets."""

Key = tuple[str, str, int, int]
"""Code, file, row and column of the root: what makes two diagnoses the same finding."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, the absolute path of its file, and its fix in program coordinates."""

    finding: Finding
    path: str
    mend: Mend | None = None


@dataclass(slots=True)
class Verdict:
    """What one rule says about one place, over all worlds."""

    rule: Rule
    diagnoses: list[Diagnosis] = field(default_factory=list)

    @property
    def first(self) -> Diagnosis:
        """The diagnosis that the finding is worded after: the first of those that raise, else the first."""
        return self.by_weight[0]

    @property
    def severity(self) -> Severity:
        """The rule's severity, unless all diagnoses have a milder one of their own."""
        own = {self._severity_of(diagnosis) for diagnosis in self.diagnoses}
        return next(severity for severity in SEVERITIES if severity in own)

    @property
    def by_weight(self) -> list[Diagnosis]:
        """The diagnoses, those of a crash before silent ones, grave ones before milder ones, in the order of the
        worlds."""
        return sorted(self.diagnoses, key=self._weight)

    def _severity_of(self, diagnosis: Diagnosis) -> Severity:
        event = diagnosis.event
        unseen = self.rule.unseen if event.unseen else None
        return diagnosis.severity or milder(event) or unseen or self.rule.severity

    def _weight(self, diagnosis: Diagnosis) -> tuple[bool, int]:
        return diagnosis.event.error is None, SEVERITIES.index(self._severity_of(diagnosis))


def milder(event: Event) -> Severity | None:
    """Return advice for what breaks only where somebody works on another GPU than the current one, if nobody in sight
    does: programs of several processes set their device, and then it is right."""
    return "advice" if isinstance(event, MixedDevices) and event.is_of_current_device else None


def wanted_events(rules: Iterable[Rule]) -> frozenset[type[Event]]:
    """Return the types of events that the rules subscribe to."""
    return frozenset(event_type for rule in rules for event_type, _ in rule.handlers)


def diagnose(
    events: Iterable[Event],
    rules: Sequence[Rule],
    places: Places,
    allowed: Callable[[str], Sequence[str]],
    failed: Callable[[Event, Rule, Exception], None],
) -> list[Verdict]:
    """Return what the rules say, merged over the worlds, in order of first appearance.

    `allowed` gives the worlds that count for a file. A rule's own `worlds` are the upper bound; advice is given in the
    others too, where nothing breaks. A rule that raises is told to `failed`; the others go on.
    """
    handlers: dict[type[Event], list[tuple[Rule, Callable[[Any, TextContext], Iterator[Diagnosis]]]]] = {}
    for rule in rules:
        for event_type, handler in rule.handlers:
            handlers.setdefault(event_type, []).append((rule, handler))
    verdicts: dict[Key, Verdict] = {}
    forces = any(rule.code == FORCED_CODE for rule in rules)
    for event in sorted(events, key=lambda event: WORLD_NAMES.index(event.world)):
        if forces and isinstance(event, MixedDevices) and event.forced is not None:
            if CPU.name in allowed(event.forced.path):
                event = replace(event, root=event.forced, cause="forced")
        for rule, handler in handlers.get(type(event), ()):
            if rule.severity != "advice" and event.world not in rule.worlds:
                continue
            try:
                diagnoses = list(handler(event, places))
            except Exception as error:
                failed(event, rule, error)
                continue
            for diagnosis in diagnoses:
                if event.world in allowed(diagnosis.site.path):
                    key = (rule.code, *diagnosis.site.key)
                    verdicts.setdefault(key, Verdict(rule)).diagnoses.append(diagnosis)
    return list(verdicts.values())


def finding(verdict: Verdict, places: Places) -> Finding:
    """Return the finding, without its fix.

    Raises:
        OSError: a file that it stands in can't be read any more.
    """
    rule, first = verdict.rule, verdict.first
    errors: dict[str, str | None] = {}
    for diagnosis in verdict.by_weight:
        errors.setdefault(diagnosis.event.world, diagnosis.event.error)
    errors = {world: errors[world] for world in WORLD_NAMES if world in errors and world in rule.worlds}
    location = places.location(first.site)
    shown = _shown_in(verdict, errors.values(), places)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=first.message,
        location=location,
        severity=verdict.severity if shown is None else "advice",
        worlds=tuple(errors),
        errors=errors,
        when=_conditions(verdict, places),
        trace=tuple(TraceStep(places.location(note.site), note.message) for note in first.trace),
        noqa_row=location.start.row,
        url=rule.url,
        help=first.help if shown is None else f"cell {shown} keeps this error among its outputs, perhaps to show it",
    )


def _shown_in(verdict: Verdict, errors: Iterable[str | None], places: Places) -> int | None:
    """The cell on the way to the crash whose stored outputs show this error: its author knows of it."""
    names = {error.partition(":")[0] for error in errors if error is not None}
    for site in (verdict.first.site, *(note.site for note in verdict.first.trace)):
        source = places.source(site.path)
        if not isinstance(source, Notebook):
            continue
        cell = places.location(site).cell
        if cell is not None and any(source.shows_error(cell, name) for name in names):
            return cell
    return None


def fix(mend: Mend, source: Source) -> Fix | None:
    """Return the fix as its author sees it; None where it can't be written into the file (masked text, two cells)."""
    try:
        edits = source.edits((item.start, item.end, item.content) for item in mend.replacements)
    except ValueError:
        return None
    return Fix(mend.applicability, mend.message, edits) if edits else None


def _conditions(verdict: Verdict, places: Places) -> tuple[Condition, ...]:
    """The choices that the finding rests on: asked on every path in the first world, reversed in no world."""
    world = verdict.first.event.world
    asked: dict[tuple[object, ...], set[bool]] = {}
    for diagnosis in verdict.diagnoses:
        for choice in diagnosis.event.when:
            asked.setdefault(_identity(choice), set()).add(choice.value)
    paths = [diagnosis.event.when for diagnosis in verdict.diagnoses if diagnosis.event.world == world]
    identities = [{_identity(choice) for choice in path} for path in paths]
    shown: dict[tuple[object, ...], Condition] = {}
    for choice in paths[0]:
        key = _identity(choice)
        if len(asked[key]) == 1 and all(key in path for path in identities):
            site = choice.site or verdict.first.site
            where = places.location(site)
            text = choice.condition or places.text(site)
            shown.setdefault(key, Condition(text, choice.value, where.filename, where.start.row))
    return tuple(shown.values())


def _identity(choice: Choice) -> tuple[object, ...]:
    return (choice.condition, choice.site.key if choice.site is not None else None)
