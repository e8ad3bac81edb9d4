"""What unittest and pytest run before a test: `setUp`, and fixtures of its class and file that are used without being
named. Those of a `conftest.py` are not looked for.

https://docs.pytest.org/en/stable/how-to/fixtures.html#autouse-fixtures-fixtures-you-don-t-have-to-request
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.classes import find, mro
from devlint.analysis.dispatch import Call
from devlint.analysis.evidence import outside_path
from devlint.analysis.machine import Crash
from devlint.analysis.models.patching import fixtures
from devlint.analysis.values import Bound, Class, Function, Instance, Value
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

_FIXTURE: Final = ("pytest.fixture", "pytest_asyncio.fixture")
_SET_UP: Final = ("setUpClass", "setUp", "setup_method")


def set_up(machine: Machine, cls: Class | None, instance: Instance | None, test: Function) -> None:
    """Run what is run before a test, of a class or of its file; nothing for what is no test.

    Raises:
        Crash: the test isn't run; nor is it here if not all was seen that they do.
    """
    if not test.node.name.startswith("test"):
        return
    cuts = machine.cuts
    for function in _used_by_all(list(test.frame.namespace.names.values()), test.frame):
        _enter(machine, function, function, test.frame)
    if cls is not None and instance is not None:
        for ancestor in reversed([one for one in mro(cls) if isinstance(one, Class)]):
            for function in _used_by_all(list(ancestor.fields.values()), test.frame):
                _enter(machine, function, Bound(function, instance), test.frame)
        for name in _SET_UP:
            found = find(cls, name)
            if found is not None and isinstance(found[0], Function):
                receiver: Value = cls if found[0].kind == "classmethod" else instance
                call_value(machine, Bound(found[0], receiver), Call([], {}, test.node, test.frame))
    if machine.cuts != cuts:
        raise Crash


def _used_by_all(values: list[Value], frame: Frame) -> Iterator[Function]:
    """The fixtures among values that each test uses: `@pytest.fixture(autouse=True)`."""
    for value in values:
        for decorator in value.node.decorators if isinstance(value, Function) else ():
            if not isinstance(decorator, ir.Call) or outside_path(decorator.function, frame) not in _FIXTURE:
                continue
            given = dict(decorator.keywords).get("autouse")
            if isinstance(given, ir.Const) and given.value is True:
                assert isinstance(value, Function)
                yield value


def _enter(machine: Machine, function: Function, called: Value, frame: Frame) -> None:
    """Run a fixture up to its `yield`; what stands behind is done after the test."""
    if function.node.body.is_generator:
        machine.store.set(function, "kind", "contextmanager")
    call_value(machine, called, Call([], fixtures(function.node), function.node, frame, open=True))
