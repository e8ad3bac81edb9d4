"""What a file's names come to in two worlds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from devlint.analysis.sameness import print_of as print_of_namespace
from devlint.analysis.values import UNKNOWN, Const


def namespace(**names: Any) -> Any:
    """What is asked of the names of a file."""
    return SimpleNamespace(path="/program.py", names=names, complete=True, deferred={})


def print_of(names: Any) -> int:
    """The print, where no other file has one."""
    return print_of_namespace(names, {})


def test_the_same_names_have_the_same_print() -> None:
    assert print_of(namespace(a=Const("cuda"), b=UNKNOWN)) == print_of(namespace(a=Const("cuda"), b=UNKNOWN))
    assert print_of(namespace(a=Const("cuda"))) != print_of(namespace(a=Const("cpu")))


def test_what_cannot_be_compared_is_never_the_same() -> None:
    prints = [print_of(namespace(a=SimpleNamespace())) for _ in range(20)]
    assert len(set(prints)) == len(prints)
