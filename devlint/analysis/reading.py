"""What the events of all runs come to: evidence weighed, echoes dropped, names sorted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from devlint.analysis.events import (
    DeviceNamed,
    DeviceUnavailable,
    Event,
    GeneratorDevice,
    MixedDevices,
    ModuleHasNoDevice,
    NameUnbound,
    Operand,
    ParallelDevice,
    Site,
    ToHost,
    VisibleDevices,
    WrapperMissing,
)
from devlint.analysis.flow.option_names import OF_GPUS
from devlint.analysis.programs.neighbours import gives_networks_device
from devlint.analysis.repeats import first_of_each
from devlint.sources.reading import is_document
from devlint.syntax import ir
from devlint.syntax.walk import assigned_attributes, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.project import Project

_UNDECIDED = ("mixed", "module-input")
"""Clashes of which neither tensor's place is known to be the mistake."""

_CHECKED = (MixedDevices, GeneratorDevice)
"""What a check of the program's own may tell."""


def settle(events: Iterable[Event], worlds: Sequence[str], project: Project) -> list[Event]:
    """Drop names that are unbound in all worlds, unless that is about a device, and checks that fail without a GPU,
    too; count what is said again."""
    found = _counted(events)
    at_import = {(e.world, e.site.key) for e in found if isinstance(e, DeviceUnavailable) and e.at_import}
    refused = {e.site.key for e in found if isinstance(e, _CHECKED) and e.checked and e.world == "cpu"}
    unbound = _Unbound(found, worlds, project)
    clashes = _Clashes(found, project)
    kept: list[Event] = []
    for event in _first_reads(found):
        if isinstance(event, _CHECKED) and event.checked and event.site.key in refused:
            continue
        if isinstance(event, MixedDevices):
            kept += clashes.read(event)
        elif isinstance(event, ParallelDevice):
            kept += clashes.read_parallel(event)
        elif isinstance(event, NameUnbound):
            kept += [event] * unbound.is_told(event)
        elif isinstance(event, DeviceUnavailable):
            is_told = (event.world, event.site.key) in at_import  # then it fails when the file is imported
            kept += [event] * (event.at_import or not is_told)
        elif not _is_void(event, project):
            kept.append(event)
    return first_of_each(_with_clashes(kept), project)


class _Clashes:
    """Operands on two devices: which of the clashes are told, and by what else the others are."""

    def __init__(self, found: Iterable[Event], project: Project) -> None:
        inputs = [event for event in found if isinstance(event, MixedDevices) and _is_input(event)]
        self.project = project
        self.forced = _forced(found)
        self.given = {key for event in inputs for key in _left_in_row(event)}
        self.told: dict[tuple[Any, ...], Site] = {}

    def read(self, event: MixedDevices) -> Iterator[MixedDevices]:
        """Yield the clash as it is told, if it is."""
        use = next(filter(None, (_put(operand, self.forced) for operand in event.operands)), None)
        if use is not None and event.declined:
            return  # that it is put there whatever the user says is told for the world without a GPU
        if use is not None and _is_one_mistake(event, use):
            event = dataclasses.replace(event, forced=use.root)
        if self._is_told(_clash(event), event):
            return
        if _is_told_where_it_met(event):
            if _is_echo(event, self.told) or not (_is_input(event) or self.given.isdisjoint(_left_in_row(event))):
                return
        left = _left_behind(event)
        if left is not None and self._is_told(left, event):
            return
        names = self.project.no_tensors.get(event.root.key)
        yield dataclasses.replace(event, no_tensors=frozenset(names)) if names else event

    def read_parallel(self, event: ParallelDevice) -> Iterator[ParallelDevice]:
        """Yield a wrapped module that is elsewhere, once however often it is called."""
        made = (event.world, *(site and site.key for site in event.made))
        if not event.made or not self._is_told(made, event):
            yield event

    def _is_told(self, clash: tuple[Any, ...], event: Event) -> bool:
        """Whether it was told at another place; if not, it is at this one."""
        return self.told.setdefault(clash, event.root) != event.root


