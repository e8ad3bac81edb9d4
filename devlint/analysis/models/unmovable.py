"""Objects of torch that can't be moved: optimizers and loaders hold tensors, and have no `.to()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.domain.plain import missing
from devlint.analysis.domain.values import External, Instance, Value
from devlint.analysis.models.optimizers import CLASS_NAME, OPTIMIZER
from devlint.analysis.models.torch_data import LOADER
from devlint.analysis.python.lacking import MOVES, comes_surely, refuse
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def _refuses(name: str) -> Callable[[Machine, Instance, Call], Value | None]:
    """A model of `optimizer.to(device)`: an error, unless a class of the user's own may know how to do it.

    Raises:
        Crash: it is one.
    """

    def move(machine: Machine, value: Instance, call: Call) -> Value | None:
        if not isinstance(value.cls, External):
            return None
        if not comes_surely(machine, call.frame):
            return missing(machine, "AttributeError")
        kind = value.state.get(CLASS_NAME) or value.cls.path.rpartition(".")[2]
        refuse(machine, kind, name, call.node, call.frame)
        raise Crash("AttributeError")

    return move


for _name in MOVES:
    method_models(OPTIMIZER, _name)(_refuses(_name))
    method_models(LOADER, _name)(_refuses(_name))
