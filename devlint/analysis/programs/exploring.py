"""The runs of one entry in one world: a base run that joins what no condition decides, then one for each answer that
may show something."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from devlint.analysis.flow.assuming import MAX_BEYOND, beyond, in_turn, joint, on_a_gpu, one_of_each, together, usual
from devlint.analysis.flow.choices import ChoiceKey
from devlint.analysis.flow.other_values import MAX_TRIED, Limited, others_worth_a_run
from devlint.analysis.flow.picked_by_text import note_picked
from devlint.analysis.flow.users_devices import of_users, open_ones
from devlint.analysis.flow.varying import may_vary
from devlint.analysis.machine import Machine
from devlint.analysis.programs.outcomes import Outcome
from devlint.analysis.running import FIRST_GPU, VARIES, EntryNotes
from devlint.analysis.signals import Crash, OutOfBudget
from devlint.analysis.state import State
from devlint.analysis.store import Delta
from devlint.analysis.weighing import weigh_evidence
from devlint.syntax import ir

MAX_CHOICES_PROGRAM: Final = 4
MAX_CHOICES_ENTRY: Final = 3
PROGRAM_ENDURANCE: Final = 4
"""How many budgets a run of a whole program may take: what a large network does before it is trained takes several."""
MAX_RUNS: Final = 3
"""How many times the cost of the first run, or its budget, the runs for answers may take before no more is begun."""


class TooSlow(Exception):
    """A file's analysis ran past its limit."""


