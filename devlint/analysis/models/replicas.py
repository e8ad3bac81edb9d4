"""`torch.nn.parallel`: the parts of which DataParallel is made, where programs call them one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import POISON, UNKNOWN, Instance, Mapping, Sequence, Tensor, Value, is_none
from devlint.analysis.models.parallel import copied_to, scattered
from devlint.analysis.pytorch.devices import resolve

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def _places(machine: Machine, value: Value | None, call: Call, operation: str) -> list[str] | None:
    """The devices of a list that is known, if each of them is."""
    found = None if value is None else iterate(machine, value, call.node, call.frame)
    if found is None or found.open or not found.items:
        return None
    places: list[str] = []
    for item in found.items:
        place = resolve(machine, item, call.node, call.frame, operation)
        if place is None or place == POISON:
            return None
        places.append(place)
    return places


@models("torch.nn.parallel.scatter", "torch.nn.parallel.scatter_gather.scatter")
def scatter(machine: Machine, call: Call) -> Value:
    """`scatter(inputs, devices)`: a part of each tensor on each device."""
    inputs = call.argument(0, "inputs")
    places = _places(machine, call.argument(1, "target_gpus"), call, "scatter")
    if inputs is None or places is None:
        return UNKNOWN
    return Sequence("list", [scattered(machine, inputs, place, call) for place in places])


@models("torch.nn.parallel.replicate", "torch.nn.parallel.replicate.replicate")
def replicate(machine: Machine, call: Call) -> Value:
    """`replicate(module, devices)`: a copy on each device."""
    network = call.argument(0, "network")
    places = _places(machine, call.argument(1, "devices"), call, "replicate")
    if places is None or not isinstance(network, Instance) or network.module is None:
        return UNKNOWN
    return Sequence("list", [copied_to(machine, network, place, call) for place in places])


@models("torch.nn.parallel.parallel_apply", "torch.nn.parallel.parallel_apply.parallel_apply")
def parallel_apply(machine: Machine, call: Call) -> Value:
    """`parallel_apply(modules, inputs, kwargs)`: what each module makes of its inputs."""
    modules, inputs, more = call.argument(0, "modules"), call.argument(1, "inputs"), call.argument(2, "kwargs_tup")
    if not isinstance(modules, Sequence) or not isinstance(inputs, Sequence) or modules.open or inputs.open:
        return UNKNOWN
    given = [{}] * len(inputs.items) if more is None or is_none(more) else _keywords(more)
    if given is None or not len(modules.items) == len(inputs.items) == len(given):
        return UNKNOWN
    results: list[Value] = []
    for module, part, keywords in zip(modules.items, inputs.items, given, strict=True):
        positional = list(part.items) if isinstance(part, Sequence) and part.kind in ("tuple", "list") else [part]
        results.append(call_value(machine, module, Call(positional, dict(keywords), call.node, call.frame)))
    return Sequence("list", results)


def _keywords(more: Value) -> list[dict[str, Value]] | None:
    parts = more.items if isinstance(more, Sequence) and not more.open else []
    known: list[dict[str, Value]] = []
    for part in parts:
        if not isinstance(part, Mapping) or part.open or not all(isinstance(key, str) for key in part.items):
            return None
        known.append({str(key): value for key, value in part.items.items()})
    return known


@models("torch.nn.parallel.gather", "torch.nn.parallel.scatter_gather.gather")
def gather(machine: Machine, call: Call) -> Value:
    """`gather(outputs, device)`: the parts together, on one device."""
    outputs = call.argument(0, "outputs")
    target = call.argument(1, "target_device")
    place = None if target is None else resolve(machine, target, call.node, call.frame, "gather")
    if not isinstance(outputs, Sequence) or not outputs.items or place is None or place == POISON:
        return UNKNOWN
    first = outputs.items[0]
    return scattered(machine, first, place, call) if isinstance(first, (Tensor, Sequence, Mapping)) else UNKNOWN
