"""fastcore: what a constructor was given, stored under the names of its parameters (fastcore 1.7, basics.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import assign_attribute
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.values import NONE, Const, Instance, Value, is_none

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models(
    "fastcore.basics.store_attr", "fastcore.all.store_attr", "fastai.basics.store_attr", "fastai.torch_core.store_attr"
)
def store_attr(machine: Machine, call: Call) -> Value | None:
    """`store_attr(names=None, self=None, but="", ...)`: `self.x = x` for each parameter of the running function."""
    function = call.frame.function
    given = call.argument(1, "self") or call.frame.names.get("self")
    if function is None or not isinstance(given, Instance):
        return None
    names = _words(call.argument(0, "names"))
    left_out = _words(call.argument(2, "but")) or []
    if names is None:
        parameters = function.parameters
        names = [*parameters.positional[1:], *parameters.keyword]
    for name in names:
        value = call.frame.names.get(name)
        if value is not None and name not in left_out:
            assign_attribute(machine, given, name, value, call.node, call.frame)
    return NONE


def _words(value: Value | None) -> list[str] | None:
    """The names in a text with commas, or None where there is none."""
    if value is None or is_none(value) or not isinstance(value, Const) or not isinstance(value.value, str):
        return None
    return [word.strip() for word in value.value.split(",") if word.strip()]
