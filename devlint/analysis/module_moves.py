"""Moving a module in place, and what the move leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devlint.analysis.classes import find
from devlint.analysis.devices import is_device_like, resolve, use
from devlint.analysis.dispatch import Call
from devlint.analysis.modules import (
    class_name,
    registered,
    submodules,
)
from devlint.analysis.moves import note_module_moved
from devlint.analysis.origins import Origin
from devlint.analysis.values import (
    POISON,
    Class,
    External,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
)

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


def move_module(machine: Machine, instance: Instance, device: str | None, node: ir.Node, frame: Frame) -> None:
    """Move a module in place: parameters keep their identity, buffers are replaced; plain attributes stay behind."""
    if device == POISON:
        return
    by_protocol = machine.protocol and not machine.stack
    machine.placements += 1
    for tensor, owner, place in list(registered(instance)):
        if tensor.device == device or tensor.device == POISON:
            if by_protocol:
                machine.store.set(tensor, "assumed", True)
            continue
        previous = tensor.origin if device is None or tensor.origin is None else None
        origin = machine.origin("module-moved", node, frame, device, class_name(instance), previous)
        if tensor.is_parameter or not isinstance(place, str):
            machine.store.set(tensor, "device", device)
            machine.store.set(tensor, "origin", origin)
            if by_protocol:
                machine.store.set(tensor, "assumed", True)
            continue
        made = Tensor(device, tensor.rank, origin, assumed=by_protocol)
        made.requires_grad = tensor.requires_grad
        machine.store.put(owner.fields, place, made)
    for part in submodules(instance).values():
        assert part.module is not None
        machine.store.set(part.module, "device", device)
        machine.store.set(part.module, "moved_at", machine.site(node, frame))
        _mark_left_behind(machine, part, device, node, frame)


def _mark_left_behind(machine: Machine, instance: Instance, device: str | None, node: ir.Node, frame: Frame) -> None:
    module = instance.module
    assert module is not None
    if device is None or module.unsure:
        return
    for name, value in list(instance.fields.items()):
        place = module.places.get(name)
        if place is None or module.kinds.get(name):
            continue
        if isinstance(value, Tensor):
            _leave_behind(machine, value, device, place, frame, name)
        elif isinstance(value, Instance) and isinstance(value.state.get("parameter"), Tensor):
            _leave_behind(machine, value.state["parameter"], device, place, frame, name)
        elif isinstance(value, Instance) and value.module is None and isinstance(value.cls, Class):
            for field, inner in list(value.fields.items()):
                if isinstance(inner, Tensor) and inner.origin is not None:
                    given = value.places.get(field, inner.origin.site)
                    _leave_behind(machine, inner, device, given, frame, f"{name}.{field}")
        elif isinstance(value, (Sequence, Mapping)):
            for tensor in _unregistered(value):
                if tensor.device not in (None, device, POISON):
                    machine.store.set(
                        tensor,
                        "origin",
                        Origin(
                            "unregistered", place, frame, machine.tick(), tensor.device, f"self.{name}", tensor.origin
                        ),
                    )


def _leave_behind(machine: Machine, value: Tensor, device: str, place: Site, frame: Frame, name: str) -> None:
    if value.device not in (None, device, POISON) and value.rank != 0:
        mark = Origin("left-behind", place, frame, machine.tick(), value.device, f"self.{name}", value.origin)
        machine.store.set(value, "origin", mark)


def _unregistered(value: Value, depth: int = 3) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Instance) and value.module is not None:
        for tensor, _, _ in registered(value):
            yield tensor
    elif depth and isinstance(value, (Sequence, Mapping)):
        for part in value.items if isinstance(value, Sequence) else value.items.values():
            yield from _unregistered(part, depth - 1)


# -- methods


def move(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    module = value.module
    assert module is not None
    device: str | None
    if name == "cpu":
        device = "cpu"
    elif name == "cuda":
        target = call.given(0, "device")
        if target is None:
            device = use(machine, "cuda", None, call.node, call.frame, ".cuda")
        elif isinstance(target, (Unknown, Scalar)):
            device = None if machine.device_count else use(machine, "cuda", None, call.node, call.frame, ".cuda")
        else:
            device = resolve(machine, target, call.node, call.frame, ".cuda")
    else:
        target = call.keywords.get("device") or (call.positional[0] if call.positional else None)
        if target is None or isinstance(target, External) or constant(target) is None:
            return value
        if isinstance(target, Scalar) and target.kind == "dtype":
            return value
        if isinstance(target, Tensor):
            device = target.device
        elif is_device_like(target) or isinstance(target, Instance):
            device = resolve(machine, target, call.node, call.frame, ".to")
        else:
            device = None
    if device == POISON:
        poison_module(machine, value)
        return value
    for part in submodules(value).values():
        _own_moves(machine, part)
    note_module_moved(machine, value, device, call)
    move_module(machine, value, device, call.node, call.frame)
    return value


def _own_moves(machine: Machine, part: Instance) -> None:
    """A module with its own `_apply` (or `to`, called as a part of another) may move what is not registered."""
    assert part.module is not None
    if find(part.cls, "_apply") is None:
        return
    machine.store.set(part.module, "unsure", True)
    for name, field in list(part.fields.items()):
        if isinstance(field, Tensor) and not part.module.kinds.get(name):
            machine.store.put(part.fields, name, Tensor(None, field.rank))
        elif isinstance(field, (Sequence, Mapping, Maybe)) and not part.module.kinds.get(name):
            machine.store.put(part.fields, name, Unknown())


def poison_module(machine: Machine, value: Instance) -> None:
    """A reported crash was in moving this module: nothing more is said about its tensors."""
    for tensor, _, _ in list(registered(value)):
        machine.store.set(tensor, "device", POISON)
