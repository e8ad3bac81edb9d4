"""Calls: what is called, how arguments are bound, and the bounds that keep the cost linear."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from devlint.analysis.access import ANY_NAME, call_value, has_attribute, truth
from devlint.analysis.dispatch import ASSIGN_ATTRIBUTE, ATTRIBUTE, CALL, METHOD, MODELS, VALUES, Call, on
from devlint.analysis.domain.plain import missing
from devlint.analysis.domain.values import (
    CUT,
    NONE,
    UNKNOWN,
    Answer,
    Array,
    Bound,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    is_none,
)
from devlint.analysis.flow.option_names import counts_gpus
from devlint.analysis.frames import Frame, Locals
from devlint.analysis.models import library
from devlint.analysis.programs.hearsay import heed
from devlint.analysis.python.binding import annotated
from devlint.analysis.python.call_counts import MAX_DEPTH_OF_PHASES, begin_phase, count_call, count_steps
from devlint.analysis.python.cutting import cut
from devlint.analysis.python.remembering import REMEMBERS, recall
from devlint.analysis.python.replacing import PATCHED, run_patched
from devlint.analysis.pytorch.loads import give_weights
from devlint.analysis.running import Activation
from devlint.analysis.signals import RAISE, Crash
from devlint.analysis.state import GRADIENTS, SCRIPTED
from devlint.semantics import libraries
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

MAX_DEPTH = 24
MAX_SAME_ON_STACK = 3
MAX_DESCENT = 9


@on(CALL, Function)
def call_function(machine: Machine, function: Function, arguments: Call) -> Value:
    """A user function without a receiver."""
    return invoke(machine, function, arguments, None)


@on(CALL, Bound)
def call_bound(machine: Machine, bound: Bound, arguments: Call) -> Value:
    """A user function with its receiver."""
    if isinstance(bound.function, Function):
        return invoke(machine, bound.function, arguments, bound.receiver)
    positional = [bound.receiver, *arguments.positional]
    inner = Call(positional, arguments.keywords, arguments.node, arguments.frame, arguments.open, arguments.unused)
    return call_value(machine, bound.function, inner)


def invoke(
    machine: Machine, function: Function, arguments: Call, receiver: Value | None, is_forward: bool = False
) -> Value:
    """Run a user function with these arguments.

    Bounded: depth 24, the same function three times on the stack (nine times on the way down a structure or a count),
    6 distinct contexts of a function in one phase of a run (more where they took 400 steps or an eighth of the run's
    budget at most together), 500 steps in other files than the one that is entered by protocol; past that the result is
    CUT. A call in a context that was seen with an unchanged heap is answered from memory.
    """
    home = machine.run.home
    if home is not None and arguments.frame.namespace.path == home and function.frame.namespace.path != home:
        return heed(machine, receiver, lambda: _invoke(machine, function, arguments, receiver, is_forward))
    return _invoke(machine, function, arguments, receiver, is_forward)


def _invoke(machine: Machine, function: Function, arguments: Call, receiver: Value | None, is_forward: bool) -> Value:
    if function.attributes:
        if machine.run.trace is not None and SCRIPTED in function.attributes:
            return untraced(machine, lambda: invoke(machine, function, arguments, receiver, is_forward))
        if REMEMBERS in function.attributes:
            compute = partial(_run_decorated, machine, function, arguments, receiver)
            return recall(machine, function, arguments, receiver, compute)
        return _run_decorated(machine, function, arguments, receiver, is_forward)
    return _run(machine, function, arguments, receiver, is_forward)


def _run_decorated(
    machine: Machine, function: Function, arguments: Call, receiver: Value | None, is_forward: bool = False
) -> Value:
    """Run a user function in the gradient mode that it is decorated with, or with what is patched."""
    if PATCHED in function.attributes:
        run = partial(_run, machine, function, receiver=receiver, is_forward=is_forward)
        return run_patched(machine, function, arguments, run)
    if GRADIENTS not in function.attributes:
        return _run(machine, function, arguments, receiver, is_forward)
    before = machine.state.makes_leaves
    machine.store.turn(machine.state, "makes_leaves", truth(machine, function.attributes[GRADIENTS]) is not True)
    try:
        return _run(machine, function, arguments, receiver, is_forward)
    finally:
        machine.store.turn(machine.state, "makes_leaves", before)


def _run(
    machine: Machine, function: Function, arguments: Call, receiver: Value | None, is_forward: bool = False
) -> Value:
    """Run a user function with these arguments, or answer from memory."""
    node = function.node
    machine.visited[node] = None
    path = function.frame.namespace.path
    machine.entry.touched.add(path)
    if path == machine.run.home:
        machine.entry.own.add(node)
    if machine.run.stack:
        machine.entry.called.add(node)
    again = machine.run.stack.count(node)
    descends = again > 0 and _descends(machine, node, arguments, receiver)
    if len(machine.run.stack) >= MAX_DEPTH or again >= (MAX_DESCENT if descends else MAX_SAME_ON_STACK):
        return cut(machine, "depth", function, arguments, receiver)
    key = _context(machine, function, arguments, receiver)
    hit = machine.run.memo.get(key) if key is not None else None
    if hit is not None:
        return _remembered(machine, hit)
    bound = count_call(machine, function)
    if bound:
        return cut(machine, bound, function, arguments, receiver)
    names = bind_parameters(machine, function, arguments, receiver)
    epoch, cuts = machine.store.epoch, machine.run.cuts
    frame = _frame(machine, function, names, receiver)
    logged = frame.is_manager and machine.store.open()
    try:
        signal = _run_body(machine, frame, Activation(frame.tick, arguments, frame, is_forward, receiver), descends)
        for choice in frame.settled:
            machine.store.remove(machine.run.settled, choice)
        result = _result(machine, function, frame, node.body, signal)
        if cuts != machine.run.cuts and isinstance(result, Scalar) and result.kind == "bool":
            result = CUT
        if isinstance(result, (Const, DeviceValue, Answer)) and not is_none(result):
            machine.hand_on(path, arguments.frame)
    finally:
        if logged:
            machine.store.close()
    if key is not None and epoch == machine.store.epoch:
        # Beside what it gave, and whether it asked for CUDA, what the key is made of: no other may get its identity.
        machine.run.memo[key] = (result, "availability" in machine.entry.consulted, arguments, function, receiver)
    return result


def _remembered(machine: Machine, known: tuple[Any, ...]) -> Value:
    """What the same call gave before, which asked what it asked then."""
    result: Value = known[0]
    asked: bool = known[1]
    machine.run.cuts += result is CUT
    if asked:
        machine.entry.consulted.add("availability")
    return result


def _frame(machine: Machine, function: Function, names: dict[str, Value], receiver: Value | None) -> Frame:
    """The activation of a function whose parameters are bound."""
    node = function.node
    frame = Frame(names, function.frame, function.frame.namespace, machine.tick())
    frame.function = node
    frame.owner = function.owner
    frame.receiver = receiver
    frame.globals = node.body.globals
    frame.nonlocals = node.body.nonlocals
    frame.is_manager = function.kind == "contextmanager"
    if node not in machine.run.stack:
        machine.run.latest[node] = frame.tick
    return frame


def _run_body(machine: Machine, frame: Frame, activation: Activation, descends: bool) -> Any:
    """Run the statements of a function; returns how they ended. Its steps count for it, and, if it is the first of
    another file than the entry's, for what other files may take."""
    node = frame.function
    assert node is not None
    leaves = machine.run.home is not None and machine.run.left_at is None and frame.namespace.path != machine.run.home
    if leaves:
        machine.run.left_at = machine.run.steps
    began_at, descended = machine.run.steps, machine.run.contexts[node][2]
    depth = len(machine.run.stack), len(machine.run.activations)
    machine.run.stack.append(node)
    machine.run.activations.append(activation)
    guards, contexts = machine.run.guards, machine.run.contexts
    if depth[0] < MAX_DEPTH_OF_PHASES and not machine.run.protocol:
        begin_phase(machine)
    try:
        return machine.block(node.body.statements, frame)
    finally:
        del machine.run.stack[depth[0] :], machine.run.activations[depth[1] :]
        machine.run.guards, machine.run.contexts = guards, contexts
        if leaves and machine.run.left_at is not None:
            machine.run.abroad += machine.run.steps - machine.run.left_at
            machine.run.left_at = None
        count_steps(machine, node, machine.run.steps - began_at, descended, descends)


