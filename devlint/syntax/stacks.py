"""Work on a stack that is large enough for what nests deeply."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Stack of the thread: address space only; pages are used as they are touched."""

_STARTING = threading.Lock()


@lru_cache(maxsize=1)
def is_compiled() -> bool:
    """Whether the interpreter is compiled, as in the wheels that `hatch_build.py` makes: then its calls take the stack
    of C, and none is refused for the recursion limit."""
    spec = importlib.util.find_spec("devlint.analysis.machine")
    return spec is not None and spec.origin is not None and not spec.origin.endswith(".py")


def on_large_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread with `STACK_BYTES` of stack, and return what it returns, or raise what it raises."""
    result: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(work())
        except BaseException as error:  # handed to the caller, whatever it is
            failure.append(error)

    _started(target).join()
    if failure:
        raise failure[0]
    return result[0]


def _started(target: Callable[[], None]) -> threading.Thread:
    """Start a thread with the large stack; with the usual one where the system does not grant so much."""
    with _STARTING:
        previous = threading.stack_size()
        for size in (STACK_BYTES, STACK_BYTES // 8, previous):
            threading.stack_size(size)
            thread = threading.Thread(target=target, name="devlint", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                if size == previous:
                    raise
            else:
                return thread
            finally:
                threading.stack_size(previous)
    raise AssertionError("the loop returns or raises")
