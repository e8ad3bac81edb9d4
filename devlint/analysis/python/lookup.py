"""Names: where they are looked up, and what it means that one is not bound."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from devlint.analysis.dispatch import MODELS, evaluates
from devlint.analysis.domain.values import UNKNOWN, External, ModuleValue, Sequence, Unknown, Value, const
from devlint.analysis.frames import Frame
from devlint.analysis.python.importing import module_member
from devlint.analysis.python.names import note_unbound
from devlint.analysis.signals import Crash
from devlint.semantics import libraries
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


_BUILTINS = frozenset(dir(builtins)) | {
    "__file__",
    "__doc__",
    "__spec__",
    "__package__",
    "__builtins__",
    "__path__",
    "__loader__",
    "__annotations__",
    "reveal_type",
    "get_ipython",
    "display",
    "exit",
    "quit",
    "In",
    "Out",
    "_",
    "WindowsError",
    "unicode",
    "xrange",
    "raw_input",
    "long",
}


_BUILTIN_VALUES = {name: External(f"builtins.{name}") for name in _BUILTINS}

_LOCAL, _FREE, _CLASS = ir.NameScope.LOCAL, ir.NameScope.FREE, ir.NameScope.CLASS


@evaluates(ir.Name)
def evaluate_name(machine: Machine, node: ir.Name, frame: Frame) -> Value:
    """A name, where lowering found that it lives."""
    scope = node.scope
    name = node.id
    if scope is _LOCAL:
        value = frame.names.get(name)
        if value is not None:
            return value
        if frame.outer is None or frame.function is None:
            return global_name(machine, node, frame)
        return unbound(machine, node, frame)
    if scope is _FREE or scope is _CLASS:
        value = frame.names.get(name)
        if value is not None:
            return value
        outer = frame.outer
        while outer is not None:
            if outer.owner is None or outer.function is not None or outer.names is not outer.owner.fields:
                value = outer.names.get(name)
                if value is not None:
                    return value
            outer = outer.outer
        if scope is _FREE:
            return UNKNOWN if _binder_left(node.id, frame) else unbound(machine, node, frame)
    return global_name(machine, node, frame)


def _binder_left(name: str, frame: Frame) -> bool:
    """Whether the activation that would bind a free name is not the running one (a comprehension runs in its own)."""
    function = frame.function
    outer = frame.outer
    return (
        function is None
        or outer is None
        or outer.function is not function
        or outer.names is frame.names
        or frame.receiver is not None
        or name not in function.body.locals
    )


def global_name(machine: Machine, node: ir.Name, frame: Frame) -> Value:
    """A name of the module, or a builtin."""
    name = node.id
    names = frame.namespace.names
    value = names.get(name)
    if value is not None:
        return value
    if name in frame.namespace.deferred:
        return module_member(machine, frame.namespace, name) or UNKNOWN
    builtin = _BUILTIN_VALUES.get(name)
    if builtin is not None:
        return builtin
    if name == "__name__":
        return const(frame.namespace.name)
    stars = names.get("*")
    if stars is not None:
        return from_stars(stars, name)
    return unbound(machine, node, frame)


def from_stars(stars: Value, name: str) -> Value:
    """A name that star imports of external modules may have brought."""
    assert isinstance(stars, Sequence)
    for module in reversed(stars.items):
        if not isinstance(module, External):
            continue
        path = f"{module.path}.{name}"
        if libraries.exports(module.path, name) or libraries.canonical(path) in MODELS:
            return External(path)
    return UNKNOWN


def imported_word(name: str, frame: Frame) -> str:
    """The last word of the name under which a library has what a dotted name stands for, without running anything:
    "" for what the program defines itself, the word that is written where nothing is known."""
    first, *rest = name.split(".")
    found = _bound(first, frame)
    for part in rest:
        if isinstance(found, ModuleValue):
            found = found.namespace.names.get(part)
        elif found is not None:
            found = External(f"{found.path}.{part}") if isinstance(found, External) else UNKNOWN
    if found is None or isinstance(found, Unknown):
        return name.rpartition(".")[2]
    return found.path.rpartition(".")[2] if isinstance(found, External) else ""


def _bound(name: str, frame: Frame) -> Value | None:
    """What a name is bound to where an activation sees it, or imported for; None: nothing that is known."""
    scope: Frame | None = frame
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.outer
    namespace = frame.namespace
    if name not in namespace.names and name in namespace.deferred:
        module, _, member = namespace.deferred[name]
        return External(f"{module}.{member}")
    return namespace.names.get(name)


def unbound(machine: Machine, node: ir.Name, frame: Frame) -> Value:
    """A name that is surely unbound on this path: the program ends here, or goes on past what was told as a finding."""
    if "exec" in frame.namespace.names or (
        not frame.namespace.complete and frame.function is not None and machine.run.protocol
    ):
        return UNKNOWN
    site = machine.site(node, frame)
    guarded = note_unbound(machine, node, frame, site)
    if node.scope is not ir.NameScope.LOCAL:
        machine.store.put(frame.namespace.names, node.id, UNKNOWN)  # later cells don't say it again
    if guarded and frame.function is None and not machine.run.trying:
        return UNKNOWN
    raise Crash
