"""Functions that a program gives to a library to be called: the objective of a search, what an app answers with, what
is done to each row of a table. That the library calls them is what it is for, so that they need what the program has:
without a GPU, the program ends where one of them moves something to it.

With CUDA they are entered like others that nobody in sight calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.carrying import PARTIAL
from devlint.analysis.domain.values import Bound, External, Function, Instance, Value
from devlint.analysis.flow.control import one_way
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_MOST: Final = 16

_LAUNCHERS: Final = frozenset(
    """
    accelerate.notebook_launcher accelerate.debug_launcher
    gradio.Interface gradio.ChatInterface gradio.interface.Interface gradio.chat_interface.ChatInterface
    hyperopt.fmin hyperopt.fmin.fmin
    ignite.engine.Engine ignite.engine.engine.Engine
    joblib.delayed
    scipy.optimize.minimize scipy.optimize.minimize_scalar scipy.optimize.basinhopping scipy.optimize.brute
    scipy.optimize.curve_fit scipy.optimize.differential_evolution scipy.optimize.dual_annealing scipy.optimize.fmin
    scipy.optimize.fsolve scipy.optimize.least_squares scipy.optimize.root scipy.optimize.shgo
    skopt.dummy_minimize skopt.forest_minimize skopt.gbrt_minimize skopt.gp_minimize
    wandb.agent
    """.split()
)
"""What calls the functions that it is given."""

_METHODS: Final = {
    **dict.fromkeys(("optimize",), frozenset({"optuna"})),
    **dict.fromkeys(("apply", "applymap", "progress_apply"), frozenset({"pandas"})),
    **dict.fromkeys(("map", "filter", "set_transform", "with_transform"), frozenset({"datasets"})),
    **dict.fromkeys(("add_event_handler",), frozenset({"ignite"})),
    **dict.fromkeys(("launch",), frozenset({"lightning", "lightning_fabric"})),
    **dict.fromkeys("change click input load release select submit then upload".split(), frozenset({"gradio"})),
    **dict.fromkeys(("add_url_rule",), frozenset({"flask"})),
    **dict.fromkeys(("add_api_route",), frozenset({"fastapi"})),
}
"""Methods of what nothing is known of that call the functions which they are given, in files that import a library."""

_BEHIND_OTHERS: Final = frozenset({"add_event_handler", "add_url_rule", "add_api_route"})
"""Methods of these whose functions stand behind what they answer to."""

_ROUTES: Final = {
    "route": frozenset({"flask", "sanic", "quart", "bottle"}),
    **dict.fromkeys("delete get patch post put websocket".split(), frozenset({"flask", "fastapi", "sanic", "quart"})),
}
"""Decorators of an app for what it answers with."""


def note_call(machine: Machine, path: str, call: Call) -> None:
    """Note the functions that a call by this path is given, if it calls them."""
    if path in _LAUNCHERS and not machine.has_cuda:
        _note(machine, call.values())


def note_method(machine: Machine, name: str, call: Call) -> None:
    """Note the functions that a method of something unknown is given, if it calls them: where they stand first, or
    under a name, unless what they answer to stands before."""
    if name not in _METHODS or not _imports(call.frame, _METHODS[name]) or machine.has_cuda:
        return
    if "catch" in call.keywords:
        return  # failures of an objective of optuna's are heeded
    given = call.positional if name in _BEHIND_OTHERS else call.positional[:1]
    _note(machine, [*given, *call.keywords.values()])


def note_decorated(machine: Machine, decorator: ir.Expr, function: Function, frame: Frame) -> None:
    """Note a function with which an app answers."""
    called = decorator.function if isinstance(decorator, ir.Call) else None
    if isinstance(called, ir.Attribute) and not machine.has_cuda:
        if _imports(frame, _ROUTES.get(called.name, frozenset())):
            _note(machine, [function])


def _imports(frame: Frame, libraries: frozenset[str]) -> bool:
    """Whether a file imports one of these libraries."""
    return any(name.partition(".")[0] in libraries for name, _, _ in frame.namespace.module.imports)


def _note(machine: Machine, values: Iterable[Value]) -> None:
    """Note functions, where the program surely comes to what calls them, and no failure of theirs is heeded."""
    if machine.run.within or machine.run.path or machine.run.trying:
        return
    noted = machine.run.launched
    known = {_function_of(value) for value in noted}
    for value in values:
        function = _function_of(value)
        if function is not None and function not in known and len(noted) < _MOST:
            noted.append(value)


def _function_of(value: Value) -> Function | None:
    """The function that is called where a value is: its own, or that of which it is a part."""
    if isinstance(value, Bound):
        value = value.function
    elif isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == PARTIAL:
        return _function_of(value.state["function"])
    return value if isinstance(value, Function) else None


def run_launched(machine: Machine, path: str) -> None:
    """Call them, with what nobody knows, at the end of a program that came there; what they write is nobody's."""
    waiting = machine.run.launched
    if not waiting or not machine.state.alive:
        return
    protocol, home = machine.run.protocol, machine.run.home
    machine.run.protocol, machine.run.home, machine.run.surely_called = True, path, True
    settled, machine.run.settled = machine.run.settled, {}
    mark = machine.store.mark()
    for value in waiting:
        function = _function_of(value)
        if function is None:
            continue
        machine.taken.add(function.node)
        arguments = Call([], {}, function.node, function.frame, open=True)

        def run(value: Value = value, arguments: Call = arguments) -> None:
            call_value(machine, value, arguments)

        one_way(machine, run)
        machine.store.rollback(mark)
        machine.run.settled = {}
    machine.run.protocol, machine.run.home, machine.run.surely_called = protocol, home, False
    machine.run.settled = settled
