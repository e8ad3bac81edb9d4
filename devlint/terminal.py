"""What depends on the terminal: colour, and a sign of life when it takes long."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

DELAY = 1.0
INTERVAL = 0.2
"""Seconds before the bar appears, and between two drawings of it."""

WIDTH = 30
"""Characters of the bar."""


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`: on a terminal, unless `NO_COLOR`; always with `FORCE_COLOR`."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Bar:
    """How far the work is. Called by the worker, read by the thread that draws."""

    def __init__(self, files: int) -> None:
        self.files = files
        self.done = 0
        self.total = 0

    def __call__(self, done: int, total: int) -> None:
        """Note that `done` of `total` steps are behind us."""
        self.done, self.total = done, total

    def drawn(self, seconds: float) -> str:
        """Return the bar as one line."""
        share = self.done / self.total if self.total else 0.0
        filled = int(share * WIDTH)
        return f"checking {self.files} files [{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%} {seconds:.0f} s"


@contextmanager
def progress(files: int, quiet: bool = False) -> Iterator[Bar]:
    """Draw a bar on stderr, if that is a terminal and the work takes more than `DELAY`; it is wiped at the end."""
    bar = Bar(files)
    if quiet or not sys.stderr.isatty():
        yield bar
        return
    finished = threading.Event()
    started = time.monotonic()

    def draw() -> None:
        wait = DELAY
        while not finished.wait(wait):
            sys.stderr.write(f"\r{bar.drawn(time.monotonic() - started)}\x1b[K")
            sys.stderr.flush()
            wait = INTERVAL
        if wait == INTERVAL:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    thread = threading.Thread(target=draw, name="devlint-progress", daemon=True)
    thread.start()
    try:
        yield bar
    finally:
        finished.set()
        thread.join()
