"""The main job: a lint report in, what became of each finding out."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devlint.confirm import inputs, searching, slicing
from devlint.confirm.claims import Claim, claims_of
from devlint.confirm.machines import Machines, Outcome, Program
from devlint.confirm.programs import Variant, mended, whole
from devlint.confirm.verdicts import Confirmation, Evidence, Ruling, conclude, rule
from devlint.findings import Condition
from devlint.linter import Report

Way = Callable[[list[Claim], list[Claim]], Iterable[tuple[Claim, Confirmation]]]

WHOLE = "whole program"
MENDED = "whole program, other findings mended"
HEALED = "whole program, led past other findings"
SLICE = "slice"
MADE_UP = "slice with made-up inputs"
MOST_TRIALS = 300
"""Calls with made-up inputs, for one claim and one function."""

PROVING = (WHOLE,)
"""What may refute a finding."""

_FLAG = re.compile(
    r"(?:args|opts?|options|FLAGS|flags|hparams|cfg|config|parsed|params)\.(\w+)(?: == (-?[\d.]+|'[\w./-]+'))?"
)
"""An option that is on, or has a value, as the condition of a finding says it."""


def _words_for(condition: Condition) -> list[str]:
    """What is given on the command line so that a condition holds, or not, as the finding says; nothing if it asks for
    no option. Another text than one that an option must not have is any."""
    match = _FLAG.fullmatch(condition.condition)
    if match is None or not (condition.value or (match[2] or "").startswith("'")):
        return []
    if match[2] is None:
        return [f"--{match[1]}"]
    return [f"--{match[1]}", match[2].strip("'") if condition.value else "another"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to confirm. `worlds`: those to run in; `arguments`: the command line that programs are given; `slices_only`
    leaves whole programs out; `jobs` run at a time."""

    worlds: tuple[str, ...] = ("cpu", "gpu1", "gpu2")
    arguments: tuple[str, ...] = ()
    jobs: int = 1
    slices_only: bool = False
    whole_only: bool = False
    progress: Callable[[int, int], None] | None = None
    roots: Sequence[Path] = ()


