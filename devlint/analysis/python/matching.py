"""`match`: cases in order; a pattern that is not decided makes a fork.

A pattern is asked as a value, as a comparison is: known, a condition with the name that it has elsewhere
(`args.device == 'cpu'`), or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import attribute, element, has_attribute, path_of, truth
from devlint.analysis.dispatch import executes
from devlint.analysis.domain.ancestry import external_bases, find, is_named_tuple, is_open_class
from devlint.analysis.domain.values import (
    FOLLOWS,
    UNKNOWN,
    Class,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.flow.choices import decide, decide_value
from devlint.analysis.flow.control import fork
from devlint.analysis.flow.narrowing import narrow
from devlint.analysis.flow.other_values import note_other_cases
from devlint.analysis.frames import Frame
from devlint.analysis.machine import text_of
from devlint.analysis.memo import memoized
from devlint.analysis.python.binding import bind_name
from devlint.analysis.python.classes import is_instance
from devlint.analysis.python.comparing import compare
from devlint.analysis.python.fields import RECORD, record_of
from devlint.analysis.python.lacking import PLAIN_BASES
from devlint.analysis.python.mappings import contains_key, get
from devlint.analysis.signals import Signal
from devlint.semantics import libraries
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_OPEN: Final = Unknown()
_LISTS: Final = ("list", "tuple", "range", "deque")
_WHOLE: Final = frozenset("bool bytearray bytes dict float frozenset int list set str tuple".split())
"""Builtin classes whose one positional pattern is about the object itself."""


@executes(ir.Match)
def match_statement(machine: Machine, node: ir.Match, frame: Frame) -> Signal | None:
    """`match`: cases in order; a pattern that is not decided makes a fork."""
    subject = machine.evaluate(node.subject, frame)
    if machine.run.from_options:
        note_other_cases(machine, node, subject, frame)
    return _match_cases(machine, subject, node, 0, frame)


def _match_cases(machine: Machine, subject: Value, node: ir.Match, index: int, frame: Frame) -> Signal | None:
    if index >= len(node.cases):
        return None
    case = node.cases[index]
    asked = _matches(machine, case.pattern, subject, node, frame)
    answer = truth(machine, asked)
    if answer is False:
        return _match_cases(machine, subject, node, index + 1, frame)
    guard = decide(machine, case.guard, frame) if case.guard is not None else None
    if guard is not None and (guard.truth is False or answer is True):
        decision = guard
    elif answer is True:
        return _run_case(machine, case, frame)
    else:
        if asked is _OPEN and path_of(subject):
            asked = Unknown(f"match {path_of(subject)}#{index}")
        decision = decide_value(machine, asked, _test(machine.project, (case.pattern, node)), frame)
    if decision.truth is True:
        return _run_case(machine, case, frame)
    if decision.truth is False:
        return _match_cases(machine, subject, node, index + 1, frame)

    def matched() -> Signal | None:
        if isinstance(case.pattern, ir.ValuePattern):
            narrow(machine, _test(machine.project, (case.pattern, node)), frame, True)
        return _run_case(machine, case, frame)

    def passed() -> Signal | None:
        if isinstance(case.pattern, ir.ValuePattern) and case.guard is None:
            narrow(machine, _test(machine.project, (case.pattern, node)), frame, False)
        return _match_cases(machine, subject, node, index + 1, frame)

    return fork(machine, decision, matched, passed, frame)


def _run_case(machine: Machine, case: ir.Case, frame: Frame) -> Signal | None:
    machine.entry.ways_taken.add(case)
    return machine.block(case.body, frame)


@memoized
def _test(project: Project, case: tuple[ir.Pattern, ir.Match]) -> ir.Compare:
    """The comparison that a pattern of a `match` stands for; of one that is none, something that only it asks."""
    pattern, node = case
    right: ir.Expr = ir.Display("tuple", [], pattern.at)
    symbol = "=="
    if isinstance(pattern, ir.ValuePattern):
        right = pattern.value
        is_single = isinstance(right, ir.Const) and (right.value is None or isinstance(right.value, bool))
        symbol = "is" if is_single else "=="
    return ir.Compare(symbol, node.subject, right, pattern.at)


def _matches(machine: Machine, pattern: ir.Pattern, subject: Value, node: ir.Match, frame: Frame) -> Value:
    """Whether a pattern matches; binds its captures when it may."""
    if isinstance(pattern, ir.ValuePattern):
        wanted = machine.evaluate(pattern.value, frame)
        return compare(machine, subject, wanted, _test(machine.project, (pattern, node)), frame)
    if isinstance(pattern, ir.CapturePattern):
        inner = const(True) if pattern.pattern is None else _matches(machine, pattern.pattern, subject, node, frame)
        if truth(machine, inner) is not False and pattern.name is not None:
            bind_name(machine, pattern.name, subject, node, frame)
        return inner
    if isinstance(pattern, ir.OrPattern):
        answers = [truth(machine, _matches(machine, one, subject, node, frame)) for one in pattern.patterns]
        return const(True) if True in answers else _OPEN if None in answers else const(False)
    if isinstance(pattern, ir.ClassPattern):
        return _matches_class(machine, pattern, subject, node, frame)
    if isinstance(pattern, ir.SequencePattern):
        return _matches_sequence(machine, pattern, subject, node, frame)
    if isinstance(pattern, ir.StarPattern):
        if pattern.name is not None:
            bind_name(machine, pattern.name, subject, node, frame)
        return const(True)
    if isinstance(pattern, ir.MappingPattern):
        return _matches_mapping(machine, pattern, subject, node, frame)
    return _OPEN


def _all(machine: Machine, asked: Iterable[Value]) -> Value:
    """Whether all parts of a pattern match; a single one that is not decided is what is asked."""
    undecided: list[Value] = []
    for value in asked:
        answer = truth(machine, value)
        if answer is False:
            return const(False)
        if answer is None:
            undecided.append(value)
    return const(True) if not undecided else undecided[0] if len(undecided) == 1 else _OPEN


def _known(answer: bool | None) -> Value:
    return _OPEN if answer is None else const(answer)


# -- classes


def _matches_class(machine: Machine, pattern: ir.ClassPattern, subject: Value, node: ir.Match, frame: Frame) -> Value:
    cls = machine.evaluate(pattern.cls, frame)
    answer = is_instance(machine, subject, cls)
    if answer is False:
        return const(False)
    asked = [_known(answer)]
    for position, inner in enumerate(pattern.patterns):
        part = _positional(machine, subject, cls, position, node, frame)
        asked.append(_matches(machine, inner, part, node, frame))
    for name, inner in pattern.keywords:
        asked.append(_known(has_attribute(machine, subject, name)))
        asked.append(_matches(machine, inner, attribute(machine, subject, name, node, frame), node, frame))
    return _all(machine, asked)


def _positional(machine: Machine, subject: Value, cls: Value, position: int, node: ir.Match, frame: Frame) -> Value:
    """What a positional pattern of a class is about: the attribute that `__match_args__` names."""
    if isinstance(cls, External):
        builtin = libraries.canonical(cls.path).removeprefix("builtins.")
        return subject if position == 0 and builtin in _WHOLE else UNKNOWN
    if not isinstance(cls, Class):
        return UNKNOWN
    names = _match_args(cls)
    return attribute(machine, subject, names[position], node, frame) if position < len(names) else UNKNOWN


def _match_args(cls: Class) -> list[str]:
    """The attributes that a class gives positional patterns, as far as they are known."""
    own = find(cls, "__match_args__")
    if own is not None:
        items = own[0].items if isinstance(own[0], Sequence) and not own[0].open else ()
        texts = [text_of(item) for item in items]
        return [text for text in texts if text is not None] if None not in texts else []
    if RECORD not in cls.properties and not is_named_tuple(cls):
        return []
    return [field.name for field in record_of(cls).fields if not field.by_keyword and field.parameter is not None]


# -- containers


def _is_no_container(subject: Value) -> bool:
    """Whether it is an object of the program's own, whose classes are all in sight and derive from nothing else."""
    return (
        isinstance(subject, Instance)
        and isinstance(subject.cls, Class)
        and not is_open_class(subject.cls)
        and PLAIN_BASES.issuperset(external_bases(subject.cls))
    )


