"""Calls of one of several functions or classes of the program: nobody knows which, or it is a choice of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import CALL, Call, on
from devlint.analysis.domain.plain import join_all
from devlint.analysis.domain.values import UNKNOWN, OneOf, Value
from devlint.analysis.flow.choices import decide_value
from devlint.analysis.flow.control import either, one_way
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.store import Delta


@on(CALL, OneOf)
def call_one_of(machine: Machine, value: OneOf, call: Call) -> Value:
    """A call of one of several: by the answer to what is asked, where that has a name, else all of them."""
    if value.asked and isinstance(call.node, ir.Call):
        assumed = (index for index, question in enumerate(value.asked) if machine.run.assume.get(question.path or ""))
        return _by_answer(machine, value, next(assumed, 0), call.node, call)
    return _any_of(machine, value, call)


def _by_answer(machine: Machine, value: OneOf, index: int, node: ir.Call, call: Call) -> Value:
    """The option whose question is answered by yes; the last one is what is left, unless there may be more."""
    option = value.options[index]
    is_last = index + 1 == len(value.options)
    if is_last and not value.open:
        return call_value(machine, option, call)
    if index == len(value.asked):
        return UNKNOWN
    decision = decide_value(machine, value.asked[index], node, call.frame)

    def taken() -> Value:
        return call_value(machine, option, call)

    def passed() -> Value:
        return UNKNOWN if is_last else _by_answer(machine, value, index + 1, node, call)

    if decision.truth is not None:
        return taken() if decision.truth else passed()
    return either(machine, decision, taken, passed, call.frame)


def _any_of(machine: Machine, value: OneOf, call: Call) -> Value:
    """Each runs from the same state, and what they leave and give is joined."""
    store = machine.store
    opened, mark, lost = store.open(), store.mark(), machine.loss.lost
    results: list[Value] = []
    left: Delta | None = None
    for option in value.options:
        given = _attempted(machine, option, call)
        delta = store.rollback(mark)
        if given and left is not None:
            store.merge(left, delta, machine.loss.join)
            delta = store.rollback(mark)
        if given:
            results.append(given[0])
            left = delta
    if left is not None:
        store.apply(left)
    machine.loss.lost = lost
    if opened:
        store.close()
    if not results:
        raise Crash
    return UNKNOWN if value.open else join_all(machine, results)


def _attempted(machine: Machine, function: Value, call: Call) -> list[Value]:
    """What a call gives; nothing where it surely crashes."""
    given: list[Value] = []
    one_way(machine, lambda: given.append(call_value(machine, function, call)))
    machine.run.thrown = None
    return given