def _descends(machine: Machine, node: ir.Function, arguments: Call, receiver: Value | None) -> bool:
    """Whether a function calls itself on a part of what it was given, or on another number: `build(depth - 1)`."""
    outer = next((active for active in reversed(machine.run.activations) if active.frame.function is node), None)
    if outer is None:
        return False
    if _counts(outer.call.positional, arguments.positional) or _counts(
        outer.call.keywords.values(), [arguments.keywords.get(name, NONE) for name in outer.call.keywords]
    ):
        return True
    whole = (outer.receiver, *outer.call.positional, *outer.call.keywords.values())
    parts = {_key(part) for value in whole for part in _parts(value) if part.__class__ is not Unknown}
    given = (receiver, *arguments.positional, *arguments.keywords.values())
    return bool(parts) and any(_key(value) in parts for value in given if value is not None)


def _counts(before: Iterable[Value], now: Iterable[Value]) -> bool:
    """Whether an argument is a known number, and was another one in the call around."""
    return any(
        isinstance(old, Const)
        and isinstance(new, Const)
        and old.value.__class__ is int
        and new.value.__class__ is int
        and old.value != new.value
        for old, new in zip(before, now, strict=False)
    )


def _parts(value: Value | None) -> Iterable[Value]:
    """What a container, an instance or a module holds."""
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Mapping):
        return value.items.values()
    if isinstance(value, Instance):
        return [*value.fields.values(), *(value.module.children or () if value.module is not None else ())]
    return ()


