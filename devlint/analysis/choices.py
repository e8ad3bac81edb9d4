"""Conditions that the world does not decide: how they are named, and what was assumed of them.

A condition becomes a choice only when the join behind it loses a device. The same key gets the same answer everywhere
in one run, so that `if use_gpu: model.cuda()` and a later `if use_gpu: x = x.cuda()` agree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from devlint.analysis.access import path_of, truth
from devlint.analysis.devices import note_condition
from devlint.analysis.events import Choice, Site
from devlint.analysis.host import note_wait
from devlint.analysis.machine import Crash
from devlint.analysis.values import NONE, Const, Tensor, Unknown, Value
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

ChoiceKey: TypeAlias = "str | tuple[str, int, int]"
"""A canonical name (`args.cuda`, `args.gpu is None`), or the place of the condition."""


class Decision:
    """The answer to a condition: known, or a choice with the polarity with which its key stands in the condition.

    `is_free` is False where the answer follows from what was computed (where a tensor is) and is no choice at all.
    """

    __slots__ = ("truth", "key", "choice", "polarity", "is_free")

    def __init__(
        self,
        truth: bool | None,
        key: ChoiceKey = "",
        choice: Choice | None = None,
        polarity: bool = True,
        is_free: bool = True,
    ) -> None:
        self.truth = truth
        self.key = key
        self.choice = choice
        self.polarity = polarity
        self.is_free = is_free

    def negated(self) -> Decision:
        """The decision of `not condition`."""
        answer = None if self.truth is None else not self.truth
        return Decision(answer, self.key, self.choice, not self.polarity, self.is_free)

    def guards(self, holds: bool) -> bool:
        """Whether an option of the user's own stands guard where the condition holds (or does not)."""
        return isinstance(self.key, str) and asks_for_gpu(self.key, holds is self.polarity)


def asks_for_gpu(key: str, answer: bool) -> bool:
    """Whether somebody who answers an option of the program so takes it upon them that there is a GPU.

    `args.cuda` is true, `args.gpu is None` is not, nor is `args.no_cuda` or `args.cpu`.
    """
    if key.endswith((" is None", " == -1", " == ''")):
        return not answer
    name = key.rpartition(".")[2].lower()
    against = "cpu" in name or (name.startswith(("no", "disable", "without")) and ("cuda" in name or "gpu" in name))
    return answer is not against


def is_gpu_option(key: str) -> bool:
    """Whether an option of the program is, by its name, about where it runs: `args.no_cuda`, `opt['gpu']`."""
    name = key.rpartition(".")[2].lower()
    return any(word in name for word in ("cuda", "gpu", "cpu", "device"))


_FLAG = re.compile(r"(no|use|with|enable|disable|without|is|on)?_?(cuda|gpu|cpu)(_only)?|device == '(cpu|cuda)'")


def is_gpu_flag(key: str) -> bool:
    """Whether an option of the program is there to run it without a GPU, or with one: `args.no_cuda`, `opt['cpu']`.

    Which GPU, and how many, is another matter: `args.gpu_ids`, `args.num_gpus > 1`.
    """
    return _FLAG.fullmatch(key.rpartition(".")[2].lower().strip("'\"[]")) is not None


def gpu_is_asked_for(machine: Machine) -> bool:
    """Whether the running path is one that somebody chose by such an option, for the GPU."""
    return any(
        is_gpu_option(choice.condition) and asks_for_gpu(choice.condition, choice.value) for choice in machine.path
    )


YES = Decision(True)
NO = Decision(False)


