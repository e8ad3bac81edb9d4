"""`torch.utils.data`: samplers give numbers, or what they were given to choose from, and lists of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import (
    NUMBER,
    POISON,
    UNKNOWN,
    Const,
    External,
    Instance,
    Scalar,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.pytorch.rows import check_generator

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_INDICES: Final = "SequentialSampler", "RandomSampler", "WeightedRandomSampler", "DistributedSampler"
_CHOSEN: Final = "chosen"
"""Under this key of its state a sampler keeps what it gives."""


def _sampler(machine: Machine, call: Call, name: str, chosen: Value) -> Value:
    made = Instance(External(f"torch.utils.data.{name}"), machine.site(call.node, call.frame))
    made.state[_CHOSEN] = chosen
    return made


def _check(machine: Machine, call: Call, device: str = "cpu") -> None:
    """Samplers draw with a CPU generator, or one of the device of what they draw from."""
    generator = call.keywords.get("generator")
    if generator is not None:
        check_generator(machine, generator, device, "RandomSampler", call)


@models("torch.utils.data.SequentialSampler")
def sequential(machine: Machine, call: Call) -> Value:
    """`SequentialSampler(dataset)`."""
    return _sampler(machine, call, "SequentialSampler", NUMBER)


@models("torch.utils.data.RandomSampler")
def random_sampler(machine: Machine, call: Call) -> Value:
    """`RandomSampler(dataset)`."""
    _check(machine, call)
    return _sampler(machine, call, "RandomSampler", NUMBER)


@models("torch.utils.data.WeightedRandomSampler")
def weighted_sampler(machine: Machine, call: Call) -> Value:
    """`WeightedRandomSampler(weights, number)`: draws where the weights are."""
    weights = call.argument(0, "weights")
    if not isinstance(weights, Tensor):
        _check(machine, call)
    elif weights.device not in (None, POISON):
        _check(machine, call, weights.device)
    return _sampler(machine, call, "WeightedRandomSampler", NUMBER)


@models("torch.utils.data.SubsetRandomSampler")
def subset_sampler(machine: Machine, call: Call) -> Value:
    """`SubsetRandomSampler(indices)`: some of what it is given."""
    _check(machine, call)
    given = call.argument(0, "indices")
    items = None if given is None else iterate(machine, given, call.node, call.frame)
    one: Value = UNKNOWN
    if items is not None and items.items:
        first = items.items[0]
        is_number = isinstance(first, Scalar) or (isinstance(first, Const) and first.value.__class__ is int)
        one = NUMBER if is_number else first if isinstance(first, Tensor) else UNKNOWN
    return _sampler(machine, call, "SubsetRandomSampler", one)


@models("torch.utils.data.BatchSampler")
def batch_sampler(machine: Machine, call: Call) -> Value:
    """`BatchSampler(sampler, size, drop_last)`: lists of what another sampler gives."""
    given = call.argument(0, "sampler")
    items = None if given is None else iterate(machine, given, call.node, call.frame)
    one = items.items[0] if items is not None and items.items else UNKNOWN
    return _sampler(machine, call, "BatchSampler", Sequence("list", [one], True))


def _each(machine: Machine, value: Instance, call: Call) -> Value:
    """`for index in sampler`."""
    chosen = value.state.get(_CHOSEN)
    return UNKNOWN if chosen is None else Sequence("generator", [chosen], True)


for _name in (*_INDICES, "SubsetRandomSampler", "BatchSampler"):
    method_models(f"torch.utils.data.{_name}", "__iter__")(_each)
