"""What is told where this world lacks a device that the program asks for, and how the program goes on."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, NoReturn, TypeGuard

from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import POISON, SOME_INDEX, UNKNOWN, Const, DeviceValue, Lost, Value
from devlint.analysis.events import AcceleratorMissing, AvailabilityNotCalled, DeviceUnavailable, ParallelDevice, Site
from devlint.analysis.flow.gpu_numbers import is_chosen
from devlint.analysis.memo import memoized
from devlint.analysis.pytorch.spreading import spread
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

UseKind = Literal["use", "query", "legacy"]


def unavailable(
    machine: Machine,
    device_type: str,
    index: int | None,
    site: Site,
    operation: str,
    literal: Site | None,
    kind: UseKind = "use",
    error: str = "",
    node: ir.Node | None = None,
    chosen: bool = False,
) -> str | None:
    """Tell that this world does not have a device; `error` is what is raised, if that is not torch's own. `chosen`: an
    option of the program says which."""
    surely = machine.run.surely_called and not (machine.run.path or machine.run.settled)
    if machine.run.protocol and not machine.run.importing and not surely:
        if machine.run.trying:
            raise Crash
        return POISON if machine.has_cuda else None
    if device_type != "cuda" and (machine.run.path or machine.run.settled):
        return gone(machine)  # behind a condition that nobody decides stands what is for machines which have it
    state = machine.state
    if state.misled:
        _note_misled(machine, site, error or errors.message("no-cuda", operation=operation, device=device_type))
        return gone(machine)
    if kind == "query" and state.by_launcher and machine.device_count == 0:
        return gone(machine)
    if machine.run.answered_before and state.visible is not None and machine.has_cuda and machine.device_count == 0:
        return gone(machine)  # `USE_CUDA` of a file that asked before says yes, and would say no
    count = machine.device_count
    running = ((site.path, function) for function in machine.run.stack)
    if count == 0 and not index and any(_starts_nccl(machine.project, one) for one in running):
        die(machine)
        return POISON
    hidden = state.visible is not None and bool(index) and index != SOME_INDEX and machine.has_several and count > 0
    if not error and (device_type != "cuda" or count == 0):
        error = errors.message("no-cuda", operation=operation, device=device_type)
    root = literal or site
    machine.emit(
        DeviceUnavailable,
        site,
        root,
        error=error or errors.message("ordinal", operation=operation),
        device=str(DeviceValue(device_type, index)),
        index=None if index == SOME_INDEX else index,
        literal=literal,
        operation=operation,
        kind=kind,
        at_import=machine.run.importing > 0 and (not machine.run.path or _is_run_by_import(machine, site)),
        hidden=hidden,
        guarded=machine.run.guards > 0,
        is_option=_is_an_option(machine, literal, index, chosen),
        visible=state.visible_text,
        is_visible_by_option=is_chosen(machine, state.environment.get("CUDA_VISIBLE_DEVICES")),
        cause="" if state.alive or (index and literal) or _writes_index(node, index) else "follows",
        spread=spread(machine, site.path, node, index),
        within=machine.run.stack[-1].at.lineno if machine.run.stack else 0,
    )
    if asks_aside(kind, operation):
        return gone(machine)
    die(machine)
    return POISON


def _is_run_by_import(machine: Machine, site: Site) -> bool:
    """Whether what happens while files are imported is the doing of the file where it stands: at module level, or in
    functions that it calls there. What the module level of another file calls behind options is its users' choice."""
    inside = False
    for activation in reversed(machine.run.activations):
        if activation.frame.namespace.path != site.path:
            return not inside
        inside = True
        if activation.call.frame.function is None:
            return activation.call.frame.namespace.path == site.path
    return True


def _is_an_option(machine: Machine, literal: Site | None, index: int | None, chosen: bool) -> bool:
    """Whether the user may say another device: this one is an option's default, or one further than the first has the
    number that an option gives."""
    if index:
        return chosen or (literal is not None and literal.key in machine.places.gpu_numbers)
    return literal is not None and literal.key in machine.places.options


def _note_misled(machine: Machine, site: Site, error: str) -> None:
    """The program fails at `site` because it took an availability function for its answer, of which was told before."""
    for key, event in list(machine.entry.events.items()):
        if isinstance(event, AvailabilityNotCalled) and event.error is None:
            machine.entry.events[key] = dataclasses.replace(event, error=error, site=site, calls=machine.calls())