def untraced(machine: Machine, run: Callable[[], Value]) -> Value:
    """Run what a trace only calls."""
    trace, machine.run.trace = machine.run.trace, None
    try:
        return run()
    finally:
        machine.run.trace = trace


def _result(machine: Machine, function: Function, frame: Frame, body: ir.Body, signal: Any) -> Value:
    if body.is_generator:
        if function.kind == "contextmanager":
            manager = Instance(External("contextlib.AbstractContextManager"))
            manager.state["value"] = frame.yields[0] if frame.yields else UNKNOWN
            if frame.resumes_at is not None:
                manager.state["afterwards"] = machine.store.rollback(frame.resumes_at)
            return manager
        made = Sequence("generator", list(frame.yields or []), True)
        if frame.returns is None and signal is not RAISE:
            made.result = NONE if signal is None or signal.value is None else signal.value
        return made
    if signal is RAISE:
        if frame.returns is None:
            raise Crash
        return frame.returns
    value = NONE if signal is None or signal.value is None else signal.value
    if frame.returns is None:
        return value
    before, machine.loss.lost = machine.loss.lost, False
    machine.loss.counts_gpus = any(counts_gpus(key) for key, _ in frame.return_keys)
    joined = (machine.loss.without_bounds if frame.returns_in_loop else machine.loss.values)(frame.returns, value)
    machine.loss.counts_gpus = False
    if machine.loss.lost or isinstance(value, (Tensor, DeviceValue, Instance)):
        for key, choice in frame.return_keys:
            if machine.loss.lost and choice is not None:
                machine.run.promoted.setdefault(key, choice)
    machine.loss.lost = before or machine.loss.lost
    return joined


