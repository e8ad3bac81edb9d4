"""Which line of the program is running: the innermost frame that belongs neither to torch nor to the simulation."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import FrameType

from devlint.simulated.observations import SourceLine


def _folder(package: str) -> str:
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) + os.sep if spec and spec.origin else os.devnull


NOT_THE_PROGRAM = (_folder("torch"), os.path.dirname(__file__) + os.sep, os.__file__, "<frozen")


def source_line() -> SourceLine:
    """Return file and line (1-based)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(NOT_THE_PROGRAM):
            return name, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0
