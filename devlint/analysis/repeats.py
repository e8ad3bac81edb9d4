"""The same mistake told again: what one mend cures is one finding, where it is first met.

One mend cures all clashes with what one place has put where it is, what was read in one row of tensors that one move,
or one creation, has put on the accelerator, what meets one module that nobody ever moves, and all names that one branch
alone binds. What a function (or a cell, or the rest of a file) puts on one and the same GPU beyond the first is one
decision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from devlint.analysis.events import DeviceUnavailable, Event, MixedDevices, NameUnbound, Site, ToHost

if TYPE_CHECKING:
    from devlint.analysis.project import Project

E = TypeVar("E", bound=Event)


def first_of_each(events: Iterable[Event], project: Project) -> list[Event]:
    """Leave out what says the same again; the first of each knows how many more there are."""

    def numbered(event: DeviceUnavailable) -> tuple[Any, ...] | None:
        return _numbered(event, project)

    kept = _first(
        without_echoes(list(events)), ToHost, _row, lambda event, count: dataclasses.replace(event, again=count)
    )
    kept = _first(kept, MixedDevices, _unmoved, lambda event, count: dataclasses.replace(event, further=count))
    kept = _first(kept, DeviceUnavailable, numbered, lambda event, count: dataclasses.replace(event, further=count))
    return _first(kept, NameUnbound, _branch, lambda event, count: dataclasses.replace(event, further=count))


def without_echoes(events: list[Event]) -> list[Event]:
    """Leave out a clash in which a tensor stands where another clash has blamed what put it there, or what was left on
    the CPU was told where a module was given it; and of what one place puts on a GPU whatever the user says, or
    one row is given of what one loader yields, all but the first."""
    clashes = [event for event in events if isinstance(event, MixedDevices)]
    blamed = {(event.world, event.root.key, event.culprit.device) for event in clashes if _blames_a_mark(event)}
    given = {way for event in clashes if _is_given(event) for way in _left(event)}
    put: dict[tuple[Any, ...], Site] = {}
    batches: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    kept: list[Event] = []
    for event in events:
        if isinstance(event, MixedDevices):
            told = event.root, event.cause
            if any(batches.setdefault(batch, told) != told for batch in _batches(event)):
                continue
        if isinstance(event, MixedDevices) and not _blames_a_mark(event) and all(o.marks for o in event.operands):
            newest = [(event.world, operand.marks[-1].site.key, operand.device) for operand in event.operands]
            if any(place in blamed for place in newest):
                continue
            if event.root == event.site and not given.isdisjoint(_left(event)):
                continue
            on_gpu = [place for place in newest if event.declined and place[-1] != "cpu"]
            if any(put.setdefault(place, event.root) != event.root for place in on_gpu):
                continue
        kept.append(event)
    return kept


def _blames_a_mark(event: MixedDevices) -> bool:
    """Whether its root is a place that has put the tensor that stands wrong where it is."""
    return event.root != event.site and any(mark.site.key == event.root.key for mark in event.culprit.marks)


def _is_given(event: MixedDevices) -> bool:
    """Whether a module was given what stands wrong, by a call in this file."""
    return event.cause == "module-input" and event.root != event.site and event.culprit.device == "cpu"


def _left(event: MixedDevices) -> Iterator[tuple[Any, ...]]:
    """What was left on the CPU, by how it came there, and the file that is to be mended. That it was made in one place
    is not enough: many are made in one."""
    for operand in event.operands:
        if operand.device == "cpu" and len(operand.marks) > 1:
            yield event.world, event.root.path, *(mark.site.key for mark in operand.marks)


def _batches(event: MixedDevices) -> Iterator[tuple[Any, ...]]:
    """The loaders of what is still on the CPU, as they yield it, and the row that is to be mended."""
    for operand in event.operands:
        if operand.device == "cpu" and operand.marks and operand.marks[-1].kind == "loader":
            yield event.world, event.root.path, event.root.row, operand.marks[-1].site.key


def _first(
    events: Iterable[Event], kind: type[E], mistake: Callable[[E], tuple[Any, ...] | None], count: Callable[[E, int], E]
) -> list[Event]:
    """Of the events of a kind that have one mistake in common those that an earlier one does not foretell: what is read
    only where that is not is told apart. That one knows at how many more places."""
    kept: list[Event] = []
    leaders: dict[tuple[Any, ...], list[tuple[int, E, set[tuple[str, int, int]]]]] = {}
    for event in events:
        cause = mistake(event) if isinstance(event, kind) else None
        if cause is None or not isinstance(event, kind):
            kept.append(event)
            continue
        group = leaders.setdefault((event.world, *cause), [])
        conditions = _conditions(event)
        for _, leader, others in group:
            if leader.root != event.root and (kind is MixedDevices or _conditions(leader) <= conditions):
                others.add(event.root.key)
                break
        else:
            group.append((len(kept), event, set()))
            kept.append(event)
    for group in leaders.values():
        for position, event, others in group:
            if others:
                kept[position] = count(event, len(others))
    return kept


def _row(event: ToHost) -> tuple[Any, ...] | None:
    """The row in which the host reads, and what put there what it reads."""
    marks = () if event.operand is None else event.operand.marks
    if not marks or event.root != event.site:
        return None
    return event.site.path, event.site.row, marks[-1].site.key


def _unmoved(event: MixedDevices) -> tuple[Any, ...] | None:
    """Where the module is built that nobody moves."""
    marks = event.culprit.marks
    built = event.unmoved or (marks[-1].site if marks and marks[-1].kind == "parameter" else None)
    if built is None or event.cause != "module-input" or event.culprit.device != "cpu":
        return None
    return built.key, event.root.path


def _numbered(event: DeviceUnavailable, project: Project) -> tuple[Any, ...] | None:
    """The GPU beyond the first that is asked for, the function (in a notebook or document the cell, too) that does, and
    what makes it less than the same elsewhere."""
    if not event.index:
        return None
    source = project.source(event.root.path)
    cell = 0 if source is None else source.segment(event.root.row)
    less = (event.is_option, event.unasked, event.spread, event.evidence, event.visible, event.is_visible_by_option)
    return event.root.path, cell, event.site.path, event.within, event.device, event.hidden, event.guarded, *less


def _branch(event: NameUnbound) -> tuple[Any, ...] | None:
    """The branch that alone binds a name, and the file that reads it."""
    return None if event.guard is None else (event.guard.key, event.root.path)


def _conditions(event: Event) -> set[tuple[str, bool, Site | None]]:
    return {(choice.condition, choice.value, choice.site) for choice in event.when}
