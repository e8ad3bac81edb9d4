"""functools and operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import attribute, binary, call_method, call_value, item, truth
from devlint.analysis.dispatch import BINDERS, INSTANCE_ATTRIBUTES, Call, method_models, models
from devlint.analysis.domain.ancestry import is_subclass
from devlint.analysis.domain.carrying import PARTIAL
from devlint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Value,
    const,
)
from devlint.analysis.machine import text_of
from devlint.analysis.python.classes import bind, is_instance
from devlint.analysis.python.iterables import items_of
from devlint.analysis.python.remembering import remember_calls
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

PARTIAL_METHOD: Final = "functools.partialmethod"


@models(PARTIAL)
def partial(machine: Machine, call: Call) -> Value | None:
    """`functools.partial(f, *args, **kwargs)`."""
    return _partial(machine, call, PARTIAL)


@models(PARTIAL_METHOD)
def partial_method(machine: Machine, call: Call) -> Value | None:
    """`functools.partialmethod(f, *args, **kwargs)`."""
    return _partial(machine, call, PARTIAL_METHOD)


def _partial(machine: Machine, call: Call, path: str) -> Value:
    if not call.positional:
        return UNKNOWN
    made = Instance(External(path), machine.site(call.node, call.frame))
    made.state["function"] = call.positional[0]
    made.state["args"] = list(call.positional[1:])
    made.state["keywords"] = dict(call.keywords)
    made.state["open"] = call.open
    return made


@method_models(PARTIAL, "__call__")
def call_partial(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`partial(...)(...)`."""
    positional = [*instance.state["args"], *call.positional]
    keywords = {**instance.state["keywords"], **call.keywords}
    is_open = call.open or instance.state["open"]
    inner = Call(positional, keywords, call.node, call.frame, is_open, call.unused)
    return call_value(machine, instance.state["function"], inner)


