"""Functions that give a tensor for each that they take, where that one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import SOME_RANK, UNKNOWN, Const, Scalar, Sequence, Tensor, Value
from devlint.analysis.pytorch.devices import default_device
from devlint.analysis.pytorch.ranks import broadcast_rank
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_BROADCAST_ALL: Final = "torch.distributions.utils.broadcast_all"


def _listed(call: Call) -> tuple[list[Value], bool]:
    """The tensors that such a function is given, one by one or in a list, and whether there may be more."""
    given = call.positional
    if len(given) == 1 and isinstance(given[0], Sequence):
        return given[0].items, given[0].open
    return given, call.open


def _spread(value: Value, rank: int | None) -> Value:
    """A tensor as it is once broadcast: itself where nothing has to be expanded."""
    if not isinstance(value, Tensor):
        return Tensor(None, rank)
    return value if value.is_parameter or (rank is not None and value.rank == rank) else derived(value, rank)


@models("torch.broadcast_tensors")
def broadcast_tensors(machine: Machine, call: Call) -> Value:
    """`torch.broadcast_tensors(x, y)` asks nothing of their devices."""
    values, is_open = _listed(call)
    if is_open and not values:
        return UNKNOWN
    rank = broadcast_rank(values)
    return Sequence("tuple", [_spread(value, rank) for value in values], is_open)


@models("torch.atleast_1d", "torch.atleast_2d", "torch.atleast_3d")
def at_least(machine: Machine, call: Call) -> Value:
    """`torch.atleast_2d(x)`: of one tensor a tensor, of several a tuple."""
    values, is_open = _listed(call)
    made: list[Value] = [derived(v, SOME_RANK) if isinstance(v, Tensor) else Tensor(None) for v in values]
    if made and values is call.positional and len(made) == 1 and not is_open:
        return made[0]
    return Sequence("tuple", made, is_open)


@models(_BROADCAST_ALL)
def broadcast_all(machine: Machine, call: Call) -> Value:
    """`broadcast_all(loc, scale)`: numbers become tensors beside the first tensor."""
    values = call.positional
    first = next((value for value in values if isinstance(value, Tensor)), None)
    if call.open or (first is None and not all(isinstance(value, (Const, Scalar)) for value in values)):
        return Sequence("tuple", [value if isinstance(value, Tensor) else Tensor(None) for value in values], call.open)
    rank = broadcast_rank(values) if first is not None else 0
    made: list[Value] = []
    for value in values:
        if not isinstance(value, (Const, Scalar)):
            made.append(_spread(value, rank))
        elif first is not None:
            made.append(derived(first, rank))
        else:
            device = default_device(machine, call.node, call.frame, _BROADCAST_ALL)
            made.append(Tensor(device, 0, machine.origin("factory", call.node, call.frame, device, _BROADCAST_ALL)))
    return Sequence("tuple", made)
