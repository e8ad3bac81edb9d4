"""What the form of a function says of those who call it: flags that nobody gives, probabilities, what is asked or
called while a module is built, modules that stay on the host, and what is moved as soon as it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Class, Const, Function, Value
from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, names_cpu, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def never_given(machine: Machine, function: Function) -> dict[str, Value]:
    """The defaults of a private function that stand in each call of its file, `def _shift(self, x, lower=False)`: by
    its name nobody else calls it. Where no file calls it, flags are left alone."""
    node, path = function.node, function.frame.namespace.path
    if not node.name.startswith("_") or node.name.endswith("__") or not function.defaults:
        return {}
    found = _uses(machine.project, path).get(node.name)
    if not found:
        if is_word_of_users(machine.project, path, node.name):
            return {}
        flags = function.defaults.items()
        return {name: flag for name, flag in flags if isinstance(flag, Const) and isinstance(flag.value, bool)}
    calls = [use for use in found if isinstance(use, ir.Call) and not _is_open(use)]
    if len(calls) < len(found):
        return {}
    skipped = function.owner is not None and function.kind != "staticmethod"
    positional = node.parameters.positional[skipped:]
    given = {name for call in calls for name in (*positional[: len(call.args)], *(name for name, _ in call.keywords))}
    return {name: value for name, value in function.defaults.items() if name not in given}


@memoized
def _uses(project: Project, path: str) -> dict[str, list[ir.Expr]]:
    """The calls of private functions in a file, by their names, and what else these names are used for."""
    module = project.module(path)
    found: dict[str, list[ir.Expr]] = {}
    called: set[int] = set()
    for part in walk(module.body) if module is not None else ():
        name = last_name(part.function if isinstance(part, ir.Call) else part)
        if name.startswith("_") and isinstance(part, ir.Expr) and id(part) not in called:
            found.setdefault(name, []).append(part)
            if isinstance(part, ir.Call):
                called.add(id(part.function))
    return found


def _is_open(call: ir.Call) -> bool:
    """Whether a call may give more than it names: `f(*args)`, `f(**options)`."""
    return any(isinstance(part, ir.Starred) for part in call.args) or any(not name for name, _ in call.keywords)


@memoized
def probabilities(project: Project, node: ir.Function) -> frozenset[str]:
    """The parameters of which a function does no more than to compare them with random numbers, `torch.rand(n) < p`:
    such are numbers, and of no device."""
    drawn: set[str] = set()
    parameters = frozenset(node.parameters.positional)
    compared: set[int] = set()
    for part in walk(node.body.statements):
        if isinstance(part, ir.Compare) and part.operator in ("<", "<=", ">", ">="):
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, ir.Name) and _is_drawn(other):
                    compared.add(id(one))
                    drawn.add(one.id)
    if not drawn & parameters:
        return frozenset()
    used = {part.id for part in walk(node.body.statements) if isinstance(part, ir.Name) and id(part) not in compared}
    return frozenset(drawn & parameters) - used


def _is_drawn(node: ir.Expr) -> bool:
    """Whether an expression is a random number, or several: `torch.rand(n)`, `torch.rand(1).item()`."""
    if not isinstance(node, ir.Call):
        return False
    name = last_name(node.function)
    return name in _DRAWS or (
        name == "item" and isinstance(node.function, ir.Attribute) and _is_drawn(node.function.value)
    )


_DRAWS = frozenset({"rand", "random", "uniform"})
_SIZES = frozenset({"shape", "size", "numel", "nelement"})


def asks_size(node: ir.Function) -> bool:
    """Whether a method takes nothing and gives the size of what comes of a tensor that it makes itself: `return
    self.layers(torch.zeros(1, 3, 9, 9)).shape[1]`. That is asked while a module is built, before anybody moves it."""
    parameters = node.parameters
    takes = [*parameters.positional[1:], *parameters.keyword, parameters.variadic, parameters.variadic_keyword]
    returned = [part.value for part in walk(node.body.statements) if isinstance(part, ir.Return)]
    return not any(takes) and bool(returned) and all(value is not None and _is_size(value) for value in returned)


def _is_size(value: ir.Expr) -> bool:
    if isinstance(value, ir.Subscript):
        value = value.value
    if isinstance(value, ir.Call):
        value = value.function
    return isinstance(value, ir.Attribute) and value.name in _SIZES


@memoized
def reads_on_the_host(project: Project, cls: ir.Class) -> bool:
    """Whether a class reads what a part of its own gives and does not bring it to the host, `self.net(x).numpy()`: who
    calls its methods has left it there."""
    for method in cls.body:
        if not isinstance(method, ir.Function) or not method.parameters.positional:
            continue
        this = method.parameters.positional[0]
        for part in walk(method.body.statements):
            if isinstance(part, ir.Call) and last_name(part.function) == "numpy" and _is_given_by(part.function, this):
                return True
    return False


def _is_given_by(node: ir.Expr, this: str) -> bool:
    """Whether a chain of methods begins with a call of a part of an object, and moves nothing."""
    while isinstance(node, ir.Attribute) and node.name not in ("cpu", "to"):
        called = node.value
        if not isinstance(called, ir.Call):
            return False
        if dotted(called.function).startswith(f"{this}."):
            return True
        node = called.function
    return False


def called_while_built(machine: Machine, cls: Class, method: ir.Function) -> bool:
    """Whether constructors alone call a method, `self.check()`, in its file and in those that import it: that is before
    anybody moves the object."""
    path, name = cls.frame.namespace.path, method.name
    return name in _called_by_constructors(machine.project, path) and not is_word_of_users(machine.project, path, name)


def is_word_of_users(project: Project, path: str, name: str) -> bool:
    """Whether another file that imports this one, by however many others, has a word for a method."""
    return any(
        other != path and name in module.text and path in project.imported(other) for other, module in project.loaded()
    )


@memoized
def _called_by_constructors(project: Project, path: str) -> frozenset[str]:
    """The names of attributes that a file only calls, of the object that is being built."""
    module = project.module(path)
    within: set[int] = set()
    called: set[str] = set()
    others: set[str] = set()
    parts = list(walk(module.body)) if module is not None else []
    for init in parts:
        if isinstance(init, ir.Function) and init.name == "__init__" and init.parameters.positional:
            for part in walk(init.body.statements):
                function = part.function if isinstance(part, ir.Call) else None
                if isinstance(function, ir.Attribute) and dotted(function.value) == init.parameters.positional[0]:
                    called.add(function.name)
                    within.add(id(function))
    for part in parts:
        if isinstance(part, ir.Attribute) and id(part) not in within:
            others.add(part.name)
        elif isinstance(part, ir.Name):
            others.add(part.id)
        elif isinstance(part, ir.Const) and isinstance(part.value, str):
            others.add(part.value)
    return frozenset(called - others)


@memoized
def moved_at_once(project: Project, function: ir.Function) -> frozenset[ir.Node]:
    """What a function moves in the row in which it is computed, `(steps < lengths).cuda()`: what went into it is on the
    host, or it would be there already."""
    moves = (part.function for part in walk(function.body.statements) if isinstance(part, ir.Call) and _moves(part))
    return frozenset(move.value for move in moves if isinstance(move, ir.Attribute))


def _moves(call: ir.Call) -> bool:
    """Whether a call is `.cuda()`, or `.to(...)` with a device by its name; what goes to the CPU was elsewhere."""
    name = call.function.name if isinstance(call.function, ir.Attribute) else ""
    if name != "to" or not call.args:
        return name == "cuda"
    target = call.args[0]
    return last_name(target).endswith("device") or (isinstance(target, ir.Const) and not names_cpu(target))