@dataclass(slots=True)
class Confirmer:
    """A run over the claims of one report."""

    report: Report
    machines: Machines
    options: Options
    _runs: ThreadPoolExecutor | None = None
    _texts: dict[str, str] = field(default_factory=dict)
    _outlines: dict[str, slicing.Outline | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def confirm(self) -> list[Confirmation]:
        """Return what became of each finding, in the order of the report.

        Raises:
            devlint.confirm.machines.MachineError: torch can't be loaded.
        """
        claims = claims_of(self.report)
        if not claims:
            return []
        self._texts = {source.path: source.text for source in self.report.sources.values()}
        for world in self.options.worlds:
            self.machines.machine(world)
        by_file: dict[str, list[Claim]] = {}
        for claim in claims:
            by_file.setdefault(claim.place.path, []).append(claim)
        done: dict[int, Confirmation] = {}
        jobs = max(self.options.jobs, 1)
        with ThreadPoolExecutor(jobs) as runs, ThreadPoolExecutor(jobs) as files:
            self._runs = runs
            waiting = [files.submit(self._confirm_file, group) for group in by_file.values()]
            for future in waiting:
                for claim, confirmation in future.result():
                    done[claim.number] = confirmation
                if self.options.progress is not None:
                    self.options.progress(len(done), len(claims))
        return [done[claim.number] for claim in claims]

    def _confirm_file(self, claims: list[Claim]) -> list[tuple[Claim, Confirmation]]:
        """Try one way after the other on what is still open: the whole program, mended, slices."""
        best: dict[int, Confirmation] = {}
        waiting = claims
        for way in self._ways():
            if not waiting:
                break
            for claim, confirmation in way(waiting, claims):
                before = best.get(claim.number)
                if before is None or confirmation.status != "could not run":
                    best[claim.number] = confirmation
                elif confirmation.how == MADE_UP and confirmation.reason not in before.reason:
                    reason = f"{before.reason}; {MADE_UP}: {confirmation.reason}"
                    best[claim.number] = replace(before, reason=reason)
            waiting = [claim for claim in waiting if best[claim.number].status == "could not run"]
        return [(claim, best[claim.number]) for claim in claims]

    def _ways(self) -> list[Way]:
        slices: list[Way] = [self._as_slice, self._as_healed_slice, self._with_made_up_inputs]
        if self.options.slices_only:
            return slices
        ways: list[Way] = [self._as_whole, self._with_flags, self._as_mended, self._as_healed]
        return ways if self.options.whole_only else [*ways, *slices]

    def _as_whole(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        entries = [claims[0].place.path]
        entries += sorted({call.path for claim in waiting for call in claim.calls[:1]} - set(entries))
        for entry in entries:
            yield from self.judge(whole(entry, self._texts, self.root(entry)), waiting, claims, WHOLE)

    def _with_flags(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        """Once more with the command line that turns on what the finding depends on."""
        by_flags: dict[tuple[str, ...], list[Claim]] = {}
        for claim in waiting:
            given = tuple(word for condition in claim.finding.when for word in _words_for(condition))
            if given:
                by_flags.setdefault(given, []).append(claim)
        for words, some in by_flags.items():
            variant = whole(some[0].place.path, self._texts, self.root(some[0].place.path))
            dashed = tuple(word.replace("_", "-") if word.startswith("--") else word for word in words)
            for args in dict.fromkeys([words, dashed]):
                program = replace(variant.program, args=args)
                yield from self.judge(replace(variant, program=program), some, claims, f"{WHOLE} {' '.join(args)}")

    def _as_mended(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        """Once more with the findings mended that ended the program before this one could show."""
        for claim in waiting:
            others = [other for other in claims if other is not claim and other.mend is not None]
            variant = mended(claim, others, self._texts, self.root(claim.place.path)) if others else None
            if variant is not None:
                yield from self.judge(variant, [claim], claims, MENDED)

    def _as_healed(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        """Once more, with the operations that fail for other findings given what they need, or left out."""
        for claim in waiting:
            others = [other for other in claims if other.crash.start != claim.crash.start]
            if others:
                variant = whole(claim.place.path, self._texts, self.root(claim.place.path))
                healing = [other.healing() for other in others]
                yield from self.judge(variant, [claim], claims, HEALED, healing)

    def _as_slice(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        """Only what the flagged line needs: what stands in its way is left out."""
        for claim in waiting:
            for variant in self._slices(claim):
                yield from self.judge(variant, [claim], claims, SLICE)

    def _as_healed_slice(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        for claim in waiting:
            healing = [other.healing() for other in claims if other.crash.start != claim.crash.start]
            for variant in self._slices(claim) if healing else ():
                yield from self.judge(variant, [claim], claims, f"{SLICE}, led past other findings", healing)

    def _with_made_up_inputs(self, waiting: list[Claim], claims: list[Claim]) -> Iterable[tuple[Claim, Confirmation]]:
        """Call what nobody calls, with inputs that are found by trying in a world where nothing should break."""
        for claim in waiting:
            yield from self._made_up(claim, claims)

    def _made_up(self, claim: Claim, claims: list[Claim]) -> Iterator[tuple[Claim, Confirmation]]:
        pilots = [world for world in self.options.worlds if claim.predicted(world) == "runs"]
        pilots = [world for world in pilots if self.machines.machine(world).kind is not None]
        probes = claim.probes()
        for path in dict.fromkeys([claim.crash.path, claim.place.path]):
            outline = self._outline(path)
            for target in inputs.targets(claim, self._texts.get(path, ""), path) if outline and pilots else ():
                assert outline is not None
                base = slicing.assemble(outline.needed((), target.names), path, self.root(path), inputs.PRELUDE)
                search = {
                    "template": target.template,
                    "choices": target.choices,
                    "probe": probes[0]["id"],
                    "most": MOST_TRIALS,
                    "seconds": self.machines.limits.seconds / 2,
                }
                pilot = replace(base.with_probes(probes, self._texts), search=search, made_up=True)
                outcome = self.machines.run(pilot, pilots[0])
                found = (outcome.search or {}).get("found")
                if found is None:
                    yield claim, self._none_fits(claim, outcome)
                    continue
                tail = inputs.PRELUDE + searching.fill(target.template, found)
                variant = slicing.assemble(outline.needed((), target.names), path, self.root(path), tail)
                made_up = replace(variant, program=replace(variant.program, made_up=True))
                for item, confirmation in self.judge(made_up, [claim], claims, MADE_UP):
                    yield item, confirmation
                    if confirmation.status == "confirmed":
                        return

    def _none_fits(self, claim: Claim, outcome: Outcome) -> Confirmation:
        told = outcome.search or {}
        reason = f"none of {told['tried']} fits ({told['last']})" if told else outcome.error or "nothing was tried"
        played = {world: self.machines.machine(world) for world in self.options.worlds}
        return Confirmation(claim.finding, "could not run", (), played, MADE_UP, reason)

    def _slices(self, claim: Claim) -> Iterable[Variant]:
        for entry in slicing.entries(claim):
            outline = self._outline(entry)
            variant = slicing.cut(claim, outline, entry, self.root(entry)) if outline is not None else None
            if variant is not None:
                yield variant

    def _outline(self, path: str) -> slicing.Outline | None:
        with self._lock:
            if path not in self._outlines:
                self._outlines[path] = slicing.outlines({path: self._texts.get(path, "")}).get(path)
            return self._outlines[path]

    def judge(
        self,
        variant: Variant,
        waiting: Sequence[Claim],
        claims: Sequence[Claim],
        how: str,
        healing: Sequence[dict[str, Any]] = (),
    ) -> Iterable[tuple[Claim, Confirmation]]:
        """Run a program in all worlds and say what that means for the claims that wait."""
        probes = [*healing, *(probe for claim in waiting for probe in claim.probes())]
        program = variant.with_probes(probes, self._texts)
        program = replace(program, args=(*self.options.arguments, *program.args))
        outcomes = self.play(program)
        for claim in waiting:
            evidence = Evidence(claims, variant.rows, variant.made_up)
            rulings = tuple(self._ruling(claim, world, outcomes, evidence) for world in self.options.worlds)
            played = {world: self.machines.machine(world) for world in self.options.worlds}
            status, reason = conclude(claim, rulings, played)
            if status == "refuted" and how not in PROVING:
                # What was left out may be what makes it break.
                status, reason = "could not run", f"the {how} doesn't show it ({reason})"
            yield (
                claim,
                Confirmation(claim.finding, status, rulings, played, how, reason, variant.shown, program.path),
            )

    def play(self, program: Program) -> dict[str, Outcome]:
        """Run a program in all worlds that a machine plays, several at a time."""
        assert self._runs is not None
        runs: dict[str, Future[Outcome]] = {
            world: self._runs.submit(self.machines.run, program, world)
            for world in self.options.worlds
            if self.machines.machine(world).kind is not None
        }
        return {world: run.result() for world, run in runs.items()}

    def _ruling(self, claim: Claim, world: str, outcomes: dict[str, Outcome], evidence: Evidence) -> Ruling:
        if world not in outcomes:
            return Ruling(world, claim.predicted(world), "unknown", None, self.machines.machine(world).reason)
        return rule(claim, outcomes[world], evidence)

    def root(self, path: str) -> str:
        """Return the project's folder for a file: the nearest of the roots above it, else its own folder."""
        above = [root for root in self.options.roots if Path(path).is_relative_to(root)]
        return str(max(above, key=lambda root: len(root.parts))) if above else str(Path(path).parent)

    @property
    def texts(self) -> dict[str, str]:
        """The program texts of the report's files, by absolute path."""
        return self._texts


def confirm(report: Report, machines: Machines, options: Options) -> list[Confirmation]:
    """Confirm the findings of a lint report by running what was flagged. THIS RUNS THE CODE.

    Raises:
        devlint.confirm.machines.MachineError: torch can't be loaded.
    """
    return Confirmer(report, machines, options).confirm()