@memoized
def _starts_nccl(project: Project, asked: tuple[str, ir.Function]) -> bool:
    """Whether a function, or one of the same file that it calls, starts a process group of NCCL whatever it is told,
    unless it returns before: it is called where processes are launched on GPUs."""
    path, function = asked
    module = project.module(path)
    helpers = [] if module is None else [part for part in module.body if isinstance(part, ir.Function)]
    waiting, met = [function], {function}
    while waiting:
        statements = waiting.pop().body.statements
        plain = [part for part in statements if isinstance(part, (ir.ExprStatement, ir.Assign))]
        written = [part for part in walk(plain) if isinstance(part, (ir.Const, ir.Name, ir.Attribute))]
        called = {last_name(part) for part in written}
        names_it = any(isinstance(part, ir.Const) and part.value == "nccl" for part in written)
        if names_it and "init_process_group" in called:
            return True
        new = [part for part in helpers if part.name in called and part not in met and not _returns(part)]
        met.update(new)
        waiting += new
    return False


def _returns(function: ir.Function) -> bool:
    """Whether a function may end before its last statement."""
    return any(isinstance(part, ir.Return) for part in walk(function.body.statements[:-1]))


def die(machine: Machine) -> None:
    """The program needs a device here that the world lacks.

    Raises:
        Crash: it is inside a `try`.
    """
    if machine.run.trying:
        raise Crash
    machine.store.set(machine.state, "alive", False)


def gone(machine: Machine) -> str:
    """The program raises here: it goes to the handler, or on with what is poisoned.

    Raises:
        Crash: it is inside a `try`.
    """
    if machine.run.trying:
        raise Crash
    return POISON


_QUESTIONS = frozenset({"current_device", "get_device_name", "get_device_properties", "get_device_capability"})


def asks_aside(kind: str, operation: str) -> bool:
    """Whether it is a mere question: `current_device()`, `get_device_name()`. To mend it mends no use that follows."""
    return kind == "query" and operation.rpartition(".")[2] in _QUESTIONS


def _writes_index(node: ir.Node | None, index: int | None) -> bool:
    """Whether a call itself says which GPU beyond the first: `.cuda(1)`. That is to be mended there."""
    if not index or not isinstance(node, ir.Call):
        return False
    given = [*node.args, *(value for _, value in node.keywords)]
    values = [part.value for part in walk(given) if isinstance(part, ir.Const)]
    return index in values or f"cuda:{index}" in values


def too_few(machine: Machine, index: int, kind: str, text: str, node: ir.Node, frame: Frame) -> None:
    """What a program does with the number of its GPUs, or with a list of them, takes one more. That is told, and what
    comes behind is read for what it says of machines without a GPU.

    Raises:
        Crash: the program expects the exception.
    """
    if machine.run.trying or not ancestors(kind).isdisjoint(machine.run.expected):
        raise Crash(kind)
    machine.entry.consulted.add("count")
    use_kind: UseKind = "use" if index else "query"
    unavailable(machine, "cuda", index, machine.site(node, frame), "", None, use_kind, f"{kind}: {text}")
    machine.store.set(machine.state, "alive", False)


def read_lost(
    machine: Machine,
    lost: Lost,
    kind: Literal["attribute", "set"],
    error: str,
    name: str,
    node: ir.Node,
    frame: Frame,
) -> Value:
    """What a replica of DataParallel lacks of a parameter's attributes, or a module of what its replicas set, is read.

    Raises:
        Crash: a handler waits for that.
    """
    if machine.run.trying or not ancestors("AttributeError").isdisjoint(machine.run.expected):
        raise Crash("AttributeError")
    if not lost.told:
        machine.emit(ParallelDevice, machine.site(node, frame), error=error, kind=kind, attribute=name)
        machine.store.set(lost, "told", True)
    return UNKNOWN


def is_missing_accelerator(value: Value | None, machine: Machine) -> TypeGuard[Const]:
    """Whether a value is the None of an accelerator that the world lacks; one that a condition has told is another."""
    return isinstance(value, Const) and value.site is not None and value.site.key in machine.places.accelerators


def missing_accelerator(
    machine: Machine, value: Const, node: ir.Node, frame: Frame, operation: str, attribute: str
) -> NoReturn:
    """`current_accelerator()` was None, and that is used as a device or an object.

    Raises:
        Crash: always.
    """
    error = errors.message("no-attribute", type="NoneType", name=attribute)
    if not attribute:
        error = (
            "TypeError: device() received an invalid combination of arguments - got (NoneType), but expected one of:"
        )
    machine.crash(
        AcceleratorMissing,
        machine.site(node, frame),
        value.site,
        error=error,
        use=f".{attribute}" if attribute else operation,
    )
