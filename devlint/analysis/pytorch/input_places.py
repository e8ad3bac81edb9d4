"""What inputs answer of which nothing is known, when they are asked where they are.

An entry by protocol takes its inputs to be on one device (`given_device`). So `x.is_cuda` is known of an input of which
nothing else is, and so is what is asked of its `device`, under whatever name and through whatever call the program
keeps the answer. An option of the user's answers nothing: whoever gives it may say anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.plain import compute
from devlint.analysis.domain.values import (
    PART_DEVICE,
    PLACED,
    RESULT,
    TENSOR_TYPE,
    UNKNOWN,
    Const,
    Unknown,
    Value,
    const,
)
from devlint.analysis.pytorch.devices import given_device
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine


def attribute_of_input(machine: Machine, value: Unknown, name: str) -> Value | None:
    """`x.is_cuda` of an input; `x.device.type` and `x.device.index` of its device. None for what says no place."""
    if name == "is_cuda" or name == "is_cpu":
        place = place_of_input(machine, value)
        return None if place is None else const(place.startswith("cuda") is (name == "is_cuda"))
    if name == "device":
        return PART_DEVICE if value in _PARTS and machine.run.protocol else None
    parsed = parse_device(_device_of_input(machine, value) or "")
    return None if parsed is None else const(parsed[name == "index"])


_PARTS: Final = frozenset({UNKNOWN, RESULT, PLACED})
"""What an entry comes by without a name: parts of its inputs, what calls give of them."""


def place_of_input(machine: Machine, value: Value) -> str | None:
    """Where something is that an entry by protocol is given, or that is made of that: with the other inputs."""
    given = machine.run.given_device
    if given is None or value.__class__ is not Unknown or not machine.run.protocol or machine.run.importing:
        return None
    assert isinstance(value, Unknown)
    if value.named or (value.path is None and value not in _PARTS):
        return None
    machine.entry.consulted.add("accelerator")
    return given


def _device_of_input(machine: Machine, value: Value) -> str | None:
    """Which device a value says, or its text: that of an input."""
    if value is PART_DEVICE:
        return place_of_input(machine, UNKNOWN)
    return given_device(machine, value)


def number_of_input(machine: Machine, value: Value) -> Value | None:
    """`x.get_device()` of an input: the index of its GPU. On the CPU that is -1, and who asks has one."""
    place = place_of_input(machine, value)
    parsed = None if place is None else parse_device(place)
    return const(parsed[1]) if parsed is not None and parsed[1] is not None else None


def _compare_types(machine: Machine, symbol: str, other: Value) -> bool | None:
    """`x.type() == "torch.cuda.FloatTensor"` asks where an input is: its dtype is taken to be that one."""
    place = place_of_input(machine, UNKNOWN)
    if place is None or not isinstance(other, Const) or not isinstance(other.value, str):
        return None
    if not other.value.startswith("torch.") or not other.value.endswith("Tensor"):
        return None
    return (other.value.startswith("torch.cuda.") is place.startswith("cuda")) is (symbol == "==")


_OF_TEXTS: Final = frozenset({"startswith", "endswith", "split", "partition", "lower", "strip"})


def method_of_place(machine: Machine, value: Unknown, name: str, call: Call) -> Value | None:
    """A method of the text of an input's device: `str(x.device).startswith("cuda")`."""
    if name not in _OF_TEXTS:
        return None
    place = _device_of_input(machine, value)
    return None if place is None else compute(machine, getattr(place, name), call.positional, call)


def compare_places(machine: Machine, symbol: str, left: Value, right: Value) -> bool | None:
    """`x.device == "cpu"`, `"cuda" in x.device` of an input. None where that hangs on whether it is a text."""
    if symbol in ("in", "not-in"):
        place = _device_of_input(machine, right)
        if place is None or not isinstance(left, Const) or not isinstance(left.value, str):
            return None
        return (left.value in place) is (symbol == "in")
    if symbol not in ("==", "!="):
        return None
    if left is TENSOR_TYPE or right is TENSOR_TYPE:
        return _compare_types(machine, symbol, left if right is TENSOR_TYPE else right)
    for side, other in ((left, right), (right, left)):
        if not isinstance(other, Const) or not isinstance(other.value, str):
            continue
        place, named = _device_of_input(machine, side), parse_device(other.value)
        if place is not None and named is not None and named[0] != place.partition(":")[0]:
            return symbol == "!="
    return None
