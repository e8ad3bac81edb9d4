"""Conditions that the world does not decide: how they are named, and what was assumed of them.

A condition becomes a choice only when the join behind it loses a device. The same key gets the same answer everywhere
in one run, so that `if use_gpu: model.cuda()` and a later `if use_gpu: x = x.cuda()` agree.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
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
from devlint.analysis.flow.varying import is_of_others, note_asked
from devlint.analysis.flow.visiting import held
from devlint.analysis.python.arguments import ARGUMENT_COUNTS, Arguments
from devlint.analysis.pytorch.devices import note_condition
from devlint.analysis.pytorch.host import note_wait, read_pending
from devlint.analysis.signals import Crash
from devlint.syntax import ir
from devlint.syntax.walk import dotted

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
        self.beside: Sequence[Decision] = ()
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
    if machine.unless_given.get(key) is answer and (machine.world.device_count or not is_gpu_option(text)):
        return False
    return named or speaks_of_gpu(text)


def gpu_is_asked_for(machine: Machine) -> bool:
    """Whether the running path is one that somebody chose by such an option, for the GPU."""
    return any(
        is_gpu_option(choice.condition) and asks_for_gpu(choice.condition, choice.value) for choice in machine.path
    )


def cpu_is_asked_for(machine: Machine) -> bool:
    """Whether the running path is one that somebody chose by such an option, against the GPU."""
    return any(
        is_gpu_option(choice.condition) and not asks_for_gpu(choice.condition, choice.value) for choice in machine.path
    )


def cpu_is_assumed(machine: Machine) -> bool:
    """Whether a run assumes an answer to a flag for GPUs, whoever gives it, that nobody gives who has one in mind."""
    for key, answer in machine.assume.items():
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
    around, machine.connective = machine.connective, test
    try:
        return _decide_parts(machine, test, frame)
    finally:
        machine.connective = around


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
    machine.quiet += 1
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
        machine.quiet -= 1


def _note_joint(machine: Machine, first: Decision, later: list[Decision], answer: bool) -> None:
    """Note what settles a condition of several undecided parts: all of an `and` hold, none of an `or` does."""
    joint: dict[ChoiceKey, bool] = {}
    for decision in (first, *later):
        wanted = decision.polarity is answer
        if not decision.is_free or decision.is_cut or joint.setdefault(decision.key, wanted) is not wanted:
            return
    if len(joint) > 1:
        known = machine.joint.setdefault(first.key, [])
        if joint not in known:
            known.append(joint)


def decide_value(machine: Machine, value: Value, test: ir.Expr, frame: Frame) -> Decision:
    """Decide by a value that was already computed from `test`."""
    if machine.presets and isinstance(value, Const):
        value = tested(machine, value) or value
    kind = value.__class__
    if kind is Const:
        assert isinstance(value, Const)
        content = value.value
        if content is True or content is False:
            if value.site is None:
                return YES if content else NO
        elif content.__class__ is int:
            weigh(machine, test, frame)
        if value.site is not None and machine.counts and value.site.key in machine.counts:
            machine.testify("availability", frame)
        if content == 1 and is_chosen(machine, value):
            machine.testify("option", frame)  # 1 is a yes, and 0 would be a no
    elif kind is Tensor:
        assert isinstance(value, Tensor)
        note_wait(machine, value, "a condition", test, frame)
        read_pending(machine, value, "", test, frame)
    answer = truth(machine, value)
    if answer is not None:
        note_condition(machine, value, test, frame)
        return YES if answer else NO
    if machine.protocol:
        wanted = _asks_for_cuda(test, frame)
        if wanted is not None:  # what is not known of the inputs is where those are that are taken to be somewhere
            return YES if wanted is machine.world.has_cuda else NO
    polarity = True
    named = False
    if isinstance(value, Maybe) and truth(machine, value.value):
        value = presence(value, True)
    elif isinstance(value, Arguments):
        value = _more_arguments(value.start)
    elif value is ARGUMENT_COUNTS[0]:
        value = _more_arguments(1)
    default: bool | None = None
    if isinstance(value, Unknown) and value.path:
        key: ChoiceKey = value.path
        text = value.path
        named = value.named
        if text.startswith("not "):
            key = text = text[4:]
            polarity = False
        if value.default is not None:
            machine.unless_given[key] = truth(machine, value.default)
    elif isinstance(value, Answer):
        key, polarity = value.key, value.polarity
        text = key if isinstance(key, str) else ""
        default = None if machine.has_arguments else value.holds
    else:
        key, polarity = _question(machine, test, frame)
        text = ""
    choice = Choice(text, polarity, Site(frame.namespace.path, test.at))
    if named and is_gpu_flag(text):
        machine.testify("option", frame)
    machine.asked.add(key)
    assumed = _implied(machine, key)
    if machine.varies and assumed is not None and key in machine.assume and is_of_others(machine, key, test, frame):
        return NO if assumed is polarity else YES
    if assumed is not None:
        used = Choice(text, assumed if text else assumed is polarity, choice.site)
        if used not in machine.path:
            machine.path.append(used)
            machine.guards += stands_guard(machine, key, named, assumed)
        return YES if assumed is polarity else NO
    within = follows(machine, machine.within, key) if machine.within and isinstance(key, str) else None
    if within is not None:
        return YES if within is polarity else NO
    settled = machine.settled.get(key)
    if settled is not None:
        if key not in machine.vouched and stands_guard(machine, key, named, settled):
            machine.vouched.add(key)
            machine.guards += 1
        return YES if settled is polarity else NO
    is_whole = machine.branching is not None and machine.branching.test is test
    if is_whole and isinstance(test, ir.Compare) and _asks_for_change(machine, test, frame):
        return YES if test.operator == "!=" else NO
    is_free = value is not CUT and value is not FOLLOWS and not _asks_where(machine, test)
    decision = Decision(None, key, choice, polarity, is_free, default)
    decision.is_cut = value is CUT
    asks_content = kind is Tensor or (isinstance(test, ir.Compare) and test.operator not in ("is", "is-not"))
    if decision.is_free:
        note_asked(machine, key, test, value, frame)
    if asks_content and decision.is_free:
        decision.test = test
    elif isinstance(test, ir.Compare):
        _note_likely(machine, key, value)
    return decision


def _note_likely(machine: Machine, key: ChoiceKey, value: Value) -> None:
    """Note whether the question if something is None is only asked of what a call gave of which nothing is known."""
    if value is RESULT_IS_NONE:
        machine.unlikely.setdefault(key, True)
    else:
        machine.unlikely[key] = False


def _more_arguments(number: int) -> Answer:
    """`len(sys.argv) > number`."""
    return Answer(f"{_MORE}{number}", True, number < 1)


_MORE = "len(sys.argv) > "


def _implied(machine: Machine, key: ChoiceKey) -> bool | None:
    """What was assumed of a condition, or follows for the number of arguments from what was assumed of it."""
    if machine.has_arguments and isinstance(key, str) and key.startswith(_MORE):
        number = int(key.removeprefix(_MORE))
        for other, answer in machine.assume.items():
            if isinstance(other, str) and other.startswith(_MORE):
                known = int(other.removeprefix(_MORE))
                if (known >= number) if answer else (known <= number):
                    return answer
    if not machine.assume or not isinstance(key, str):
        return machine.assume.get(key)
    return follows(machine, machine.assume, key)


def count_arguments(left: Value, symbol: str, right: Value) -> Answer | None:
    """`len(sys.argv) > 1`: what it comes to without arguments is known."""
    if not (left in ARGUMENT_COUNTS and isinstance(left, Scalar) and left.low is not None):
        return None
    if not (isinstance(right, Const) and isinstance(right.value, int)):
        return None
    number = right.value + 1 - left.low
    text, polarity = {"<": (f"> {number - 1}", False), ">=": (f"> {number - 1}", True)}.get(
        symbol, (f"{_CONTRARY.get(symbol, symbol)} {number}", symbol not in _CONTRARY)
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


def _question(machine: Machine, test: ir.Expr, frame: Frame) -> tuple[ChoiceKey, bool]:
    """What a condition without a name asks, so that `if n > 1:` here and `if n <= 1:` there are one question."""
    known = machine.project.questions.get(test)
    if known is None:
        polarity = True
        symbol = ""
        if isinstance(test, ir.Compare):
            symbol = test.operator
            if symbol in _CONTRARY:
                symbol, polarity = _CONTRARY[symbol], False
        text = _written(test, symbol)
        path = frame.namespace.path
        known = ((path, text) if text else Site(path, test.at).key), polarity
        machine.project.questions[test] = known
    return known


_CONTRARY = {"!=": "==", "is-not": "is", "not-in": "in", "<=": ">", ">=": "<"}


def _written(node: ir.Expr, symbol: str = "") -> str:
    """An expression of names, constants, comparisons and calls as text; "" if it is made of something else."""
    if isinstance(node, (ir.Name, ir.Attribute)):
        return dotted(node)
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, ir.Compare):
        left, right = _written(node.left), _written(node.right)
        return f"({left} {symbol or node.operator} {right})" if left and right else ""
    if isinstance(node, ir.Subscript):
        left, right = _written(node.value), _written(node.index)
        return f"{left}[{right}]" if left and right else ""
    if isinstance(node, ir.Call) and not node.keywords:
        parts = [_written(part) for part in (node.function, *node.args)]
        return f"{parts[0]}({', '.join(parts[1:])})" if all(parts) else ""
    return ""


def _asks_for_change(machine: Machine, test: ir.Compare, frame: Frame) -> bool:
    """Whether a condition asks if something is another than the last time, which is kept for that (`if index != last:
    ...; last = index`), and there was none yet: what was put there to begin with is not what is asked for."""
    if test.operator not in ("==", "!="):
        return False
    body = frame.namespace.module if frame.function is None else frame.function
    kept = machine.project.kept.get(body)
    if kept is None:
        kept = machine.project.kept[body] = frozenset(_kept(body))
    left, right = dotted(test.left), dotted(test.right)
    return ((left, right) in kept and isinstance(held(test.left, frame), Const)) or (
        (right, left) in kept and isinstance(held(test.right, frame), Const)
    )


def _kept(body: ir.Module | ir.Function) -> Iterator[tuple[str, str]]:
    """The names that a function or file assigns, each with the name of what it is given."""
    waiting: list[ir.Node] = list(body.body if isinstance(body, ir.Module) else body.body.statements)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ir.Assign) and len(part.targets) == 1:
            names = dotted(part.targets[0]), dotted(part.value)
            if all(names):
                yield names
        elif not isinstance(part, (ir.Function, ir.Class)):
            for block in ("body", "orelse", "final", "handlers", "cases"):
                waiting += getattr(part, block, None) or ()


def _asks_where(machine: Machine, test: ir.Expr) -> bool:
    """Whether a condition asks on which device a tensor is: `x.is_cuda`, `x.get_device() >= 0`, `x.type() == name`."""
    known = machine.project.asks_where.get(test)
    if known is None:
        known = machine.project.asks_where[test] = _is_question_where(test)
    return known


def _asks_for_cuda(test: ir.Expr, frame: Frame) -> bool | None:
    """The answer on CUDA to a question that asks of what kind the device of an input is: `x.device.type == "cuda"`."""
    if isinstance(test, ir.Attribute):
        return True if test.name == "is_cuda" and _is_parameter(test.value, frame) else None
    if not isinstance(test, ir.Compare) or test.operator not in ("==", "!="):
        return None
    asked, name = test.left, test.right
    if not (isinstance(asked, ir.Attribute) and asked.name == "type" and isinstance(name, ir.Const)):
        return None
    if not (isinstance(asked.value, ir.Attribute) and asked.value.name == "device") or name.value not in (
        "cuda",
        "cpu",
    ):
        return None
    if not _is_parameter(asked.value.value, frame):
        return None
    return (test.operator == "==") is (name.value == "cuda")


def _is_parameter(node: ir.Expr, frame: Frame) -> bool:
    return isinstance(node, ir.Name) and frame.function is not None and node.id in frame.function.parameters.positional


def _is_question_where(test: ir.Expr) -> bool:
    if isinstance(test, ir.Compare):
        return _is_question_where(test.left) or _is_question_where(test.right)
    if isinstance(test, ir.Call):
        asked = test.function
        if not isinstance(asked, ir.Attribute):
            return False
        return asked.name == "get_device" or (asked.name == "type" and not test.args) or _is_question_where(asked.value)
    return isinstance(test, ir.Attribute) and test.name in ("is_cuda", "is_cpu")


def presence(value: Maybe, there: bool) -> Value:
    """What the question comes to whether a value that may be None is there (or is not)."""
    return BOOL if value.key is None else Answer(value.key, value.there is there)
