"""Audit hooks that stop a program at the borders of its folder, where the kernel doesn't.

They see what goes through Python: `open`, `os`, `socket`, `subprocess`, and `torch.save`. Other native code is not
stopped.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
DEVICES = frozenset(("/dev/null", "/dev/zero", "/dev/tty", "/dev/urandom", "/dev/random"))

# The audit events of https://docs.python.org/3/library/audit_events.html that change files: which arguments are paths,
# and which the descriptors of the folders that these are relative to.
CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "shutil.rmtree": ((0, 1),),
    "tempfile.mkstemp": ((0, None),),
    "tempfile.mkdtemp": ((0, None),),
}
PROGRAMS = frozenset("os.system os.exec os.posix_spawn os.spawn subprocess.Popen pty.spawn".split())
CONNECTIONS = frozenset("socket.connect socket.bind socket.sendto socket.sendmsg".split())
NAMES = frozenset("socket.getaddrinfo socket.gethostbyname socket.gethostbyaddr".split())
LOCAL = frozenset(("localhost", "127.0.0.1", "::1", "", None))


class Forbidden(PermissionError):
    """A program wanted something that the sandbox doesn't give."""


def install(private: str) -> None:
    """Stop this process, for good, from writing outside `private`, from the network and from other processes."""
    _announce_saving()
    sys.addaudithook(_hook(os.path.realpath(private)))


def _announce_saving() -> None:
    """Let `torch.save` tell the hooks which file it opens: it does so in native code."""
    import torch

    save = torch.save

    @functools.wraps(save)
    def announced(obj: object, f: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(f, (str, os.PathLike)):
            sys.audit("open", os.fspath(f), "wb", os.O_WRONLY)
        save(obj, f, *args, **kwargs)

    torch.save = announced


def _hook(private: str) -> Callable[[str, tuple[Any, ...]], None]:
    inside = private + os.sep
    mine = os.getpid()

    def refuse(what: str) -> None:
        raise Forbidden(f"the sandbox doesn't allow {what}")

    def check_path(path: Any, folder: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        text = os.fsdecode(path)
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            text = os.path.join(f"/proc/self/fd/{folder}", text)
        real = os.path.realpath(text)
        if real != private and not real.startswith((inside, "/dev/shm/")) and real not in DEVICES:
            refuse(f"to change {text}")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = isinstance(flags, int) and flags & WRITING
            if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
                check_path(path, None)
        elif event in CHANGES:
            for at, folder_at in CHANGES[event]:
                folder = args[folder_at] if folder_at is not None and folder_at < len(args) else None
                check_path(args[at], folder)
        elif event in PROGRAMS:
            refuse("to start other programs")
        elif event in CONNECTIONS:
            connection, address = args[0], args[1]
            unix = getattr(connection, "family", None) == getattr(socket, "AF_UNIX", object())
            if not unix and not (isinstance(address, tuple) and address[0] in LOCAL):
                refuse(f"to connect to {address}")
        elif event in NAMES:
            if args[0] not in LOCAL:
                refuse(f"to ask for the address of {args[0]}")
        elif event in ("os.kill", "os.killpg"):
            if args[0] not in (mine, os.getpid()) and not _is_child(args[0]):
                refuse("to signal other processes")

    return hook


def _is_child(process: Any) -> bool:
    """Whether a process was started by this one: a DataLoader ends its workers."""
    import multiprocessing

    return any(child.pid == process for child in multiprocessing.active_children())
