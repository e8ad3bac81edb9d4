"""torchmetrics: a metric is a module whose state must be where its inputs are (torchmetrics 1.8, metric.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.devices import source_text
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.meeting import Part, clash, tensors_in
from devlint.analysis.module_state import ModuleState
from devlint.analysis.values import POISON, External, Instance, Tensor, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

METRIC = "torchmetrics.Metric"


def is_metric(path: str) -> bool:
    """Whether a dotted name is a metric class: capitalised, and not of the functional interface."""
    return path.startswith("torchmetrics.") and ".functional" not in path and path.rpartition(".")[2][:1].isupper()


def construct(machine: Machine, call: Call) -> Value:
    """Build a metric: its state is created on the CPU."""
    made = Instance(External(METRIC), machine.site(call.node, call.frame))
    made.module = ModuleState()
    state = Tensor("cpu", 64, machine.origin("metric-state", call.node, call.frame, "cpu", "state"))
    made.module.kinds["state"] = "buffer"
    made.fields["state"] = state
    return made


@method_models(METRIC, "update", "forward", "__call__")
def update(machine: Machine, value: Instance, call: Call) -> Value:
    """`metric.update(preds, target)`: the state and the inputs on one device."""
    state = value.fields.get("state")
    if not isinstance(state, Tensor) or state.device in (None, POISON):
        return Tensor(None)
    for given in call.values():
        for tensor in tensors_in(given):
            if tensor.device not in (None, POISON, state.device):
                receiver = getattr(getattr(call.node, "function", None), "value", None)
                name = source_text(machine, machine.site(receiver, call.frame)) if receiver is not None else "metric"
                pair = [(state, Part(state, "strict", None, name)), (tensor, Part(tensor, "strict"))]
                clash(machine, pair, "metric", call.node, call.frame)
                return Tensor(POISON)
    return Tensor(state.device)


@method_models(METRIC, "compute")
def compute(machine: Machine, value: Instance, call: Call) -> Value:
    """`metric.compute()`: on the device of the state."""
    state = value.fields.get("state")
    return Tensor(state.device if isinstance(state, Tensor) else None)
