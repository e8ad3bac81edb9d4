"""libcst, imported when it is first used: that takes longer than checking most files, and only fixes need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst
else:

    class _Late:
        def __getattr__(self, name: str) -> object:
            import libcst

            value = getattr(libcst, name)
            setattr(self, name, value)
            return value

    cst = _Late()

__all__ = ["cst"]
