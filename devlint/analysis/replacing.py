"""What a program puts in the place of what libraries define: `torch.load = partial(torch.load, weights_only=False)`.

Python looks a name up in its module or class at each call, so that from then on callers get the program's own; who has
taken the function before (`load = torch.load`, `from torch import load`) keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import ASSIGN_ATTRIBUTE, Call, on
from devlint.analysis.values import Bound, Class, External, Function, Instance, Sequence, Value
from devlint.semantics import libraries
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

PATCHED: Final = "patched"
"""The attribute of a function that has what is to be in other things' place while it runs."""
_MODULE: Final = "torch.nn.Module"
_CLASSES: Final = ("torch.Tensor.", f"{_MODULE}.")
_REGISTERING: Final = frozenset(f"{_MODULE}.{name}" for name in ("__init__", "register_parameter", "register_buffer"))


@on(ASSIGN_ATTRIBUTE, External)
def replace(machine: Machine, value: External, name: str, new: Value, node: ir.Node, frame: Frame) -> None:
    """`torch.name = new`, of something that can be called; settings have models of their own. A class gets anything."""
    path = libraries.canonical(f"{value.path}.{name}")
    if not isinstance(new, (Function, Bound, Class, External, Instance)) and not path.startswith(_CLASSES):
        return
    state = machine.state
    others = {key: held for key, held in state.replaced.items() if key != path}
    is_own = isinstance(new, External) and libraries.canonical(new.path) == path
    machine.store.set(state, "replaced", others if is_own else {**others, path: new})


def replaced(machine: Machine, cls: str, name: str) -> Value | None:
    """What the program put in the place of a method of torch's, of which the first argument is the object."""
    return machine.state.replaced.get(f"{cls}.{name}")


def calls_elsewhere(machine: Machine, cls: Value) -> bool:
    """Whether the program itself runs what a module of this class is given, so that it may bring it anywhere."""
    own = f"{libraries.canonical(cls.path)}.forward" if isinstance(cls, External) else ""
    return f"{_MODULE}.__call__" in machine.state.replaced or own in machine.state.replaced


def registers_elsewhere(machine: Machine) -> bool:
    """Whether the program itself takes what modules register, so that it may be anywhere."""
    return not _REGISTERING.isdisjoint(machine.state.replaced)


def start_patch(machine: Machine, patcher: Instance) -> Value:
    """Put in the place of something of torch what a patcher has for it; returns that."""
    target = patcher.state["target"]
    new: Value = patcher.state["new"]
    before = machine.state.replaced
    machine.store.put(patcher.state, "before", before.get(target))
    machine.store.set(machine.state, "replaced", {**before, target: new})
    machine.store.epoch += 1
    return new


def stop_patch(machine: Machine, patcher: Instance) -> None:
    """Put back what was there before."""
    target, before = patcher.state["target"], patcher.state.get("before")
    others = {path: held for path, held in machine.state.replaced.items() if path != target}
    machine.store.set(machine.state, "replaced", others if before is None else {**others, target: before})
    machine.store.epoch += 1


def run_patched(machine: Machine, function: Function, call: Call, run: Callable[[Call], Value]) -> Value:
    """Run a function that `@patch(...)` decorates, and give it the mocks."""
    held = function.attributes.get(PATCHED)
    patchers = [part for part in held.items if isinstance(part, Instance)] if isinstance(held, Sequence) else []
    mocks = [start_patch(machine, part) for part in patchers]
    given = [mock for mock, part in zip(mocks, patchers, strict=True) if not part.state["is_given"]]
    inner = Call([*call.positional, *given], call.keywords, call.node, call.frame, call.open, call.unused)
    try:
        return run(inner)
    finally:
        for part in reversed(patchers):
            stop_patch(machine, part)
