"""Four functions in machine code, for slots of a vtable that return what a Python callback can't: two registers.

x86-64 with the System V calling convention: `this` in rdi, a `c10::Device` in si, a `c10::Stream` in rsi and rdx; a
`c10::Stream` is returned in rax (the device) and rdx (the id).
"""

from __future__ import annotations

import ctypes
import mmap
import platform

CODE = {
    "stream_of_device": bytes.fromhex("0fb7c6 31d2 c3"),  # movzx eax, si; xor edx, edx; ret
    "same_stream": bytes.fromhex("4889f0 c3"),  # mov rax, rsi; ret
    "nothing": bytes.fromhex("c3"),  # ret
    "true": bytes.fromhex("b801000000 c3"),  # mov eax, 1; ret
}
SPACING = 16
MACHINES = ("x86_64", "AMD64")


def is_known_machine() -> bool:
    """Return whether the code is for this machine."""
    return platform.machine() in MACHINES


def addresses() -> dict[str, int]:
    """Put the functions into executable memory and return where they are.

    Raises:
        OSError: the system forbids executable memory.
    """
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(page))  # never unmapped: libtorch calls it to the very end
    where = {}
    for number, (name, code) in enumerate(CODE.items()):
        page[number * SPACING : number * SPACING + len(code)] = code
        where[name] = start + number * SPACING
    return where
