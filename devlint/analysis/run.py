"""The analysis of a project: every file, every entry point, every world; what was asked decides what is shared."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from devlint.analysis import rooms as _rooms  # registers every room
from devlint.analysis.domain.values import DeviceValue
from devlint.analysis.events import DeviceUnavailable, Event, Failure
from devlint.analysis.frames import Namespace
from devlint.analysis.machine import Machine
from devlint.analysis.notes import NOT_IMPORTED
from devlint.analysis.programs.driving import Driving
from devlint.analysis.programs.entries import Entry, is_for_tests, is_private_class, protocol_entries
from devlint.analysis.programs.executing import (
    defaults_of_packages,
    module_name,
    repeat_defaults,
    run_as_library,
    run_body,
)
from devlint.analysis.programs.exploring import Exploration, TooSlow, newest
from devlint.analysis.programs.fixtures import shared_above
from devlint.analysis.programs.given_away import run_given_away
from devlint.analysis.programs.handed import run_handed
from devlint.analysis.programs.hearsay import speak_of_cuda
from devlint.analysis.programs.outcomes import MAIN, Outcome, Pass, called_by_roots, stands, take_imports, taken_over
from devlint.analysis.programs.sameness import are_the_same
from devlint.analysis.project import Project
from devlint.analysis.python.settings import forget_settings
from devlint.analysis.reading import settle
from devlint.analysis.state import State
from devlint.analysis.weighing import NEEDS_GPU, weigh_evidence
from devlint.syntax import ir
from devlint.syntax.stacks import is_compiled, on_large_stack
from devlint.worlds import WORLDS, World

assert _rooms

_COLLECT: Final = (100_000, 20, 100)
"""When garbage is looked for: activations and functions hold each other, so that counting references frees few."""

MakeMachine = Callable[[Project, World, frozenset[type[Event]]], Machine]


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyse.

    `file_timeout`: seconds of wall clock for one file in one world; 0 is no limit. `progress` is told before each file
    in each world how many are done, and how many there are.
    """

    file_timeout: float = 60.0
    progress: Callable[[int, int], None] | None = None


@dataclass(slots=True)
class Analysis:
    """What came out: events over all worlds, files that failed, counts, who imported whom, the
    files that imports looked for in vain, and those in which what was found hangs on files that they don't import."""

    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    dependencies: dict[str, set[str]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    uncached: set[str] = field(default_factory=set)


def analyse(
    project: Project,
    worlds: Sequence[World] = WORLDS,
    wanted: frozenset[type[Event]] | None = None,
    options: Options | None = None,
    paths: Iterable[str] | None = None,
    machine: MakeMachine = Machine,
) -> Analysis:
    """Analyse the files `paths` of the project (all of its sources if None) in each world, each by a `machine`.

    Never raises for what a file contains: a file whose analysis fails or takes too long is in `failures`.
    """
    options = options or Options()
    wanted = wanted if wanted is not None else frozenset(_all_events())
    analysis = Analysis()
    targets = sorted(project.sources if paths is None else paths)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 12_000))
    collecting, thresholds = gc.isenabled(), gc.get_threshold()
    gc.disable()
    try:
        runner = _Runner(project, wanted, options, analysis, targets, machine)
        gc.freeze()  # the programs stay; what the runs leave behind is found among itself
        gc.set_threshold(*_COLLECT)
        gc.enable()
        on_large_stack(lambda: runner.run(worlds)) if is_compiled() else runner.run(worlds)
    finally:
        sys.setrecursionlimit(limit)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        if not collecting:
            gc.disable()
    analysis.failures.extend(f for f in project.failures if f not in analysis.failures)
    analysis.dependencies = project.dependencies
    analysis.uncached = project.uncached
    analysis.absent = project.absent
    return analysis


def _all_events() -> list[type[Event]]:
    return Event.__subclasses__()


