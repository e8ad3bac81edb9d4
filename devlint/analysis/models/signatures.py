"""What `inspect` says of the parameters of a function of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, VALUES, Call, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Value,
    const,
)
from devlint.analysis.python.classes import ELSEWHERE
from devlint.syntax import ir
from devlint.syntax.walk import dotted

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

SIGNATURE: Final = "inspect.Signature"
PARAMETER: Final = "inspect.Parameter"
SPECIFICATION: Final = "inspect.FullArgSpec"
KINDS: Final = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
"""The kinds of parameters; they are numbers in this order."""
EMPTY: Final = Instance(External("inspect._empty"))
"""What a parameter without a default has for one."""


@models("inspect.signature")
def signature(machine: Machine, call: Call) -> Value | None:
    """`inspect.signature(f)`; nothing is known of what the program doesn't define."""
    found = _function(call.positional[0]) if call.positional else None
    if found is None:
        return UNKNOWN
    function, skipped = found
    made = Instance(External(SIGNATURE), machine.site(call.node, call.frame))
    made.state["parameters"] = {name: _parameter(function, name, kind) for name, kind in _kinds(function)[skipped:]}
    return made


@models("inspect.getfullargspec", "inspect.getargspec")
def specification(machine: Machine, call: Call) -> Value | None:
    """`inspect.getfullargspec(f)`: of what is called itself, and the receiver of a method counts."""
    found = _function(call.positional[0]) if call.positional else None
    if found is None or any(dotted(decorator) not in _METHODS for decorator in found[0].node.decorators):
        return UNKNOWN
    made = Instance(External(SPECIFICATION), machine.site(call.node, call.frame))
    made.state["node"] = found[0].node
    return made


_METHODS: Final = ("staticmethod", "classmethod", "abstractmethod", "abc.abstractmethod")


def _function(value: Value) -> tuple[Function, int] | None:
    """The function that a value calls, and how many of its first parameters are given already; None: not known."""
    if isinstance(value, Function):
        return None if _wraps(value) or value.kind in ("property", "cached_property") else (value, 0)
    if isinstance(value, Bound):
        return (value.function, 1) if isinstance(value.function, Function) and not _wraps(value.function) else None
    name = "__init__" if isinstance(value, Class) else "__call__"
    own = value if isinstance(value, Class) else value.cls if isinstance(value, Instance) else None
    if not isinstance(own, Class) or own.dataclass_fields is not None or own.properties.get(ELSEWHERE):
        return None
    if own is value and find(own, "__new__") is not None:
        return None
    found = find(own, name)
    if found is None or not isinstance(found[0], Function) or found[0].kind or _wraps(found[0]):
        return None
    return found[0], 1


def _wraps(function: Function) -> bool:
    """Whether a function stands for another, whose parameters `inspect` shows instead."""
    return not function.attributes.keys().isdisjoint(("__wrapped__", "__signature__", ANY_NAME)) or any(
        dotted(decorator.function if isinstance(decorator, ir.Call) else decorator).endswith("wraps")
        for decorator in function.node.decorators
    )


def _kinds(function: Function) -> list[tuple[str, str]]:
    """The parameters of a function in order, each with its kind."""
    parameters = function.node.parameters
    kinds = [
        (name, "POSITIONAL_ONLY" if index < parameters.only else "POSITIONAL_OR_KEYWORD")
        for index, name in enumerate(parameters.positional)
    ]
    if parameters.variadic is not None:
        kinds.append((parameters.variadic, "VAR_POSITIONAL"))
    kinds.extend((name, "KEYWORD_ONLY") for name in parameters.keyword)
    if parameters.variadic_keyword is not None:
        kinds.append((parameters.variadic_keyword, "VAR_KEYWORD"))
    return kinds


def _parameter(function: Function, name: str, kind: str) -> Instance:
    made = Instance(External(PARAMETER))
    made.state.update({"name": const(name), "kind": const(KINDS.index(kind))})
    made.state["default"] = function.defaults.get(name, EMPTY)
    return made


def _of_signature(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """`signature.parameters`: the names in order, each with its parameter."""
    return Mapping(dict(instance.state["parameters"])) if name == "parameters" else UNKNOWN


def _of_parameter(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """`parameter.name`, `.default`, `.kind`, and the names of the kinds."""
    if name in KINDS or name == "empty":
        return EMPTY if name == "empty" else const(KINDS.index(name))
    held: Value = instance.state.get(name, UNKNOWN)
    return held


def _of_specification(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """`spec.args`, `.kwonlyargs`, `.varargs` and `.varkw`."""
    parameters = instance.state["node"].parameters
    if name in ("args", "kwonlyargs"):
        names = parameters.positional if name == "args" else parameters.keyword
        return Sequence("list", [const(one) for one in names])
    if name in ("varargs", "varkw", "keywords"):
        return const(parameters.variadic if name == "varargs" else parameters.variadic_keyword)
    return UNKNOWN


def _named(value: Value) -> Callable[[Machine], Value]:
    return lambda machine: value


for _number, _kind in enumerate(KINDS):
    VALUES[f"{PARAMETER}.{_kind}"] = VALUES[f"inspect._ParameterKind.{_kind}"] = _named(const(_number))
for _path in (PARAMETER, SIGNATURE):
    VALUES[f"{_path}.empty"] = _named(EMPTY)
VALUES["inspect._empty"] = _named(EMPTY)
INSTANCE_ATTRIBUTES[SIGNATURE] = _of_signature
INSTANCE_ATTRIBUTES[PARAMETER] = _of_parameter
INSTANCE_ATTRIBUTES[SPECIFICATION] = _of_specification
