"""Calling a module: its forward and hooks, or the row of a class of `torch.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import METHODS, Call
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.module_state import HIDDEN
from devlint.analysis.domain.values import (
    POISON,
    SOME_RANK,
    UNKNOWN,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.models import parallel
from devlint.analysis.programs.handed import taken_method
from devlint.analysis.python.calls import invoke, untraced
from devlint.analysis.python.classes import modelled
from devlint.analysis.python.replacing import calls_elsewhere, forward_in_place
from devlint.analysis.pytorch.backward import wait_for_module
from devlint.analysis.pytorch.meeting import Part, meet, operands_in, tensors_in
from devlint.analysis.pytorch.modules import (
    CONTAINERS,
    builtin_path,
    class_name,
    device_of_module,
    in_order,
    registered,
)
from devlint.analysis.pytorch.opaque import misplaced
from devlint.analysis.pytorch.results import build, derived, row_result
from devlint.analysis.pytorch.rows import argument_node, demand_cpu
from devlint.analysis.signals import Crash
from devlint.analysis.state import SCRIPTED, TRACE, Trace
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row

WITH_KWARGS: Final = "hooks_with_kwargs"
"""Where a module keeps which of its hooks are given the keywords of a call."""


def call_module(machine: Machine, value: Instance, call: Call) -> Value:
    """`module(...)`: the user's forward with the state that the module has now, or the row of a built-in class."""
    module = value.module
    assert module is not None
    if machine.state.replaced and calls_elsewhere(machine, value.cls):
        new = forward_in_place(machine, value.cls)
        if new is None or machine.run.trace is not None or not _is_as_built(value):
            return UNKNOWN
        return invoke(machine, new, call, value, is_forward=True)
    if module.forward is not None and machine.run.trace is None and _is_as_built(value):
        return call_by_row(machine, value, module.forward, call)
    own = value.state.get(TRACE)
    if own is not None and machine.run.trace is not own:
        return run_traced(machine, own, lambda: call_module(machine, value, call))
    if own is None and machine.run.trace is not None and SCRIPTED in value.state:
        return untraced(machine, lambda: call_module(machine, value, call))
    for hook in value.state.get("forward_pre_hooks") or ():
        call = _run_pre_hook(machine, hook, value, call)
    result = _run_forward(machine, value, call)
    for hook in value.state.get("forward_hooks") or ():
        changed = _run_hook(machine, hook, [value, *_given(value, hook, call), result], call)
        if isinstance(changed, (Tensor, Sequence, Mapping)):
            result = changed
    if "backward_hooks" in value.state or "backward_pre_hooks" in value.state:
        wait_for_module(machine, value, call.positional, result)
    return result


_INTERCEPTING = frozenset(
    {TRACE, SCRIPTED, "inner"} | {f"{when}_hooks" for when in ("forward", "forward_pre", "backward", "backward_pre")}
)


def _is_as_built(value: Instance) -> bool:
    """Whether nothing was put before a module's own forward, after it or in its place."""
    return _INTERCEPTING.isdisjoint(value.state) and "forward" not in value.fields


def run_traced(machine: Machine, trace: Trace, run: Callable[[], Value]) -> Value:
    """Run what was traced, with the answers of its trace."""
    around, machine.run.trace = machine.run.trace, trace
    try:
        return run()
    finally:
        machine.run.trace = around


def _run_forward(machine: Machine, value: Instance, call: Call) -> Value:
    """The forward that was set on the module itself, else that of its class."""
    own = value.fields.get("forward")
    if own is None:
        return class_forward(machine, value, call)
    if isinstance(own, Bound) and isinstance(own.function, Function) and own.receiver is value:
        return invoke(machine, own.function, call, value, is_forward=True)
    return call_value(machine, own, call)


def class_forward(machine: Machine, value: Instance, call: Call) -> Value:
    """The forward of a module's class, without hooks."""
    found = find(value.cls, "forward")
    if found is not None and isinstance(found[0], Function):
        if machine.run.protocol and isinstance(value.cls, Class):
            if any(tensor.device is not None for given in call.values() for tensor in tensors_in(given)):
                machine.sighted.add(value.cls.node)
            if any(isinstance(given, Tensor) and given.device == "cpu" for given in call.positional):
                machine.ran.add(value.cls.node)
        return invoke(machine, found[0], call, value, is_forward=True)
    taken = taken_method(value.cls, "forward")
    if taken is not None:
        return _forward_taken(machine, taken, value, call)
    if value.state.get("inner") is not None:
        return parallel.call_wrapped(machine, value, call)
    answer = modelled(machine, value, "forward", call)
    return call_builtin(machine, value, call) if answer is None else answer