class _Runner:
    """One analysis: worlds in turn, results of the world before at hand for sharing."""

    def __init__(
        self,
        project: Project,
        wanted: frozenset[type[Event]],
        options: Options,
        analysis: Analysis,
        targets: list[str],
        machine: MakeMachine,
    ) -> None:
        self.make_machine = machine
        self.project = project
        self.wanted = wanted
        self.options = options
        self.analysis = analysis
        self.targets = [path for path in targets if project.module(path) is not None]
        self.failed: set[str] = set()
        self.reachable: dict[str, set[str]] = {}
        self.led: dict[ir.Node, None] = {}
        """What programs reached in an earlier world: where they don't come in another, nobody is taken to."""
        self.driving = Driving(project, self.targets)
        self.targets.sort(key=self.driving.optional.__contains__)  # what these write into others is there by an import

    def run(self, worlds: Sequence[World]) -> None:
        last: Pass | None = None
        collected: list[Event] = []
        done = 0
        # Without CUDA least can happen: what was found silent with it need not be run again.
        for world in sorted(worlds, key=lambda world: not world.has_cuda):
            machine = self.make_machine(self.project, world, self.wanted)
            machine.visited.update(self.led)
            if last is not None:
                machine.sighted.update(last.machine.sighted)
            now = Pass(world, machine)
            for path in self.targets:
                if self.options.progress is not None:
                    self.options.progress(done, len(worlds) * len(self.targets))
                done += 1
                if path in self.failed:
                    continue
                module = self.project.module(path)
                assert module is not None
                if not (module.speaks or self.driving.imports[path] or shared_above(self.project, path)):
                    self.analysis.statistics["files without device vocabulary"] += 1
                    continue
                self._run_file(path, last, now)
            for path in self.targets:
                if path in self.driving.driven and path not in self.failed:
                    names = self.driving.chosen_among(path)
                    if names:
                        self._run_file(path, last, now, names)
            if last is not None:
                take_imports(last, now)
            for path, outcomes in now.outcomes.items():
                for outcome in outcomes.values():
                    collected.extend(outcome.events.values())
                if MAIN in outcomes and not self.driving.is_self_test(path):
                    self.led.update(dict.fromkeys(outcomes[MAIN].reached))
            for imported, imports in machine.imports.items():
                kinds = {kind for kind, _ in imports.evidence}
                told = list(weigh_evidence(imports.events, launched=NEEDS_GPU in kinds).values())
                if any(map(_is_unavailable, self._events_of_imports(machine, imported))):
                    told = [event for event in told if not _is_unavailable(event)]  # what it imports fails first
                if "availability" not in kinds:
                    tests = is_for_tests(imported, self.project.root)
                    told = [_unasked(event, tests or _is_switched(event)) for event in told]
                else:
                    told = list(map(_asked, told))
                collected.extend(told)
            self.analysis.statistics.update(machine.statistics)
            machine.namespaces.clear()
            machine.with_settings.clear()
            machine.settings.clear()
            machine.with_modules.clear()
            last = now
        self.analysis.events = settle(collected, [world.name for world in worlds], self.project)

    def _run_file(self, path: str, last: Pass | None, now: Pass, among: set[str] | None = None) -> None:
        started = time.monotonic()
        timeout = self.options.file_timeout
        deadline = started + timeout if timeout else float("inf")
        try:
            if among is not None and path in now.taken:
                return
            if among is not None or last is None or not taken_over(path, last, now):
                count = len(now.machine.visited)
                self._run_entries(path, last, now, deadline, among)
                new = newest(now.machine.visited, count)
                for node in self.driving.tried_out(path, new):
                    now.machine.visited.pop(node)
                now.reached[path] = now.reached.get(path, ()) + newest(now.machine.visited, count)
        except RecursionError:
            self._fail(path, "its analysis nests too deeply")
        except TooSlow:
            self._fail(path, f"its analysis ran past its limit of {timeout:g} seconds")
        except Exception as error:
            if _raise_faults:
                raise
            self._fail(path, f"its analysis failed: {type(error).__name__}: {error}")
        finally:
            now.machine.store.log = None

    def _fail(self, path: str, reason: str) -> None:
        self.failed.add(path)
        self.analysis.failures.append(Failure(path, 1, reason))

    def _run_entries(self, path: str, last: Pass | None, now: Pass, deadline: float, among: set[str] | None) -> None:
        """Run a file as a program, or enter it by protocol; of one that programs drive, the modules `among` these."""
        machine = now.machine
        now.outcomes.setdefault(path, {})
        chosen: set[str] = set()
        if self.driving.is_program(path) and among is None:
            namespace = self._run_program(path, last, now, deadline, chosen)
        else:
            machine.begin(self._budget(path), {})
            machine.state = State()
            value = run_as_library(machine, path)
            namespace = value.namespace if value is not None else None
        stays = now.world.has_cuda and self.driving.stays_on_cpu(path)
        if namespace is None or (path in self.driving.driven and among is None) or stays:
            return
        self._enter_by_protocol(namespace, last, now, deadline, among, chosen)

    def _run_program(
        self, path: str, last: Pass | None, now: Pass, deadline: float, chosen: set[str]
    ) -> Namespace | None:
        """Run a file as a program and return the names of its first run.

        The defaults for devices that it sets are added to `chosen`.
        """
        machine = now.machine
        module = self.project.module(path)
        assert module is not None
        package = module_name(path)[1]
        namespace: Namespace | None = None

        def run_program() -> None:
            nonlocal namespace
            fresh = Namespace(path, "__main__", package, module)
            namespace = namespace or fresh
            run_body(machine, fresh)
            for slot in ("default_device", "default_type"):
                default = getattr(machine.state, slot)
                if default is not None and default.type != "cpu":
                    chosen.add(slot)
            run_given_away(machine, path)
            run_handed(machine, path)

        earlier = None if last is None else last.outcomes.get(path, {}).get(MAIN)
        runs = self._runs(machine, run_program, self._budget(path), deadline, path, True)
        now.outcomes[path][MAIN] = outcome = runs.explore(path, earlier)
        if self.driving.is_self_test(path):
            for node in outcome.reached:
                machine.visited.pop(node, None)
        return namespace

    def _enter_by_protocol(
        self,
        namespace: Namespace,
        last: Pass | None,
        now: Pass,
        deadline: float,
        among: set[str] | None,
        chosen: set[str],
    ) -> None:
        """Enter what nobody in sight calls of a file that was run. `chosen`: the defaults that it sets as a program."""
        machine = now.machine
        path = namespace.path
        outcomes = now.outcomes[path]
        is_test = is_for_tests(path, self.project.root)
        machine.built.clear()
        unsure = chosen | self.driving.defaults_around(path) | defaults_of_packages(machine, path)
        entries = sorted(protocol_entries(machine, namespace), key=is_private_class)
        if among is not None:
            entries = [entry for entry in entries if entry.key[0] == "class" and entry.node.name in among]
        theirs = called_by_roots(entries, last.outcomes[path]) if last is not None and not now.world.has_cuda else ()
        for entry in entries:
            if entry.called in theirs or (entry.node in machine.ran and is_private_class(entry)):
                continue
            shared = self._of_the_world_before(entry, path, last, now)
            if shared is not None:
                outcomes[entry.key] = shared.copied(now.world)
                machine.visited.update(dict.fromkeys(shared.reached))
                continue
            self.analysis.statistics["entries"] += 1

            def run_entry(entry: Entry = entry) -> None:
                machine.run.protocol = True
                machine.run.unseen = not is_test
                machine.run.home = path
                repeat_defaults(machine, path)
                for slot in unsure:  # whether it is called where they hold, nobody knows
                    machine.store.set(machine.state, slot, DeviceValue("?"))
                if not is_test:  # what runs before a test is run before it here
                    forget_settings(machine, namespace, entry.node)
                entry.run()
                run_handed(machine, path)

            steps = 1000 + 15 * entry.rows
            earlier = None if last is None else last.outcomes.get(path, {}).get(entry.key)
            outcomes[entry.key] = self._runs(machine, run_entry, steps, deadline, path, False).explore(path, earlier)

    def _of_the_world_before(self, entry: Entry, path: str, last: Pass | None, now: Pass) -> Outcome | None:
        """What an entry gave in the world before, if that holds in this one: it need not be run again."""
        before = last.outcomes.get(path, {}) if last is not None else {}
        shared = before.get(entry.key)
        if last is None or shared is None:
            return None
        if not shared.holds(last.world, now.world):
            if not shared.holds_unheard(now.world) or speak_of_cuda(self.project, path, entry, shared):
                return None
        if stands(path, last, now.world):
            return shared
        is_same = MAIN not in before and are_the_same({path, *shared.touched}, last, now)
        return shared if is_same else None

    def _budget(self, path: str) -> int:
        """The steps that a run of a file may take."""
        module = self.project.module(path)
        assert module is not None
        return 3000 + 15 * module.text.count("\n")

    def _events_of_imports(self, machine: Machine, path: str) -> Iterable[Event]:
        """What was told of the files that a file imports, when they were imported."""
        for inner in self.driving.imports.get(path, ()):
            yield from machine.imports.get(inner, NOT_IMPORTED).events.values()

    def _runs(
        self, machine: Machine, run: Callable[[], None], budget: int, deadline: float, path: str, is_program: bool
    ) -> Exploration:
        """What runs an entry of a file once for each answer that may show something."""
        imports = partial(self._imported, path)
        return Exploration(machine, run, budget, deadline, is_program, imports, self.analysis.statistics)

    def _imported(self, path: str) -> set[str]:
        if path not in self.reachable:
            self.reachable = {path: self.project.imported(path)}  # those of the last file: all its entries ask
        return self.reachable[path]


def _unasked(event: Event, is_advice: bool) -> Event:
    return replace(event, unasked=True) if is_advice and isinstance(event, DeviceUnavailable) else event


def _asked(event: Event) -> Event:
    """A file that asks for CUDA where it is imported does not go without saying for several GPUs."""
    if not isinstance(event, DeviceUnavailable) or not event.index:
        return event
    return replace(event, evidence=True, unasked=False)


def _is_switched(event: Event) -> bool:
    """Whether the device is a constant of another file, which is the project's own switch."""
    named = event.literal if isinstance(event, DeviceUnavailable) else None
    return named is not None and named.path != event.site.path


def _is_unavailable(event: Event) -> bool:
    return isinstance(event, DeviceUnavailable) and not event.guarded


_raise_faults = False


def raise_faults(on: bool = True) -> None:
    """Let faults of the analyser itself escape as exceptions: for tests."""
    global _raise_faults
    _raise_faults = on
