"""What a file that is entered by protocol knows of CUDA: whether it speaks of it, or was told by a function of another
file. One that does neither does the same without a GPU, where all is on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Answer, Const, DeviceValue, OneOf, Scalar, Value, is_none

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

INFORMED: Final = "informed"
"""An entry has consulted this when another file has answered it with what hangs on whether there is CUDA."""

_TELLING: Final = (Const, DeviceValue, Answer, Scalar, OneOf)
"""Values by which a function may tell its caller whether there is CUDA."""

_WORDS: Final = ("cuda", "nccl", "accelerat", "availab", "device_count")
"""By which a file asks for CUDA or demands it, in whatever case."""

_LOADS: Final = re.compile(r"\bload\(")
"""By which it loads what may have been saved with CUDA."""


def heed(machine: Machine, call: Callable[[], Value]) -> Value:
    """Run a call from the file that is entered into another, and note whether it tells of CUDA."""
    consulted, machine.entry.consulted = machine.entry.consulted, set()
    try:
        result = call()
        if "availability" in machine.entry.consulted and isinstance(result, _TELLING) and not is_none(result):
            consulted.add(INFORMED)
        return result
    finally:
        consulted |= machine.entry.consulted
        machine.entry.consulted = consulted


def speaks_of_cuda(module: ir.Module) -> bool:
    """Whether the text of a file has a word for CUDA (comments say GPU)."""
    text = module.text
    lowered = text.lower()
    if "gpu" in text or any(word in lowered for word in _WORDS):
        return True
    return "load(" in text and _LOADS.search(text) is not None
