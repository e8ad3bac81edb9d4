"""`weakref`: what is referred to is there as long as the program looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import UNKNOWN, External, Instance, Value
from devlint.analysis.python.mappings import build

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

REFERENCE: Final = "weakref.ref"
_TARGET: Final = "target"


@models("weakref.ref", "weakref.WeakMethod", "weakref.ReferenceType")
def reference(machine: Machine, call: Call) -> Value:
    """`weakref.ref(x)`."""
    made = Instance(External(REFERENCE), machine.site(call.node, call.frame))
    made.fields[_TARGET] = call.positional[0] if call.positional else UNKNOWN
    return made


@method_models(REFERENCE, "__call__")
def referent(machine: Machine, value: Instance, call: Call) -> Value:
    """`reference()`."""
    return value.fields.get(_TARGET, UNKNOWN)


@models("weakref.proxy")
def proxy(machine: Machine, call: Call) -> Value:
    """`weakref.proxy(x)`: used as the object itself."""
    return call.positional[0] if call.positional else UNKNOWN


@models("weakref.WeakValueDictionary", "weakref.WeakKeyDictionary")
def dictionary(machine: Machine, call: Call) -> Value:
    """`weakref.WeakValueDictionary()`."""
    return build(machine, call)
