"""What one entry point says of missing CUDA, weighed by what speaks for running without a GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias

from devlint.analysis.events import AcceleratorMissing, DeviceUnavailable, Event, LoadWithoutMap, NameUnbound
from devlint.analysis.notes import Place
from devlint.analysis.pytorch.missing import asks_aside
from devlint.sources.reading import is_document

if TYPE_CHECKING:
    from devlint.analysis.notes import Testimony

NEEDS_GPU = "needs a GPU"
_FOR_GPUS = "is for GPUs"

Key: TypeAlias = "tuple[Any, ...]"
Meant: TypeAlias = "tuple[set[str], set[str]]"
"""The files that show that they mean to run without a GPU, and those of which a network runs on the CPU."""


def weigh_evidence(
    events: dict[Key, Event],
    found: Collection[Testimony] = (),
    launched: bool = False,
    entry: str = "",
    doubted: Collection[Place] = (),
) -> dict[Key, Event]:
    """Settle what one entry point, in the file `entry`, says of missing CUDA.

    With evidence that the program means to run without a GPU, the first use (and question: `current_device()`) in each
    function is kept, unless the run has surely died of another before; the others are counted. Evidence speaks for
    what stands in the same file, and, where it is the entry's own, for all; that a network runs on the CPU speaks for
    what functions do, not for a device that the script itself names. A GPU that the program takes by design, beside the
    first, is taken so elsewhere in it, too. Without, the program is for GPUs by its own lights: the first use and the
    first question of all are kept, and none of a program that is launched on GPUs or built on packages for them. Of one
    whose file can't be imported without such a package nothing is kept, whatever it asks. The default of an option
    counts where the program doubts it elsewhere (`doubted`, by where they stand), and any device that it doubts
    elsewhere is shown not to be needed. That a checkpoint is loaded with a `map_location` speaks of its loads alone.
    """
    weighing = _Weighing(events.values(), found, launched, entry, doubted)
    for key, event in events.items():
        weighing.take(key, event)
    return weighing.come_to()


@dataclasses.dataclass(slots=True)
class _First:
    """The use that is told for a group of them. `further`: how many more there are, `covered`: where."""

    key: Key
    further: int = 0
    covered: set[Place] = dataclasses.field(default_factory=set)


class _Weighing:
    """What is kept of the events of one entry point, as they come one after the other."""

    def __init__(
        self,
        events: Collection[Event],
        found: Collection[Testimony],
        launched: bool,
        entry: str,
        doubted: Collection[Place],
    ) -> None:
        kinds = {kind for kind, _ in found}
        missing = [event for event in events if isinstance(event, DeviceUnavailable)]
        self.found = found
        self.entry = entry
        self.doubted = doubted
        self.meant = _meant(found, entry)
        self.launched = launched or NEEDS_GPU in kinds
        self.is_for_gpus = (_FOR_GPUS, entry) in found
        takes_gpu = any(_takes_gpu(event, self.meant, entry) for event in missing)
        self.loads_on_gpus = takes_gpu or kinds <= {NEEDS_GPU, _FOR_GPUS, "computes"}
        self.alive = {event.root.key for event in missing if event.cause != "follows"}
        self.spread = {event.index for event in missing if event.spread == "named"}
        self.kept: dict[Key, Event] = {}
        self.firsts: dict[Key, _First] = {}
        self.follow_ups: dict[Place, Place] = {}
        """Where a name stands for a device that is not there, and where it is used."""

    def take(self, key: Key, event: Event) -> None:
        """Keep an event, count it, or leave it out."""
        if isinstance(event, LoadWithoutMap) and self.loads_on_gpus:
            return
        if self.is_for_gpus and _is_of_no_gpu(event):
            return
        if isinstance(event, DeviceUnavailable):
            self._take_missing(key, event)
            return
        is_meant = bool((self.meant[0] | self.meant[1]) & {self.entry, event.site.path})
        if isinstance(event, AcceleratorMissing):
            event = dataclasses.replace(event, evidence=is_meant)
        if isinstance(event, NameUnbound) and event.world == "cpu" and event.tried and not is_meant:
            return  # a handler for whatever goes wrong, in a program for GPUs
        self.kept[key] = event

    def _take_missing(self, key: Key, event: DeviceUnavailable) -> None:
        if event.is_option and not event.index and event.root.key not in self.doubted:
            event = dataclasses.replace(event, guarded=True)
        is_doubted = event.literal is not None and event.literal.key in self.doubted
        evidence = _speaks_for(event, self.meant, self.entry) or is_doubted
        if event.cause == "follows" and event.root.key in self.alive:
            return  # on another way the run is not over
        if event.cause == "follows" and (evidence or event.index):
            self.follow_ups[event.root.key] = event.site.key
        elif event.index:
            self.kept[key] = self._beside_the_first(event, evidence)
        elif evidence or not (self.launched or event.device.endswith(":?")):
            self._take_first(key, event, evidence)  # else each process of the program takes its own GPU

    def _beside_the_first(self, event: DeviceUnavailable, evidence: bool) -> DeviceUnavailable:
        """A GPU beside the first, with what is known of whether the program asks how many there are."""
        places = (self.entry, event.site.path, event.root.path)
        unasked = event.is_option and all(("availability", place) not in self.found for place in places)
        event = dataclasses.replace(event, evidence=evidence, unasked=unasked or event.unasked)
        return dataclasses.replace(event, spread="named") if event.index in self.spread else event

    def _take_first(self, key: Key, event: DeviceUnavailable, evidence: bool) -> None:
        """Keep the first of those that are told as one, count the others."""
        group: Key = ("all", event.at_import, event.kind == "query", event.guarded)
        if evidence:
            group = (event.site.path, event.function, asks_aside(event.kind, event.operation), event.guarded)
        first = self.firsts.get(group)
        if first is not None:
            first.further += 1
            first.covered.add(event.site.key)
            return
        self.firsts[group] = _First(key)
        self.kept[key] = dataclasses.replace(event, evidence=evidence)

    def come_to(self) -> dict[Key, Event]:
        """What was kept; each first use with what it stands for."""
        for group, first in self.firsts.items():
            if self.follow_ups and not group[-1]:  # of what is guarded nothing is told
                first.further += len(self.follow_ups)
                first.covered.update(self.follow_ups.values())
                self.follow_ups.clear()
            event = self.kept[first.key]
            assert isinstance(event, DeviceUnavailable)
            self.kept[first.key] = dataclasses.replace(event, further=first.further, covered=frozenset(first.covered))
        return self.kept


def _is_of_no_gpu(event: Event) -> bool:
    """Whether it is about a machine without a GPU: a device or a weight that is not there, a name that a branch for
    CUDA binds."""
    if isinstance(event, DeviceUnavailable):
        return not event.index
    return isinstance(event, (LoadWithoutMap, AcceleratorMissing)) or (
        isinstance(event, NameUnbound) and event.world == "cpu" and event.guard is not None
    )


def _speaks_for(event: DeviceUnavailable, meant: Meant, entry: str) -> bool:
    """Whether a file that means to run without a GPU is the entry's, or the one in which a GPU is named, or used where
    nobody names one: what a library can do without speaks for none of those that choose a GPU by name."""
    named = event.site.path if event.literal is None else event.literal.path
    shown, computing = meant
    return bool((shown | computing if event.function else shown) & {entry, named})


def _takes_gpu(event: Event, meant: Meant, entry: str) -> bool:
    """Whether a program that comes here surely needs a GPU, by no option of its user's and against nothing it shows."""
    if not isinstance(event, DeviceUnavailable) or event.index or event.kind == "query":
        return False
    if event.guarded or event.is_option:
        return False
    return not _speaks_for(event, meant, entry)


def _meant(found: Collection[Testimony], entry: str) -> Meant:
    """The files whose code is known to mean to run without a GPU.

    The examples of a document stand each for itself. A program of which any file imports what is nothing without a GPU
    has to ask for CUDA itself: an option for it is not taken at its word, nor is what it computes without one.
    """
    needing = any(kind == NEEDS_GPU for kind, _ in found)
    shown: set[str] = set()
    computing: set[str] = set()
    for kind, path in found:
        if kind == "availability" or not (kind in _WEAK or needing):
            shown.add(path)
        elif kind == "computes" and not (is_document(entry) or needing):
            computing.add(path)
    return shown, computing


_WEAK = ("map_location", NEEDS_GPU, _FOR_GPUS, "computes")
