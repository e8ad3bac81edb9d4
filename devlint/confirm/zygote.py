"""The server that has torch loaded and forks once a run: `python -m devlint.confirm.zygote ROLE LISTENER PRIVATE`.

`ROLE` is `plain` or `simulating`; `LISTENER` the number of an inherited listening Unix socket; `PRIVATE` the folder
that runs may write to. One connection is one run: a line of JSON comes in, a line goes out.
The first line on standard output is JSON too: `strength`, `torch`, `visible` (real devices), `cuda` (those that runs
here can use), `refusal`. It ends when standard input does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from devlint.confirm import sandbox, watching
from devlint.confirm.sandbox import Limits, Strength
from devlint.confirm.watching import LARGEST_MESSAGE, Watch

SECONDS_FOR_ORPHANS = 5.0


def main() -> None:
    """Serve until standard input ends."""
    role, listener_number, private = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    strength = sandbox.isolate_server(private)
    warnings.simplefilter("ignore")
    print(json.dumps({"strength": strength, **_load(role, strength, private)}), flush=True)
    listener = socket.socket(fileno=listener_number)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    signal.set_wakeup_fd(wakeup_write)
    while True:
        ready, _, _ = select.select([listener, sys.stdin, wakeup_read], [], [])
        if sys.stdin in ready:
            return
        if wakeup_read in ready:
            os.read(wakeup_read, 4096)
        _reap()
        if listener in ready:
            connection, _ = listener.accept()
            if os.fork() == 0:
                status = 1
                try:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listener.close()
                    _serve(connection, strength, private, role)
                    status = 0
                finally:
                    os._exit(status)
            connection.close()


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _load(role: str, strength: Strength, private: str) -> dict[str, Any]:
    """Import what programs need, once; return what this machine is."""
    import numpy  # noqa: F401
    import torch
    import torch._dynamo  # optimizers import it; once here instead of in each child
    import torch.utils.data

    from devlint.confirm import guard, player, seccomp  # noqa: F401

    torch.set_num_threads(1)
    facts: dict[str, Any] = {"torch": torch.__version__, "visible": 0, "cuda": 0, "refusal": None}
    # Asked in children: the question must not initialise CUDA where it will be forked.
    if torch.version.cuda or torch.version.hip:
        facts["visible"] = _number_from_a_child(torch.cuda.device_count)
        facts["cuda"] = _number_from_a_child(lambda: _usable_devices(strength, private))
    if role == "simulating":
        facts["refusal"] = _prepare()
    # What is here now is never freed: children that collect garbage need not copy its pages.
    gc.collect()
    gc.freeze()
    return facts


def _usable_devices(strength: Strength, private: str) -> int:
    """Count the real GPUs as a run would find them: initialised in a child that is kept in as a run is.

    Raises:
        OSError: no run can be kept in here.
    """
    folder = os.path.join(private, "devices")
    os.makedirs(folder, exist_ok=True)
    sandbox.isolate_run(strength, folder, Limits())
    return _number_from_a_child(lambda: _initialised_devices(strength))


def _initialised_devices(strength: Strength) -> int:
    import torch

    sandbox.enter_run(strength, asks_driver=True)
    sandbox.limit_this_process(Limits(), asks_driver=True)
    torch.cuda.init()  # type: ignore[no-untyped-call]
    return torch.cuda.device_count()


def _number_from_a_child(ask: Callable[[], int]) -> int:
    """Return what `ask` says in a child, 0 if it raises or dies there."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(Exception):
            os.write(write_end, bytes([ask()]))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read(1)
    os.waitpid(child, 0)
    return said[0] if said else 0


def _prepare() -> str | None:
    """Do the slow part of the simulation and try it out in a child; return why it can't be had."""
    import torch

    from devlint import simulated
    from devlint.simulated import check, selftest

    reason = selftest.refusal()
    if reason:
        return reason
    simulated.preload()
    # What a child would import when it is activated, here once for all.
    for module in pkgutil.iter_modules(simulated.__path__, f"{simulated.__name__}."):
        importlib.import_module(module.name)
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            status = check.main()
        os._exit(status)
    status = os.waitpid(child, 0)[1]
    return selftest.failure(torch.__version__, f"status {status}") if status else None


def _serve(connection: socket.socket, strength: Strength, private: str, role: str) -> None:
    """Read a request, run it in a child, answer. This process is the one that watches."""
    with connection:
        request = json.loads(_read_line(connection))
        limits = Limits(**request["limits"])
        folder = private
        if strength == "guard":
            folder = os.path.join(private, str(os.getpid()))
            os.mkdir(folder, 0o700)
        sandbox.isolate_run(strength, folder, limits)
        started = time.monotonic()
        answer = _run(connection, request, strength, folder, limits)
        answer["seconds"] = time.monotonic() - started
        if strength == "guard":
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(answer).encode() + b"\n")


def _read_line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = connection.recv(1 << 20)
        if not chunk or len(received) > LARGEST_MESSAGE:
            raise ConnectionError("the request ended early")
        received += chunk
    return bytes(received)


def _run(
    connection: socket.socket, request: dict[str, Any], strength: Strength, private: str, limits: Limits
) -> dict[str, Any]:
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        connection.close()
        _play(there.detach(), request, strength, private, limits)
    there.close()
    if strength == "guard" and sys.platform.startswith("linux"):
        from devlint.confirm import linux

        linux.adopt_orphans()
    with Watch(connection, here, limits) as watch:
        line, reason = watch.wait()
        status = _end(child, strength)
    if line:
        with contextlib.suppress(ValueError):
            answer: dict[str, Any] = json.loads(line)
            return answer
    return {"ended": "died", "error": reason or _death(status), "errors": [], "frames": []}


def _end(child: int, strength: Strength) -> int:
    """End the child and all that it started; return the child's status."""
    if strength == "guard":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if strength == "guard":
        _end_orphans(time.monotonic() + SECONDS_FOR_ORPHANS)
    return status


def _end_orphans(deadline: float) -> None:
    """End what the child left behind, which is this process's own now, until nothing is left (on Linux)."""
    while time.monotonic() < deadline:
        for process in sandbox.descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _play(back: int, request: dict[str, Any], strength: Strength, private: str, limits: Limits) -> None:
    """In the child: take everything away, run, tell, end."""
    try:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        keep = os.dup(back)
        os.closerange(3, keep)
        import torch

        from devlint.confirm import player

        # A fork leaves torch's pool of threads to be made anew by whoever asks for it first. The threads of autograd,
        # one for each GPU, ask at the same time, and one of them may find none and abort the process.
        torch.set_num_threads(1)
        sandbox.enter_run(strength, player.asks_driver(request))
        watching.let_forks_be_watched(keep)
        player.restrict(request, strength, private, limits)
        answer = json.dumps(player.play(request, private), default=str).encode() + b"\n"
        while answer:
            answer = answer[os.write(keep, answer) :]
    finally:
        os._exit(0)


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"it ended itself with status {os.WEXITSTATUS(status)}"


if __name__ == "__main__":
    main()
