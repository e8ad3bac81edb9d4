"""Objects of torch that can't be moved: optimizers and loaders hold tensors, and have no `.to()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.lacking import MOVES, comes_surely, refuse
from devlint.analysis.machine import Crash
from devlint.analysis.models.optimizers import CLASS_NAME, OPTIMIZER
from devlint.analysis.models.torch_data import LOADER
from devlint.analysis.plain import missing
from devlint.analysis.values import External, Instance, Value
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@method_models(OPTIMIZER, *MOVES)
@method_models(LOADER, *MOVES)
def move_by_hand(machine: Machine, value: Instance, call: Call) -> Value | None:
    """`optimizer.to(device)`: an error, unless a class of the user's own may know how to do it.

    Raises:
        Crash: it is one.
    """
    asked = call.node.function if isinstance(call.node, ir.Call) else None
    if not isinstance(value.cls, External) or not isinstance(asked, ir.Attribute) or asked.name not in MOVES:
        return None
    if not comes_surely(machine, call.frame):
        return missing(machine, "AttributeError")
    kind = value.state.get(CLASS_NAME) or value.cls.path.rpartition(".")[2]
    refuse(machine, kind, asked.name, call.node, call.frame)
    raise Crash("AttributeError")
