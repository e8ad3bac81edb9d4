"""`torch._C._nn._parse_to`: how a `.to` of the program's own reads what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.dtypes import dtype_of
from devlint.analysis.domain.values import (
    DTYPE,
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    DeviceValue,
    External,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.pytorch.device_handles import torch_device
from devlint.analysis.pytorch.results import device_of

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torch._C._nn._parse_to")
def parse_to(machine: Machine, call: Call) -> Value:
    """`_parse_to(*args, **kwargs)`: the device (or None), the dtype (or None), `non_blocking` and the memory format."""
    absent = UNKNOWN if call.open else NONE
    first = call.positional[0] if call.positional else None
    given = first or call.keywords.get("device") or call.keywords.get("tensor") or absent
    rest = 1
    device: Value
    dtype: Value
    if isinstance(given, Tensor):
        device, dtype = device_of(given), DTYPE
    elif _is_dtype(given):
        device, dtype = NONE, given
    else:
        device, dtype = _device(machine, given, call), call.argument(1, "dtype") or absent
        rest = 2
    waits = call.argument(rest, "non_blocking") or (UNKNOWN if call.open else FALSE)
    return Sequence("tuple", [device, dtype, waits, call.keywords.get("memory_format") or absent])


def _is_dtype(value: Value) -> bool:
    """Whether a value is surely a dtype."""
    if isinstance(value, External):
        return dtype_of(value) is not None
    return isinstance(value, Scalar) and value.kind == "dtype"


def _device(machine: Machine, given: Value, call: Call) -> Value:
    """The handle of a device that is given as a handle, a text or an index."""
    if isinstance(given, (DeviceValue, Unknown)) or (isinstance(given, Const) and given.value is None):
        return given
    return torch_device(machine, call.with_arguments([given])) or UNKNOWN
