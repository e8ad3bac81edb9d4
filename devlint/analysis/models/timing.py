"""Code whose time is taken, by `timeit` or `torch.utils.benchmark`: it runs where the measurement is asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import (
    NUMBER,
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Sequence,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.python.code_in_texts import Names, global_of, run_with
from devlint.analysis.python.introspection import GLOBALS

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

TIMER: Final = "timeit.Timer"
MEASURED: Final = "torch.utils.benchmark.Timer"
_GIVEN: Final = "given"
"""Under this key of its state, a timer keeps what it was given: the code, what runs before, and the names for both."""
_Given = tuple["Value | None", "Value | None", "Value | None"]


def _names(machine: Machine, setup: Value | None, given: Value | None, call: Call) -> Names:
    """What the names of a text stand for: those that are given, or that its setup imports from the program."""
    imported: set[str] = set()
    text = constant(setup)
    if isinstance(text, str):
        imported = _from_program(text)

    def look(name: str) -> Value:
        if isinstance(given, Mapping) and name in given.items:
            return given.items[name]
        if isinstance(given, Instance) and isinstance(given.cls, External) and given.cls.path == GLOBALS:
            return call_method(machine, given, "get", call.with_arguments([const(name)]))
        return global_of(machine, name, call) if name in imported else UNKNOWN

    return look


def _from_program(text: str) -> set[str]:
    """The names that a setup takes from the program that is run: `from __main__ import f, x`."""
    try:
        body = ast.parse(text).body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return set()
    taken = [part.names for part in body if isinstance(part, ast.ImportFrom) and part.module == "__main__"]
    return {alias.name for names in taken for alias in names if alias.asname is None}


def _run(machine: Machine, given: _Given, call: Call) -> None:
    """Run what is timed, and before it what is called as its setup."""
    code, setup, names = given
    plain = call.with_arguments([])
    plain.open = False
    for part in (setup, code):
        if part is None or is_none(part):
            continue
        if isinstance(part, Const):
            run_with(machine, part, _names(machine, setup, names, call), plain)
        else:
            call_value(machine, part, plain)


def _result(name: str) -> Value:
    """What a measurement gives: a number, several, or more than that."""
    return NUMBER if name == "timeit" else Sequence("list", [NUMBER], True) if name == "repeat" else UNKNOWN


def _given(call: Call, position: int) -> _Given:
    """The code, its setup and, by position, the names for both."""
    return call.argument(0, "stmt"), call.argument(1, "setup"), call.argument(position, "globals")


def _at_once(name: str, position: int) -> Callable[[Machine, Call], Value]:
    """`timeit.timeit(code, setup, ..., globals)`: runs what it is given."""

    def run(machine: Machine, call: Call) -> Value:
        _run(machine, _given(call, position), call)
        return _result(name)

    return run


models("timeit.timeit")(_at_once("timeit", 4))
models("timeit.repeat")(_at_once("repeat", 5))


def _timer(path: str, position: int) -> Callable[[Machine, Call], Value]:
    """A timer, which keeps what it is given."""

    def make(machine: Machine, call: Call) -> Value:
        made = Instance(External(path), machine.site(call.node, call.frame))
        made.state[_GIVEN] = _given(call, position)
        return made

    return make


models(TIMER)(_timer(TIMER, 3))
models(MEASURED, "torch.utils.benchmark.utils.timer.Timer")(_timer(MEASURED, 4))


def _asked(result: Value) -> Callable[[Machine, Instance, Call], Value]:
    """A method of a timer that runs what it keeps."""

    def run(machine: Machine, timer: Instance, call: Call) -> Value:
        _run(machine, timer.state[_GIVEN], call)
        return result

    return run


for _name in ("timeit", "repeat", "autorange"):
    method_models(TIMER, _name)(_asked(_result(_name)))
method_models(MEASURED, "timeit", "blocked_autorange", "adaptive_autorange")(_asked(UNKNOWN))