def bind_parameters(machine: Machine, function: Function, arguments: Call, receiver: Value | None) -> dict[str, Value]:
    """Bind arguments to parameters; what is not known to be given is its default or Unknown.

    Raises:
        Crash: the call, as it is written, doesn't fit the function.
    """
    parameters = function.node.parameters
    positional = arguments.positional if receiver is None else [receiver, *arguments.positional]
    keywords = arguments.keywords
    names = Locals()
    count = len(positional)
    misfits = count > len(parameters.positional) and parameters.variadic is None
    for index, name in enumerate(parameters.positional):
        if index < count:
            names[name] = positional[index]
        elif name in keywords:
            names[name] = keywords[name]
        elif name in function.defaults and not arguments.open:
            names[name] = function.defaults[name]
        else:
            misfits = True
            names[name] = _unknown_parameter(machine, function, name, arguments)
    if parameters.variadic is not None:
        names[parameters.variadic] = Sequence("tuple", positional[len(parameters.positional) :], arguments.open)
    for name in parameters.keyword:
        if name in keywords:
            names[name] = keywords[name]
        elif name in function.defaults and not arguments.open:
            names[name] = function.defaults[name]
        else:
            misfits = True
            names[name] = _unknown_parameter(machine, function, name, arguments)
    if parameters.variadic_keyword is not None:
        known = {*parameters.positional[parameters.only :], *parameters.keyword}
        extra: dict[Any, Value] = {name: value for name, value in keywords.items() if name not in known}
        names[parameters.variadic_keyword] = Mapping(extra, None, arguments.open)
    elif keywords:
        misfits = misfits or not keywords.keys() <= names.keys()
    if keywords and any(name in keywords for name in parameters.positional[parameters.only : count]):
        misfits = True  # given twice
    if misfits and not arguments.open and _is_written_so(function, arguments):
        raise Crash
    if parameters.annotations:
        for name, annotation in parameters.annotations.items():
            value = names.get(name)
            if value.__class__ is Unknown and isinstance(annotation, (ir.Name, ir.Attribute, ir.Const)):
                names[name] = annotated(machine, annotation, function.frame, value)
    return names


def _is_written_so(function: Function, arguments: Call) -> bool:
    """Whether the arguments are those of a call of the function itself in the source; nothing stands in between."""
    call, node = arguments.node, function.node
    if not isinstance(call, ir.Call) or any(dotted(decorator) not in _PLAIN for decorator in node.decorators):
        return False
    name = call.function.name if isinstance(call.function, ir.Attribute) else getattr(call.function, "id", "")
    return (
        node.name in (name, "__init__", "__call__", "forward")
        and len(call.args) == len(arguments.positional)
        and len(call.keywords) == len(arguments.keywords)
        and not any(isinstance(argument, ir.Starred) for argument in call.args)
    )


_PLAIN = ("staticmethod", "classmethod", "abstractmethod", "override", "torch.jit.export")


def _unknown_parameter(machine: Machine, function: Function, name: str, arguments: Call) -> Value:
    if machine.run.protocol and arguments.open:
        return Unknown(name, name.lower() in _FLAGS or function.defaults.get(name).__class__ is Const)
    return UNKNOWN


_FLAGS = frozenset(
    "args opt opts cfg config device use_gpu use_cuda cuda gpu gpus use_gpus hparams hps conf flags".split()
)


def _context(machine: Machine, function: Function, arguments: Call, receiver: Value | None) -> Any:
    """What the result of a call depends on, as far as it can be compared; None where it can't."""
    if arguments.open or (machine.run.trace is not None and machine.run.trace.recording):
        return None
    parts: list[Any] = [
        function.node,
        id(function.defaults) if function.defaults else id(function.frame),
        machine.store.epoch,
        machine.run.trying,
        machine.run.telling,
        machine.run.quiet,
        len(machine.run.path),
    ]
    state = machine.state
    parts += [id(state.default_device), id(state.default_type), state.current_device, id(machine.run.worker)]
    parts.append(state.makes_leaves)
    parts += [id(machine.run.trace), *machine.run.within.items()]
    if receiver is not None:
        parts.append(_key(receiver))
    parts += [_key(value) for value in arguments.positional]
    if arguments.keywords:
        parts += [(name, _key(value)) for name, value in arguments.keywords.items()]
    return tuple(parts)


