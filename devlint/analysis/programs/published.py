"""Whose weights a file loads, by the classes that it knows: who trains or saves a module has its class at hand.

What a project saves of one network and what it loads into another, whose class no file that trains or saves has to do
with, are different files: the second has been published by somebody else. Here only what files import is followed, by
their texts, and what looks like a network, like training or like saving is taken for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.forms import reach
from devlint.analysis.memo import memoized
from devlint.analysis.programs.neighbours import (
    text_of_file,
    those_that_save,
    words_in_texts,
    words_of,
    words_of_settings,
)
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.project import Project

_MODULES: Final = frozenset({"Module", "Sequential", "ModuleList", "ModuleDict", "LightningModule", "PreTrainedModel"})
_BY_NAME: Final = frozenset({"importlib", "import_module", "__import__", "instantiate", "_target_", "locate", "exec"})
"""How a program finds a class that it imports nowhere: by a name in its settings."""


def others_save(project: Project, paths: Iterable[str]) -> bool:
    """Whether nobody in the project who saves knows a network of those that the first of these files with any knows:
    the file that loads, and those that called it, from within."""
    for path in paths:
        homes = [inner for inner in reach(project, path) if _networks(project, inner)]
        if homes:
            savers = those_that_save(project)
            project.uncached.add(path)
            return bool(savers) and not any(_knows(project, saver, homes) for saver in savers)
    return False


def _knows(project: Project, saver: str, homes: list[str]) -> bool:
    """Whether a file that saves, or one that it imports, speaks of a network in one of these files. Where classes are
    found by a text, the settings may speak of it, too, or any of them of the folders in which it lies."""
    networks = {name for home in homes for name in _networks(project, home)}
    reached = reach(project, saver)
    words = [_words(project, path) for path in reached]
    if any(not networks.isdisjoint(names) for names in words):
        return True
    if all(_BY_NAME.isdisjoint(names) for names in words):
        return False
    named = networks | {part for home in homes for part in _folders(project, home)}
    quoted = (words_in_texts(text_of_file(project, path) or "") for path in reached)
    return any(not named.isdisjoint(names) for names in (words_of_settings(project), *quoted))


def _folders(project: Project, path: str) -> list[str]:
    """The folders below the project's in which a file lies, or its own name if it lies in none."""
    *folders, name = os.path.relpath(path, str(project.root)).split(os.sep)
    return folders or [name.partition(".")[0]]


@memoized
def _networks(project: Project, path: str) -> frozenset[str]:
    """The classes of a file that are modules, by their bases or by a `forward` of their own."""
    module = project.module(path)
    classes = [] if module is None else [part for part in walk(module.body) if isinstance(part, ir.Class)]
    return frozenset(part.name for part in classes if _is_network(part))


def _is_network(node: ir.Class) -> bool:
    if any(last_name(base) in _MODULES for base in node.bases):
        return True
    return any(isinstance(part, ir.Function) and part.name == "forward" for part in node.body)


@memoized
def _words(project: Project, path: str) -> frozenset[str]:
    """The names in a file, whatever they name."""
    return words_of(text_of_file(project, path) or "")
