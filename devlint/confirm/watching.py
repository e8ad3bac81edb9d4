"""Watch a program from the process beside it: the time, the number of its processes, what it tells.

The program's side is `let_forks_be_watched`; the other is `Watch`. Between them is a pair of sockets: first comes a
byte, with the descriptor on which forks are announced if the system can do that, then what the program tells.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import time
from types import TracebackType

from devlint.confirm import sandbox
from devlint.confirm.sandbox import Limits

LARGEST_MESSAGE = 64 << 20
SECONDS_BETWEEN_COUNTS = 0.05


def let_forks_be_watched(channel: int) -> None:
    """Hand the other side of the socket `channel` the say about each process that this one wants to make."""
    forks: list[int] = []
    if sys.platform.startswith("linux"):
        from devlint.confirm import seccomp

        with contextlib.suppress(OSError):
            forks = [seccomp.report_forks()]
    with socket.socket(fileno=os.dup(channel)) as connection:
        socket.send_fds(connection, [b"\0"], forks)
    for descriptor in forks:
        os.close(descriptor)


class Watch:
    """Waits for a program's line of JSON. A context manager: until its end the program's forks stay in its hands."""

    def __init__(self, client: socket.socket, channel: socket.socket, limits: Limits) -> None:
        self._client, self._channel, self._limits = client, channel, limits
        self._forks: int | None = None
        self._left = 0  # how many processes may still be made before they are counted again
        self._counted = time.monotonic()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()
        if self._forks is not None:
            os.close(self._forks)

    def wait(self) -> tuple[bytes, str | None]:
        """Return the program's line, or why it has to be ended; neither if it ended without a word."""
        received = bytearray()
        deadline = time.monotonic() + self._limits.seconds
        waiting = select.poll()
        waiting.register(self._client, select.POLLIN)
        waiting.register(self._channel, select.POLLIN)
        greeted = False
        while not received.endswith(b"\n"):
            now = time.monotonic()
            if now >= deadline:
                return b"", f"it ran longer than {self._limits.seconds:g} s"
            if len(received) > LARGEST_MESSAGE:
                return b"", "it told too much"
            ready = dict(waiting.poll(min(SECONDS_BETWEEN_COUNTS, deadline - now) * 1000))
            if self._client.fileno() in ready and not self._client.recv(1):
                return b"", "nobody waits for it any more"
            if self._channel.fileno() in ready:
                if greeted:
                    told = self._channel.recv(1 << 16)
                else:
                    told, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
                    if descriptors:
                        self._forks = descriptors[0]
                        waiting.register(self._forks, select.POLLIN)
                if not told:
                    return b"", None
                received += told if greeted else b""
                greeted = True
            if self._forks is not None and self._forks in ready and not self._let_fork(ready[self._forks]):
                return b"", self._too_many()
            if self._forks is None and now - self._counted > SECONDS_BETWEEN_COUNTS and not self._count():
                return b"", self._too_many()
        return bytes(received), None

    def _too_many(self) -> str:
        return f"it started more than {self._limits.processes} processes"

    def _let_fork(self, events: int) -> bool:
        """Answer a process that asks whether it may fork; False if that would be one too many."""
        from devlint.confirm import seccomp

        assert self._forks is not None
        if events & select.POLLIN:
            question = seccomp.next_fork(self._forks)
            if question is not None:
                if self._left <= 0 and not self._count():
                    return False
                self._left -= 1
                seccomp.allow(self._forks, question)
        return True

    def _count(self) -> bool:
        """Count the processes that the program has started; False if it may have no more."""
        self._counted = time.monotonic()
        # One of this process's descendants is the program itself.
        self._left = self._limits.processes - (len(sandbox.descendants(os.getpid())) - 1)
        return self._left > 0 if self._forks is not None else self._left >= 0
