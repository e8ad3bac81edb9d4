"""Conditions that the world does not decide: how they are named, and what was assumed of them.

A condition becomes a choice only when the join behind it loses a device. The same key gets the same answer everywhere
in one run, so that `if use_gpu: model.cuda()` and a later `if use_gpu: x = x.cuda()` agree.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence as Items
from typing import TYPE_CHECKING, TypeAlias

from devlint.analysis.access import truth
from devlint.analysis.dispatch import EVALUATE
from devlint.analysis.domain.values import (
    BOOL,
    CUT,
    FOLLOWS,
    RESULT_IS_NONE,
    Answer,
    Const,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.events import Choice, Site
from devlint.analysis.flow.conditions import follows
from devlint.analysis.flow.counting import weigh
from devlint.analysis.flow.gpu_numbers import is_chosen
from devlint.analysis.flow.narrowing import narrow
from devlint.analysis.flow.option_names import asks_for_gpu, is_gpu_flag, is_gpu_option, speaks_of_gpu
from devlint.analysis.flow.presets import tested
from devlint.analysis.flow.questions import CONTRARY, asks_for_change, asks_where, question
from devlint.analysis.flow.varying import is_of_others, note_asked
from devlint.analysis.python.arguments import ARGUMENT_COUNTS, Arguments
from devlint.analysis.pytorch.devices import note_condition
from devlint.analysis.pytorch.host import note_wait, read_pending
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

ChoiceKey: TypeAlias = "str | tuple[str, str] | tuple[str, int, int]"
"""A canonical name (`args.cuda`, `args.gpu is None`); what is asked, by the names in a file; or the place of the
condition."""


_NOTHING: dict[bool, Choice] = {}


class Decision:
    """The answer to a condition: known, or a choice with the polarity with which its key stands in the condition.

    `is_free` is False where the answer follows from what was computed (where a tensor is) and is no choice at all.
    `default`: whether it holds where the program is started without arguments. `test`: what was asked, where that is
    about numbers or what tensors hold. `instead`: what to say of a side on which a part of the condition is not surely
    so: of `a or b`, that one holds. `is_cut`: a bound left out what would answer it. `beside`: the undecided parts that
    have the same answer as the whole on the side where that is `together`: all of `a and b` hold.
    """

    __slots__ = (
        "truth",
        "key",
        "choice",
        "polarity",
        "is_free",
        "default",
        "test",
        "instead",
        "is_cut",
        "beside",
        "together",
    )

    def __init__(
        self,
        truth: bool | None,
        key: ChoiceKey = "",
        choice: Choice | None = None,
        polarity: bool = True,
        is_free: bool = True,
        default: bool | None = None,
    ) -> None:
        self.truth = truth
        self.key = key
        self.choice = choice
        self.polarity = polarity
        self.is_free = is_free
        self.default = default
        self.test: ir.Expr | None = None
        self.instead: dict[bool, Choice] = _NOTHING
        self.is_cut = False
        self.beside: Items[Decision] = ()
        self.together = True

    def negated(self) -> Decision:
        """The decision of `not condition`."""
        answer = None if self.truth is None else not self.truth
        default = None if self.default is None else not self.default
        contrary = Decision(answer, self.key, self.choice, not self.polarity, self.is_free, default)
        contrary.test, contrary.is_cut = self.test, self.is_cut
        contrary.beside, contrary.together = [part.negated() for part in self.beside], not self.together
        contrary.instead = {not holds: choice for holds, choice in self.instead.items()}
        return contrary

    def chosen(self, holds: bool) -> Choice:
        """What a path says where the condition holds (or does not): of the name, or of what is asked as it stands."""
        assert self.choice is not None
        if holds in self.instead:
            return self.instead[holds]
        straight = self.polarity if self.choice.condition else self.polarity is self.choice.value
        return Choice(self.choice.condition, straight is holds, self.choice.site)

    def guards(self, machine: Machine, holds: bool) -> bool:
        """Whether an option of the user's own stands guard where the condition holds (or does not)."""
        if stands_guard(machine, self.key, isinstance(self.key, str), holds is self.polarity):
            return True
        return holds is self.together and any(part.guards(machine, holds) for part in self.beside)


