"""Functions that are made while a program runs and handed to a library, which calls them when the program has set all
up: `gr.Interface(fn=predict)`, `button.click(predict)`, `@app.route("/")` in a factory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import HANDED, mro
from devlint.analysis.domain.values import Class, Function, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_MOST: Final = 8


def hand_over(machine: Machine, values: Iterable[Value]) -> None:
    """Note the functions among what a library is given of which nothing is known, and the classes, to which it may add.
    Functions that a file names are entered with the file."""
    for value in values:
        if isinstance(value, Class):
            machine.store.put(value.properties, HANDED, True)
        if isinstance(value, Function) and value.node.speaks and value not in machine.run.handed:
            is_named = value.frame.function is None and value.node.name != "<lambda>"
            if not is_named and len(machine.run.handed) < _MOST:
                machine.run.handed.append(value)


def taken_method(cls: Value, name: str) -> Function | None:
    """The method of a class that a decorator of a library has taken, and so calls as far as anyone can tell."""
    for part in mro(cls) if isinstance(cls, Class) else ():
        if isinstance(part, Class) and name in part.fields:
            if isinstance(part.fields[name], Function):
                return None
            taken = part.frame.namespace.handed
            return next((method for method, owner in taken if owner is part and method.node.name == name), None)
    return None


def run_handed(machine: Machine, path: str) -> None:
    """Call them, with what nobody knows, at the end of a run that came there; what they write is nobody's."""
    # Those that the program has called itself are left out, not those that were called from here in a run before.
    waiting = [one for one in machine.run.handed if one.node not in machine.visited or one.node in machine.taken]
    if not waiting or not machine.state.alive:
        return
    machine.run.protocol, machine.run.home = True, path
    mark = machine.store.mark()
    for function in waiting:
        machine.taken.add(function.node)
        call_value(machine, function, Call([], {}, function.node, function.frame, open=True))
        machine.store.rollback(mark)
