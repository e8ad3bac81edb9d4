"""What derives from builtin types. This file stays Python where the others are compiled: mypyc has no such classes."""

from __future__ import annotations

from typing import Any, NoReturn


class DeviceText(str):
    """The text of a tensor's device on CUDA, `str(x.device)`: it always has an index."""

    __slots__ = ()


class Unbuilt(KeyError):
    """A model asked for what the constructor that it models keeps, and a class of the user's own never called it."""


class Kept(dict[str, Any]):
    """What a model keeps with an instance."""

    def __missing__(self, name: str) -> NoReturn:
        raise Unbuilt(name)