def _matches_sequence(
    machine: Machine, pattern: ir.SequencePattern, subject: Value, node: ir.Match, frame: Frame
) -> Value:
    parts = subject
    if isinstance(subject, Instance) and is_named_tuple(subject.cls) and isinstance(subject.cls, Class):
        names = subject.cls.dataclass_fields or []
        parts = Sequence("tuple", [subject.fields.get(name, UNKNOWN) for name in names])
    elif isinstance(subject, Instance):
        held = subject.state.get("data")
        parts = held if isinstance(held, Sequence) else subject  # of a class that derives from lists
    if isinstance(parts, (Const, Scalar, Tensor, DeviceValue, Mapping)) or _is_no_container(parts):
        return const(False)
    if isinstance(parts, Sequence) and parts.kind not in _LISTS:
        return const(False)
    star = next((at for at, one in enumerate(pattern.patterns) if isinstance(one, ir.StarPattern)), None)
    if isinstance(parts, Sequence) and not parts.open:
        given = list(parts.items)
        least = len(pattern.patterns) - (star is not None)
        if len(given) < least or (star is None and len(given) > least):
            return const(False)
        if star is not None:
            rest = Sequence("list", given[star : star + len(given) - least])
            given[star : star + len(given) - least] = [rest]
        return _all(
            machine, [_matches(machine, one, given[at], node, frame) for at, one in enumerate(pattern.patterns)]
        )
    part = element(machine, parts, node, frame)
    for one in pattern.patterns:
        _matches(machine, one, UNKNOWN if isinstance(one, ir.StarPattern) else part, node, frame)
    return _OPEN if isinstance(parts, Unknown) else FOLLOWS


def _matches_mapping(
    machine: Machine, pattern: ir.MappingPattern, subject: Value, node: ir.Match, frame: Frame
) -> Value:
    if isinstance(subject, (Const, Scalar, Tensor, DeviceValue, Sequence)) or _is_no_container(subject):
        return const(False)
    asked: list[Value] = []
    taken: set[object] = set()
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        wanted = machine.evaluate(key, frame)
        found: Value | None = None
        if isinstance(subject, Mapping):
            answer = contains_key(subject, wanted)
            if answer is False:
                return const(False)
            asked.append(_known(answer))
            found = get(machine, subject, wanted)
        else:
            asked.append(_OPEN)
        if isinstance(wanted, Const):
            taken.add(wanted.value)
        asked.append(_matches(machine, inner, found or UNKNOWN, node, frame))
    if pattern.rest is not None:
        rest: Value = UNKNOWN
        if isinstance(subject, Mapping):
            left = {name: value for name, value in subject.items.items() if name not in taken}
            rest = Mapping(left, subject.rest, subject.open)
        bind_name(machine, pattern.rest, rest, node, frame)
    if not isinstance(subject, Mapping) and not asked:
        return _OPEN
    return _all(machine, asked)
