"""Expressions, except names, comparisons and displays, which have rooms of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import attribute, binary, call_method, call_value, item, iterate
from devlint.analysis.dispatch import EVALUATE, Call, evaluates
from devlint.analysis.domain.values import (
    BOOL,
    NUMBER,
    SCALAR,
    SLICE,
    UNKNOWN,
    Answer,
    Array,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.flow.choices import decide, decide_value
from devlint.analysis.flow.conditions import both
from devlint.analysis.flow.control import either
from devlint.analysis.flow.narrowing import is_used, narrow
from devlint.analysis.flow.other_values import note_other_way
from devlint.analysis.frames import Frame
from devlint.analysis.machine import forget_evidence
from devlint.analysis.programs.evidence import note_doubts, only_measures
from devlint.analysis.python.arguments import Arguments
from devlint.analysis.python.binding import bind_name
from devlint.analysis.python.parsed_options import hand_out
from devlint.analysis.python.protocols import call_special
from devlint.analysis.pytorch.device_names import refuse_number
from devlint.analysis.pytorch.host import read_pending
from devlint.analysis.pytorch.loads import made_of_loads
from devlint.analysis.pytorch.results import derived
from devlint.analysis.signals import OutOfBudget
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@evaluates(ir.Const)
def evaluate_const(machine: Machine, node: ir.Const, frame: Frame) -> Value:
    """A literal; strings remember where they stand."""
    known = machine.literals.get(node)
    if known is None:
        value = node.value
        known = Const(value, machine.site(node, frame)) if value.__class__ is str else const(value)
        machine.literals[node] = known
    return known


@evaluates(ir.Attribute)
def evaluate_attribute(machine: Machine, node: ir.Attribute, frame: Frame) -> Value:
    """`value.name`."""
    value = EVALUATE[node.value.__class__](machine, node.value, frame)
    read = attribute(machine, value, node.name, node, frame)
    if value.__class__ is Maybe or (value.__class__ is Const and value.value is None):
        is_used(machine, node.value, frame)
    return read


@evaluates(ir.Subscript)
def evaluate_subscript(machine: Machine, node: ir.Subscript, frame: Frame) -> Value:
    """`value[index]`."""
    value = EVALUATE[node.value.__class__](machine, node.value, frame)
    index = EVALUATE[node.index.__class__](machine, node.index, frame)
    if index.__class__ is Tensor and value.__class__ is Sequence:
        read_pending(machine, index, "", node, frame)
    return item(machine, value, index, node, frame)


@evaluates(ir.Slice)
def evaluate_slice(machine: Machine, node: ir.Slice, frame: Frame) -> Value:
    """`lower:upper:step`."""
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            machine.evaluate(part, frame)
    return SLICE


@evaluates(ir.Call)
def evaluate_call(machine: Machine, node: ir.Call, frame: Frame, unused: bool = False) -> Value:
    """A call."""
    machine.run.steps += 1
    if machine.run.steps > machine.run.limit:
        raise OutOfBudget
    function = node.function
    if function.__class__ is ir.Attribute:
        receiver = EVALUATE[function.value.__class__](machine, function.value, frame)
        known = len(machine.entry.evidence)
        call = arguments(machine, node, frame, unused)
        if (
            len(machine.entry.evidence) > known
            and receiver.__class__ is External
            and receiver.path.startswith(_SKIPPERS)
        ):
            forget_evidence(machine, known)  # that a test is skipped without CUDA says that it needs it
        if receiver.__class__ is Maybe or (receiver.__class__ is Const and receiver.value is None):
            is_used(machine, function.value, frame)
        if machine.has_closed:
            hand_out(receiver, function.name, call)
        return call_method(machine, receiver, function.name, call)
    if not node.args and isinstance(function, ir.Name) and function.id == "super":
        return zero_argument_super(frame)
    value = EVALUATE[function.__class__](machine, function, frame)
    call = arguments(machine, node, frame, unused)
    if machine.has_closed:
        hand_out(value, "", call)
    return call_value(machine, value, call)


_SKIPPERS = ("pytest", "unittest")


def zero_argument_super(frame: Frame) -> Value:
    """`super()` in a method, of what it was given first: by a call of the class's own, `Base.__init__(self)`, too."""
    inner: Frame | None = frame
    while inner is not None and (inner.owner is None or _first_given(inner) is None):
        inner = inner.outer
    receiver = None if inner is None else _first_given(inner)
    if inner is None or inner.owner is None or receiver is None:
        return UNKNOWN
    return Super(inner.owner, receiver)


