"""What a program that is run may do: limits, a folder of its own, no network, nothing written elsewhere.

Two strengths. `namespaces` (Linux with user namespaces): the kernel makes everything outside the private folder
read-only, gives the program a network without other machines and a process tree that ends with it. `guard` (elsewhere):
resource limits and audit hooks, which stop what goes through Python only. `docs/confirm.md` says what holds where.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from typing import Any, Literal

Strength = Literal["namespaces", "guard"]

KEPT_VARIABLES = frozenset("PATH LANG LANGUAGE TZ VIRTUAL_ENV LD_LIBRARY_PATH PYTHONPATH PYTHONHOME".split())
"""What is left of the user's environment, beside LC_*: names that hold no secrets and without which Python may fail."""

THREADS = dict.fromkeys("OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS".split(), "1")

STRENGTH_VARIABLE = "DEVLINT_SANDBOX"
"""With the value `guard` the namespaces of the kernel are left unused."""

SHARED_MEMORY = "/dev/shm"
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use: seconds by the clock, mebibytes of memory and of files, processes and threads."""

    seconds: float = 20.0
    memory: int = 4096
    disk: int = 512
    processes: int = 64

    def as_json(self) -> dict[str, Any]:
        """Return the limits for the way to the server."""
        return asdict(self)


def scrubbed_environment(private: str) -> dict[str, str]:
    """Return the environment for programs: the user's without what may be secret, with HOME in the private folder."""
    kept = {
        name: value for name, value in os.environ.items() if name in KEPT_VARIABLES or name.startswith(("LC_", "LANG"))
    }
    return {
        **kept,
        **private_folders(private),
        **THREADS,
        **{name: os.environ[name] for name in (STRENGTH_VARIABLE,) if name in os.environ},
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "disabled",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


FOLDERS = ("home", "tmp", "work")


def private_folders(private: str) -> dict[str, str]:
    """Return the variables that lead programs into the private folder."""
    home = os.path.join(private, "home")
    return {
        "HOME": home,
        "XDG_CACHE_HOME": os.path.join(home, ".cache"),
        "TMPDIR": os.path.join(private, "tmp"),
        "TORCH_HOME": os.path.join(home, ".cache", "torch"),
    }


def isolate_server(private: str) -> Strength:
    """Shut the server off from the network and make files read-only but in `private`; before any thread starts."""
    strength = _isolate_server(private)
    for name in FOLDERS:
        os.makedirs(os.path.join(private, name), exist_ok=True)
    return strength


def _isolate_server(private: str) -> Strength:
    if not sys.platform.startswith("linux") or os.environ.get(STRENGTH_VARIABLE) == "guard":
        return "guard"
    from devlint.confirm import linux

    user, group = os.getuid(), os.getgid()
    namespaces = (
        linux.NEW_NAMESPACE_USER | linux.NEW_NAMESPACE_MOUNTS | linux.NEW_NAMESPACE_NETWORK | linux.NEW_NAMESPACE_IPC
    )
    if not _in_child(lambda: _isolate(namespaces, user, group)):
        return "guard"
    _isolate(namespaces, user, group)
    linux.mount_memory(private, Limits().disk * MEBIBYTE)
    return "namespaces"


def _isolate(namespaces: int, user: int, group: int) -> None:
    from devlint.confirm import linux

    linux.unshare(namespaces)
    linux.map_user(user, group)
    linux.raise_loopback()
    linux.make_all_mounts_read_only()


def _in_child(action: Any) -> bool:
    """Whether the action succeeds, tried out in a child, since half of it could not be taken back."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(OSError):
            action()
            from devlint.confirm import linux

            linux.unshare(linux.NEW_NAMESPACE_PROCESSES | linux.NEW_NAMESPACE_MOUNTS)
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0)
            _, status = os.waitpid(grandchild, 0)
        os._exit(1 if status else 0)
    return os.waitpid(child, 0)[1] == 0


def isolate_run(strength: Strength, private: str, limits: Limits) -> None:
    """Give the next child of this process a process tree and a private folder of its own; lay out the folder.

    Raises:
        OSError: the folder can't be made.
    """
    if strength == "namespaces":
        from devlint.confirm import linux

        linux.unshare(linux.NEW_NAMESPACE_PROCESSES | linux.NEW_NAMESPACE_MOUNTS)
        linux.mount_memory(private, limits.disk * MEBIBYTE)
        if os.path.isdir(SHARED_MEMORY):
            linux.mount_memory(SHARED_MEMORY, limits.disk * MEBIBYTE)
    for name in FOLDERS:
        os.makedirs(os.path.join(private, name), exist_ok=True)


def enter_run(strength: Strength, asks_driver: bool) -> None:
    """Finish in the child what `isolate_run` has begun: a `/proc` of its own where the driver of a GPU needs one.

    Raises:
        OSError: the system doesn't let it.
    """
    if strength == "namespaces" and asks_driver:
        from devlint.confirm import linux

        linux.mount_processes()


def limit_this_process(limits: Limits, asks_driver: bool = False) -> None:
    """Set the kernel's limits for this process and its children.

    A GPU's driver reserves far more addresses than there is memory (one for each byte of host and device), so that for
    one that `asks_driver` the limit holds for what can be written, which such a reservation can't.
    """
    pages, kind_of_memory = (_DATA, resource.RLIMIT_DATA) if asks_driver else (_ADDRESSES, resource.RLIMIT_AS)
    for kind, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(limits.seconds) + 1),
        (resource.RLIMIT_FSIZE, limits.disk * MEBIBYTE),
        (kind_of_memory, _mapped(pages) + limits.memory * MEBIBYTE),
    ):
        _lower(kind, amount)
    # The system counts a user's processes all together, so that the limit is above what runs already.
    _lower(resource.RLIMIT_NPROC, _count_processes() + limits.processes)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows too large is an OSError then


def _lower(kind: int, amount: int) -> None:
    _, hard = resource.getrlimit(kind)
    wanted = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (wanted, wanted))


_ADDRESSES, _DATA = 0, 5  # columns of /proc/self/statm: all addresses that are mapped; data and stack


def _mapped(pages: int) -> int:
    """The bytes that this process maps already, by the column of `/proc/self/statm` that counts them."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[pages]) * resource.getpagesize()
    except OSError:
        return 64 * 1024 * MEBIBYTE


def _count_processes() -> int:
    """Threads and processes of this user."""
    mine, count = os.getuid(), 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    if os.stat(f"/proc/{name}").st_uid == mine:
                        count += len(os.listdir(f"/proc/{name}/task"))
    return count


def descendants(root: int) -> list[int]:
    """Return the processes below `root`, as far as they have not left the tree."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
