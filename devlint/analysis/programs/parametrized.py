"""Which of several values pytest gives a test: `@pytest.mark.parametrize("device", ["cpu", "cuda"])`.

Where some of them are devices a test is given a GPU, if there is one: on the CPU nothing of its can meet. Of other
values none is taken for granted.

https://docs.pytest.org/en/stable/how-to/parametrize.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, DeviceValue, Value
from devlint.analysis.domain.values import Sequence as Several
from devlint.analysis.programs.evidence import outside_path
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_PARAMETRIZE: Final = "pytest.mark.parametrize"
_PARAM: Final = "pytest.param"
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
        names = _names(given[0]) if len(given) > 1 and "indirect" not in keywords else []
        values.update(dict.fromkeys(names))
        row = _on_gpu(list(_rows(machine, given[1], len(names), frame))) if names else None
        if row is not None:
            values.update(zip(names, row, strict=True))
    return values


def chosen_of(machine: Machine, params: ir.Expr, frame: Frame) -> Value | None:
    """The GPU among the values of a fixture, `@pytest.fixture(params=["cpu", "cuda"])`; None if there is none."""
    row = _on_gpu(list(_rows(machine, params, 1, frame)))
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
            if len(item.args) == width and _is_run(item):
                yield [machine.evaluate(part, frame) for part in item.args]
        else:
            yield from _row(machine.evaluate(item, frame), width)


def _row(value: Value, width: int) -> Iterator[list[Value]]:
    if width == 1:
        yield [value]
    elif isinstance(value, Several) and not value.open and len(value.items) == width:
        yield list(value.items)


def _is_run(param: ir.Call) -> bool:
    """Whether the marks of a `pytest.param` let it run where there is a GPU: `skipif` asks for one."""
    return _NOT_RUN.isdisjoint(map(last_name, walk([mark for name, mark in param.keywords if name == "marks"])))


def _is_gpu(value: Value) -> bool:
    """Whether a value is, or names, the GPU that every machine with one has."""
    if isinstance(value, Const) and isinstance(value.value, str):
        named = parse_device(value.value)
        return named is not None and named[0] == "cuda" and not named[1]
    return isinstance(value, DeviceValue) and value.type == "cuda" and not value.index