def stands_guard(machine: Machine, key: ChoiceKey, named: bool, answer: bool) -> bool:
    """Whether a condition with this answer guards what needs a GPU: an option does (`named`), and, where there is none,
    a name that speaks of GPUs, though nobody knows what it holds (`config.use_gpu` of what another file gave). What is
    the default of an option is said by leaving it alone, if it speaks of GPUs: of one that does not
    (`args.pretrained`) nobody has said that there is a GPU, and where there are some, nobody has said how many."""
    if not named and machine.world.device_count:
        return False
    text = key if isinstance(key, str) else key[1] if len(key) == 2 else ""
    if not isinstance(key, str) and text.startswith("("):
        text = text[1:-1]
    if not text or not asks_for_gpu(text, answer):
        return False
    if machine.run.unless_given.get(key) is answer and (machine.world.device_count or not is_gpu_option(text)):
        return False
    return named or speaks_of_gpu(text)


def gpu_is_asked_for(machine: Machine) -> bool:
    """Whether the running path is one that somebody chose by such an option, for the GPU."""
    return any(
        is_gpu_option(choice.condition) and asks_for_gpu(choice.condition, choice.value) for choice in machine.run.path
    )


def cpu_is_asked_for(machine: Machine) -> bool:
    """Whether the running path is one that somebody chose by such an option, against the GPU."""
    return any(
        is_gpu_option(choice.condition) and not asks_for_gpu(choice.condition, choice.value)
        for choice in machine.run.path
    )


def cpu_is_assumed(machine: Machine) -> bool:
    """Whether a run assumes an answer to a flag for GPUs, whoever gives it, that nobody gives who has one in mind."""
    for key, answer in machine.run.assume.items():
        text = key if isinstance(key, str) else key[1] if len(key) == 2 else ""
        if isinstance(text, str) and is_gpu_flag(text.strip("()")) and not asks_for_gpu(text.strip("()"), answer):
            return True
    return False


YES = Decision(True)
NO = Decision(False)
_OPEN = Decision(None, is_free=False)