def _forward_taken(machine: Machine, taken: Function, value: Instance, call: Call) -> Value:
    """A forward that a decorator of a library has taken: nobody knows with what it is called, nor what comes of it."""
    invoke(machine, taken, Call([], {}, call.node, call.frame, open=True), value, is_forward=True)
    return UNKNOWN


def _run_pre_hook(machine: Machine, hook: Value, value: Instance, call: Call) -> Call:
    """The call that the forward gets behind a hook: one that is registered with keywords may change them, too."""
    given = _given(value, hook, call)
    changed = _run_hook(machine, hook, [value, *given], call)
    if isinstance(changed, Tensor):
        return call.with_arguments([changed], call.keywords)
    if not isinstance(changed, Sequence) or changed.open:
        return call
    if len(given) == 1:
        return call.with_arguments(list(changed.items), call.keywords)
    positional, keywords = changed.items if len(changed.items) == 2 else (UNKNOWN, UNKNOWN)
    if not isinstance(positional, Sequence) or not isinstance(keywords, Mapping) or positional.open or keywords.open:
        return call.with_arguments([Tensor(None) for _ in call.positional], dict.fromkeys(call.keywords, UNKNOWN))
    named = {name: item for name, item in keywords.items.items() if isinstance(name, str)}
    return call.with_arguments(list(positional.items), named)


def _given(value: Instance, hook: Value, call: Call) -> list[Value]:
    """What a hook is told of the arguments of a call."""
    given: list[Value] = [Sequence("tuple", list(call.positional))]
    if any(hook is one for one in value.state.get(WITH_KWARGS) or ()):
        given.append(Mapping(dict(call.keywords)))
    return given


def _run_hook(machine: Machine, hook: Value, arguments: list[Value], call: Call) -> Value:
    return call_value(machine, hook, call.with_arguments(arguments))


def call_builtin(machine: Machine, value: Instance, call: Call) -> Value:
    """Call a module of `torch.nn`: parameters against inputs, as its `.forward` row says."""
    module = value.module
    assert module is not None
    path = builtin_path(value)
    if path is None:
        own = module.row
        forward = table.lookup(f"{own.name}.forward") if own is not None and "no-parameters" in own.flags else None
        if forward is not None:
            return call_by_row(machine, value, forward, call)  # of another library: what it makes is where its input is
        return _call_opaque(machine, value, call) if HIDDEN in value.fields else UNKNOWN
    if path == "torch.nn.Sequential" and module.children is not None:
        if len(call.positional) > 1 and not call.open:
            raise Crash("TypeError")  # it takes one input
        result: Value = call.positional[0] if call.positional else UNKNOWN
        for child in in_order(value):
            result = call_value(machine, child, Call([result], {}, call.node, call.frame))
        if module.unsure and isinstance(result, Tensor) and result.rank:
            return derived(result, SOME_RANK)  # there are layers in between
        return result
    row = table.lookup(f"{path}.forward")
    if row is None or path in CONTAINERS:
        return _call_opaque(machine, value, call) if HIDDEN in value.fields else UNKNOWN
    return call_by_row(machine, value, row, call)


def _call_opaque(machine: Machine, value: Instance, call: Call) -> Value:
    """Call a module of another library: what its row demands must be where its parameters are, if all are together."""
    row = None if value.module is None else value.module.row
    forward = table.lookup(f"{row.base}.forward") if row is not None and row.base else None
    if row is None or forward is None:
        return UNKNOWN
    model = METHODS.get(row.base, {}).get("forward")
    if model is not None:
        return model(machine, value, call) or UNKNOWN
    if device_of_module(value) is None:
        apart = misplaced(value)
        if apart is not None:
            hidden, own, inside = apart
            name = class_name(value)
            parts = [
                Part(hidden, "strict", None, f"{name}.parameters()"),
                Part(own, "strict", None, f"{name}.{inside}"),
            ]
            meet(machine, parts, name, call.node, call.frame, forward.name)
            return Tensor(POISON)
        return row_result(machine, forward, None, {}, call)
    if any(isinstance(part, Instance) and part.state.get("inner") is not None for part in value.fields.values()):
        return row_result(machine, forward, None, {}, call)  # a DataParallel inside takes its input from anywhere
    return call_by_row(machine, value, forward, call)


def _is_read(parameter: str, bound: dict[str, Any]) -> bool:
    """Whether a mask of attention is surely read: one that is causal is not, unless there is one of padding, too."""
    padding = bound.get(f"{parameter.removesuffix('mask') or 'src_'}key_padding_mask")
    return isinstance(padding, Tensor)


