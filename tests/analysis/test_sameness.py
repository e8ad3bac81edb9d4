"""What a file's names come to in two worlds."""

from __future__ import annotations

from typing import Any

from devlint.analysis.domain.values import HOST, UNKNOWN, Const
from devlint.analysis.frames import Namespace
from devlint.analysis.programs.sameness import print_of as print_of_namespace
from devlint.syntax.frontend import lower


def namespace(**names: Any) -> Namespace:
    """The names of a file that came to its end."""
    made = Namespace("/program.py", "program", "", lower("", "/program.py"))
    made.names.update(names)
    made.complete = True
    return made


def print_of(names: Namespace) -> int:
    """The print, where no other file has one."""
    return print_of_namespace(names, {})


def test_the_same_names_have_the_same_print() -> None:
    assert print_of(namespace(a=Const("cuda"), b=UNKNOWN)) == print_of(namespace(a=Const("cuda"), b=UNKNOWN))
    assert print_of(namespace(a=Const("cuda"))) != print_of(namespace(a=Const("cpu")))


def test_what_cannot_be_compared_is_never_the_same() -> None:
    prints = [print_of(namespace(a=HOST)) for _ in range(20)]
    assert len(set(prints)) == len(prints)
