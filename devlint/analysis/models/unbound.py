"""Methods of builtin containers as functions: `dict.__getitem__(d, key)`, `__getattr__ = dict.get` in a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_method
from devlint.analysis.dispatch import METHODS, MODELS, UNBOUND, Call, Model
from devlint.analysis.domain.values import UNKNOWN, Instance, Mapping, Sequence, Value
from devlint.analysis.models.collections import DICTS, LISTS
from devlint.analysis.python.instances import model_method

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def _of_container(path: str, name: str) -> Model:
    def run(machine: Machine, call: Call) -> Value | None:
        if not call.positional:
            return UNKNOWN
        receiver, *rest = call.positional
        inner = Call(rest, call.keywords, call.node, call.frame, call.open, call.unused)
        if isinstance(receiver, Instance):
            return model_method(machine, receiver, name, inner, [path])
        return call_method(machine, receiver, name, inner) if isinstance(receiver, (Mapping, Sequence)) else None

    return run


for _path in (*DICTS, *LISTS):
    for _name in METHODS[_path]:
        _whole = f"{_path}.{_name}"
        if _whole not in MODELS:
            MODELS[_whole] = _of_container(_path, _name)
            UNBOUND.add(_whole)