def _key(value: Value) -> Any:
    kind = value.__class__
    if kind is Const:
        content = value.value  # type: ignore[attr-defined]
        return (content.__class__, content) if content.__class__ is not bytes else id(value)
    if kind is Unknown:
        path: str | None = value.path  # type: ignore[attr-defined]
        return (Unknown, path) if path or value is UNKNOWN else id(value)  # others without a name stand for something
    if kind is Scalar:
        return (Scalar, value.low, value.high, value.kind, value.among, value.numbers)  # type: ignore[attr-defined]
    if kind is Array:
        source = value.source  # type: ignore[attr-defined]
        return (Array, value.rank, value.may_be_number, source and id(source))  # type: ignore[attr-defined]
    return id(value)


# -- external names


@on(CALL, External)
def call_external(machine: Machine, function: External, arguments: Call) -> Value:
    """A name outside the project: a hand-written model, a table row, or nothing known."""
    path = libraries.canonical(function.path)
    if machine.run.loads:
        give_weights(machine, path.rpartition(".")[2], arguments)
    model = MODELS.get(path)
    if model is not None:
        answer = model(machine, arguments)
        if answer is not None:
            return answer
    return library.call(machine, path, arguments, function.site)


@on(ATTRIBUTE, External)
def external_attribute(machine: Machine, value: External, name: str, node: ir.Node, frame: Frame) -> Value:
    """`torch.name`."""
    path = libraries.canonical(f"{value.path}.{name}")
    if machine.state.replaced and path in machine.state.replaced:
        return machine.state.replaced[path]
    makes = VALUES.get(path)
    if makes is not None:
        return makes(machine)
    if path.endswith("Tensor") and path.startswith("torch.cuda."):
        return External(path, machine.site(node, frame))
    own = libraries.own_name(value.path, name) if name in ("__name__", "__module__") else None
    return External(path) if own is None else const(own)


@on(METHOD, External)
def external_method(machine: Machine, value: External, name: str, arguments: Call) -> Value:
    """`torch.name(...)`."""
    path = libraries.canonical(f"{value.path}.{name}")
    if machine.state.replaced and path in machine.state.replaced:
        return call_value(machine, machine.state.replaced[path], arguments)
    makes = VALUES.get(path)
    if makes is not None:
        return call_value(machine, makes(machine), arguments)
    return call_external(machine, External(path), arguments)


# -- functions as objects


@on(ATTRIBUTE, Function)
def function_attribute(machine: Machine, value: Function, name: str, node: ir.Node, frame: Frame) -> Value:
    """`function.name`; its `__get__` binds it, as `types.MethodType` does."""
    if name == "__get__":
        return Bound(External("types.MethodType"), value)
    known = value.attributes.get(name)
    if known is not None:
        return known
    if name == "__name__" and ANY_NAME not in value.attributes:
        takes_names = any(last_name(part) == "wraps" for part in walk(value.node.decorators))
        return UNKNOWN if takes_names else const(value.node.name)
    if name == "__dict__":
        machine.store.put(value.attributes, ANY_NAME, UNKNOWN)
    return missing(machine, "AttributeError") if has_attribute(machine, value, name) is False else UNKNOWN


@on(ASSIGN_ATTRIBUTE, Function)
def assign_function_attribute(
    machine: Machine, value: Function, name: str, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`function.name = new`."""
    machine.store.epoch += 1
    machine.store.put(value.attributes, name, new)
