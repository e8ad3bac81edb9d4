"""Work on a large stack: what it gives, what it raises, and that others keep theirs."""

from __future__ import annotations

import threading

import pytest

from devlint.syntax.stacks import STACK_BYTES, on_large_stack


def test_what_the_work_gives_is_given() -> None:
    assert on_large_stack(lambda: threading.current_thread() is threading.main_thread()) is False


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        on_large_stack(lambda: 1 // 0)


def test_others_get_stacks_as_before() -> None:
    before = threading.stack_size()
    on_large_stack(lambda: None)
    assert threading.stack_size() == before


def test_the_stack_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    sized = threading.stack_size

    def stack_size(size: int = 0) -> int:
        asked.append(size)
        return sized(size)

    monkeypatch.setattr(threading, "stack_size", stack_size)
    on_large_stack(lambda: None)
    assert STACK_BYTES in asked