class _Unbound:
    """Names that are not bound: in which worlds each of them is not."""

    def __init__(self, found: Iterable[Event], worlds: Sequence[str], project: Project) -> None:
        self.worlds = worlds
        self.project = project
        self.where: dict[tuple[str, int, int], set[str]] = {}
        for event in found:
            if isinstance(event, NameUnbound) and not event.when:
                self.where.setdefault(event.root.key, set()).add(event.world)

    def is_told(self, event: NameUnbound) -> bool:
        """Whether it is the machine that leaves the name unbound, or a device that it is about."""
        where = self.where.get(event.root.key, set())
        everywhere = len(where) == len(self.worlds)
        if everywhere and not (event.device_position or event.bound_later):
            return False
        if not everywhere and event.bound_later and event.guard is None:
            return False
        if event.when:
            return False  # the choice leaves it unbound, not the machine
        if "cpu" in where or event.guard is None:
            return True
        # Else whether it is bound without CUDA nobody knows: that run may have been over before.
        return _names_gpus(self.project.text_at(event.guard))


def _is_void(event: Event, project: Project) -> bool:
    """Whether something else in the project takes what is told of a place away."""
    if isinstance(event, ModuleHasNoDevice):
        return event.by_protocol and (_has_heir(event, project) or gives_networks_device(project, event.site.path))
    if isinstance(event, WrapperMissing):
        return not _is_wrapped_elsewhere(event, project)
    return isinstance(event, VisibleDevices) and event.first_cuda is not None and _other_fence(event, project)


def _forced(events: Iterable[Event]) -> dict[tuple[str, int, int], DeviceUnavailable]:
    """Where a GPU is used against what the program means, and what tells of that for the world without one."""
    uses = [event for event in events if isinstance(event, DeviceUnavailable) and event.world == "cpu"]
    told = [use for use in uses if use.evidence and not (use.guarded or use.index or is_document(use.site.path))]
    return {key: use for use in reversed(told) for key in (use.site.key, *use.covered)}


def _is_one_mistake(event: MixedDevices, use: DeviceUnavailable) -> bool:
    """Whether a clash is the same mistake as the use of a GPU that nobody was to use: no other place is to blame."""
    by_design = use.at_import or use.kind == "query"
    return event.cause in _UNDECIDED and event.unmoved is None and not by_design


def _with_clashes(events: list[Event]) -> list[Event]:
    """Give the use of a GPU that nobody was to use what meets for it in the worlds that have one."""
    met: dict[tuple[str, int, int], MixedDevices] = {}
    for event in events:
        if isinstance(event, MixedDevices) and event.forced is not None:
            met.setdefault(event.forced.key, event)
    return [
        dataclasses.replace(event, clash=met[event.root.key])
        if isinstance(event, DeviceUnavailable) and event.root.key in met
        else event
        for event in events
    ]


def _put(operand: Operand, places: Mapping[tuple[str, int, int], DeviceUnavailable]) -> DeviceUnavailable | None:
    """What tells of the place where a tensor was put on the GPU that it is on, whatever has kept it since."""
    if operand.device == "cpu":
        return None
    newest = next((mark for mark in reversed(operand.marks) if mark.kind != "left-behind"), None)
    return None if newest is None else places.get(newest.site.key)


def _names_gpus(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in OF_GPUS)


def _has_heir(event: ModuleHasNoDevice, project: Project) -> bool:
    """Whether a class of another file, which imports this one, derives from one of this name and has a device."""
    return any(
        _gives_device(heir) and event.site.path in project.imported(path)
        for path, module in project.loaded()
        if path != event.site.path
        for heir in walk(module.body)
        if isinstance(heir, ir.Class) and event.class_name in map(last_name, heir.bases)
    )


def _gives_device(heir: ir.Class) -> bool:
    properties = (part.name for part in heir.body if isinstance(part, ir.Function))
    return "device" in properties or "device" in set(assigned_attributes(heir.body))


def _is_wrapped_elsewhere(event: WrapperMissing, project: Project) -> bool:
    """Whether a module never has a wrapper in this world, and in another has one on the same way, which no condition of
    that way gave it: `if args.parallel:` asks there for what `if args.parallel and n > 1:` gave."""
    found = project.wrapped.get(event.site.key, set())
    return all(one.world != event.world for one in found) and any(
        one.when == event.given and one.since is not None and one.since.isdisjoint(event.given) for one in found
    )


def _clash(event: MixedDevices) -> tuple[Any, ...]:
    """What makes two clashes one, though other calls led there: the same tensors met at the same place."""
    known = all(operand.marks for operand in event.operands)
    return event.world, event.site.key, () if known else event.root.key, *_ways(event)


