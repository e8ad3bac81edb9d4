"""Activations and namespaces: where names live while the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.values import Class, Function, Instance, ModuleValue, Tensor, Unknown, Value, birth
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.events import Choice
    from devlint.analysis.flow.choices import ChoiceKey


class Namespace:
    """A Python file of the project while it runs in one world: its global names.

    `deferred`: what it imports for type checkers only (module, level, member), by the name that it would get.
    `handed`: functions that decorators of libraries have taken (`@app.route("/")`), each with its class, if any.
    `failed`: the error of an import with which it ended; whoever imports it gets the same.
    """

    __slots__ = ("path", "name", "package", "module", "names", "complete", "deferred", "handed", "failed")

    def __init__(self, path: str, name: str, package: str, module: ir.Module) -> None:
        self.path = path
        self.name = name
        self.package = package
        self.module = module
        self.names: dict[str, Value] = {}
        self.complete = False
        self.deferred: dict[str, tuple[str, int, str]] = {}
        self.handed: list[tuple[Function, Class | None]] = []
        self.failed = ""


class Locals(dict[str, Value]):
    """The variables of a function's activation, and when it began."""

    __slots__ = ("born",)

    def __init__(self) -> None:
        self.born = birth()


class Frame:
    """An activation of a function, a class body, a comprehension or a module.

    `names`: its variables. `outer`: the enclosing activation. `returns`: join of the values returned on branches that
    left; `return_keys`: the conditions under which they left; `returns_in_loop`: a loop was left so, of which
    there may be more rounds than were run. `loops`: the loops around the running statement; `rounds`: where in the
    log of the store each of them began, and its running round. `branches`: how many `if`s;
    `guarded`: an `if` that would have left is passed.
    `settled`: the choices that are answered until this activation ends, since the other answer has left it.
    `leaving`: what was written on ways that left the running loop or round by `break` and `continue`, and whether
    the condition varies from round to round. `is_manager`: of
    a function that `contextlib.contextmanager` decorates; `resumes_at` marks the writes that such a function makes
    after its `yield`.
    """

    __slots__ = (
        "names",
        "outer",
        "namespace",
        "function",
        "owner",
        "receiver",
        "returns",
        "return_keys",
        "returns_in_loop",
        "yields",
        "loops",
        "rounds",
        "tick",
        "globals",
        "nonlocals",
        "branches",
        "guarded",
        "settled",
        "leaving",
        "is_manager",
        "resumes_at",
    )

    def __init__(self, names: dict[str, Value], outer: Frame | None, namespace: Namespace, tick: int = 0) -> None:
        self.names = names
        self.outer = outer
        self.namespace = namespace
        self.function: ir.Function | None = None
        self.owner: Class | None = None
        self.receiver: Value | None = None
        self.returns: Value | None = None
        self.return_keys: list[tuple[ChoiceKey, Choice | None]] = []
        self.returns_in_loop = False
        self.yields: list[Value] | None = None
        self.loops: list[ir.Node] = []
        self.rounds: dict[ir.Node, tuple[int, int]] = {}
        self.tick = tick
        self.globals: frozenset[str] = frozenset()
        self.nonlocals: frozenset[str] = frozenset()
        self.branches = 0
        self.guarded = False
        self.leaving: list[tuple[str, Any, bool]] = []
        self.settled: frozenset[str] = frozenset()
        self.is_manager = False
        self.resumes_at: int | None = None


def names_of_no_tensors(frame: Frame) -> set[str]:
    """The names in sight, and the fields of the objects that they name (`self.mask`), that surely hold no tensor or may
    hold None."""
    found: set[str] = set()
    part: Frame | None = frame
    while part is not None and (part.function is not None or part.loops):
        for name, value in part.names.items():
            kind = value.__class__
            if kind is Instance:
                assert isinstance(value, Instance)
                fields = value.fields.items()
                found.update(f"{name}.{field}" for field, held in fields if held.__class__ not in _MAY_BE_TENSORS)
            if kind not in _MAY_BE_TENSORS:
                found.add(name)
        part = part.outer
    return found


_MAY_BE_TENSORS = frozenset({Tensor, Unknown})


def held(node: ir.Expr, frame: Frame) -> Value | None:
    """What a name or a chain of attributes holds, if that takes no evaluation."""
    if isinstance(node, ir.Name):
        return frame.names.get(node.id) or frame.namespace.names.get(node.id)
    if not isinstance(node, ir.Attribute):
        return None
    base = held(node.value, frame)
    if isinstance(base, ModuleValue):
        return base.namespace.names.get(node.name)
    return base.fields.get(node.name) if isinstance(base, Instance) else None
