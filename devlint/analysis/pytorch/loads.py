"""What `torch.load` gave, of which nothing is known: told from what it is taken for, data or weights."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import RESULT, UNKNOWN, Mapping, Sequence, Tensor, Unknown, Value, constant
from devlint.analysis.events import LoadWithoutMap
from devlint.analysis.pytorch.results import loaded_tensor
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine


def part_of_load(machine: Machine, value: Value) -> Unknown | None:
    """An attribute or item of what was loaded, or of a part of it; None of anything else."""
    site = machine.run.loads.get(value) if machine.run.loads and isinstance(value, Unknown) else None
    if site is None:
        return None
    part = Unknown()
    machine.run.loads[part] = site
    return part


def note_load(machine: Machine, loaded: Unknown, site: Site) -> None:
    """Note where something was loaded of which nothing is known."""
    machine.run.loads[loaded] = site
    machine.loss.loads = machine.run.loads


def item_of_load(machine: Machine, value: Unknown, index: Value) -> Value | None:
    """An item of what was loaded; by the name that torch has for them, these are weights."""
    part = part_of_load(machine, value)
    name = constant(index)
    if part is not None and isinstance(name, str) and "state_dict" in name:
        take_for_weights(machine, part)
    return part


def of_weights(machine: Machine, value: Tensor) -> Tensor:
    """What shares its memory with weights, `weight.data`, `net.state_dict()[name]`: what is copied there they take.
    Loads are told of where there is no GPU."""
    if not machine.has_cuda:
        machine.run.contents.add(value)
    return value


def are_weights(value: Mapping) -> bool:
    """Whether a dict is the state of a network or an optimizer, and not what was loaded, of whatever kind."""
    return value.kind == "state_dict" and loaded_tensor(value) is None


def made_of_loads(machine: Machine, made: Value, *given: Value) -> Value:
    """What is made of other values, of which nothing is known: a part of what was loaded, if one of them is one,
    such as the mean of several files."""
    if machine.run.loads and (made is UNKNOWN or made is RESULT):
        for value in given:
            part = part_of_load(machine, value)
            if part is not None:
                return part
    return made


_GIVE_PARTS: Final = frozenset(
    {"values", "get", "pop", "copy", "float", "double", "half", "bfloat16", "clone", "detach"}
)


def method_of_load(machine: Machine, value: Unknown, name: str) -> Value | None:
    """What a dict that was loaded gives of itself: `.items()`, `.values()`, `.get(...)`; its keys are no weights. A
    network or a weight that becomes another type is one still."""
    if name != "items" and name not in _GIVE_PARTS:
        return None
    part = part_of_load(machine, value)
    if part is None or name in _GIVE_PARTS:
        return part
    return Sequence("list", [Sequence("tuple", [UNKNOWN, part])], True)


_OF_NETWORKS: Final = frozenset(
    "eval train state_dict load_state_dict parameters named_parameters children named_children modules named_modules "
    "register_forward_hook zero_grad forward".split()
)
"""Methods of networks that tensors don't have."""


def shows_network(name: str, call: Call) -> bool:
    """Whether what was loaded is seen to be a network by one of its methods: by its name, if it moves it where it is,
    or if tensors don't have it and it is given one, `net.predict(x)`, but not `features.matmul(x)`."""
    if name in _OF_NETWORKS:
        return True
    if name in OF_BOTH:
        return call.unused
    return table.method(name) is None and any(isinstance(given, Tensor) for given in call.values())


def moved_load(machine: Machine, value: Unknown | Tensor, made: Value) -> Value:
    """What was loaded, on another device or of another type: data or a network still, as its use will tell."""
    site = machine.run.loads.get(value) if machine.run.loads else None
    if site is not None and isinstance(made, Tensor):
        machine.run.loads[made] = site
        return made
    return made_of_loads(machine, made, value)


OF_BOTH: Final = frozenset({"to", "cuda", "cpu", "float", "double", "half", "bfloat16"})
"""Methods of tensors and of networks that give as much."""


_OF_PARTS: Final = frozenset({"DataParallel", "DistributedDataParallel", "Sequential", "ModuleList"})
"""Classes of networks that are given networks."""


def give_weights(machine: Machine, name: str, call: Call) -> None:
    """A function that is not in sight gets what was loaded, by a name that says for what: `net.load_state_dict(x)` of
    an unknown network, `set_peft_model_state_dict(net, x)`, `Net.from_pretrained(name, state_dict=x)`; or as a
    network, `DataParallel(x)`."""
    if "state_dict" in name or name in _OF_PARTS:
        for value in call.values():
            take_for_weights(machine, value)
    take_for_weights(machine, call.keywords.get("state_dict"))


def take_for_data(machine: Machine, value: Value) -> None:
    """The host reads something, finds something by it, or takes samples out of it: if it was loaded, or is a part of
    what was, these are no weights, and nothing of them was on a GPU.

    Weights are a dict that a network takes; what was saved from a GPU becomes no array before it is brought back.
    """
    site = machine.run.loads.get(value) if isinstance(value, Unknown) else None
    if site is not None and site.key not in machine.places.weight_loads:
        machine.places.data_loads.add(site.key)
        told = machine.entry.events.pop((LoadWithoutMap, site.key, None, None), None)
        if told is not None:
            machine.run.withheld[site.key] = told


def take_for_weights(machine: Machine, value: Value | None) -> None:
    """A module takes something, or it is used as one: if it was loaded, or is a part of what was, these are
    weights, whatever else stands beside them. So are those of a dict or list that was filled with parts of it."""
    if machine.run.loads and value is not None:
        _take(machine, value, set())


def _take(machine: Machine, value: Value, met: set[Value]) -> None:
    if isinstance(value, (Mapping, Sequence)):
        if value not in met:
            met.add(value)
            parts = value.items if isinstance(value, Sequence) else [*value.items.values(), value.rest]
            for item in parts:
                if item is not None:
                    _take(machine, item, met)
        return
    site = machine.run.loads.get(value) if isinstance(value, (Unknown, Tensor)) else None
    if site is None or site.key in machine.places.weight_loads:
        return
    machine.places.weight_loads.add(site.key)
    machine.places.data_loads.discard(site.key)
    key = (LoadWithoutMap, site.key, None, None)
    told = machine.run.withheld.pop(site.key, None) or machine.entry.events.get(key)
    if isinstance(told, LoadWithoutMap):
        machine.entry.events[key] = dataclasses.replace(told, untaken=False)