def call_by_row(machine: Machine, value: Instance, row: Row, call: Call) -> Value:
    """Call a module as the row of its forward says: what is demanded against what it holds, then the result."""
    agreed = _agreed(machine, value, row, call)
    if agreed is not None:
        return row_result(machine, row, agreed, {**value.fields, row.parameters[0].name: call.positional[0]}, call)
    bound: dict[str, Any] = table.bind(row, call.positional, call.keywords)
    parts: list[Part] = []
    state: list[Part] = []
    name = class_name(value)
    for parameter, demand in row.demands:
        given = bound.get(parameter)
        if given is None:
            held = value.fields.get(parameter)
            if isinstance(held, Tensor):
                state.append(Part(held, demand, None, f"{name}.{parameter}", parameter))
            continue
        if isinstance(given, list):
            given = Sequence("tuple", given)
        where = argument_node(call, row, parameter)
        if demand == "cpu":
            demand_cpu(machine, row, parameter, given, where, call)
        elif demand == "mask":
            parts.append(Part(given, "strict" if _is_read(parameter, bound) else "any", where, parameter=parameter))
        elif demand not in ("any", "generator"):
            parts.append(Part(given, demand, where, parameter=parameter))
    if not state and row.effect != "transparent":
        held_tensors = [t for t, _, _ in registered(value)]
        if held_tensors and row.demands:
            what = f"{name}.parameters()" if HIDDEN in value.fields else f"{name}.weight"
            state.append(Part(held_tensors[0], "strict", None, what, "weight"))
    main, clashed = meet(machine, [*parts, *state], name, call.node, call.frame, row.name)
    if clashed:
        return _poisoned(row)
    if state and parts and isinstance(parts[0].value, Tensor):
        _note_served(machine, parts[0].value, state[0].value)
    if state and main is not None and main.device == "cpu" and machine.world.has_cuda:
        _note_computes(machine, value, call)
    for parameter in row.concerned:
        given = bound.get(parameter)
        if given is not None and not any(part.value is given for part in parts):
            parts.append(Part(Sequence("tuple", given) if isinstance(given, list) else given, "any"))
    first = next((t for part in parts for t in operands_in(part.value)), None)
    if first is not None and first.device == POISON:
        return _poisoned(row)
    if row.effect == "transparent":
        return call.positional[0] if call.positional else UNKNOWN
    if main is None:
        main = first
    if main is not None and first is not None and first.device is None:
        main = first if main is first else main
    return row_result(machine, row, main, {**value.fields, **bound}, call)


def _agreed(machine: Machine, value: Instance, row: Row, call: Call) -> Tensor | None:
    """The tensor whose device the result has, where a single argument is surely where the module's tensors are.

    This is the common case, and what `meet` would come to.
    """
    if not row.takes_one or len(call.positional) != 1 or call.keywords or call.open:
        return None
    given = call.positional[0]
    if not isinstance(given, Tensor) or given.size == 0 or not given.rank:
        return None
    device = given.device
    if device is None or device == POISON:
        return None
    held: Tensor | None = None
    for name in row.held:
        kept = value.fields.get(name)
        if isinstance(kept, Tensor):
            if kept.device != device:
                return None
            held = held or kept
    if held is None and row.demands and (value.fields or (value.module is not None and value.module.children)):
        held = next((tensor for tensor, _, _ in registered(value)), None)
        if held is not None and held.device != device:
            return None
    if held is None:
        return given
    if device == "cpu" and machine.world.has_cuda:
        _note_computes(machine, value, call)
    _note_served(machine, given, held)
    return held if given.assumed and not held.assumed else given


def _note_served(machine: Machine, given: Tensor, held: Value) -> None:
    """A module has taken a value where it is: that it is there is no fault of who passed it in."""
    if given.origin is not None and isinstance(held, Tensor) and held.device == given.device is not None:
        machine.run.served[given.origin] = machine.tick()


def _note_computes(machine: Machine, value: Instance, call: Call) -> None:
    """A module that runs on the CPU though there is a GPU; to build another module with it says nothing, nor does one
    of a library, which may have been put anywhere, nor a table of vectors, which may be too large for a GPU."""
    is_table = isinstance(value.cls, External) and value.cls.path in ("torch.nn.Embedding", "torch.nn.EmbeddingBag")
    if (
        not is_table
        and HIDDEN not in value.fields
        and not any(function.name == "__init__" for function in machine.run.stack)
    ):
        machine.testify("computes", call.frame)


def _poisoned(row: Row) -> Value:
    return build(row.result, Tensor(POISON), None) if row.result not in ("same", "unknown") else Tensor(POISON)
