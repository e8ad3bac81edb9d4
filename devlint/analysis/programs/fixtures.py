"""What unittest and pytest run before a test: `setUp`, and fixtures of its class, its file and the `conftest.py` files
above that, those that are used without being named and those that its parameters name.

https://docs.pytest.org/en/stable/how-to/fixtures.html#autouse-fixtures-fixtures-you-don-t-have-to-request
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.values import Bound, Class, External, Function, Instance, Value
from devlint.analysis.frames import Frame
from devlint.analysis.memo import memoized
from devlint.analysis.models.patching import fixtures
from devlint.analysis.programs.evidence import outside_path
from devlint.analysis.programs.executing import run_file
from devlint.analysis.programs.parametrized import chosen, chosen_of, may_be_marked
from devlint.analysis.signals import Crash
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Namespace
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_SHARED: Final = "conftest.py"
_FIXTURE: Final = ("pytest.fixture", "pytest_asyncio.fixture")
_REQUEST: Final = "pytest.FixtureRequest"
_SET_UP: Final = ("setUpClass", "setUp", "setup_method")


def set_up(machine: Machine, cls: Class | None, instance: Instance | None, test: Function) -> None:
    """Run what is run before a test, of a class or of its file; nothing for what is no test.

    Raises:
        Crash: the test isn't run; nor is it here if not all was seen that they do.
    """
    if not test.node.name.startswith("test"):
        return
    cuts = machine.run.cuts
    for space in reversed(_spaces(machine, test)):
        for function in _used_by_all(list(space.names.values()), Frame(space.names, None, space)):
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
    if machine.run.cuts != cuts:
        raise Crash


def _spaces(machine: Machine, test: Function) -> list[Namespace]:
    """The files in which the fixtures of a test stand: its own, and those called `conftest.py` from its folder up."""
    own = test.frame.namespace
    spaces = [own]
    for path in shared_above(machine.project, own.path):
        machine.project.dependencies.setdefault(own.path, set()).add(path)
        module = run_file(machine, path)
        if module is not None:
            spaces.append(module.namespace)
    return spaces


@memoized
def shared_above(project: Project, path: str) -> tuple[str, ...]:
    """The paths of the files with fixtures for a file, the nearest first; none for one that pytest doesn't collect."""
    folder, name = os.path.split(path)
    found: list[str] = []
    if not name.startswith("test_") and not name.endswith("_test.py"):
        return ()
    while os.path.join(folder, "").startswith(os.path.join(project.root, "")):
        if project.exists(os.path.join(folder, _SHARED)):
            found.append(os.path.join(folder, _SHARED))
        if folder == project.root:
            break
        folder = os.path.dirname(folder)
    return tuple(found)


def given(machine: Machine, cls: Class | None, instance: Instance | None, test: Function) -> dict[str, Value]:
    """What a test is given by the names of its parameters: one of several values that are written for it, or what
    fixtures of its class, or else of its file or those above it, give back.

    Raises:
        Crash: one of them ends in an error; the test isn't run.
    """
    known = fixtures(test.node)
    if not test.node.name.startswith("test"):
        return known
    decorators = [*(cls.node.decorators if cls is not None else ()), *test.node.decorators]
    spaces = _spaces(machine, test)
    if "request" in test.node.parameters.positional or may_be_marked(decorators, test.frame, spaces):
        return known
    values = chosen(machine, decorators, test.frame)
    known |= _named(machine, cls, instance, test, spaces, tuple(values))
    return known | {name: value for name, value in values.items() if value is not None}


def is_given_devices(machine: Machine, cls: Class | None, test: Function) -> bool:
    """Whether fixtures of which some speak of devices give something to a test."""
    if not test.node.name.startswith("test"):
        return False
    spaces = _spaces(machine, test)
    waiting, seen = list(test.node.parameters.positional), set[str]()
    while waiting:
        name = waiting.pop()
        owner = None if name in seen else _owner(cls, name, spaces)
        seen.add(name)
        if owner is not None and owner.node.speaks:
            return True
        waiting += owner.node.parameters.positional if owner is not None else ()
    return False


def _owner(cls: Class | None, name: str, spaces: list[Namespace]) -> Function | None:
    """The fixture of a name: of a class, or else of the nearest file."""
    found = find(cls, name) if cls is not None else None
    owner = next((space.names[name] for space in spaces if name in space.names), None) if found is None else found[0]
    return owner if isinstance(owner, Function) and _is_fixture(owner, owner.frame) else None


def _named(
    machine: Machine,
    cls: Class | None,
    instance: Instance | None,
    function: Function,
    spaces: list[Namespace],
    around: tuple[str, ...],
) -> dict[str, Value]:
    """What the fixtures give that the parameters of a function name; not of one whose value hangs on a request, unless
    that is for a device, nor of one that has something to do after the test."""
    values: dict[str, Value] = {}
    for name in function.node.parameters.positional:
        owner = _owner(cls, name, spaces)
        if name in around or owner is None or owner.node.body.is_generator:
            continue
        inner = _named(machine, cls, instance, owner, spaces, (*around, name))
        params = _params(owner)
        if "request" in owner.node.parameters.positional:
            value = chosen_of(machine, params, owner.frame) if params is not None else None
            if value is None:
                continue
            request = inner["request"] = Instance(External(_REQUEST))
            request.fields["param"] = value
        called = Bound(owner, instance) if owner.owner is not None and instance is not None else owner
        values[name] = call_value(machine, called, Call([], inner, owner.node, function.frame, open=True))
    return values


def _is_fixture(function: Function, frame: Frame) -> bool:
    """Whether pytest calls a function for its value under its own name."""
    for decorator in function.node.decorators:
        named = decorator.function if isinstance(decorator, ir.Call) else decorator
        if outside_path(named, frame) in _FIXTURE:
            return not isinstance(decorator, ir.Call) or "name" not in dict(decorator.keywords)
    return False


def _params(fixture: Function) -> ir.Expr | None:
    """The values of a fixture that has several."""
    keywords = [part.keywords for part in fixture.node.decorators if isinstance(part, ir.Call)]
    return next((value for given in keywords for name, value in given if name == "params"), None)


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