def _is_told_where_it_met(event: MixedDevices) -> bool:
    """Whether a clash is told where it happened, or at the call that led there from the file that has placed what met:
    it is echoed there as it would be here."""
    if event.root == event.site:
        return True
    newest = [operand.marks[-1].site.path for operand in event.operands if operand.marks]
    return event.cause == "mixed" and event.root.path != event.site.path and event.root.path in newest


def _is_echo(event: MixedDevices, told: dict[tuple[Any, ...], Site]) -> bool:
    """Whether a clash of which nobody knows who is to blame is told already by another in the file: what came from the
    same two places met again, be it on the other side of a branch, or what was left on the CPU met something else."""
    known = all(operand.marks for operand in event.operands)
    pair = (event.world, event.root.path, () if known else event.site.key, frozenset(_ways(event)))
    if told.setdefault(pair, event.root) != event.root:
        return True
    if _is_input(event):
        return False  # each module is moved by itself
    left = [way for way in _ways(event) if way[0] == "cpu" and len(way) > 1]
    return any(told.setdefault((event.world, event.root.path, way), event.root) != event.root for way in left)


def _is_input(event: MixedDevices) -> bool:
    """Whether it is the input of a module that stands where the module is not."""
    return event.cause == "module-input"


def _left_in_row(event: MixedDevices) -> list[tuple[Any, ...]]:
    """What was left on the CPU, and the row: what is given to a module there meets again what the module gives back."""
    left = [way for way in _ways(event) if way[0] == "cpu" and len(way) > 1]
    return [(event.world, event.root.path, event.root.row, way) for way in left]


def _left_behind(event: MixedDevices) -> tuple[Any, ...] | None:
    """What makes clashes of several entries one: the methods of a class call one network, which nobody moves."""
    marks = event.culprit.marks
    if not event.by_protocol or event.cause != "module-input" or not marks or marks[-1].kind != "parameter":
        return None
    return event.world, event.root.path, event.culprit.device, marks[-1].site.key


def _ways(event: MixedDevices) -> list[tuple[Any, ...]]:
    """For each operand its device, and how it came there."""
    return [(operand.device, *(mark.site.key for mark in operand.marks)) for operand in event.operands]


def _counted(events: Iterable[Event]) -> list[Event]:
    """Of the literals that name the same device in a file the first, with the number of the others."""
    kept: list[Event] = []
    named: dict[tuple[str, str], dict[tuple[str, int, int], DeviceNamed]] = {}
    for event in events:
        if isinstance(event, DeviceNamed):
            named.setdefault((event.root.path, event.text), {}).setdefault(event.root.key, event)
        else:
            kept.append(event)
    for places in named.values():
        first = places[min(places)]
        kept.append(dataclasses.replace(first, further=len(places) - 1))
    return kept


def _first_reads(events: list[Event]) -> list[Event]:
    """Of the parameters of one module that the host reads in one function, after it was moved once, the first, with
    the number of the others: to bring the module back, or to read from a copy, mends all of them."""
    groups: dict[tuple[Any, ...], list[ToHost]] = {}
    for event in events:
        if isinstance(event, ToHost) and event.operand is not None and event.operand.marks:
            newest = event.operand.marks[-1]
            if newest.kind == "module-moved":
                read_from = event.operand.text.partition(".")[0]
                conditions = tuple((choice.condition, choice.value, choice.site) for choice in event.when)
                place = (event.world, event.site.path, event.within, event.kind, newest.site.key)
                groups.setdefault((*place, read_from, conditions), []).append(event)
    first: dict[int, int] = {}
    others: set[int] = set()
    for group in groups.values():
        rows = {event.root.row for event in group}
        earliest = min(group, key=lambda event: event.root.key)
        first[id(earliest)] = len(rows) - 1
        others.update(id(event) for event in group if event.root != earliest.root)
    return [
        dataclasses.replace(event, further=first[id(event)])
        if isinstance(event, ToHost) and id(event) in first
        else event
        for event in events
        if id(event) not in others
    ]


def _other_fence(event: VisibleDevices, project: Project) -> bool:
    """In a document, whether CUDA was touched in another fence: a reader may run each by itself."""
    first = event.first_cuda
    source = project.source(event.site.path)
    if first is None or source is None or source.kind != "markdown" or first.path != event.site.path:
        return False
    return source.segment(first.row) != source.segment(event.site.row)
