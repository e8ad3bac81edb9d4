"""pytest's `monkeypatch`: what a test puts in the place of what its project, or torch, defines.

https://docs.pytest.org/en/stable/how-to/monkeypatch.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import assign_attribute, path_of
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.machine import Crash, text_of
from devlint.analysis.values import NONE, UNKNOWN, External, Instance, Value

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

_PATCHER: Final = "pytest.MonkeyPatch"
_NAME: Final = "monkeypatch"


def fixtures(function: ir.Function) -> dict[str, Value]:
    """What pytest gives a test by the names of its parameters, as far as it is known."""
    is_test = function.name.startswith("test") and _NAME in function.parameters.positional
    return {_NAME: Instance(External(_PATCHER))} if is_test else {}


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
