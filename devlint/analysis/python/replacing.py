"""What a program puts in the place of what libraries define: `torch.load = partial(torch.load, weights_only=False)`.

Python looks a name up in its module or class at each call, so that from then on callers get the program's own; who has
taken the function before (`load = torch.load`, `from torch import load`) keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import ASSIGN_ATTRIBUTE, Call, on
from devlint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Class,
    External,
    Function,
    Instance,
    ModuleValue,
    Sequence,
    Value,
)
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


def forward_in_place(machine: Machine, cls: Value) -> Function | None:
    """The function of the program's that stands in the place of the forward of a class of torch's, if only that does:
    `nn.Linear.forward = forward`."""
    if not isinstance(cls, External) or f"{_MODULE}.__call__" in machine.state.replaced:
        return None
    new = machine.state.replaced.get(f"{libraries.canonical(cls.path)}.forward")
    return new if isinstance(new, Function) else None


def registers_elsewhere(machine: Machine) -> bool:
    """Whether the program itself takes what modules register, so that it may be anywhere."""
    return not _REGISTERING.isdisjoint(machine.state.replaced)


def start_patch(machine: Machine, patcher: Instance, frame: Frame) -> Value:
    """Put in the place of something of a library, or of the project's own, what a patcher has for it; returns that."""
    new: Value = patcher.state["new"]
    names, name = _patched(machine, patcher, frame)
    if names is None:
        before = machine.state.replaced.get(name)
        machine.store.set(machine.state, "replaced", {**machine.state.replaced, name: new})
    else:
        before = names.get(name)
        machine.store.put(names, name, new)
    machine.store.put(patcher.state, "before", before)
    machine.store.epoch += 1
    return new


def stop_patch(machine: Machine, patcher: Instance, frame: Frame) -> None:
    """Put back what was there before."""
    before = patcher.state.get("before")
    names, name = _patched(machine, patcher, frame)
    if names is None:
        others = {path: held for path, held in machine.state.replaced.items() if path != name}
        machine.store.set(machine.state, "replaced", others if before is None else {**others, name: before})
    elif before is None:
        machine.store.remove(names, name)
    else:
        machine.store.put(names, name, before)
    machine.store.epoch += 1


def _patched(machine: Machine, patcher: Instance, frame: Frame) -> tuple[dict[str, Value] | None, str]:
    """The names of a module or class of the project of which a patcher replaces one, and that one; of what a library
    defines None, and its dotted name."""
    path, _, name = patcher.state["target"].rpartition(".")
    owner: Value | None = patcher.state.get("owner")
    parts = path.split(".")
    count = len(parts)
    while owner is None and count:
        owner = machine.project.import_module(machine, ".".join(parts[:count]), 0, frame.namespace)
        count -= owner is None
    for part in parts[count:] if "owner" not in patcher.state and owner is not None else ():
        held = _names_of(owner)
        if held is None:
            owner = External(f"{owner.path}.{part}") if isinstance(owner, External) else UNKNOWN
        else:
            owner = held.get(part, UNKNOWN)
    names = _names_of(owner)
    if names is None:
        path = owner.path if isinstance(owner, External) else path
        return None, libraries.canonical(f"{path}.{name}")
    return names, name


def _names_of(owner: Value | None) -> dict[str, Value] | None:
    if isinstance(owner, ModuleValue):
        return owner.namespace.names
    return owner.fields if isinstance(owner, Class) else None


def run_patched(machine: Machine, function: Function, call: Call, run: Callable[[Call], Value]) -> Value:
    """Run a function that `@patch(...)` decorates, and give it the mocks."""
    held = function.attributes.get(PATCHED)
    patchers = [part for part in held.items if isinstance(part, Instance)] if isinstance(held, Sequence) else []
    mocks = [start_patch(machine, part, function.frame) for part in patchers]
    given = [mock for mock, part in zip(mocks, patchers, strict=True) if not part.state["is_given"]]
    inner = Call([*call.positional, *given], call.keywords, call.node, call.frame, call.open, call.unused)
    try:
        return run(inner)
    finally:
        for part in reversed(patchers):
            stop_patch(machine, part, function.frame)
