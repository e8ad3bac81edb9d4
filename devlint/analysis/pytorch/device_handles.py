"""`torch.device`: handles that are made of names and numbers, asked, and entered as contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NoReturn

from devlint.analysis.dispatch import ATTRIBUTE, METHOD, Call, models, on
from devlint.analysis.domain.values import (
    NONE,
    NUMBER,
    POISON,
    SOME_INDEX,
    UNKNOWN,
    Const,
    DeviceValue,
    External,
    Instance,
    Scalar,
    Sequence,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.events import InvalidDevice
from devlint.analysis.flow.gpu_numbers import is_chosen
from devlint.analysis.pytorch.devices import is_for_others, negative, resolve, several, use
from devlint.analysis.pytorch.missing import is_missing_accelerator, missing_accelerator
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


@models("torch.device")
def torch_device(machine: Machine, call: Call) -> Value | None:
    """`torch.device("cuda:0")`, `torch.device("cuda", 0)`, `torch.device(0)`: touches nothing."""
    first = call.argument(0, "type") or call.argument(0, "device")
    index = call.argument(1, "index")
    made = _device(machine, first, index, call)
    for given in (first, index):
        if is_chosen(machine, given) and isinstance(made, DeviceValue) and made.site is not None:
            machine.places.gpu_numbers.add(made.site.key)
    return made


def _device(machine: Machine, first: Value | None, index: Value | None, call: Call) -> Value | None:
    if isinstance(first, DeviceValue):
        if index is not None and not first.is_text:
            error = "TypeError: device(): argument 'type' (position 1) must be str, not torch.device"
            _refuse(machine, first, "handle", error, call)
        return DeviceValue(first.type, first.index, first.site)
    if isinstance(first, Sequence) and several(machine, first, call.node, call.frame, "torch.device") == POISON:
        raise Crash
    site = machine.site(call.node, call.frame)
    if isinstance(first, Const) and isinstance(first.value, str):
        parsed = parse_device(first.value)
        if parsed is None and is_for_others(machine, first.value, first.site, call.frame):
            return UNKNOWN
        if parsed is None:
            machine.crash(
                InvalidDevice,
                site,
                first.site or site,
                error=errors.message("invalid-device", text=first.value),
                text=first.value,
                literal=first.site,
                operation="torch.device",
            )
        number = parsed[1]
        if isinstance(index, Const) and isinstance(index.value, int):
            if number is not None:
                error = "RuntimeError: type (string) must not include an index because index was passed explicitly"
                _refuse(machine, first, "twice", f"{error}: {first.value}", call)
            number = index.value
            if number < 0:
                negative(machine, index, call.node, call.frame, "torch.device")
                raise Crash
        elif index is not None:
            number = SOME_INDEX if isinstance(index, (Unknown, Scalar)) else None
            if number is None:
                return UNKNOWN
        return DeviceValue(parsed[0], number, first.site or site)
    if isinstance(first, Const) and isinstance(first.value, int) and not isinstance(first.value, bool):
        if first.value < 0:
            negative(machine, first, call.node, call.frame, "torch.device")
            raise Crash
        if not machine.has_cuda:
            use(machine, "cuda", first.value, call.node, call.frame, "torch.device")
            return Unknown()
        return DeviceValue("cuda", first.value, site)
    if is_missing_accelerator(first, machine):
        missing_accelerator(machine, first, call.node, call.frame, "torch.device", "")
    if isinstance(first, Unknown) and first.path:
        return Unknown(first.path, first.named)
    if isinstance(first, Instance) and isinstance(first.cls, External) and first.cls.path == "torch.cuda.device":
        resolve(machine, first, call.node, call.frame, "torch.device")
    return UNKNOWN


def _refuse(machine: Machine, first: Value, kind: Literal["handle", "twice"], error: str, call: Call) -> NoReturn:
    """`torch.device(device, 0)`, `torch.device("cuda:0", 0)`: beside a number the name of a type is demanded."""
    site = machine.site(call.node, call.frame)
    text = first.value if isinstance(first, Const) else str(first)
    machine.crash(InvalidDevice, site, error=error, text=str(text), kind=kind, operation="torch.device")


@on(ATTRIBUTE, DeviceValue)
def device_attribute(machine: Machine, value: DeviceValue, name: str, node: ir.Node, frame: Frame) -> Value:
    """`device.type`, `device.index`."""
    if name == "type":
        return Const(value.type, value.site)
    if name == "index":
        return NONE if value.index is None else NUMBER if value.index == SOME_INDEX else const(value.index)
    return UNKNOWN


@on(METHOD, DeviceValue)
def device_method(machine: Machine, value: DeviceValue, name: str, call: Call) -> Value:
    """Methods of `torch.device`: entered and left by hand, it changes where factories create."""
    state = machine.state
    if value.is_text:
        start = constant(call.argument(0, "prefix"))
        return const(value.type.startswith(start)) if name == "startswith" and isinstance(start, str) else UNKNOWN
    if name == "__enter__":
        machine.store.put(machine.entered, id(value), state.default_device)
        machine.store.set(state, "default_device", value)
        return value
    if name == "__exit__":
        machine.store.set(state, "default_device", machine.entered.get(id(value)))
        return NONE
    return UNKNOWN


def enter_device(machine: Machine, value: DeviceValue, node: ir.Node, frame: Frame) -> Callable[[], None]:
    """`with torch.device(...):` changes where factories create."""
    before = machine.state.default_device
    machine.store.set(machine.state, "default_device", value)

    def leave() -> None:
        machine.store.set(machine.state, "default_device", before)

    return leave


def indexed_device_name(machine: Machine, node: ir.Node, frame: Frame) -> Value:
    """`f"cuda:{i}"` with an index that is not known: a device of its own name."""
    made = DeviceValue("cuda", SOME_INDEX, machine.site(node, frame))
    made.is_text = True
    return made