def decide(machine: Machine, test: ir.Expr, frame: Frame) -> Decision:
    """Evaluate a condition as far as this world and the assumptions of this run answer it."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        return decide(machine, test.value, frame).negated()
    if isinstance(test, ir.Bool):
        return _decide_bool(machine, test, frame)
    return decide_value(machine, EVALUATE[test.__class__](machine, test, frame), test, frame)


def _decide_bool(machine: Machine, test: ir.Bool, frame: Frame) -> Decision:
    around, machine.run.connective = machine.run.connective, test
    try:
        return _decide_parts(machine, test, frame)
    finally:
        machine.run.connective = around


def _decide_parts(machine: Machine, test: ir.Bool, frame: Frame) -> Decision:
    for index, part in enumerate(test.values):
        decision = decide(machine, part, frame)
        if decision.truth is None:
            later = ask_later(machine, part, test.values[index + 1 :], frame, not test.is_and)
            if later is None:
                return NO if test.is_and else YES
            if later:
                _note_joint(machine, decision, later, test.is_and)
                alike = decision.beside if decision.together is test.is_and else ()
                decision.beside, decision.together = [*alike, *later], test.is_and
            if later and decision.default is test.is_and:
                decision.default = None  # then the rest would be asked
            if decision.choice is not None and not is_gpu_option(decision.choice.condition):
                whole = Choice("", not test.is_and, Site(frame.namespace.path, test.at))
                decision.instead = {**decision.instead, not test.is_and: whole}
            return decision
        if decision.truth is not test.is_and:
            return decision
    return YES if test.is_and else NO


def ask_later(
    machine: Machine, part: ir.Expr, rest: list[ir.Expr], frame: Frame, decisive: bool
) -> list[Decision] | None:
    """The later parts that are not decided either; None where one settles the condition, whatever the undecided is.

    They are asked only where that part does not.
    """
    machine.run.quiet += 1
    opened = machine.store.open()
    mark = machine.store.mark()
    undecided: list[Decision] = []
    try:
        narrow(machine, part, frame, not decisive)
        for later in rest:
            decision = decide(machine, later, frame)
            if decision.truth is decisive:
                return None
            if decision.truth is None:
                undecided.append(decision)
        return undecided
    except Crash:
        return [_OPEN]
    finally:
        machine.store.undo(mark)
        if opened:
            machine.store.close()
        machine.run.quiet -= 1


def _note_joint(machine: Machine, first: Decision, later: list[Decision], answer: bool) -> None:
    """Note what settles a condition of several undecided parts: all of an `and` hold, none of an `or` does."""
    joint: dict[ChoiceKey, bool] = {}
    for decision in (first, *later):
        wanted = decision.polarity is answer
        if not decision.is_free or decision.is_cut or joint.setdefault(decision.key, wanted) is not wanted:
            return
    if len(joint) > 1:
        known = machine.run.joint.setdefault(first.key, [])
        if joint not in known:
            known.append(joint)


def decide_value(machine: Machine, value: Value, test: ir.Expr, frame: Frame) -> Decision:
    """Decide by a value that was already computed from `test`."""
    if machine.presets and isinstance(value, Const):
        value = tested(machine, value) or value
    kind = value.__class__
    if kind is Const:
        assert isinstance(value, Const)
        if value.site is None and (value.value is True or value.value is False):
            return YES if value.value else NO
        _note_constant(machine, value, test, frame)
    elif kind is Tensor:
        assert isinstance(value, Tensor)
        note_wait(machine, value, "a condition", test, frame)
        read_pending(machine, value, "", test, frame)
    elif isinstance(value, Sequence) and value.counted:
        machine.testify("availability", frame)  # whether the list of GPUs is empty
    answer = truth(machine, value)
    if answer is not None:
        note_condition(machine, value, test, frame)
        return YES if answer else NO
    asked = _asked_by(machine, value, test, frame)
    if asked.named and is_gpu_flag(asked.choice.condition):
        machine.testify("option", frame)
    machine.run.asked[asked.key] = None
    answer = _known_answer(machine, asked, test, frame)
    if answer is not None:
        return YES if answer is asked.polarity else NO
    is_whole = machine.run.branching is not None and machine.run.branching.test is test
    if is_whole and isinstance(test, ir.Compare) and asks_for_change(machine, test, frame):
        return YES if test.operator == "!=" else NO
    return _undecided(machine, asked, kind is Tensor, test, frame)


def _note_constant(machine: Machine, value: Const, test: ir.Expr, frame: Frame) -> None:
    """Note what it says of the program that a condition asks for a constant: for a number, for how many GPUs there are,
    for one of these by its number."""
    if value.value.__class__ is int:
        weigh(machine, test, frame)
    if value.site is not None and value.site.key in machine.places.counts | machine.places.accelerators:
        machine.testify("availability", frame)
    if value.value == 1 and is_chosen(machine, value):
        machine.testify("option", frame)  # 1 is a yes, and 0 would be a no


class _Asked:
    """What an undecided condition asks, and by which value. `polarity`: which answer to the question is a yes to the
    condition. `named`: an option or setting of the user's, by its name."""

    __slots__ = ("value", "key", "choice", "polarity", "named", "default")

    def __init__(
        self, value: Value, key: ChoiceKey, choice: Choice, polarity: bool, named: bool, default: bool | None
    ) -> None:
        self.value = value
        self.key = key
        self.choice = choice
        self.polarity = polarity
        self.named = named
        self.default = default


def _asked_by(machine: Machine, value: Value, test: ir.Expr, frame: Frame) -> _Asked:
    """The question of a condition that came to this value: by a name, if it has one, else as it is written."""
    if isinstance(value, Maybe) and truth(machine, value.value):
        value = presence(value, True)
    elif isinstance(value, Arguments):
        value = _more_arguments(value.start)
    elif value is ARGUMENT_COUNTS[0]:
        value = _more_arguments(1)
    text, polarity, named = "", True, False
    default: bool | None = None
    if isinstance(value, Unknown) and value.path:
        polarity = not value.path.startswith("not ")
        text = value.path.removeprefix("not ")
        key: ChoiceKey = text
        named = value.named
        if value.default is not None:
            machine.run.unless_given[key] = truth(machine, value.default)
    elif isinstance(value, Answer):
        key, polarity = value.key, value.polarity
        text = key if isinstance(key, str) else ""
        default = None if machine.run.has_arguments else value.holds
    else:
        key, polarity = question(machine, test, frame)
    return _Asked(value, key, Choice(text, polarity, Site(frame.namespace.path, test.at)), polarity, named, default)


