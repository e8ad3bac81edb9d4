"""Functions that are made while a program runs and handed to a library, which calls them when the program has set all
up: `gr.Interface(fn=predict)`, `button.click(predict)`, `@app.route("/")` in a factory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import HANDED, mro
from devlint.analysis.domain.values import Class, Function, Value
from devlint.analysis.flow.control import one_way

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
    """Call them at the end of a run that came there."""
    # Those that the program has called itself are left out, not those that were called from here in a run before.
    waiting = [one for one in machine.run.handed if one.node not in machine.visited or one.node in machine.taken]
    call_back(machine, path, [(one, one) for one in waiting])


def call_back(machine: Machine, path: str, called: Sequence[tuple[Value, Function]]) -> None:
    """Call what a library was given, each with the function that it comes to, with what nobody knows; what they write
    is nobody's."""
    if not called or not machine.state.alive:
        return
    protocol, home, settled = machine.run.protocol, machine.run.home, machine.run.settled
    machine.run.protocol, machine.run.home = True, path
    mark = machine.store.mark()
    for value, function in called:
        if function.node not in machine.visited:
            machine.taken.add(function.node)
        machine.run.settled = {}
        call = Call([], {}, function.node, function.frame, open=True)
        one_way(machine, partial(_call, machine, value, call))
        machine.store.rollback(mark)
    machine.run.protocol, machine.run.home, machine.run.settled = protocol, home, settled


def _call(machine: Machine, value: Value, call: Call) -> None:
    call_value(machine, value, call)
