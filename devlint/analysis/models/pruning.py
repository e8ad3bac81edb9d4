"""`torch.nn.utils.prune`: a parameter becomes a plain tensor, computed of the old parameter and a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import NONE, UNKNOWN, Instance, Sequence, Tensor, Value, constant
from devlint.analysis.models.weight_norms import reparameterise, restore
from devlint.analysis.pytorch.tensors import combine

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_PRUNE: Final = "torch.nn.utils.prune"
_MASKED: Final = {"_mask": "buffer"}
_DRAWN: Final = ("identity", "random_unstructured", "l1_unstructured", "random_structured", "ln_structured")


@models(*(f"{_PRUNE}.{name}" for name in _DRAWN))
def prune(machine: Machine, call: Call) -> Value:
    """`prune.l1_unstructured(module, "weight", amount)`: the mask is made where the parameter is."""
    return reparameterise(machine, call, "_orig", _MASKED) or UNKNOWN


@models(f"{_PRUNE}.custom_from_mask")
def custom_from_mask(machine: Machine, call: Call) -> Value:
    """`prune.custom_from_mask(module, "weight", mask)`: the mask must be where the parameter is."""
    module, mask, name = call.argument(0, "module"), call.argument(2, "mask"), constant(call.argument(1, "name"))
    held = module.fields.get(name) if isinstance(module, Instance) and isinstance(name, str) else None
    if isinstance(held, Tensor) and isinstance(mask, Tensor):
        combine(machine, [held, mask], call.node, call.frame, "mul")
    return prune(machine, call)


@models(f"{_PRUNE}.global_unstructured")
def global_unstructured(machine: Machine, call: Call) -> Value:
    """`prune.global_unstructured(((module, "weight"), ...), method)`: each of the parameters is pruned."""
    pairs = call.argument(0, "parameters")
    for pair in pairs.items if isinstance(pairs, Sequence) else ():
        if isinstance(pair, Sequence) and len(pair.items) == 2:
            prune(machine, call.with_arguments(pair.items))
    return NONE


@models(f"{_PRUNE}.remove")
def remove(machine: Machine, call: Call) -> Value:
    """`prune.remove(module, "weight")`: a parameter again."""
    return restore(machine, call) or UNKNOWN
