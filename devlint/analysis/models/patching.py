"""pytest's `monkeypatch` and unittest's `patch`: what a test puts in the place of what its project, or torch, defines.
And where a test is left.

https://docs.pytest.org/en/stable/how-to/monkeypatch.html
https://docs.python.org/3/library/unittest.mock.html#the-patchers
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_attribute, path_of
from devlint.analysis.dispatch import ENTER, Call, method_models, models, on
from devlint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    External,
    Function,
    Instance,
    ModuleValue,
    Sequence,
    Value,
)
from devlint.analysis.machine import text_of
from devlint.analysis.models.contexts import Entered
from devlint.analysis.python.replacing import PATCHED, start_patch, stop_patch
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

_PATCHER: Final = "pytest.MonkeyPatch"
_NAME: Final = "monkeypatch"


def fixtures(function: ir.Function) -> dict[str, Value]:
    """What pytest gives a test by the names of its parameters, as far as it is known."""
    is_test = function.name.startswith("test") and _NAME in function.parameters.positional
    return {_NAME: Instance(External(_PATCHER))} if is_test else {}


@models("pytest.skip", "pytest.xfail", "pytest.fail", "pytest.exit")
def leave_test(machine: Machine, call: Call) -> Value:
    """`pytest.skip(reason)`: the test, or the file, goes no further. No `except Exception` holds it.

    https://docs.pytest.org/en/stable/reference/reference.html#functions

    Raises:
        Crash: always.
    """
    raise Crash("SystemExit")


@method_models("unittest.TestCase", "skipTest", "fail")
def leave_case(machine: Machine, instance: Instance, call: Call) -> Value:
    """`self.skipTest(reason)`, `self.fail(reason)`.

    Raises:
        Crash: always.
    """
    raise Crash("SystemExit")


@method_models(_PATCHER, "setattr")
def patch_attribute(machine: Machine, instance: Instance, call: Call) -> Value:
    """`monkeypatch.setattr(target, name, value)`.

    Raises:
        Crash: what is put in another place is not followed: one of torch's own, or one that a string names.
    """
    target, name, new = (call.argument(at, key) for at, key in enumerate(("target", "name", "value")))
    known = text_of(name)
    if target is None or known is None or new is None or path_of(target) is not None:
        raise Crash
    assign_attribute(machine, target, known, new, call.node, call.frame)
    return NONE


@method_models(_PATCHER, "delattr", "setitem", "delitem", "setenv", "delenv", "syspath_prepend", "chdir", "undo")
def patch_other(machine: Machine, instance: Instance, call: Call) -> Value:
    """The rest, which is about other things."""
    return UNKNOWN


# -- unittest.mock

_PATCH: Final = "unittest.mock.patch"
_MOCK: Final = "unittest.mock.Mock"


@models(_PATCH, "mock.patch")
def patch_by_name(machine: Machine, call: Call) -> Value:
    """`patch("torch.cuda.is_available", return_value=False)`."""
    return _patcher(machine, None, text_of(call.argument(0, "target")), 1, call)


@models(f"{_PATCH}.object", "mock.patch.object")
def patch_member(machine: Machine, call: Call) -> Value:
    """`patch.object(torch.cuda, "is_available", return_value=False)`."""
    owner, name = call.argument(0, "target"), text_of(call.argument(1, "attribute"))
    if isinstance(owner, (ModuleValue, Class)):
        return _patcher(machine, owner, name, 2, call)
    path = path_of(owner) if isinstance(owner, External) and name is not None else None
    return _patcher(machine, None, None if path is None else f"{path}.{name}", 2, call)


def _patcher(machine: Machine, owner: ModuleValue | Class | None, target: str | None, at: int, call: Call) -> Value:
    """A context in which something, `target` by its dotted name or as a name of `owner`, is the argument `at` or a
    mock; unknown where it is not known what."""
    new = call.given(at, "new")
    if new is None and "return_value" in call.keywords and "side_effect" not in call.keywords:
        new = Instance(External(_MOCK), machine.site(call.node, call.frame))
        new.state["return_value"] = call.keywords["return_value"]
    if target is None:
        return UNKNOWN
    effect = call.keywords.get("side_effect")
    if new is None:
        new = effect if isinstance(effect, (Function, Bound)) else UNKNOWN
    made = Instance(External(_PATCH), machine.site(call.node, call.frame))
    made.state.update(target=target, new=new, is_given=call.given(at, "new") is not None)
    if owner is not None:
        made.state["owner"] = owner
    return made


@method_models(_MOCK, "__call__")
def call_mock(machine: Machine, instance: Instance, call: Call) -> Value:
    """A mock gives what it was told to."""
    if "side_effect" in instance.fields:
        return UNKNOWN
    returned: Value = instance.fields.get("return_value") or instance.state["return_value"]
    return returned


@on(ENTER, _PATCH)
def enter_patch(machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame) -> Entered:
    """`with patch(...)`: callers get the new one until the block is left."""
    return start_patch(machine, value, frame), lambda: stop_patch(machine, value, frame)


@method_models(_PATCH, "start")
def start(machine: Machine, instance: Instance, call: Call) -> Value:
    """`patcher.start()`, until `patcher.stop()`."""
    return start_patch(machine, instance, call.frame)


@method_models(_PATCH, "stop")
def stop(machine: Machine, instance: Instance, call: Call) -> Value:
    """`patcher.stop()`."""
    stop_patch(machine, instance, call.frame)
    return NONE


@method_models(_PATCH, "__call__")
def decorate_with_patch(machine: Machine, instance: Instance, call: Call) -> Value:
    """`@patch(...)`: something is another while the function runs, which is given the mock; or while the tests
    of a class run."""
    decorated = call.positional[0] if call.positional else UNKNOWN
    if isinstance(decorated, Function):
        _patch_function(machine, instance, decorated)
    elif isinstance(decorated, Class):
        for name, held in decorated.fields.items():
            if name.startswith("test") and isinstance(held, Function):
                _patch_function(machine, instance, held)
    return decorated


def _patch_function(machine: Machine, patcher: Instance, function: Function) -> None:
    known = function.attributes.get(PATCHED)
    patchers = known.items if isinstance(known, Sequence) else []
    machine.store.put(function.attributes, PATCHED, Sequence("tuple", [*patchers, patcher]))
