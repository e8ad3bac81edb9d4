"""The Linux calls that the sandbox is made of and that Python has no function for.

Constants: sched.h, sys/mount.h, linux/mount.h, linux/if.h, linux/prctl.h of Linux 6.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

NEW_NAMESPACE_MOUNTS = 0x00020000
NEW_NAMESPACE_IPC = 0x08000000
NEW_NAMESPACE_USER = 0x10000000
NEW_NAMESPACE_PROCESSES = 0x20000000
NEW_NAMESPACE_NETWORK = 0x40000000

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 0x20
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_OF_THE_WHOLE_SYSTEM = (b"sys", b"sysrq-trigger", b"irq", b"bus", b"fs", b"acpi", b"scsi", b"driver")
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give this process namespaces of its own.

    Raises:
        OSError: the system doesn't let it.
    """
    _checked(_libc.unshare(flags), "unshare")


def map_user(user: int, group: int) -> None:
    """Be the same user and group in the new user namespace as outside.

    Raises:
        OSError: the system doesn't let it.
    """
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def make_all_mounts_read_only() -> None:
    """Make the whole file system read-only for this mount namespace (Linux 5.12).

    Raises:
        OSError: the system doesn't let it.
    """
    _checked(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount")
    attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY)
    size = ctypes.sizeof(attributes)
    _checked(
        _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, ctypes.byref(attributes), size),
        "mount_setattr",
    )


def mount_processes() -> None:
    """Mount a `/proc` of this process's own process namespace, with what concerns the whole system read-only.

    CUDA's driver names its threads there, and gives up where it can't (error 304 of `cudaGetDeviceCount`).

    Raises:
        OSError: the system doesn't let it.
    """
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _checked(_libc.mount(b"proc", b"/proc", b"proc", flags, None), "mount")
    for name in (b"/proc/" + part for part in _OF_THE_WHOLE_SYSTEM):
        if os.path.exists(name):
            _checked(_libc.mount(name, name, None, _MS_BIND, None), "mount")
            _checked(_libc.mount(None, name, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags, None), "mount")


def mount_memory(folder: str, size: int) -> None:
    """Mount an empty file system of at most `size` bytes, kept in memory, over a folder.

    Raises:
        OSError: the system doesn't let it.
    """
    options = f"size={size},mode=0700".encode()
    _checked(_libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", _MS_NOSUID | _MS_NODEV, options), "mount")


def raise_loopback() -> None:
    """Switch on the loopback interface of a new network namespace: programs may speak to themselves.

    Raises:
        OSError: the system doesn't let it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        fcntl.ioctl(connection, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, instead of the system's first process (Linux 3.4)."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
