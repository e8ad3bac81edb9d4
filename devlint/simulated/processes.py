"""Child processes that start afresh (`spawn`) get the same devices as their parent; forked ones have them."""

from __future__ import annotations

import functools
import multiprocessing.forkserver
import multiprocessing.spawn
from typing import Any


def install(device_count: int) -> None:
    """Let the command line that starts a spawned process activate the devices first."""
    spawn: Any = multiprocessing.spawn
    original = spawn.get_command_line

    @functools.wraps(original)
    def get_command_line(**kwargs: Any) -> list[str]:
        command = list(original(**kwargs))
        if "-c" in command:
            code = command.index("-c") + 1
            command[code] = f"from devlint import simulated; simulated.activate({device_count}); {command[code]}"
        return command

    spawn.get_command_line = get_command_line
