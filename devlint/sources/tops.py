"""What stands at the top of a project. A folder without any of it may hold files that have nothing in common."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

OWN: Final = ("LICENSE", "LICENSE.txt", "LICENSE.md", "pyproject.toml", "setup.py")
"""What stands also at the top of a project that was copied into another."""
MARKS: Final = (".git", "setup.cfg", "requirements.txt", "README.md", "README.rst", *OWN)


def has_any(folder: str | os.PathLike[str], names: Iterable[str] = MARKS) -> bool:
    """Tell whether a folder has a file or folder of one of these names."""
    return any(os.path.exists(os.path.join(folder, name)) for name in names)
