"""Instances that are built by protocol: once for all that is entered with one, as nobody in sight builds any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import Class, Function, Instance, Tensor, Value, present
from devlint.analysis.flow.presets import by_default
from devlint.analysis.frames import Frame, Locals
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.modules import registered
from devlint.analysis.store import Delta

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def construct_by_protocol(machine: Machine, cls: Class, frame: Frame) -> Value:
    """Build an instance with the defaults that say nothing of devices, and Unknown for the rest."""
    found = find(cls, "__init__")
    keywords: dict[str, Value] = {}
    if found is not None and isinstance(found[0], Function):
        init = found[0]
        parameters = init.node.parameters
        for name in [*parameters.positional[1:], *parameters.keyword]:
            default = init.defaults.get(name)
            keywords[name] = by_default(machine, name, default)
    return call_value(machine, cls, Call([], keywords, cls.node, frame))


def build_once(machine: Machine, cls: Class, frame: Frame) -> Value:
    """The same as `construct_by_protocol`, but the constructor runs once for all that is entered with an instance.

    What it wrote is kept and written again, unless this run assumes something that the constructor asks for.
    """
    built = machine.built.get(cls)
    if built is not None and built.asked.keys().isdisjoint(machine.run.assume):
        built.repeat(machine)
        return built.value
    consulted, machine.entry.consulted = machine.entry.consulted, set()
    evidence, machine.entry.evidence = machine.entry.evidence, {}
    asked, machine.run.asked = machine.run.asked, {}
    promoted, machine.run.promoted = machine.run.promoted, {}
    elsewhere, machine.run.elsewhere = machine.run.elsewhere, False
    strayed, machine.run.strayed = machine.run.strayed, False
    loss = machine.loss
    named, loss.named = loss.named, False
    hidden, loss.hidden = loss.hidden, False
    machine.run.built_on_cpu = False
    path, guards, abroad, placements = len(machine.run.path), machine.run.guards, machine.run.abroad, machine.placements
    mark = machine.store.mark()
    machine.run.building = True
    try:
        value = construct_by_protocol(machine, cls, frame)
        delta = machine.store.rollback(mark)
        machine.store.apply(delta)
        if loss.named or (machine.run.built_on_cpu and loss.hidden):
            machine.run.elsewhere = True
        elif machine.run.built_on_cpu and _keeps_on_cpu(value, delta):
            machine.run.strayed = True
        if not machine.run.assume and len(machine.run.path) == path and machine.run.guards == guards:
            spent = machine.run.abroad - abroad
            machine.built[cls] = Built(machine, value, delta, spent, machine.placements - placements)
    finally:
        machine.run.building = False
        machine.entry.consulted |= consulted
        machine.entry.evidence |= evidence
        machine.run.asked = {**asked, **machine.run.asked}
        machine.run.elsewhere = machine.run.elsewhere or elsewhere
        machine.run.strayed = machine.run.strayed or strayed
        loss.named, loss.hidden = loss.named or named, loss.hidden or hidden
        machine.run.promoted = {**promoted, **machine.run.promoted}
    return value


def _keeps_on_cpu(value: Value, delta: Delta) -> bool:
    """Whether building an instance has kept something on the CPU that a move of the instance does not take along."""
    moved = {id(tensor) for tensor, _, _ in registered(value)} if isinstance(value, Instance) else set()

    def stays(kept: Value) -> bool:
        return isinstance(kept, Function) or any(
            tensor.device == "cpu" and id(tensor) not in moved and not _is_of_layer(tensor)
            for tensor in tensors_in(present(kept))
        )

    return any(
        isinstance(kept, Value) and stays(kept)
        for target, _, is_slot, kept in delta.values()
        if not is_slot and target.__class__ is not Locals
    )


def _is_of_layer(tensor: Tensor) -> bool:
    """Whether a tensor is a parameter or buffer of a class of `torch.nn`: it goes where its layer goes."""
    return tensor.origin is not None and tensor.origin.kind == "parameter"


class Built:
    """What building an instance came to: the instance, what was written, and what was asked on the way."""

    __slots__ = (
        "value",
        "asked",
        "_abroad",
        "_consulted",
        "_contexts",
        "_delta",
        "_elsewhere",
        "_hides",
        "_evidence",
        "_latest",
        "_own",
        "_placements",
        "_promoted",
        "_state",
        "_strayed",
        "_touched",
    )

    def __init__(self, machine: Machine, value: Value, delta: Delta, abroad: int, placements: int) -> None:
        self.value = value
        self._placements = placements
        self._state = machine.state
        self.asked = dict(machine.run.asked)
        self._delta = delta
        self._abroad = abroad
        self._elsewhere, self._strayed = machine.run.elsewhere, machine.run.strayed
        self._hides = machine.loss.hidden
        self._consulted, self._evidence = frozenset(machine.entry.consulted), dict(machine.entry.evidence)
        self._promoted = dict(machine.run.promoted)
        self._touched, self._own = frozenset(machine.entry.touched), frozenset(machine.entry.own)
        self._contexts, self._latest = dict(machine.run.contexts), dict(machine.run.latest)

    def repeat(self, machine: Machine) -> None:
        """Let it have happened in this run, too, at its beginning."""
        was, now = self._state, machine.state  # every run has a state of its own
        machine.store.apply(self._delta, {id(was): now, id(was.environment): now.environment})
        machine.run.abroad += self._abroad
        machine.placements += self._placements
        machine.run.elsewhere = machine.run.elsewhere or self._elsewhere
        machine.run.strayed = machine.run.strayed or self._strayed
        machine.loss.hidden = machine.loss.hidden or self._hides
        machine.entry.consulted |= self._consulted
        machine.entry.evidence |= self._evidence
        machine.run.asked.update(self.asked)
        machine.entry.touched |= self._touched
        machine.entry.own |= self._own
        for key, choice in self._promoted.items():
            machine.run.promoted.setdefault(key, choice)
        machine.run.contexts.update(self._contexts)
        machine.run.latest.update(self._latest)
