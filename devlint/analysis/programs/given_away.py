"""Functions that a program gives to a library to be called: the objective of a search, what an app answers with, what
is done to each row of a table. That the library calls them is what it is for, so that they need what the program has:
without a GPU, the program ends where one of them moves something to it.

With CUDA they are entered like others that nobody in sight calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.carrying import PARTIAL
from devlint.analysis.domain.values import Bound, External, Function, Instance, Value
from devlint.analysis.memo import memoized
from devlint.analysis.programs.evidence import outside_path
from devlint.analysis.programs.handed import call_back
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_MOST: Final = 16
_DEEPEST: Final = 4
"""How many names are followed to what they are bound to."""

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
"""Methods that call the functions which they are given, by the libraries whose objects have them."""

_BEHIND_OTHERS: Final = frozenset({"add_event_handler", "add_url_rule", "add_api_route"})
"""Methods of these whose functions stand behind what they answer to."""

_ROUTES: Final = {
    "route": frozenset({"flask", "sanic", "quart", "bottle"}),
    **dict.fromkeys("delete get patch post put websocket".split(), frozenset({"flask", "fastapi", "sanic", "quart"})),
}
"""Decorators of an app for what it answers with, by the libraries of apps."""


def note_call(machine: Machine, path: str, call: Call) -> None:
    """Note the functions that a call by this path is given, if it calls them."""
    if path in _LAUNCHERS and not machine.has_cuda:
        _note(machine, call.values())


def note_method(machine: Machine, name: str, call: Call) -> None:
    """Note the functions that a method of something unknown is given, if it calls them: where they stand first, or
    under a name, unless what they answer to stands before."""
    if name not in _METHODS or not isinstance(call.node, ir.Call) or not isinstance(call.node.function, ir.Attribute):
        return
    if machine.has_cuda or "catch" in call.keywords:  # failures of an objective of optuna's are heeded
        return
    if _libraries_of(machine, call.node.function.value, call.frame) & _METHODS[name]:
        given = call.positional if name in _BEHIND_OTHERS else call.positional[:1]
        _note(machine, [*given, *call.keywords.values()])


def note_decorated(machine: Machine, decorator: ir.Expr, function: Function, frame: Frame) -> None:
    """Note a function with which an app answers."""
    called = decorator.function if isinstance(decorator, ir.Call) else None
    if isinstance(called, ir.Attribute) and called.name in _ROUTES and not machine.has_cuda:
        if _libraries_of(machine, called.value, frame) & _ROUTES[called.name]:
            _note(machine, [function])


def _libraries_of(machine: Machine, node: ir.Expr, frame: Frame, depth: int = 0) -> frozenset[str]:
    """The library from which something comes, as it is written: by what is called, or by what its name is bound to in
    the function or file; none where that may be several, or the caller's."""
    while isinstance(node, (ir.Call, ir.Attribute, ir.Subscript)):
        path = outside_path(node, frame)
        if path:
            return frozenset({path.partition(".")[0]})
        node = node.function if isinstance(node, ir.Call) else node.value
    if not isinstance(node, ir.Name) or depth > _DEEPEST:
        return frozenset()
    path = outside_path(node, frame)
    if path:
        return frozenset({path.partition(".")[0]})
    around: list[ir.Function | ir.Module] = [frame.namespace.module]
    if frame.function is not None:
        if node.id in frame.function.parameters.positional:
            return frozenset()
        around.insert(0, frame.function)
    for scope in around:
        bound = _bound(machine.project, scope).get(node.id, ())
        found = {_libraries_of(machine, value, frame, depth + 1) for value in bound}
        if found:
            return found.pop() if len(found) == 1 else frozenset()
    return frozenset()


@memoized
def _bound(project: Project, scope: ir.Function | ir.Module) -> dict[str, list[ir.Expr]]:
    """What names are bound to by assignments and `with` in a function, or anywhere in a file."""
    found: dict[str, list[ir.Expr]] = {}
    for part in walk(scope.body if isinstance(scope, ir.Module) else scope.body.statements):
        pairs: list[tuple[ir.Expr, ir.Expr | None]] = []
        if isinstance(part, ir.Assign):
            pairs = [(part.value, target) for target in part.targets]
        elif isinstance(part, ir.With):
            pairs = part.items
        for value, target in pairs:
            if isinstance(target, ir.Name):
                found.setdefault(target.id, []).append(value)
    return found


def _note(machine: Machine, values: Iterable[Value]) -> None:
    """Note functions, where the program surely comes to what calls them, and no failure of theirs is heeded."""
    if machine.run.within or machine.run.path or machine.run.trying:
        return
    noted = machine.run.given_away
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


def run_given_away(machine: Machine, path: str) -> None:
    """Call them, without a GPU, at the end of a program that came there."""
    called = [(value, function) for value in machine.run.given_away if (function := _function_of(value)) is not None]
    machine.run.surely_called = True
    call_back(machine, path, called)
    machine.run.surely_called = False
    functions = {function for _, function in called}
    machine.run.handed = [function for function in machine.run.handed if function not in functions]
