"""torchmetrics: a metric is a module whose state must be where its inputs are (torchmetrics 1.8, metric.py); a
collection gives its inputs to its members, which stay where they are (collections.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.domain.module_state import COLLECTION, UNNAMED, ModuleState
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    constant,
    is_none,
    present,
)
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.meeting import Part, clash, tensors_in
from devlint.analysis.pytorch.modules import register_attribute

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

METRIC: Final = "torchmetrics.Metric"
_ADDS_NUMBERS: Final = "adds numbers"
_BUILT: Final = "built"
"""Under this key of its state, a collection keeps the mark of where it was built."""


def is_metric(path: str) -> bool:
    """Whether a dotted name is a metric class: capitalised, and not of the functional interface."""
    return path.startswith("torchmetrics.") and ".functional" not in path and path.rpartition(".")[2][:1].isupper()


def construct(machine: Machine, path: str, call: Call) -> Value:
    """Build a metric: its state is created on the CPU."""
    if path.rpartition(".")[2] == "MetricCollection":
        return _collect(machine, call)
    made = Instance(External(METRIC), machine.site(call.node, call.frame))
    made.module = ModuleState()
    state = Tensor("cpu", 64, machine.origin("metric-state", call.node, call.frame, "cpu", "state"))
    made.module.kinds["state"] = "buffer"
    made.fields["state"] = state
    made.state[_ADDS_NUMBERS] = _adds_numbers(path, call)
    return made


_COUNTED: Final = (
    "Accuracy",
    "F1Score",
    "FBetaScore",
    "HammingDistance",
    "Precision",
    "Recall",
    "Specificity",
    "StatScores",
)


def _adds_numbers(path: str, call: Call) -> bool:
    """Whether a metric adds what has no dimensions to its state, which may come from the CPU: the counts of two classes
    (torchmetrics 1.9, functional/classification/stat_scores.py)."""
    name = path.rpartition(".")[2]
    if "multidim_average" in call.keywords:
        return False
    if name.startswith("Binary"):
        return name.removeprefix("Binary") in _COUNTED
    return name in _COUNTED and constant(call.argument(0, "task")) == "binary"


# -- collections


def _collect(machine: Machine, call: Call) -> Value:
    """`MetricCollection(metrics, *more, prefix=..., postfix=...)`."""
    made = Instance(External(COLLECTION), machine.site(call.node, call.frame))
    made.module = ModuleState()
    made.module.unsure = not all(is_none(call.keywords.get(name)) for name in ("prefix", "postfix"))
    made.state[_BUILT] = machine.origin("metric-state", call.node, call.frame, "cpu", "state")
    add_metrics(machine, made, call)
    return made


@method_models(COLLECTION, "add_metrics")
def add_metrics(machine: Machine, value: Instance, call: Call) -> Value:
    """`collection.add_metrics(metrics, *more)`: by their names, where these are known, else by numbers."""
    module = value.module
    if module is None:
        return NONE
    first = call.argument(0, "metrics")
    if call.open or first is None:
        machine.store.set(module, "unsure", True)
    for name, part in _named([*([] if first is None else [first]), *call.positional[1:]]):
        is_seen = part is not None and isinstance(present(part), Instance)
        if name is None or not is_seen:
            machine.store.set(module, "unsure", True)
        if part is not None and is_seen:
            place = f"{UNNAMED}.{len(value.fields)}" if name is None else name
            register_attribute(machine, value, place, part, call.node, call.frame)
            machine.store.epoch += 1
            machine.store.put(value.fields, place, part)
    return NONE


def _named(given: list[Value]) -> Iterator[tuple[str | None, Value | None]]:
    """What a collection is given, by name if it has one that is known; None for what is not seen."""
    for value in given:
        if isinstance(value, Mapping):
            yield from ((name if isinstance(name, str) else None, part) for name, part in value.items.items())
            if value.open:
                yield None, value.rest
        elif isinstance(value, Sequence):
            yield from _named(value.items)
            if value.open:
                yield None, None
        else:
            yield None, value


def _states(value: Instance, depth: int = 3) -> Iterator[tuple[str, Tensor]]:
    """The states that an update surely concerns, and the names by which a collection has them."""
    state = value.fields.get("state")
    if isinstance(state, Tensor):
        yield "", state
    if value.module is None or not depth or not isinstance(value.cls, External) or value.cls.path != COLLECTION:
        return
    for name, kind in value.module.kinds.items():
        part = value.fields.get(name)
        if kind == "module" and isinstance(part, Instance):
            yield from ((name, inner) for _, inner in _states(part, depth - 1))


# -- methods


@method_models(METRIC, "update", "forward", "__call__")
def update(machine: Machine, value: Instance, call: Call) -> Value:
    """`metric.update(preds, target)`: the state and the inputs on one device."""
    if not _takes(machine, value, call):
        return Tensor(POISON)
    return _result(value)


@method_models(METRIC, "compute")
def compute(machine: Machine, value: Instance, call: Call) -> Value:
    """`metric.compute()`: on the device of the state."""
    return _result(value)


@method_models(COLLECTION, "update", "forward", "__call__")
def update_all(machine: Machine, value: Instance, call: Call) -> Value:
    """`collection.update(preds, target)`: each member's own update."""
    _takes(machine, value, call)
    return Mapping({}, _result(value), True)


@method_models(COLLECTION, "compute")
def compute_all(machine: Machine, value: Instance, call: Call) -> Value:
    """`collection.compute()`: a dict of what the members give."""
    return Mapping({}, _result(value), True)


def _result(value: Instance) -> Tensor:
    """What a metric gives: on the device of its state."""
    devices = {state.device for _, state in _states(value)}
    return Tensor(devices.pop() if len(devices) == 1 else None)


def _takes(machine: Machine, value: Instance, call: Call) -> bool:
    """Whether an update goes well, for all that is known; tell where it does not."""
    states = list(_states(value))
    inputs = [tensor for given in call.values() for tensor in tensors_in(given)]
    if value.state.get(_ADDS_NUMBERS) and all(tensor.device == "cpu" for tensor in inputs):
        return True
    for name, state in states:
        for tensor in inputs:
            if state.device not in (None, POISON) and tensor.device not in (None, POISON, state.device):
                _tell(machine, value, states, (name, state), tensor, call)
                return False
    return True


def _tell(
    machine: Machine,
    value: Instance,
    states: list[tuple[str, Tensor]],
    stuck: tuple[str, Tensor],
    tensor: Tensor,
    call: Call,
) -> None:
    """Tell of a state that does not go with an input: where no member of a collection was moved, it is to blame."""
    receiver = getattr(getattr(call.node, "function", None), "value", None)
    text = source_text(machine, machine.site(receiver, call.frame)) if receiver is not None else "metric"
    name, state = stuck
    built = value.state.get(_BUILT)
    if built is not None and all(part.origin is not None and part.origin.kind == "metric-state" for _, part in states):
        state = Tensor(state.device, state.rank, built)
    elif name and UNNAMED not in name:
        text = f"{text}[{name!r}]"
    clash(
        machine,
        [(state, Part(state, "strict", None, text)), (tensor, Part(tensor, "strict"))],
        "metric",
        call.node,
        call.frame,
    )
    for _, part in states:
        machine.store.set(part, "device", POISON)
