"""Test bodies that run in a forked child, on a machine with so many simulated devices."""

from __future__ import annotations

import functools
import os
import signal
import traceback
from collections.abc import Callable

import torch

from devlint import simulated

SECONDS = 60


def on_machine_with(device_count: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Run the decorated test in a child process that was activated with `device_count` devices."""

    def decorate(body: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(body)
        def test() -> None:
            simulated.preload()
            failure = in_child(lambda: (simulated.activate(device_count), body()))
            assert not failure, failure

        return test

    return decorate


def in_child(action: Callable[[], object]) -> str:
    """Run `action` in a forked child; return the traceback of what it raised, or an empty text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(reader)
        torch.set_num_threads(1)
        text = ""
        try:
            action()
        except BaseException:
            text = traceback.format_exc()
        with os.fdopen(writer, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text or (f"the child ended with status {status}" if status else "")
