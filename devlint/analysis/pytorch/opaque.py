"""Modules of other libraries: one tensor stands for all parameters, whose names no row could give.

What a program takes out of such a module (`resnet.layer1`, `vgg.features[:16]`) is a module with such a tensor of its
own, made when it is first asked for, and registered: it goes along when the whole is moved, and may be moved alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.module_state import HIDDEN, ModuleState
from devlint.analysis.domain.values import (
    SLICE,
    UNKNOWN,
    Const,
    External,
    Instance,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)
from devlint.analysis.pytorch.devices import resolve
from devlint.analysis.pytorch.missing import die
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row
    from devlint.syntax import ir

_RANK: Final = 64
_PLACING: Final = (
    "device_map",
    "quantization_config",
    "load_in_8bit",
    "load_in_4bit",
    "max_memory",
    "tp_plan",
    "map_location",
)
"""Arguments with which a library places the parameters of a model itself."""
_IN_FEWER_BITS: Final = re.compile(r"bnb|[48]bit|gptq|awq|fp8|mxfp4|gpt-oss")
"""What checkpoints are called that hold a quantiser, which places them on the GPU."""


def is_opaque(row: Row | None) -> bool:
    """Whether one tensor stands for the parameters of the modules that a row makes."""
    return row is not None and "opaque" in row.flags


def hide_parameters(machine: Machine, instance: Instance, row: Row, bound: dict[str, Any], call: Call) -> None:
    """Give a module of another library the tensor that stands for its parameters."""
    module = instance.module
    assert module is not None
    machine.store.set(module, "unsure", True)
    machine.store.set(module, "children", None)
    ask_for_fewer_bits(machine, bound)
    device: str | None = None
    if not _is_placed(machine, row, bound, call):
        target = bound.get("device")
        device = resolve(machine, target if isinstance(target, Value) else None, call.node, call.frame, row.name)
    origin = machine.origin("parameter", call.node, call.frame, device, row.name)
    module.family = []
    _hide(machine, instance, device, origin)
    _own_modules(machine, instance, bound)


def _own_modules(machine: Machine, instance: Instance, bound: dict[str, Any]) -> None:
    """The modules that are given as arguments become parts of it."""
    for name, given in bound.items():
        for index, value in enumerate(given if isinstance(given, list) else [given]):
            if isinstance(value, Instance) and value.module is not None and name != "self":
                assert instance.module is not None
                machine.store.put(instance.module.kinds, f"{name}.{index}", "module")
                machine.store.put(instance.fields, f"{name}.{index}", value)


def ask_for_fewer_bits(machine: Machine, given: dict[str, Any]) -> None:
    """`load_in_4bit=True`: these kernels are for GPUs, whoever asks for them has one."""
    asked = any(constant(given.get(name)) is True for name in ("load_in_4bit", "load_in_8bit"))
    if asked and machine.device_count == 0 and not machine.run.protocol:
        die(machine)


def _is_placed(machine: Machine, row: Row, bound: dict[str, Any], call: Call) -> bool:
    """Whether the library may choose the device: by an argument that says so, or by ones that nobody sees."""
    if call.open or any(name in bound and not _is_off(bound[name]) for name in _PLACING):
        return True
    name = constant(call.positional[0]) if call.positional else None
    if isinstance(name, str) and _IN_FEWER_BITS.search(name.lower()):
        return True
    return machine.state.default_device is not None and "device_map" in row.kinds


def _is_off(value: Any) -> bool:
    return isinstance(value, Value) and (is_none(value) or constant(value) is False)


def _hide(machine: Machine, instance: Instance, device: str | None, origin: Any) -> Tensor:
    module = instance.module
    assert module is not None
    hidden = Tensor(device, _RANK, origin, is_parameter=True)
    machine.store.put(module.kinds, HIDDEN, "parameter")
    machine.store.put(instance.fields, HIDDEN, hidden)
    if module.family is not None:
        module.family.append(hidden)
    return hidden


def forget_relatives(machine: Machine, moved: Iterable[Instance], device: str | None) -> None:
    """Parts of an opaque module were moved: of all others of it, nobody knows which of their parameters were among
    these."""
    parts = [part for part in moved if part.module is not None and part.module.family is not None]
    own = {id(part.fields.get(HIDDEN)) for part in parts}
    for part in parts:
        assert part.module is not None
        for tensor in part.module.family or ():
            if id(tensor) not in own and tensor.device != device:
                machine.store.set(tensor, "device", None)


def forget_place(machine: Machine, value: Instance) -> None:
    """Something may have moved an opaque module, or parts of it, that nobody sees."""
    hidden = value.fields.get(HIDDEN)
    if isinstance(hidden, Tensor):
        machine.store.set(hidden, "device", None)


def unknown_part(machine: Machine, value: Instance) -> Unknown:
    """What is taken out of an opaque module by a name that no row gives: it may be a module inside."""
    part = Unknown()
    machine.run.parts[part] = value
    return part


def part_moved(machine: Machine, part: Unknown) -> None:
    """Something was moved of which no more is known than that it may be a module inside of an opaque one."""
    if part in machine.run.parts:
        forget_place(machine, machine.run.parts[part])


def attribute_of_opaque(machine: Machine, value: Instance, name: str) -> Value | None:
    """`resnet.layer1`: what the table says is a module inside; None where it doesn't."""
    row = value.module.row if value.module is not None else None
    if row is None or not row.base or HIDDEN not in value.fields:
        return None
    part = table.lookup(f"{row.base}.{name}")
    if part is None or part.effect != "module":
        return None
    return _part(machine, value, name, part)