def decide(machine: Machine, test: ir.Expr, frame: Frame) -> Decision:
    """Evaluate a condition as far as this world and the assumptions of this run answer it."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        return decide(machine, test.value, frame).negated()
    if isinstance(test, ir.Bool):
        return _decide_bool(machine, test, frame)
    return decide_value(machine, machine.evaluate(test, frame), test, frame)


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
            if _decided_by(machine, test.values[index + 1 :], frame, not test.is_and):
                return NO if test.is_and else YES
            return decision
        if decision.truth is not test.is_and:
            return decision
    return YES if test.is_and else NO


def _decided_by(machine: Machine, rest: list[ir.Expr], frame: Frame, decisive: bool) -> bool:
    """Whether one of the later parts settles the condition, whatever the undecided part is."""
    machine.quiet += 1
    opened = machine.store.open()
    mark = machine.store.mark()
    try:
        return any(decide(machine, part, frame).truth is decisive for part in rest)
    except Crash:
        return False
    finally:
        machine.store.undo(mark)
        if opened:
            machine.store.close()
        machine.quiet -= 1


def decide_value(machine: Machine, value: Value, test: ir.Expr, frame: Frame) -> Decision:
    """Decide by a value that was already computed from `test`."""
    kind = value.__class__
    if kind is Const:
        assert isinstance(value, Const)
        content = value.value
        if content is True or content is False:
            if value.site is None:
                return YES if content else NO
        elif content.__class__ is int:
            machine.weighed = True
        if value.site is not None and machine.counts and value.site.key in machine.counts:
            machine.testify("availability", frame)
    elif kind is Tensor:
        assert isinstance(value, Tensor)
        note_wait(machine, value, "a condition", test, frame)
    answer = truth(machine, value)
    if answer is not None:
        note_condition(machine, value, test, frame)
        return YES if answer else NO
    polarity = True
    named = False
    if isinstance(value, Unknown) and value.path:
        key: ChoiceKey = value.path
        text = value.path
        named = value.named
        if text.startswith("not "):
            key = text = text[4:]
            polarity = False
    else:
        site = Site(frame.namespace.path, test.at)
        key = site.key
        text = ""
    choice = Choice(text, polarity, Site(frame.namespace.path, test.at))
    if named and is_gpu_flag(text):
        machine.testify("option", frame)
    machine.asked.add(key)
    assumed = machine.assume.get(key)
    if assumed is not None:
        used = Choice(text, assumed, choice.site)
        if used not in machine.path:
            machine.path.append(used)
            if named and asks_for_gpu(str(key), assumed):
                machine.guards += 1
        return YES if assumed is polarity else NO
    settled = machine.settled.get(key)
    if settled is not None:
        if named and asks_for_gpu(str(key), settled) and key not in machine.vouched:
            machine.vouched.add(key)
            machine.guards += 1
        return YES if settled is polarity else NO
    return Decision(None, key, choice, polarity, not _asks_where(test))


def _asks_where(test: ir.Expr) -> bool:
    """Whether a condition asks on which device a tensor is: `x.is_cuda`, `x.get_device() >= 0`, `x.type() == name`."""
    if isinstance(test, ir.Compare):
        return _asks_where(test.left) or _asks_where(test.right)
    if isinstance(test, ir.Call):
        asked = test.function
        if not isinstance(asked, ir.Attribute):
            return False
        return asked.name == "get_device" or (asked.name == "type" and not test.args) or _asks_where(asked.value)
    return isinstance(test, ir.Attribute) and test.name in ("is_cuda", "is_cpu")


def narrow(machine: Machine, test: ir.Expr, frame: Frame, holds: bool) -> None:
    """Bind what a condition proves of a name on the side where it holds (or does not)."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        narrow(machine, test.value, frame, not holds)
    elif isinstance(test, ir.Bool):
        if test.is_and is holds:
            for part in test.values:
                narrow(machine, part, frame, holds)
    elif isinstance(test, ir.Compare) and test.operator in ("is", "is-not") and isinstance(test.left, ir.Name):
        none = isinstance(test.right, ir.Const) and test.right.value is None
        if none and (test.operator == "is") is holds:
            _bind(machine, test.left, frame, NONE)
    elif holds and isinstance(test, ir.Call) and test.args and isinstance(test.args[0], ir.Name):
        asked = [path_of(machine.evaluate(part, frame)) for part in (test.function, *test.args[1:])]
        if asked in (["torch.is_tensor"], ["builtins.isinstance", "torch.Tensor"]):
            _bind(machine, test.args[0], frame, Tensor(None))
    elif isinstance(test, ir.Attribute) and test.name == "is_cuda" and isinstance(test.value, ir.Name):
        _bind_device(machine, test.value, frame, holds)


def _bind_device(machine: Machine, name: ir.Name, frame: Frame, is_cuda: bool) -> None:
    """Bind a tensor that nothing is known of: on the GPU that programs use unless told otherwise, or on the CPU."""
    value = frame.names.get(name.id)
    if value.__class__ is Tensor and value.device is None and machine.has_cuda:
        device = f"cuda:{machine.state.current_device or 0}" if is_cuda else "cpu"
        origin = machine.origin("input", name, frame, device, name.id)
        known = Tensor(device, value.rank, origin, assumed=True, dtype=value.dtype, size=value.size)
        machine.store.put(frame.names, name.id, known)


def _bind(machine: Machine, name: ir.Name, frame: Frame, value: Value) -> None:
    if name.id in frame.names and frame.names[name.id].__class__ is Unknown:
        machine.store.put(frame.names, name.id, value)


def named_unknown(left: Value, operator: str, right: Value) -> Unknown | None:
    """The name of a comparison of an unknown with a constant: `args.gpu is None`, `args.device == 'cuda'`."""
    if isinstance(left, Const) and isinstance(right, Unknown) and operator in ("==", "!="):
        left, right = right, left
    if not (isinstance(left, Unknown) and left.path and isinstance(right, Const)):
        return None
    negation = {"!=": "==", "is-not": "is", "not-in": "in"}.get(operator)
    text = f"{left.path} {negation or operator} {right.value!r}"
    return Unknown(f"not {text}" if negation else text, left.named)
