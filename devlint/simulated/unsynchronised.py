"""Non-blocking copies to the host: until the program waits for them, nobody reports that it reads their memory.

The host tensor of such a copy carries one more backend bit in its dispatch key set (VE's, which no build of torch
uses), so that every operation on it comes by here first. The few ways to the memory that don't go through the
dispatcher (`numpy`, `tolist`) are wrapped. With `poison`, the memory holds NaN, or the largest integer, until the
copy arrives.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import _C

from devlint.simulated.memory import LAYOUT, WORDS
from devlint.simulated.observations import SourceLine, observe
from devlint.simulated.source_lines import source_line

MARK_KEY = "VE"
MARK: int = _C.DispatchKeySet(_C.DispatchKey.VE).raw_repr() & ~_C.DispatchKeySet(_C.DispatchKey.Dense).raw_repr()
MESSAGE = (
    "host memory is read before the non-blocking copy into it was waited for: on a GPU the values may not be there yet"
)
MOST = 1000  # a program that never waits would keep all its copies alive
READERS = ("numpy", "tolist", "__array__", "__dlpack__", "data_ptr")

_kept_alive: list[Any] = []


@dataclass(slots=True, eq=False)
class _Copy:
    """A copy under way: the marked tensors (target and its views), the line, and the values where they are withheld."""

    line: SourceLine
    marked: list[torch.Tensor]
    values: torch.Tensor | None = None


_under_way: list[_Copy] = []
_poison = [False]


def poison(on: bool = True) -> None:
    """Withhold the values of non-blocking copies until the program waits for them, so that early reads show."""
    _poison[0] = on


def _key_word(tensor: torch.Tensor) -> int:
    return (tensor._cdata + LAYOUT.tensor_keys) >> 3


def is_under_way(tensor: torch.Tensor) -> bool:
    """Return whether a tensor's values are still on their way to the host."""
    return bool(WORDS[_key_word(tensor)] & MARK)


def remember(target: torch.Tensor, line: SourceLine) -> None:
    """Note that `target`, on the host, is filled by a copy that nobody has waited for."""
    if target.layout is not torch.strided or target.numel() == 0 or is_under_way(target):
        return
    copy = _Copy(line, [target])
    if _poison[0]:
        with torch.no_grad():
            copy.values = target.detach().clone()
            _spoil(target.detach())
    WORDS[_key_word(target)] |= MARK
    _under_way.append(copy)
    if len(_under_way) > MOST:
        _arrive(_under_way.pop(0))


def _spoil(target: torch.Tensor) -> None:
    if target.is_floating_point() or target.is_complex():
        target.fill_(float("nan"))
    else:
        target.fill_(True if target.dtype is torch.bool else torch.iinfo(target.dtype).max)


def arrive() -> None:
    """Let all copies arrive: the program has waited."""
    while _under_way:
        _arrive(_under_way.pop())


def _arrive(copy: _Copy) -> None:
    for tensor in copy.marked:
        WORDS[_key_word(tensor)] &= ~MARK
    if copy.values is not None:
        with torch.no_grad():
            copy.marked[0].detach().copy_(copy.values)


def _copy_of(tensor: torch.Tensor) -> _Copy | None:
    return next((copy for copy in _under_way if any(tensor is other for other in copy.marked)), None)


def noted_read(tensor: torch.Tensor) -> None:
    """Report that the program reads a tensor that is under way."""
    copy = _copy_of(tensor)
    if copy is not None:
        observe("unsynchronised-read", MESSAGE, source_line(), copy.line)


def _marked_tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            if is_under_way(value):
                found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _marked_tensors(value)
    return found


def _is_read(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an operation needs the values now: not for a view, an overwrite or a copy to the device."""
    if op.is_view:
        return False
    name = op._schema.name
    if name == "aten::copy_":
        return not is_under_way(args[0]) and not args[0].is_cuda
    if name == "aten::_to_copy":
        device = kwargs.get("device")
        return device is None or device.type != "cuda"
    return True


def _intercept(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    marked = _marked_tensors((*args, *kwargs.values()))
    if _is_read(op, args, kwargs):
        for tensor in marked:
            noted_read(tensor)
    copies = [(tensor, _copy_of(tensor)) for tensor in marked]
    for tensor in marked:
        WORDS[_key_word(tensor)] &= ~MARK
    try:
        with _C.DisableTorchFunction():
            result = op(*args, **kwargs)
    finally:
        for tensor, copy in copies:
            if copy is not None and copy in _under_way:
                WORDS[_key_word(tensor)] |= MARK
    if op.is_view:
        copy = copies[0][1] if copies else None
        if copy is not None:
            _mark_views(result, copy)
    return result


def _mark_views(result: Any, copy: _Copy) -> None:
    for view in result if isinstance(result, (list, tuple)) else (result,):
        WORDS[_key_word(view)] |= MARK
        copy.marked.append(view)


def _reader(original: Any) -> Any:
    @functools.wraps(original)
    def read(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if _under_way and is_under_way(self):
            noted_read(self)
        return original(self, *args, **kwargs)

    return read


def register() -> None:
    """Register the interception. It costs nothing for tensors that aren't marked."""
    new_library: Any = torch.library.Library
    library = new_library("_", "IMPL")
    library.fallback(_intercept, MARK_KEY)
    copies = new_library("aten", "IMPL")
    for op in (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default):
        copies.impl(op, functools.partial(_intercept, op), MARK_KEY)  # their kernel for all backends would go before
    _kept_alive.extend((library, copies))


def install() -> None:
    """Wrap the ways to a tensor's memory that the dispatcher doesn't see."""
    tensor: Any = torch.Tensor
    for name in READERS:
        setattr(tensor, name, _reader(getattr(tensor, name)))