_SEQUENCE: Final = "torchvision.models.sequence"
CHILDREN: Final = "children"
"""The name of the part that stands for each of the modules inside: programs make new sequences of them."""


def children_of_opaque(machine: Machine, value: Instance) -> Instance | None:
    """One module that stands for all that are inside, if the table knows any by name."""
    row = value.module.row if value.module is not None else None
    if row is None or HIDDEN not in value.fields:
        return None
    held = value.fields.get(CHILDREN)
    if isinstance(held, Instance):
        return held
    part = table.lookup(f"{row.base}.{CHILDREN}") if row.base else None
    if "indexed" in row.flags:
        part = table.lookup(f"{row.base}.__getitem__") or row
    if part is None:
        forget_place(machine, value)
        return None
    return _part(machine, value, CHILDREN, part)


def hide_members(machine: Machine, container: Instance, members: list[Value]) -> bool:
    """Make a container that holds nobody knows how many of such children opaque, too; tells whether it is one now.

    It shares the tensor of its members: what is moved with it has moved.
    """
    hidden = {id(member.fields.get(HIDDEN)): member for member in members if isinstance(member, Instance)}
    if len(hidden) != 1 or not all(isinstance(member, Instance) and HIDDEN in member.fields for member in members):
        return False
    member = next(iter(hidden.values()))
    assert container.module is not None and member.module is not None
    container.module.row = table.lookup(_SEQUENCE)
    container.module.family = member.module.family
    machine.store.put(container.module.kinds, HIDDEN, "parameter")
    machine.store.put(container.fields, HIDDEN, member.fields[HIDDEN])
    return True


def is_split(tensor: Tensor, owner: Instance, device: str | None) -> bool:
    """Whether the parameters that one tensor stands for are being spread over several GPUs."""
    held = owner.fields.get(HIDDEN) is tensor and tensor.device is not None and tensor.device.startswith("cuda")
    return held and device is not None and device.startswith("cuda") and device != tensor.device


def misplaced(value: Instance) -> tuple[Tensor, Tensor, str] | None:
    """The parameters of an opaque module, a tensor of a module that the program put inside, and that module's name,
    where they are on two devices: in the place of one that surely runs."""
    module = value.module
    hidden = value.fields.get(HIDDEN)
    if module is None or module.row is None or not isinstance(hidden, Tensor):
        return None
    for name, field in value.fields.items():
        if not isinstance(field, Instance) or field.module is None or module.kinds.get(name) != "module":
            continue
        inside = "indexed" in module.row.flags or table.lookup(f"{module.row.base}.{name}") is not None
        if HIDDEN in field.fields:
            found = misplaced(field)
            if found is not None:
                return found
        elif inside and hidden.device is not None:
            own = next((part for part in field.fields.values() if isinstance(part, Tensor) and part.is_parameter), None)
            if own is not None and own.device not in (None, hidden.device):
                return hidden, own, name
    return None


def item_of_opaque(machine: Machine, value: Instance, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`vgg.features[3]`, and `vgg.features[:16]`, which is a module of its own wherever it is written."""
    row = value.module.row if value.module is not None else None
    if row is None or "indexed" not in row.flags:
        return UNKNOWN
    site = machine.site(node, frame)
    name = str(index.value) if isinstance(index, Const) else str(site.key[1:])
    held = value.fields.get(name)
    if held is not None:
        return held
    inside = table.lookup(f"{row.base}.__getitem__") if index is not SLICE and row.base else None
    if "weighted-first" in row.flags and isinstance(index, Const) and index.value == 0:
        inside = None
    return _part(machine, value, name, inside or row)


def _part(machine: Machine, value: Instance, name: str, row: Row) -> Instance:
    hidden = value.fields[HIDDEN]
    assert isinstance(hidden, Tensor) and value.module is not None
    part = Instance(External(row.name), value.site)
    part.module = ModuleState()
    part.module.row = row
    part.module.unsure = True
    part.module.children = None
    part.module.family = value.module.family
    own = _hide(machine, part, hidden.device, hidden.origin)
    own.assumed = hidden.assumed
    own.requires_grad = hidden.requires_grad
    machine.store.epoch += 1
    machine.store.put(value.module.kinds, name, "module")
    machine.store.put(value.fields, name, part)
    return part
