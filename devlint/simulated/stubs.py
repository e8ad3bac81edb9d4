"""Functions in machine code, for slots of a vtable that a Python callback can't fill by itself.

Four return two registers; the others are callbacks that may be called while a Python exception is on its way.

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
# The interpreter lock and the pending exception are taken, the callback is called, and both are put back. A name stands
# for the address of that function.
KEEPING = (
    "53 4154 4883ec28 4889fb 4189f4 48b8",  # push rbx, r12; sub rsp, 40; mov rbx, rdi; mov r12d, esi; mov rax, ...
    "PyGILState_Ensure",
    "ffd0 89442418 488d3c24 488d742408 488d542410 48b8",  # call; its result to [rsp+24]; lea rdi, rsi, rdx: [rsp...]
    "PyErr_Fetch",
    "ffd0 4889df 4489e6 48b8",  # call; mov rdi, rbx; mov esi, r12d
    "callback",
    "ffd0 89c3 488b3c24 488b742408 488b542410 48b8",  # call; mov ebx, eax; mov rdi, rsi, rdx: [rsp...]
    "PyErr_Restore",
    "ffd0 8b7c2418 48b8",  # call; mov edi, [rsp+24]
    "PyGILState_Release",
    "ffd0 89d8 4883c428 415c 5b c3",  # call; mov eax, ebx; add rsp, 40; pop r12, rbx; ret
)
MACHINES = ("x86_64", "AMD64")


def is_known_machine() -> bool:
    """Return whether the code is for this machine."""
    return platform.machine() in MACHINES


def addresses() -> dict[str, int]:
    """Put the functions into executable memory and return where they are.

    Raises:
        OSError: the system forbids executable memory.
    """
    page, start = _executable_page()
    where = {}
    for number, (name, code) in enumerate(CODE.items()):
        page[number * SPACING : number * SPACING + len(code)] = code
        where[name] = start + number * SPACING
    return where


def keeping_exceptions(callbacks: list[int]) -> list[int]:
    """Wrap callbacks `(this, number) -> number`, so that one called with an exception pending leaves it pending.

    Raises:
        OSError: the system forbids executable memory.
    """
    page, start = _executable_page()
    where = []
    end = 0
    for callback in callbacks:
        code = b"".join(_piece(piece, callback) for piece in KEEPING)
        page[end : end + len(code)] = code
        where.append(start + end)
        end += (len(code) + SPACING - 1) // SPACING * SPACING
    return where


def _piece(piece: str, callback: int) -> bytes:
    if piece[:2] not in ("Py", "ca"):
        return bytes.fromhex(piece)
    function = getattr(ctypes.pythonapi, piece) if piece != "callback" else None
    address = callback if function is None else ctypes.cast(function, ctypes.c_void_p).value
    return (address or 0).to_bytes(8, "little")


def _executable_page() -> tuple[mmap.mmap, int]:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(page))  # never unmapped: libtorch calls it to the very end
    return page, start