@method_models(PARTIAL_METHOD, "__call__")
def call_partial_method(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """A `partialmethod` read through an instance: the receiver comes before the arguments that are kept."""
    if not call.positional:
        return UNKNOWN
    receiver, *rest = call.positional
    return call_partial(machine, _bound_to(machine, instance, receiver, call), call.with_arguments(rest, call.keywords))


def _bound_to(machine: Machine, instance: Instance, receiver: Value, call: Call) -> Instance:
    """The same partial of the function as it is bound to the receiver."""
    function = bind(machine, instance.state["function"], receiver, call.node, call.frame)
    bound = Instance(External(PARTIAL), instance.site)
    bound.state.update(instance.state)
    bound.state["function"] = UNKNOWN if function is None else function
    return bound


def _partial_attribute(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    function: Value = instance.state["function"]
    if name == "func":
        return function
    if name == "args":
        return Sequence("tuple", list(instance.state["args"]))
    return Mapping(dict(instance.state["keywords"])) if name == "keywords" else None


INSTANCE_ATTRIBUTES[PARTIAL] = _partial_attribute
BINDERS.add(PARTIAL_METHOD)


@models("functools.lru_cache", "functools.cache")
def cached(machine: Machine, call: Call) -> Value | None:
    """`lru_cache(f)` and `lru_cache(maxsize=n)`; an object that is called through one is no part of a module that holds
    it so."""
    given = call.positional[0] if len(call.positional) == 1 else None
    if isinstance(given, Function):
        return remember_calls(machine, given)
    return _partial(machine, call, PARTIAL) if isinstance(given, (Instance, Bound)) else External("functools.cache")


@models("functools.cached_property")
def cached_property(machine: Machine, call: Call) -> Value | None:
    """`cached_property(f)`."""
    function = call.positional[0] if call.positional else UNKNOWN
    if isinstance(function, Function):
        machine.store.set(function, "kind", "cached_property")
    return function


@models("functools.wraps")
def wraps(machine: Machine, call: Call) -> Value | None:
    """`wraps(f)`: the decorator that changes nothing but names."""
    return External("functools.wraps")


@models("functools.update_wrapper")
def update_wrapper(machine: Machine, call: Call) -> Value | None:
    """`update_wrapper(wrapper, wrapped)`."""
    return call.positional[0] if call.positional else UNKNOWN


@models("types.MethodType")
def method_type(machine: Machine, call: Call) -> Value | None:
    """`MethodType(f, receiver)`, `f.__get__(receiver, cls)`: a bound method."""
    function, receiver = call.argument(0, "function"), call.argument(1, "instance")
    known = isinstance(function, (Function, Instance)) and isinstance(receiver, Instance)
    return Bound(function, receiver) if known and function is not None and receiver is not None else UNKNOWN


@models("functools.reduce")
def reduce(machine: Machine, call: Call) -> Value | None:
    """`reduce(f, xs, start)`."""
    if len(call.positional) < 2:
        return UNKNOWN
    found = items_of(machine, call.positional[1], call)
    items = [*call.positional[2:3], *found.items]
    if not items:
        raise Crash("TypeError")
    result = items[0]
    for one in items[1:]:
        result = call_value(machine, call.positional[0], call.with_arguments([result, one]))
    return UNKNOWN if found.open and isinstance(result, Const) else result


@models("functools.cmp_to_key", "functools.total_ordering")
def same(machine: Machine, call: Call) -> Value | None:
    """Wrappers that do not matter here."""
    return call.positional[0] if call.positional else UNKNOWN


_SYMBOLS: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
}


def _operator(symbol: str) -> Callable[[Machine, Call], Value | None]:
    def run(machine: Machine, call: Call) -> Value | None:
        if len(call.positional) != 2:
            return UNKNOWN
        return binary(machine, symbol, call.positional[0], call.positional[1], call.node, call.frame)

    return run


for _name, _symbol in _SYMBOLS.items():
    models(f"operator.{_name}", f"_operator.{_name}")(_operator(_symbol))


def _getter(path: str) -> Callable[[Machine, Call], Value | None]:
    def make(machine: Machine, call: Call) -> Value | None:
        made = Instance(External(path), machine.site(call.node, call.frame))
        made.state["keys"] = list(call.positional)
        return made

    return make


for _name in ("operator.itemgetter", "operator.attrgetter"):
    models(_name)(_getter(_name))


@method_models("operator.itemgetter", "__call__")
def call_itemgetter(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`itemgetter(key)(x)`."""
    keys: list[Value] = instance.state["keys"]
    if not call.positional:
        return UNKNOWN
    found = [item(machine, call.positional[0], key, call.node, call.frame) for key in keys]
    return found[0] if len(found) == 1 else Sequence("tuple", found)


@method_models("operator.attrgetter", "__call__")
def call_attrgetter(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`attrgetter("a.b")(x)`, `attrgetter("a", "b")(x)`."""
    if not call.positional:
        return UNKNOWN
    found: list[Value] = []
    for name in map(text_of, instance.state["keys"]):
        if name is None:
            return UNKNOWN
        value = call.positional[0]
        for part in name.split("."):
            value = attribute(machine, value, part, call.node, call.frame)
        found.append(value)
    return found[0] if len(found) == 1 else Sequence("tuple", found)


METHOD_CALLER: Final = "operator.methodcaller"


@models(METHOD_CALLER)
def method_caller(machine: Machine, call: Call) -> Value | None:
    """`methodcaller("name", *args, **kwargs)`."""
    name = text_of(call.positional[0]) if call.positional else None
    if name is None:
        return UNKNOWN
    made = Instance(External(METHOD_CALLER), machine.site(call.node, call.frame))
    made.state.update({"name": name, "args": list(call.positional[1:]), "keywords": dict(call.keywords)})
    return made


@method_models(METHOD_CALLER, "__call__")
def call_method_caller(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`methodcaller("name", *args)(x)` is `x.name(*args)`."""
    if not call.positional:
        return UNKNOWN
    state = instance.state
    inner = Call(list(state["args"]), dict(state["keywords"]), call.node, call.frame, call.open)
    return call_method(machine, call.positional[0], state["name"], inner)


DISPATCH: Final = "functools.singledispatch"


DISPATCH_METHOD: Final = "functools.singledispatchmethod"


BINDERS.add(DISPATCH_METHOD)


@models(DISPATCH)
def single_dispatch(machine: Machine, call: Call) -> Value | None:
    """`@singledispatch`: a function with one body for each class of its first argument."""
    return _dispatch(machine, call, DISPATCH)


@models(DISPATCH_METHOD)
def single_dispatch_method(machine: Machine, call: Call) -> Value | None:
    """`@singledispatchmethod`: the same for a method, by its first argument after the receiver."""
    return _dispatch(machine, call, DISPATCH_METHOD)


def _dispatch(machine: Machine, call: Call, path: str) -> Value:
    if not call.positional or not isinstance(call.positional[0], Function):
        return UNKNOWN
    made = Instance(External(path), machine.site(call.node, call.frame))
    made.state["bodies"] = [(External("builtins.object"), call.positional[0])]
    return made


@method_models(DISPATCH, "register")
@method_models(DISPATCH_METHOD, "register")
def register_body(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`f.register(cls, body)`, `@f.register(cls)` and `@f.register` with an annotation."""
    first = call.argument(0, "cls")
    body = call.argument(1, "func")
    if first is None:
        return UNKNOWN
    if body is None and not isinstance(first, Function):
        return _registration(instance, first, machine.site(call.node, call.frame))
    if body is None:
        body, first = first, _annotated_class(machine, first)
    bodies = [*instance.state["bodies"], (first, body)]
    machine.store.put(instance.state, "bodies", bodies)
    return body


REGISTRATION: Final = "functools.singledispatch.register"


def _registration(dispatch: Instance, cls: Value, site: Site) -> Instance:
    """What `f.register(cls)` gives: a decorator."""
    made = Instance(External(REGISTRATION), site)
    made.state.update({"dispatch": dispatch, "cls": cls})
    return made


@method_models(REGISTRATION, "__call__")
def register_decorated(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`@f.register(cls)` on a body."""
    state = instance.state
    return register_body(machine, state["dispatch"], call.with_arguments([state["cls"], *call.positional]))


def _annotated_class(machine: Machine, body: Value) -> Value:
    """The class that the first annotated parameter of a body is annotated with."""
    if not isinstance(body, Function):
        return UNKNOWN
    parameters = body.node.parameters
    for name in parameters.positional:
        if name in parameters.annotations:
            return machine.evaluate(parameters.annotations[name], body.frame)
    return UNKNOWN


@method_models(DISPATCH, "__call__")
def call_dispatched(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The body for the class of the first argument; nothing is known where that class isn't."""
    body = _body_for(machine, instance, call.positional[0]) if call.positional else None
    return UNKNOWN if body is None else call_value(machine, body, call)


@method_models(DISPATCH_METHOD, "__call__")
def call_dispatched_method(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """A `singledispatchmethod` read through an instance: the receiver, then the argument whose class decides."""
    if len(call.positional) < 2:
        return UNKNOWN
    receiver, *rest = call.positional
    body = _body_for(machine, instance, rest[0])
    bound = None if body is None else bind(machine, body, receiver, call.node, call.frame)
    return UNKNOWN if bound is None else call_value(machine, bound, call.with_arguments(rest, call.keywords))


def _body_for(machine: Machine, instance: Instance, argument: Value) -> Value | None:
    """The body of a dispatched function for an argument; None where its class is not known."""
    (cls, chosen), *others = instance.state["bodies"]
    for other, body in others:
        answer = is_instance(machine, argument, other)
        if answer is None:
            return None
        if answer and is_subclass(cls, other) is not True:
            cls, chosen = other, body
    found: Value = chosen
    return found


@models("operator.truth")
def truth_value(machine: Machine, call: Call) -> Value | None:
    """`operator.truth(x)`."""
    answer = truth(machine, call.positional[0]) if call.positional else None
    return None if answer is None else const(answer)
