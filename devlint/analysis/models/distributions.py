"""`torch.distributions`: objects that hold their parameters, and meet with what they are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.dispatch import Call, models
from devlint.analysis.meeting import Part, meet
from devlint.analysis.results import build
from devlint.analysis.values import POISON, SCALAR, UNKNOWN, Instance, Sequence, Tensor, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row


def construct(machine: Machine, made: Instance, row: Row, bound: dict[str, Any], call: Call) -> Value:
    """Build a distribution: its parameters must be on one device."""
    demands = dict(row.demands)
    parts: list[Part] = []
    for name in (*row.concerned, *demands):
        value = bound.get(name)
        if isinstance(value, Value) and not any(part.name == name for part in parts):
            inner = value.state.get("parameter") if isinstance(value, Instance) else value
            if isinstance(inner, Value):
                parts.append(Part(inner, demands.get(name, "strict"), None, name))
    main, clashed = meet(machine, parts, row.name.rpartition(".")[2], call.node, call.frame)
    if clashed:
        made.state["parameter"] = Tensor(POISON)
    else:
        made.state["parameter"] = main if main is not None else UNKNOWN
    return made


@models("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def divergence(machine: Machine, call: Call) -> Value:
    """`kl_divergence(p, q)`: the parameters of both meet."""
    parts = []
    for position, value in enumerate(call.positional[:2]):
        held = value.state.get("parameter") if isinstance(value, Instance) else None
        if not isinstance(held, Value):
            return UNKNOWN
        parts.append(Part(held, "combine", None, "pq"[position]))
    main, clashed = meet(machine, parts, "kl_divergence", call.node, call.frame)
    if clashed:
        return Tensor(POISON)
    return UNKNOWN if main is None else build("tensor", main, None)


def apply(machine: Machine, value: Instance, row: Row, call: Call) -> Value:
    """A method or property of a distribution."""
    held = value.state.get("parameter", UNKNOWN)
    if row.effect == "metadata":
        return Sequence("tuple", [], True)
    if not isinstance(held, Tensor):
        return UNKNOWN
    if row.effect == "combine" and call.positional:
        main, clashed = meet(
            machine,
            [Part(held, "combine", None, "the distribution's parameters"), Part(call.positional[0], "combine", None)],
            row.name.rpartition(".")[2],
            call.node,
            call.frame,
        )
        if clashed:
            return Tensor(POISON)
        return SCALAR if main is None else build("tensor", main, None)
    rank = 64 if call.positional or call.keywords else None
    return build("tensor", held, rank)