class Exploration:
    """The runs of a program (whose writes are kept), or of an entry by protocol.

    `budget`: in steps. `deadline`: by the monotonic clock. `imports`: asked for the files that the entry's own imports.
    """

    def __init__(
        self,
        machine: Machine,
        run: Callable[[], None],
        budget: int,
        deadline: float,
        is_program: bool,
        imports: Callable[[], set[str]],
        statistics: Counter[str],
    ) -> None:
        self.machine = machine
        self.run = run
        self.budget = budget
        self.deadline = deadline
        self.is_program = is_program
        self.imports = imports
        self.statistics = statistics
        self.spent = 0
        self.most = 0
        """How many steps all runs together may take before no more is begun."""

    def explore(self, path: str, earlier: Outcome | None) -> Outcome:
        """The base run, then one for each answer of each promoted choice, one at a time, and some for several.

        `earlier` is what the same entry gave in the world before.

        Raises:
            TooSlow: the deadline is past.
        """
        machine = self.machine
        count = len(machine.visited)
        machine.entry = entry = EntryNotes()
        base = self._attempt({}, self.is_program)
        self.most = MAX_RUNS * max(self.budget, self.spent)  # a short program may drive a long one of other files
        is_open = self._further_runs(path, count)
        if time.monotonic() > self.deadline:
            raise TooSlow
        if self.is_program:
            machine.store.apply(base)
        self.statistics["steps"] += self.spent
        found = {*entry.evidence, *(earlier.computes if earlier is not None else ())}
        return Outcome(
            weigh_evidence(entry.events, found, entry.launched, path, machine.places.doubted),
            frozenset(entry.consulted),
            not self.is_program,
            is_open,
            newest(machine.visited, count),
            frozenset(testimony for testimony in found if testimony[0] == "computes"),
            frozenset() if self.is_program else frozenset(entry.called),
            frozenset() if self.is_program else frozenset(entry.own),
            frozenset() if self.is_program else frozenset(entry.touched),
        )

    def _further_runs(self, path: str, count: int) -> bool:
        """The runs for answers, after the base run; tells whether there was any that may be given either way.

        `count`: how many functions and classes were known when the base run began.
        """
        machine = self.machine
        picked = one_of_each(machine) if self.is_program and machine.world.device_count else {}
        always = picked if machine.run.steps >= machine.run.limit else {}
        if always:  # with all that such options may be the program came to no end
            self._attempt(always)
        limited, promoted = dict(machine.run.limited), dict(machine.run.promoted)
        defaults, unlikely = dict(machine.run.defaults), self._unlikely()
        users = of_users(machine) if self.is_program else {}
        given = {**open_ones(machine, users), **always}
        asked = self._asked()
        varying = [key for key in asked if may_vary(machine, key)]
        if asked and not self.is_program and self._is_all_in_place(count):
            asked = []
        combined = joint(machine, asked)
        self._on_the_first({})
        there = {**on_a_gpu(machine, asked), **given}
        if self.is_program:
            self._as_started(usual(machine, asked), defaults, always)
            if picked and not always and self._goes_on():
                self._attempt({**there, **picked})
        behind: list[dict[ChoiceKey, bool]] = []
        for key, answer in self._answers(asked, defaults, unlikely):
            self._attempt({**given, key: answer})
            if self.is_program:
                behind.extend(beyond(machine, {key: answer}, promoted))
            self._on_the_first({**given, key: answer})
        combined = [*together(machine), *combined, *behind[:MAX_BEYOND]] if self.is_program else []
        self._several_at_once(combined, [key for key in asked if key in varying], given, unlikely)
        if users and self.spent <= self.most:
            self._on_users_devices(users)
        if self.is_program and machine.world.device_count:
            self._with_other_values(path, limited, there)
        return bool(promoted)

    def _as_started(
        self, usually: dict[ChoiceKey, bool], defaults: dict[ChoiceKey, bool], always: dict[ChoiceKey, bool]
    ) -> None:
        """The run in which nobody gives any of several options, if the base run was another."""
        if len(usually) > 1 and self.spent <= self.most:
            if any(defaults.get(key) is not answer for key, answer in usually.items()):
                self._attempt({**always, **usually})

    def _several_at_once(
        self,
        combined: list[dict[ChoiceKey, bool]],
        varying: list[ChoiceKey],
        given: dict[ChoiceKey, bool],
        unlikely: set[ChoiceKey],
    ) -> None:
        """Runs that assume several answers, and those in which one condition has not the same answer for all data."""
        for assume in combined:
            if not any(assume.get(key) for key in unlikely):
                if not self._goes_on():
                    return
                self._attempt({**given, **assume})
        for key in varying:
            if not self._goes_on():
                return
            self._attempt({**given, key: True, VARIES: True})

    def _with_other_values(self, path: str, limited: dict[str, Limited], there: dict[ChoiceKey, bool]) -> None:
        """Runs of a program with values of its options that lead where no run has come."""
        if limited:
            note_picked(self.machine, {path, *self.imports()}, limited)
        for key in islice(others_worth_a_run(self.machine), MAX_TRIED):
            if not self._goes_on():
                return
            self._attempt({**there, key: True})

    def _on_users_devices(self, users: dict[ChoiceKey, bool]) -> None:
        """The same again with a GPU in every setting that names a device, and once more for each answer to what becomes
        worth a run then."""
        self._attempt(users)
        asked, defaults, unlikely = self._asked(), dict(self.machine.run.defaults), self._unlikely()
        for key, answer in self._answers(asked, defaults, unlikely):
            self._attempt({**users, key: answer})

    def _answers(
        self, asked: list[ChoiceKey], defaults: dict[ChoiceKey, bool], unlikely: set[ChoiceKey]
    ) -> Iterator[tuple[ChoiceKey, bool]]:
        """Yield the answers that a run may show something by, as long as there are steps left: none that was taken
        already (`defaults`), no yes that only results could give."""
        for key in asked:
            for answer in (True, False):
                if defaults.get(key) is not answer and not (answer and key in unlikely):
                    if not self._goes_on():
                        return
                    yield key, answer

    def _on_the_first(self, assume: dict[ChoiceKey, bool]) -> None:
        """Where a run just asked for a GPU, and nobody knows which of several: the same again on the first of them."""
        if FIRST_GPU in self.machine.run.asked and self.machine.world.device_count > 1:
            self._attempt({**assume, FIRST_GPU: True})

    def _asked(self) -> list[ChoiceKey]:
        """The conditions that the last run made choices, as many as are answered; without a GPU none is."""
        most = MAX_CHOICES_PROGRAM if self.is_program else MAX_CHOICES_ENTRY
        return in_turn(self.machine.run.promoted)[:most] if self.machine.world.device_count else []

    def _unlikely(self) -> set[ChoiceKey]:
        """The conditions that only results could answer with a yes, as the last run met them."""
        return {key for key, only_results in self.machine.run.unlikely.items() if only_results}

    def _goes_on(self) -> bool:
        """Whether there are steps left for a further run.

        Raises:
            TooSlow: the deadline is past.
        """
        if time.monotonic() > self.deadline:
            raise TooSlow
        if self.spent > self.most:
            self.statistics["budget: choices"] += 1
            return False
        return True

    def _is_all_in_place(self, count: int) -> bool:
        """Whether all that an entry met, whatever the conditions, stands where the protocol has put it.

        Then nothing can meet that does not agree, and no answer is worth a run, unless there is a forward to which the
        run did not come; nor may a file that is imported hold anything that stands elsewhere. A tensor that the entry
        itself makes elsewhere, and of which no join lost the place, meets what it meets whatever the answers are.
        """
        machine = self.machine
        if machine.run.elsewhere or machine.loss.named or (machine.run.strayed and machine.loss.hidden):
            return False
        if any(_hides_forward(machine, node) for node in newest(machine.visited, count)):
            return False
        return not machine.elsewhere_by_import or machine.elsewhere_by_import.isdisjoint(self.imports())

    def _attempt(self, assume: dict[ChoiceKey, bool], keep: bool = False) -> Delta:
        """Run once and undo it; returns what it wrote, where that is to be kept."""
        machine = self.machine
        machine.begin(self.budget, assume, (PROGRAM_ENDURANCE if self.is_program else 1) * self.budget)
        state, machine.state = machine.state, State()
        machine.store.log = []
        self.statistics["runs"] += 1
        try:
            self.run()
        except OutOfBudget:
            self.statistics["budget: entries"] += 1
        except RecursionError:
            self.statistics["budget: recursion"] += 1
        except Crash:
            pass
        delta: Delta = {}
        if keep:
            delta = machine.store.rollback(0)
        else:
            machine.store.undo(0)
        machine.store.log = None
        machine.state = state
        self.spent += machine.run.steps
        return delta


def _hides_forward(machine: Machine, reached: ir.Node) -> bool:
    """Whether it is a class of which an instance was built, and whose forward was not run."""
    return isinstance(reached, ir.Class) and any(
        isinstance(part, ir.Function) and part.name == "forward" and part.speaks and part not in machine.visited
        for part in reached.body
    )


def newest(reached: dict[ir.Node, None], count: int) -> tuple[ir.Node, ...]:
    """The nodes that came after the first `count`."""
    return tuple(islice(reversed(reached), len(reached) - count))
