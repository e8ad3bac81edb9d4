"""What a program remembers of its calls: `functools.cache`, `lru_cache` and `cached_property`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.plain import NotConstant, key_of
from devlint.analysis.domain.values import (
    Answer,
    DeviceValue,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.flow.choices import decide_value
from devlint.analysis.flow.control import either
from devlint.analysis.frames import Frame, Locals
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine

REMEMBERS: Final = "functools.cache"
"""Under this name a function keeps what it gave, by its arguments."""


def remember_calls(machine: Machine, function: Function) -> Function:
    """Let a function remember what it gave."""
    machine.store.put(function.attributes, REMEMBERS, Mapping({}))
    return function


def recall(
    machine: Machine, function: Function, call: Call, receiver: Value | None, compute: Callable[[], Value]
) -> Value:
    """What a function gave for the same arguments, or gives now; where numbers are not known it may be either."""
    kept = function.attributes[REMEMBERS]
    known = _arguments(call, receiver)
    if known is None or not isinstance(kept, Mapping):
        return compute()
    before = kept.items.get(known)
    likely = known if before is not None else next((key for key in kept.items if _may_be(key, known)), None)
    if likely is None:
        consulted, machine.entry.consulted = machine.entry.consulted, set()
        try:
            return _remember(machine, function, kept, known, compute())
        finally:
            machine.remembered.setdefault((function.node, known), set()).update(machine.entry.consulted)
            machine.entry.consulted |= consulted
    machine.entry.consulted |= machine.remembered.get((function.node, likely), set())
    if function.frame.namespace.path == machine.run.home:
        machine.entry.own.add(function.node)
    before = kept.items[likely]
    machine.run.latest[function.node] = machine.tick()
    if (likely == known and not _is_open(known)) or not isinstance(call.node, ir.Call):
        return before
    question = (function.frame.namespace.path, f"{function.node.name} was called with these before")
    decision = decide_value(machine, Answer(question, True), call.node, call.frame)
    if decision.truth is not None:
        return before if decision.truth else compute()
    return either(machine, decision, lambda: before, compute, call.frame)


def _remember(machine: Machine, function: Function, kept: Mapping, key: Any, value: Value) -> Value:
    """Keep what a call gave, as that of this function."""
    holder = Frame(Locals(), function.frame, function.frame.namespace, machine.tick())
    holder.function = function.node
    site = machine.site(function.node, function.frame)
    for part in value.items if isinstance(value, Sequence) else [value]:
        if isinstance(part, Tensor) and part.origin is not None and not part.is_parameter:
            machine.store.set(part, "origin", part.origin.kept(site, holder))
    machine.store.epoch += 1
    machine.store.set(kept, "items", {**kept.items, key: value})
    return value


def _arguments(call: Call, receiver: Value | None) -> tuple[Any, ...] | None:
    """What a call is known by; None where nothing can be said of it."""
    if call.open:
        return None
    try:
        given = [key_of(receiver)] if receiver is not None else []
        given += [_part(value) for value in call.positional]
        given += [(name, _part(value)) for name, value in sorted(call.keywords.items())]
    except NotConstant:
        return None
    return tuple(given)


def _part(value: Value) -> Any:
    """What stands for an argument: numbers that are not known are one."""
    if isinstance(value, Scalar):
        return Scalar
    if isinstance(value, Sequence) and value.kind == "tuple" and not value.open:
        return tuple(map(_part, value.items))
    return key_of(value)


def _is_open(part: Any) -> bool:
    """Whether what stands for arguments is, or holds, a number that is not known."""
    return part is Scalar or (isinstance(part, tuple) and any(map(_is_open, part)))


def _may_be(one: Any, other: Any) -> bool:
    """Whether two calls may have been given the same."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_may_be, one, other))
    if Scalar in (one, other):
        return all(part is Scalar or isinstance(part, (int, float, str)) for part in (one, other))
    return bool(one == other)


def keep_property(machine: Machine, function: Function, receiver: Instance, value: Value) -> Value:
    """Keep what a cached property gave, as a plain attribute: modules do not move it."""
    if value.__class__ not in _KEPT:
        return value
    name = function.node.name
    if isinstance(value, Tensor) and receiver.module is not None and not value.is_parameter:
        machine.store.put(receiver.module.places, name, machine.site(function.node, function.frame))
    machine.store.epoch += 1
    machine.store.put(receiver.fields, name, value)
    return value


_KEPT: Final = frozenset({Tensor, DeviceValue})
"""What is kept of properties: others are the same when they are computed again."""
