"""The same mistake told again: what one mend cures is one finding, where it is first met.

One mend cures what was read in one row of tensors that one move, or one creation, has put on the accelerator, what
meets one module that nobody ever moves, and all names that one branch alone binds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from devlint.analysis.events import Event, MixedDevices, NameUnbound, Site, ToHost

E = TypeVar("E", bound=Event)


def first_of_each(events: Iterable[Event]) -> list[Event]:
    """Leave out what says the same again; the first of each knows how many more there are."""
    kept = _first(events, ToHost, _row, lambda event, count: dataclasses.replace(event, again=count))
    kept = _first(kept, MixedDevices, _unmoved, lambda event, count: dataclasses.replace(event, further=count))
    return _first(kept, NameUnbound, _branch, lambda event, count: dataclasses.replace(event, further=count))


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


def _branch(event: NameUnbound) -> tuple[Any, ...] | None:
    """The branch that alone binds a name, and the file that reads it."""
    return None if event.guard is None else (event.guard.key, event.root.path)


def _conditions(event: Event) -> set[tuple[str, bool, Site | None]]:
    return {(choice.condition, choice.value, choice.site) for choice in event.when}
