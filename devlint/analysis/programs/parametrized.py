"""Which of several values pytest gives a test: `@pytest.mark.parametrize("device", ["cpu", "cuda"])`.

Where some of them are devices a test is given a GPU, if there is one: on the CPU nothing of its can meet. Of other
values none is taken for granted.

https://docs.pytest.org/en/stable/how-to/parametrize.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, DeviceValue, Value
from devlint.analysis.domain.values import Sequence as Several
from devlint.analysis.flow.choices import decide
from devlint.analysis.programs.evidence import outside_path
from devlint.semantics.devices import parse_device
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame, Namespace
    from devlint.analysis.machine import Machine

_PARAMETRIZE: Final = "pytest.mark.parametrize"
_PARAM: Final = "pytest.param"
_MOST: Final = 64
"""How many rounds of a test are looked at."""
_NOT_RUN: Final = frozenset({"skip", "xfail"})


def chosen(machine: Machine, decorators: Sequence[ir.Expr], frame: Frame) -> dict[str, Value | None]:
    """What the decorators of a test, or of its class, give to its parameters, by the names of these; None where that
    is not known."""
    values: dict[str, Value | None] = {}
    for decorator in decorators:
        if not isinstance(decorator, ir.Call) or outside_path(decorator.function, frame) != _PARAMETRIZE:
            continue
        keywords = dict(decorator.keywords)
        given = [*decorator.args, *(keywords[key] for key in ("argnames", "argvalues") if key in keywords)]
        names = _names(given[0]) if len(given) > 1 else []
        values.update(dict.fromkeys(names))
        is_direct = names and "indirect" not in keywords
        row = _on_gpu(list(islice(_rows(machine, given[1], len(names), frame), _MOST))) if is_direct else None
        if row is not None:
            values.update(zip(names, row, strict=True))
    return values


def chosen_of(machine: Machine, params: ir.Expr, frame: Frame) -> Value | None:
    """The GPU among the values of a fixture, `@pytest.fixture(params=["cpu", "cuda"])`; None if there is none."""
    row = _on_gpu(list(islice(_rows(machine, params, 1, frame), _MOST)))
    return row[0] if row is not None else None


def _on_gpu(rows: list[list[Value]]) -> list[Value] | None:
    """The first of the rounds that has a GPU, where all others have devices of the same kind in its place: what is no
    device, or a text beside handles, is told apart in the test."""
    for row in rows:
        places = [at for at, value in enumerate(row) if _is_gpu(value)]
        if places:
            alike = all(_kind(other[at]) in (_kind(row[at]), "None") for other in rows for at in places)
            return row if alike else None
    return None


def _kind(value: Value) -> str:
    """Whether a value is a handle of a device or a text that names one, or None, or something else."""
    if isinstance(value, Const):
        is_named = isinstance(value.value, str) and parse_device(value.value) is not None
        return "text" if is_named else "None" if value.value is None else ""
    return "" if not isinstance(value, DeviceValue) else "text" if value.is_text else "handle"


def _names(node: ir.Expr) -> list[str]:
    """The parameters that are given, `"x, device"` or `("x", "device")`; none where they are not written."""
    if isinstance(node, ir.Const) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ir.Display):
        written = [item.value for item in node.items if isinstance(item, ir.Const)]
        names = [name for name in written if isinstance(name, str)]
        return names if len(names) == len(node.items) else []
    return []


def _rows(machine: Machine, node: ir.Expr, width: int, frame: Frame) -> Iterator[list[Value]]:
    """Yield what is given together in each round of a test, as far as that is known, where there is a GPU."""
    if not machine.has_cuda:
        return
    if not isinstance(node, ir.Display):
        given = machine.evaluate(node, frame)
        for value in given.items if isinstance(given, Several) else ():
            yield from _row(value, width)
        return
    for item in node.items:
        if isinstance(item, ir.Starred):
            yield from _rows(machine, item.value, width, frame)
        elif isinstance(item, ir.Call) and outside_path(item.function, frame) == _PARAM:
            if len(item.args) == width and _is_run(machine, item, frame):
                yield [machine.evaluate(part, frame) for part in item.args]
        else:
            yield from _row(machine.evaluate(item, frame), width)


def _row(value: Value, width: int) -> Iterator[list[Value]]:
    if width == 1:
        yield [value]
    elif isinstance(value, Several) and not value.open and len(value.items) == width:
        yield list(value.items)


def _is_run(machine: Machine, param: ir.Call, frame: Frame) -> bool:
    """Whether the marks of a `pytest.param` let it run, and pass, as far as they are written."""
    written = [mark for name, mark in param.keywords if name == "marks"]
    marks = [part for mark in written for part in (mark.items if isinstance(mark, ir.Display) else [mark])]
    return all(_lets_run(machine, mark, frame) for mark in marks)


def _lets_run(machine: Machine, mark: ir.Expr, frame: Frame) -> bool:
    called = mark.function if isinstance(mark, ir.Call) else mark
    kind, _, name = outside_path(called, frame).rpartition(".")
    if kind != "pytest.mark" or name in _NOT_RUN:
        return False
    if name != "skipif":
        return True
    return isinstance(mark, ir.Call) and bool(mark.args) and decide(machine, mark.args[0], frame).truth is False


def may_be_marked(decorators: Sequence[ir.Expr], frame: Frame, spaces: Sequence[Namespace]) -> bool:
    """Whether a test may have other values than are written at it: by marks of its file, by a hook that makes tests,
    or by a mark that stands under a name."""
    if "pytestmark" in frame.namespace.names or any("pytest_generate_tests" in space.names for space in spaces):
        return True
    for decorator in decorators:
        path = outside_path(decorator.function if isinstance(decorator, ir.Call) else decorator, frame)
        if not path or (path == _PARAMETRIZE and not (isinstance(decorator, ir.Call) and _says_which(decorator))):
            return True
    return False


def _says_which(decorator: ir.Call) -> bool:
    """Whether a decorator says itself which parameters it is for."""
    given = [*decorator.args[:1], *(value for name, value in decorator.keywords if name == "argnames")]
    return bool(given) and bool(_names(given[0]))


def _is_gpu(value: Value) -> bool:
    """Whether a value is, or names, the GPU that every machine with one has."""
    if isinstance(value, Const) and isinstance(value.value, str):
        named = parse_device(value.value)
        return named is not None and named[0] == "cuda" and not named[1]
    return isinstance(value, DeviceValue) and value.type == "cuda" and not value.index