def _first_given(frame: Frame) -> Value | None:
    """What a method was called of."""
    if frame.receiver is not None or frame.function is None or not frame.function.parameters.positional:
        return frame.receiver
    given = frame.names.get(frame.function.parameters.positional[0])
    return given if isinstance(given, (Instance, Class)) else None


def arguments(machine: Machine, node: ir.Call, frame: Frame, unused: bool = False) -> Call:
    """Evaluate the arguments of a call."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    is_open = named = False
    for argument in node.args:
        if argument.__class__ is ir.Starred:
            found = iterate(machine, machine.evaluate(argument.value, frame), node, frame)
            if found is None:
                is_open = True
            elif not is_open:
                positional.extend(found.items)
                is_open = found.open
        else:
            value = EVALUATE[argument.__class__](machine, argument, frame)
            if not is_open:
                positional.append(value)
    for name, expression in node.keywords:
        value = EVALUATE[expression.__class__](machine, expression, frame)
        if name is not None:
            keywords[name] = value
            continue
        inner = value
        if isinstance(value, Instance):
            data = value.fields.get("data") or value.state.get("data")
            inner = data if isinstance(data, Value) else value
        if isinstance(inner, Mapping):
            for key, part in inner.items.items():
                if isinstance(key, str) and not inner.may_lack(key):
                    keywords.setdefault(key, part)
            named = named or inner.open
        else:
            named = True
    made = Call(positional, keywords, node, frame, is_open or named, unused)
    made.named = named
    return made


@evaluates(ir.Binary)
def evaluate_binary(machine: Machine, node: ir.Binary, frame: Frame) -> Value:
    """`left operator right`."""
    machine.step()
    left = EVALUATE[node.left.__class__](machine, node.left, frame)
    right = EVALUATE[node.right.__class__](machine, node.right, frame)
    if node.operator == "+" and left.__class__ is Const and left.value.__class__ is str:
        refuse_number(machine, left, right, node, frame)
    return binary(machine, node.operator, left, right, node, frame)


_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_SPECIAL: Final = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


@evaluates(ir.Unary)
def evaluate_unary(machine: Machine, node: ir.Unary, frame: Frame) -> Value:
    """`not`, `-`, `+`, `~`."""
    if node.operator == "not":
        decision = decide(machine, node, frame)
        if decision.truth is not None:
            return const(decision.truth)
        if isinstance(decision.key, str):
            text = decision.key if decision.polarity else f"not {decision.key}"
            return Unknown(text, True)
        return BOOL
    value = machine.evaluate(node.value, frame)
    if isinstance(value, Const):
        try:
            return const(_UNARY[node.operator](value.value))
        except Exception:
            return SCALAR
    if isinstance(value, Tensor):
        made = derived(value)
        made.size = value.size
        return made
    if isinstance(value, Instance):
        return call_special(machine, value, _SPECIAL[node.operator], [], node, frame) or UNKNOWN
    if isinstance(value, Scalar) and value.low is not None:
        return NUMBER
    return value if isinstance(value, (Array, Scalar)) else UNKNOWN


@evaluates(ir.Bool)
def evaluate_bool(machine: Machine, node: ir.Bool, frame: Frame) -> Value:
    """`and`, `or`: the value of the part that settles it."""
    guards, doubts = machine.run.guards, machine.run.doubts
    around, machine.run.connective = machine.run.connective, node
    try:
        return _evaluate_parts(machine, node, frame)
    finally:
        machine.run.guards, machine.run.doubts = guards, doubts
        machine.run.connective = around


def _evaluate_parts(machine: Machine, node: ir.Bool, frame: Frame) -> Value:
    joined: Value | None = None
    for index, part in enumerate(node.values):
        value = machine.evaluate(part, frame)
        decision = decide_value(machine, value, part, frame)
        last = index == len(node.values) - 1
        if decision.truth is (not node.is_and) or last:
            if joined is None or (decision.truth is (not node.is_and) and isinstance(value, Const)):
                return value
            return _join_bool(machine, joined, value, decision.truth, node)
        if decision.truth is None:
            machine.run.guards += decision.guards(machine, node.is_and)
            machine.run.doubts += 1
            joined = value if joined is None else _join_bool(machine, joined, value, None, node)
    return UNKNOWN


def _join_bool(machine: Machine, a: Value, b: Value, answer: bool | None, node: ir.Bool) -> Value:
    if (
        isinstance(a, Unknown)
        and a.path
        and isinstance(b, Const)
        and b.value.__class__ is bool
        and b.value is node.is_and
    ):
        return a
    if isinstance(a, Unknown) and isinstance(b, Unknown) and a.path and b.path:
        return both(machine, a, b, is_and=node.is_and)
    if isinstance(a, Answer) and a.holds is (not node.is_and):
        return a
    if isinstance(a, Arguments) and not node.is_and:
        return b
    if isinstance(a, Maybe) and not node.is_and:
        return machine.loss.values(a.value, b)
    if isinstance(a, Unknown) and not node.is_and and not isinstance(b, Unknown):
        return b if isinstance(b, Tensor) and b.device is None else made_of_loads(machine, UNKNOWN, a)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return machine.loss.values(a, b)
    if isinstance(a, (Const, Scalar)) and isinstance(b, (Const, Scalar)):
        return SCALAR
    return made_of_loads(machine, UNKNOWN, a, b)


@evaluates(ir.Conditional)
def evaluate_conditional(machine: Machine, node: ir.Conditional, frame: Frame) -> Value:
    """`body if test else orelse`."""
    known = len(machine.entry.evidence)
    decision = decide(machine, node.test, frame)
    if len(machine.entry.evidence) > known and only_measures(node, frame):
        forget_evidence(machine, known)
    if len(machine.entry.evidence) > known:
        note_doubts(machine, [node.test, node.body, node.orelse], frame, known)
    if decision.truth is not None:
        if machine.run.from_options:
            note_other_way(machine, node, decision.truth, frame)
        narrow(machine, node.test, frame, decision.truth)
        return machine.evaluate(node.body if decision.truth else node.orelse, frame)

    def side(expression: ir.Expr, holds: bool) -> Value:
        narrow(machine, node.test, frame, holds)
        return machine.evaluate(expression, frame)

    return either(machine, decision, lambda: side(node.body, True), lambda: side(node.orelse, False), frame)


@evaluates(ir.Starred)
def evaluate_starred(machine: Machine, node: ir.Starred, frame: Frame) -> Value:
    """`*value` outside a call or display."""
    return machine.evaluate(node.value, frame)


@evaluates(ir.Walrus)
def evaluate_walrus(machine: Machine, node: ir.Walrus, frame: Frame) -> Value:
    """`target := value`: binds in the function around comprehensions."""
    value = machine.evaluate(node.value, frame)
    holder = frame
    if node.target.scope is not ir.NameScope.LOCAL or node.target.id not in holder.names:
        outer = holder.outer
        while outer is not None and outer.function is holder.function and holder.receiver is None:
            if holder.function is None and outer.outer is None:
                holder = outer
                break
            if holder.loops == outer.loops:
                break
            holder, outer = outer, outer.outer
    bind_name(machine, node.target, value, node, holder)
    return value


@evaluates(ir.Yield)
def evaluate_yield(machine: Machine, node: ir.Yield, frame: Frame) -> Value:
    """`yield`: generators run eagerly, what they yield is collected."""
    value = const(None) if node.value is None else machine.evaluate(node.value, frame)
    machine.store.set(frame, "yields", [*(frame.yields or []), value])
    if frame.is_manager and machine.store.log is not None and not frame.branches and not frame.loops:
        frame.resumes_at = machine.store.mark()
    return UNKNOWN


@evaluates(ir.YieldFrom)
def evaluate_yield_from(machine: Machine, node: ir.YieldFrom, frame: Frame) -> Value:
    """`yield from`: it gives what the generator returns."""
    inner = machine.evaluate(node.value, frame)
    found = iterate(machine, inner, node, frame)
    items = [UNKNOWN] if found is None else found.items
    machine.store.set(frame, "yields", [*(frame.yields or []), *items])
    return inner.result if isinstance(inner, Sequence) and inner.result is not None else UNKNOWN


@evaluates(ir.Function)
def evaluate_lambda(machine: Machine, node: ir.Function, frame: Frame) -> Value:
    """A lambda."""
    return function_value(machine, node, frame)


def _default(machine: Machine, node: ir.Expr, frame: Frame) -> Value:
    """The default of a parameter; a flag that is on knows its place: who leaves it alone says nothing."""
    value = machine.evaluate(node, frame)
    if value.__class__ is Const and value.value is True:
        return Const(True, machine.site(node, frame))
    return value


def function_value(machine: Machine, node: ir.Function, frame: Frame) -> Function:
    """A function with its closure; defaults are evaluated now."""
    defaults = {name: _default(machine, value, frame) for name, value in node.parameters.defaults.items()}
    owner = frame.owner if frame.owner is not None and frame.names is frame.owner.fields else None
    return Function(node, frame, defaults, owner)
