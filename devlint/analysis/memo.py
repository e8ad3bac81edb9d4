"""What the form of a program says is the same in every world and run: it is asked once and remembered.

A room that reads a form (which names does this loop bind?) has a function of the project and of what it reads, and
`memoized` keeps what it said for as long as the project lives. What hangs on a world or a run is not asked this way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from devlint.analysis.project import Project

Asked = TypeVar("Asked", bound=Hashable)
Answer = TypeVar("Answer")


def memoized(function: Callable[[Project, Asked], Answer]) -> Callable[[Project, Asked], Answer]:
    """Ask a function once a project for each thing that it is asked of: a node, a path, a tuple of them.

    What it gives is shared by all who ask, so that nobody may change it.
    """

    def ask(project: Project, asked: Asked) -> Answer:
        answers = project.answers[function]
        try:
            return answers[asked]  # type: ignore[no-any-return]
        except KeyError:
            answer = answers[asked] = function(project, asked)
            return answer

    return ask
