"""Solvers of differential equations (torchdiffeq): they call the right-hand side with a time and the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import UNKNOWN, Sequence, Tensor, Value
from devlint.analysis.pytorch.ranks import one_more
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torchdiffeq.odeint", "torchdiffeq.odeint_adjoint")
def solve(machine: Machine, call: Call) -> Value:
    """`odeint(func, y0, t)`: the states at all times, stacked. The times are brought to where the state is.

    https://github.com/rtqichen/torchdiffeq (`_check_inputs`, release 0.2.5)
    """
    function, state = call.argument(0, "func"), call.argument(1, "y0")
    first = state.items[0] if isinstance(state, Sequence) and state.items else state
    if call.open or function is None or state is None or not isinstance(first, Tensor):
        return UNKNOWN
    call_value(machine, function, call.with_arguments([derived(first, 0), state]))
    return _stacked(state)


def _stacked(state: Value) -> Value:
    """A state, or each part of one, with a dimension more for the times."""
    if isinstance(state, Tensor):
        return derived(state, one_more(state.rank))
    if isinstance(state, Sequence):
        return Sequence(state.kind, [_stacked(part) for part in state.items], state.open)
    return UNKNOWN
