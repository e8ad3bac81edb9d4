"""Let another process be asked before this one, or a child of it, makes a process: Linux's seccomp notifications.

The kernel's own limit on processes does not bind the superuser, and counting from outside comes too late on a busy
machine. With this a program can't have one process more than it was given, however fast it forks.

Constants and structures: linux/seccomp.h, linux/filter.h, linux/audit.h and asm/unistd.h of Linux 6; notifications that
let a call go on came with Linux 5.5.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import sys

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_ALLOW, _ASK, _REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050000
_CLONE_THREAD = 0x00010000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where in `struct seccomp_data`, little-endian

# The machine: its audit number, then its calls seccomp, clone, clone3 and those that fork without flags.
_CALLS: dict[str, tuple[int, int, int, int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, 317, 56, 435, (57, 58)),
    "aarch64": (0xC00000B7, 277, 220, 435, ()),
}
_FOREIGN_CALLS = 0x40000000  # calls of the x32 interface have this bit

_libc = ctypes.CDLL(None, use_errno=True)


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


class _Notification(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_uint64),
        ("process", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("call", ctypes.c_uint8 * 64),
    )


class _Response(ctypes.Structure):
    _fields_ = (
        ("number", ctypes.c_uint64),
        ("value", ctypes.c_int64),
        ("error", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


def report_forks() -> int:
    """From now on this process and its children ask before they fork; return the descriptor where they are heard.

    Threads are not asked about. There is no way back.

    Raises:
        OSError: the system can't do it.
    """
    calls = _CALLS.get(platform.machine())
    if calls is None or not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    instructions = _filter(*calls)
    array = (_Instruction * len(instructions))(*instructions)
    program = _Program(len(instructions), array)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    descriptor: int = _libc.syscall(calls[1], _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")
    return descriptor


def _filter(architecture: int, _: int, clone: int, clone3: int, forks: tuple[int, ...]) -> list[_Instruction]:
    """Write the filter: each test either returns or falls through to the next."""
    not_there = _REFUSE | errno.ENOSYS
    return [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        *_if_not(_EQUAL, architecture, not_there),
        _Instruction(_LOAD, 0, 0, _NUMBER),
        *_if(_AT_LEAST, _FOREIGN_CALLS, not_there),
        # The flags of clone3 are out of a filter's sight. The C library uses clone where it is told that it is missing.
        *_if(_EQUAL, clone3, not_there),
        *(instruction for number in forks for instruction in _if(_EQUAL, number, _ASK)),
        *_if_not(_EQUAL, clone, _ALLOW),
        _Instruction(_LOAD, 0, 0, _FIRST_ARGUMENT),
        *_if(_ANY_BIT, _CLONE_THREAD, _ALLOW),
        _Instruction(_RETURN, 0, 0, _ASK),
    ]


def _if(test: int, value: int, result: int) -> tuple[_Instruction, _Instruction]:
    return _Instruction(test, 0, 1, value), _Instruction(_RETURN, 0, 0, result)


def _if_not(test: int, value: int, result: int) -> tuple[_Instruction, _Instruction]:
    return _Instruction(test, 1, 0, value), _Instruction(_RETURN, 0, 0, result)


def next_fork(descriptor: int) -> int | None:
    """Take the next question from a descriptor that is ready; None if who asked has ended since."""
    notification = _Notification()
    try:
        fcntl.ioctl(descriptor, _RECEIVE, notification)
    except OSError:
        return None
    return int(notification.number)


def allow(descriptor: int, question: int) -> None:
    """Let the fork happen."""
    response = _Response(number=question, flags=_CONTINUE)
    try:
        fcntl.ioctl(descriptor, _SEND, response)
    except OSError:
        return  # who asked has ended since