def _known_answer(machine: Machine, asked: _Asked, test: ir.Expr, frame: Frame) -> bool | None:
    """The answer to a question in this run: it is assumed, follows from the conditions around, or is settled."""
    key, choice = asked.key, asked.choice
    assumed = _implied(machine, key)
    if assumed is not None:
        if machine.run.varies and key in machine.run.assume and is_of_others(machine, key, test, frame):
            return not assumed
        text = choice.condition
        used = Choice(text, assumed if text else assumed is asked.polarity, choice.site)
        if used not in machine.run.path:
            machine.run.path.append(used)
            machine.run.guards += stands_guard(machine, key, asked.named, assumed)
        return assumed
    within = follows(machine, machine.run.within, key) if machine.run.within and isinstance(key, str) else None
    if within is not None:
        return within
    settled = machine.run.settled.get(key)
    if settled is not None and key not in machine.run.vouched and stands_guard(machine, key, asked.named, settled):
        machine.run.vouched.add(key)
        machine.run.guards += 1
    return settled


def _undecided(machine: Machine, asked: _Asked, is_tensor: bool, test: ir.Expr, frame: Frame) -> Decision:
    """The decision where nothing answers the question; notes what else is to be known of it."""
    value, key = asked.value, asked.key
    is_free = value is not CUT and value is not FOLLOWS and not asks_where(machine.project, test)
    decision = Decision(None, key, asked.choice, asked.polarity, is_free, asked.default)
    decision.is_cut = value is CUT
    asks_content = is_tensor or (isinstance(test, ir.Compare) and test.operator not in ("is", "is-not"))
    if is_free:
        note_asked(machine, key, test, value, frame)
    if asks_content and is_free:
        decision.test = test
    elif isinstance(test, ir.Compare):
        _note_likely(machine, key, value)
    return decision


def _note_likely(machine: Machine, key: ChoiceKey, value: Value) -> None:
    """Note whether the question if something is None is only asked of what a call gave of which nothing is known."""
    if value is RESULT_IS_NONE:
        machine.run.unlikely.setdefault(key, True)
    else:
        machine.run.unlikely[key] = False


def _more_arguments(number: int) -> Answer:
    """`len(sys.argv) > number`."""
    return Answer(f"{_MORE}{number}", True, number < 1)


_MORE = "len(sys.argv) > "


def _implied(machine: Machine, key: ChoiceKey) -> bool | None:
    """What was assumed of a condition, or follows for the number of arguments from what was assumed of it."""
    if machine.run.has_arguments and isinstance(key, str) and key.startswith(_MORE):
        number = int(key.removeprefix(_MORE))
        for other, answer in machine.run.assume.items():
            if isinstance(other, str) and other.startswith(_MORE):
                known = int(other.removeprefix(_MORE))
                if (known >= number) if answer else (known <= number):
                    return answer
    if not machine.run.assume or not isinstance(key, str):
        return machine.run.assume.get(key)
    return follows(machine, machine.run.assume, key)


def count_arguments(left: Value, symbol: str, right: Value) -> Answer | None:
    """`len(sys.argv) > 1`: what it comes to without arguments is known."""
    if not (left in ARGUMENT_COUNTS and isinstance(left, Scalar) and left.low is not None):
        return None
    if not (isinstance(right, Const) and isinstance(right.value, int)):
        return None
    number = right.value + 1 - left.low
    text, polarity = {"<": (f"> {number - 1}", False), ">=": (f"> {number - 1}", True)}.get(
        symbol, (f"{CONTRARY.get(symbol, symbol)} {number}", symbol not in CONTRARY)
    )
    return Answer(f"len(sys.argv) {text}", polarity, COMPARE[symbol](1, number))


COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def presence(value: Maybe, there: bool) -> Value:
    """What the question comes to whether a value that may be None is there (or is not)."""
    return BOOL if value.key is None else Answer(value.key, value.there is there)
