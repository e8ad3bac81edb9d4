"""`match`: cases in order; a pattern that is not decided makes a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import attribute, element, path_of
from devlint.analysis.binding import bind_name
from devlint.analysis.choices import decide, decide_value
from devlint.analysis.classes import is_instance
from devlint.analysis.control import fork
from devlint.analysis.dispatch import executes
from devlint.analysis.frames import Frame
from devlint.analysis.machine import Signal
from devlint.analysis.values import (
    UNKNOWN,
    Const,
    Mapping,
    Sequence,
    Unknown,
    Value,
)
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@executes(ir.Match)
def match_statement(machine: Machine, node: ir.Match, frame: Frame) -> Signal | None:
    """`match`: cases in order; a pattern that is not decided makes a fork."""
    return _match_cases(machine, machine.evaluate(node.subject, frame), node, 0, frame)


def _match_cases(machine: Machine, subject: Value, node: ir.Match, index: int, frame: Frame) -> Signal | None:
    if index >= len(node.cases):
        return None
    case = node.cases[index]
    answer = _matches(machine, case.pattern, subject, node, frame)
    if answer is False:
        return _match_cases(machine, subject, node, index + 1, frame)
    if answer is True and case.guard is None:
        return machine.block(case.body, frame)
    value = Unknown(f"match {path_of(subject)}#{index}" if path_of(subject) else None)
    test = case.guard if case.guard is not None and answer is True else node.subject
    decision = decide(machine, test, frame) if test is case.guard else decide_value(machine, value, test, frame)
    if decision.truth is True:
        return machine.block(case.body, frame)
    if decision.truth is False:
        return _match_cases(machine, subject, node, index + 1, frame)
    return fork(
        machine,
        decision,
        lambda: machine.block(case.body, frame),
        lambda: _match_cases(machine, subject, node, index + 1, frame),
        frame,
    )


def _matches(machine: Machine, pattern: ir.Pattern, subject: Value, node: ir.Match, frame: Frame) -> bool | None:
    """Whether a pattern matches; binds its captures when it may."""
    if isinstance(pattern, ir.ValuePattern):
        value = machine.evaluate(pattern.value, frame)
        if isinstance(value, Const) and isinstance(subject, Const):
            return bool(value.value == subject.value)
        return None
    if isinstance(pattern, ir.CapturePattern):
        inner = True if pattern.pattern is None else _matches(machine, pattern.pattern, subject, node, frame)
        if inner is not False and pattern.name is not None:
            bind_name(machine, pattern.name, subject, node, frame)
        return inner
    if isinstance(pattern, ir.OrPattern):
        answers = [_matches(machine, one, subject, node, frame) for one in pattern.patterns]
        return True if True in answers else None if None in answers else False
    if isinstance(pattern, ir.ClassPattern):
        answer = is_instance(machine, subject, machine.evaluate(pattern.cls, frame))
        if answer is False:
            return False
        for name, inner_pattern in pattern.keywords:
            _matches(machine, inner_pattern, attribute(machine, subject, name, node, frame), node, frame)
        for inner_pattern in pattern.patterns:
            _matches(machine, inner_pattern, subject, node, frame)
        return answer if not pattern.keywords and not pattern.patterns else None
    if isinstance(pattern, ir.SequencePattern):
        known = subject.items if isinstance(subject, Sequence) and not subject.open else None
        if any(isinstance(one, ir.StarPattern) for one in pattern.patterns):
            known = None
        if known is not None and len(known) != len(pattern.patterns):
            return False
        part = element(machine, subject, node, frame)
        answers = []
        for position, one in enumerate(pattern.patterns):
            value = part if known is None else known[position]
            answers.append(_matches(machine, one, value, node, frame))
        return False if False in answers else True if known is not None and None not in answers else None
    if isinstance(pattern, ir.StarPattern):
        if pattern.name is not None:
            bind_name(machine, pattern.name, UNKNOWN, node, frame)
        return True
    if isinstance(pattern, ir.MappingPattern):
        for key, inner_pattern in zip(pattern.keys, pattern.patterns, strict=True):
            wanted = machine.evaluate(key, frame)
            found: Value = UNKNOWN
            if isinstance(subject, Mapping) and isinstance(wanted, Const):
                if wanted.value not in subject.items and not subject.open:
                    return False
                found = subject.items.get(wanted.value, UNKNOWN)
            _matches(machine, inner_pattern, found, node, frame)
        return None
    return None
