"""`module.train(mode)` and `module.eval()`: the mode of a module and of all modules in it, and what an own `train` of a
class does besides.

Source: `torch/nn/modules/module.py`: `eval()` is `train(False)`, `train(mode)` sets `training` and calls `train(mode)`
of each child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import FALSE, TRUE, Bound, Instance, Value
from devlint.analysis.pytorch.modules import own_children, submodules

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine


def set_mode(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`Module.train(mode)` or `Module.eval()`, by which of them is called."""
    given = call.argument(0, "mode")
    mode = FALSE if name == "eval" else TRUE if given is None else given
    parts = submodules(value)
    machine.store.epoch += 1  # what a call gave before says nothing of the next
    if all(find(part.cls, "train") is None for part in parts.values()):
        for part in parts.values():
            machine.store.put(part.state, "training", mode)
        return value
    modal = call.with_arguments([mode])
    if name == "eval":
        return _train(machine, value, modal)
    machine.store.put(value.state, "training", mode)
    for _, child in own_children(value):
        if id(value) not in submodules(child):
            _train(machine, child, modal)
    return value


def _train(machine: Machine, part: Instance, call: Call) -> Value:
    """`part.train(mode)`: that of its class, or torch's."""
    found = find(part.cls, "train")
    if found is None:
        return set_mode(machine, part, "train", call)
    return call_value(machine, Bound(found[0], part), call)
