"""Stand-ins for libraries that are not installed: so that a slice that only imports them can run."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any


class StandIn(types.ModuleType):
    """A module of which every attribute is a class that can be called, subclassed and used as a decorator."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = type(name, (Anything,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class Anything:
    """Takes every argument, has every attribute."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._given = args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = args[0] if len(args) == 1 and not kwargs else None
        return function if callable(function) else Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, project: Sequence[str]) -> None:
        self._project = frozenset(project)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or (top in sys.modules and not isinstance(sys.modules[top], StandIn)):
            return None
        # Libraries ask for what is optional to them, and must learn that it isn't there.
        if not self._is_asked_by_the_project():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _is_asked_by_the_project(self) -> bool:
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename in self._project

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = StandIn(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is in it."""


def stand_in_for_missing_modules(files: Sequence[str]) -> None:
    """Let imports of what is not installed succeed in this process, where these files make them."""
    sys.meta_path.append(_Finder(files))
