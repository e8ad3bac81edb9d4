"""What the files around say as text, without being run: whether a project saves any weights.

A project of some size that nowhere does is given its weights by others, who have published them: most such files hold
tensors of the CPU, and where they were saved its code can't tell. Of a few files by themselves that says nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from devlint.analysis.project import Project

_FEWEST: Final = 8
"""So many files a project has at least that is expected to save what it loads."""
_MOST: Final = 2_000
"""Of a project with more files nothing is said."""
_SAVES: Final = re.compile(
    rb"torch\.save\b|from torch import .*\bsave\b|\.jit\.save\b|save_(?:checkpoint|ckpt|model|state|weight|network|net|"
    rb"pretrained|params|dict)|Trainer\s*\(|ModelCheckpoint|LightningModule|"
    rb"(?:accelerator|fabric|model|net|network|policy|agent|trainer|learner|saver|checkpoint\w*|ckpt)\.save\w*\s*\("
)
_MARKS: Final = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "README.md", "README.rst")
"""What stands at the top of a project: a folder without any may hold files that have nothing to do with each other."""
_NOT_OWN: Final = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})


def saves_nothing(project: Project, path: str) -> bool:
    """Whether the project around a file saves no weights anywhere, though it has files enough to; what that was seen by
    is noted for the file, whose findings hang on it."""
    if project.savers is None:
        project.savers = _savers(project)
    told, seen = project.savers
    project.consulted.setdefault(path, set()).update(seen)
    return told


def _savers(project: Project) -> tuple[bool, set[str]]:
    """Whether no file saves, and the files by which that is seen: one that does, or all."""
    seen: set[str] = set()
    if not any(os.path.exists(os.path.join(project.root, name)) for name in _MARKS):
        return False, seen
    for path in _files(project.root):
        seen.add(path)
        if len(seen) > _MOST:
            return False, set()
        content = _content(project, path)
        if content is None or _SAVES.search(content):
            return False, {path} if content is not None else set()
    return (True, seen) if len(seen) >= _FEWEST else (False, set())


def _content(project: Project, path: str) -> bytes | None:
    source = project.sources.get(path)
    if source is not None:
        return source.text.encode("utf-8", "replace")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _NOT_OWN
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith((".py", ".ipynb")))
