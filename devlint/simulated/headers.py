"""Which virtual function has which slot in the C++ interfaces of the installed torch, read from its headers."""

from __future__ import annotations

import re
from pathlib import Path

import torch

INCLUDE = Path(torch.__file__).parent / "include"
VIRTUAL = re.compile(r"^\s*virtual\s+(?:[\w:<>&*\s]+?[\s&*])?(~?\w+)\s*\(", re.MULTILINE)


def virtual_slots(header: str) -> dict[str, int]:
    """Map the virtual functions declared in `header` to their slots in the vtable (Itanium C++ ABI).

    A destructor takes two slots. The name of an overloaded function maps to its first slot.

    Raises:
        OSError: the header isn't there.
    """
    slots: dict[str, int] = {}
    position = 0
    for match in VIRTUAL.finditer((INCLUDE / header).read_text(encoding="utf-8")):
        name = match.group(1)
        slots.setdefault(name, position)
        position += 2 if name.startswith("~") else 1
    return slots
