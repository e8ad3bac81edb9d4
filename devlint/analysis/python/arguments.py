"""The arguments that a program is started with, and how many there are."""

from __future__ import annotations

from typing import Final

from devlint.analysis.domain.values import STRING, Scalar, Sequence

ARGUMENT_COUNTS: Final = (Scalar(0, "number"), Scalar(1, "number"))
"""The length of `sys.argv[1:]` and of `sys.argv`; the lower bound is that without arguments."""


class Arguments(Sequence):
    """`sys.argv` from its item `start` on: `items` are those that are there without arguments."""

    __slots__ = ("start",)

    def __init__(self, start: int = 0) -> None:
        super().__init__("list", [] if start else [STRING], True)
        self.start = start
