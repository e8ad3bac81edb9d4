"""What entry points gave in one world, and what of it holds in another without a run of its own."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from devlint.analysis.events import Event
from devlint.analysis.machine import Machine
from devlint.analysis.notes import NOT_IMPORTED, Imported, Testimony
from devlint.analysis.programs.entries import Entry
from devlint.syntax import ir
from devlint.worlds import World

MAIN: Final = ("main",)
"""The key of what a program gave, among those of its functions and classes."""
_PLACED: Final = frozenset({"accelerator"})
_ASKED_BY_OTHERS: Final = frozenset({"accelerator", "availability", "count", "cuda", "distributed", "rank"})
_COUNTED: Final = frozenset({"count"})
_TOLD_APART: Final = frozenset({"count", "named"})


@dataclass(slots=True)
class Outcome:
    """What one entry point gave in one world: its events, what it asked of the world, what it reached first, and
    whether it was seen to compute on the CPU where there is a GPU.

    `by_protocol`: its inputs stood on the world's last device. `promoted`: it has choices that are worth runs of their
    own. `called`: the functions that others called in it. `own`: the functions of its file that were run in it.
    `touched`: the files whose code was run in it, or that were asked for their names.
    """

    events: dict[tuple[Any, ...], Event]
    consulted: frozenset[str]
    by_protocol: bool
    promoted: bool
    reached: tuple[ir.Node, ...]
    computes: frozenset[Testimony] = frozenset()
    called: frozenset[ir.Node] = frozenset()
    own: frozenset[ir.Node] = frozenset()
    touched: frozenset[str] = frozenset()

    def holds(self, last: World, world: World) -> bool:
        """Whether what was found in `last` is what would be found in `world`."""
        if last.has_cuda and world.has_cuda:
            # Only what stands on the last GPU by protocol is apart from what is named `cuda`, where there are several.
            is_placed = self.by_protocol and not self.consulted.isdisjoint(_PLACED)
            return self.consulted.isdisjoint(_TOLD_APART if is_placed else _COUNTED)
        if not self.consulted and not self.promoted:
            return True
        # Nothing asked for CUDA but where the inputs are by protocol: without it, all is on the CPU.
        return not world.has_cuda and not self.events and self.consulted <= _PLACED

    def holds_unheard(self, world: World) -> bool:
        """Whether, where what was run of a file does not speak of CUDA, what was found with CUDA is what is found
        without: nothing, for no device was named, and nobody told the file whether there is one."""
        return not world.has_cuda and self.by_protocol and not self.events and self.consulted <= _ASKED_BY_OTHERS

    def copied(self, world: World) -> Outcome:
        """The same, in another world."""
        events = {key: dataclasses.replace(event, world=world.name) for key, event in self.events.items()}
        return dataclasses.replace(self, events=events)


@dataclass(slots=True)
class Pass:
    """One world's run over all files: outcomes by file and entry, the nodes that each file's entries reached, and the
    files of which all that was taken over from the world before."""

    world: World
    machine: Machine
    outcomes: dict[str, dict[Any, Outcome]] = field(default_factory=dict)
    reached: dict[str, tuple[ir.Node, ...]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)


def called_by_roots(entries: Sequence[Entry], outcomes: Mapping[Any, Outcome]) -> set[ir.Node]:
    """What is called, with CUDA, in the runs of the entries that none of the others called: it is theirs without CUDA,
    too, if they come to it."""
    called = {entry.key: outcomes[entry.key].called for entry in entries if entry.key in outcomes}
    callers = Counter(node for nodes in called.values() for node in nodes)
    theirs: set[ir.Node] = set()
    for entry in entries:
        own = called.get(entry.key)
        if own is not None and callers[entry.called] == (entry.called in own):  # nobody but itself calls it
            theirs |= own
    return theirs


def taken_over(path: str, last: Pass, now: Pass) -> bool:
    """Take a file's outcomes from the world before, where it asked nothing in which the two differ."""
    outcomes = last.outcomes.get(path, {})
    if path not in last.reached or not stands(path, last, now.world):
        return False
    if not all(outcome.holds(last.world, now.world) for outcome in outcomes.values()):
        return False
    now.outcomes[path] = {key: outcome.copied(now.world) for key, outcome in outcomes.items()}
    now.reached[path] = last.reached[path]
    now.taken.add(path)
    now.machine.visited.update(dict.fromkeys(last.reached[path]))
    return True


def stands(path: str, last: Pass, world: World) -> bool:
    """Whether the names that a file binds, when it is run or imported, mean the same as in the world before."""
    outcomes = last.outcomes.get(path)
    if outcomes is None:
        return False
    if MAIN in outcomes:
        return outcomes[MAIN].holds(last.world, world)
    asked = frozenset(last.machine.imports.get(path, NOT_IMPORTED).consulted)
    return Outcome({}, asked, False, False, ()).holds(last.world, world)


def take_imports(last: Pass, now: Pass) -> None:
    """Take what imports told that only files that were taken over did."""
    there = now.machine.imports
    for path, imports in last.machine.imports.items():
        if path not in there:
            events = {key: dataclasses.replace(event, world=now.world.name) for key, event in imports.events.items()}
            there[path] = Imported(events, imports.consulted)
            if path in last.machine.prints:
                now.machine.prints[path] = last.machine.prints[path]
