"""Entry points: where a file is entered, and with what.

Programs are run as `__main__`. Code that nobody in sight calls is entered by protocol: a module class that nobody
builds is built, moved to the world's accelerator and called with inputs there; a function gets unknown arguments, and
only what is certain whatever they are is reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find, is_module_class, is_open_class, mro
from devlint.analysis.domain.values import Bound, Class, DeviceValue, Function, Instance, Tensor, Unknown, Value
from devlint.analysis.flow.choices import cpu_is_assumed
from devlint.analysis.frames import Frame, Namespace
from devlint.analysis.memo import memoized
from devlint.analysis.models.frameworks import enter_hook, enter_step, is_hook
from devlint.analysis.models.patching import fixtures
from devlint.analysis.programs.applied import enter_function, forward_of, is_function
from devlint.analysis.programs.asked_places import placed_inputs
from devlint.analysis.programs.built import build_once
from devlint.analysis.programs.callers import (
    asks_size,
    called_while_built,
    never_given,
    probabilities,
    reads_on_the_host,
)
from devlint.analysis.programs.fixtures import given, is_given_devices, set_up
from devlint.analysis.programs.handed import taken_method
from devlint.analysis.programs.outsiders import moved_by_programs
from devlint.analysis.python.calls import invoke
from devlint.analysis.python.settings import MOVES
from devlint.analysis.pytorch.module_moves import move_module
from devlint.analysis.pytorch.modules import forget_places, registered
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


class Entry:
    """An entry point by protocol: the function or class that is entered, a key, how many rows it has, how it is
    run, and the function of it that others would call."""

    __slots__ = ("key", "node", "rows", "run", "called")

    def __init__(
        self, kind: str, node: ir.Function | ir.Class, run: Callable[[], None], called: ir.Function | None = None
    ) -> None:
        first, last = _rows(node)
        self.key = (kind, first)
        self.node = node
        self.rows = last - first + 1
        self.run = run
        self.called: ir.Function | ir.Class = called or node


def is_private_class(entry: Entry) -> bool:
    """Whether an entry is a module class of the file's own: what is done with it, the file's functions do."""
    return entry.key[0] == "class" and entry.node.name.startswith("_")


def is_program(module: ir.Module, is_document: bool) -> bool:
    """Whether a file does work when it is run: a main guard, a notebook or document, or statements that act."""
    if is_document or module.has_main_guard:
        return True
    return any(
        isinstance(statement, (ir.For, ir.While, ir.With))
        or _called(statement) is not None
        or _acts_by_branch(statement)
        or _parses(statement)
        for statement in module.body
    )


def _parses(statement: ir.Stmt) -> bool:
    """Whether a statement keeps what the command line says."""
    value = statement.value if isinstance(statement, ir.Assign) else None
    return isinstance(value, ir.Call) and last_name(value.function) in ("parse_args", "parse_known_args")


def _called(statement: ir.Stmt) -> ir.Expr | None:
    """What a statement that is a call calls, unless that is only setting up."""
    if not isinstance(statement, ir.ExprStatement) or not isinstance(statement.value, ir.Call):
        return None
    function = statement.value.function
    name = last_name(function)
    return None if name in _HARMLESS_STATEMENTS else function


def _acts_by_branch(statement: ir.Stmt) -> bool:
    """Whether a branch calls something by a plain name, `print` or a function of the file: libraries only set up."""
    if not isinstance(statement, (ir.If, ir.Try)):
        return False
    return any(
        isinstance(_called(part), ir.Name) or _acts_by_branch(part) for part in statement.body + statement.orelse
    )


_HARMLESS_STATEMENTS = frozenset(
    "filterwarnings simplefilter append insert basicConfig getLogger setLevel register update extend add "
    "add_argument set_start_method seed manual_seed manual_seed_all".split()
)


def protocol_entries(machine: Machine, namespace: Namespace) -> Iterator[Entry]:
    """The classes and functions of a file that speak of devices and that no run has reached: a module that only what is
    entered by protocol has built, and called with what nobody knows, is not reached by that.
    """
    frame = Frame(namespace.names, None, namespace)
    for value in list(namespace.names.values()):
        if isinstance(value, Function):
            if value.frame.namespace is namespace and value.node not in machine.visited:
                if value.node.speaks or is_given_devices(machine, None, value):
                    yield _function_entry(machine, value, frame)
        elif isinstance(value, Class) and value.frame.namespace is namespace:
            is_module = is_module_class(value)
            if not value.node.speaks or (is_module and is_for_tests(namespace.path, machine.project.root)):
                continue
            is_new = value.node not in machine.visited
            if is_module and (is_new or value.node not in machine.sighted):
                yield Entry("class", value.node, _module_run(machine, value, frame))
            if is_new and is_function(value):
                yield Entry("class", value.node, _applied_run(machine, value, frame), forward_of(value))
            if is_new:
                yield from _method_entries(machine, value, frame)
    for function, cls in list(namespace.handed):
        if function.node in machine.visited:
            continue
        if cls is None:
            yield _function_entry(machine, function, frame)
        elif function.node.name not in ("__init__", "forward"):
            yield Entry("method", function.node, _method_run(machine, cls, function, frame))


def is_for_tests(path: str, root: str) -> bool:
    """Whether a file is there for tests, by the names that pytest and unittest look for: its modules are made for them
    and are where the tests put them."""
    parts = os.path.relpath(path, root).split(os.sep)
    name = parts.pop()
    return name.startswith("test_") or name.endswith("_test.py") or not {"test", "tests", "testing"}.isdisjoint(parts)


def _method_entries(machine: Machine, cls: Class, frame: Frame) -> Iterator[Entry]:
    for name, method in list(cls.fields.items()):
        if not isinstance(method, Function) or method.frame.namespace is not frame.namespace:
            continue
        if name in ("__init__", "forward") and is_module_class(cls):
            continue
        if method.node in machine.visited:
            continue
        if method.node.speaks or is_hook(cls, name) or is_given_devices(machine, cls, method):
            yield Entry("method", method.node, _method_run(machine, cls, method, frame))


def _method_run(machine: Machine, cls: Class, method: Function, frame: Frame) -> Callable[[], None]:
    def run() -> None:
        if method.node not in machine.visited:
            run_method(machine, cls, method, frame)

    return run


def _function_entry(machine: Machine, function: Function, frame: Frame) -> Entry:
    def run() -> None:
        node = function.node
        if is_for_tests(frame.namespace.path, machine.project.root):
            machine.run.given_device = None  # what a test is given its fixtures make
        set_up(machine, None, None, function)
        known = _placed(machine, function, frame) | given(machine, None, None, function)
        known |= never_given(machine, function)
        invoke(machine, function, Call([], known, node, frame, open=True), None)

    return Entry("function", function.node, run)


def _placed(machine: Machine, function: Function, frame: Frame) -> dict[str, Value]:
    """The inputs that a function says may be anywhere, unless they are made by fixtures."""
    if machine.run.given_device is None or cpu_is_assumed(machine):
        return {}
    placed = placed_inputs(machine, function, accelerator(machine), frame)
    if placed:
        machine.run.given_device = accelerator(machine)  # so are the other inputs
    return placed


def _applied_run(machine: Machine, cls: Class, frame: Frame) -> Callable[[], None]:
    def run() -> None:
        if not is_for_tests(frame.namespace.path, machine.project.root) and not cpu_is_assumed(machine):
            machine.run.given_device = accelerator(machine)
            enter_function(machine, cls, machine.run.given_device, frame)

    return run


def accelerator(machine: Machine) -> str:
    """Where modules and inputs are by protocol: the world's last device, so that gpu2 tells `cuda` from a choice."""
    machine.entry.consulted.add("accelerator")
    visible = machine.state.visible
    count = machine.world.device_count if visible is None else len(visible)
    return f"cuda:{count - 1}" if count else "cpu"


def _module_run(machine: Machine, cls: Class, frame: Frame) -> Callable[[], None]:
    def run() -> None:
        machine.run.given_device = accelerator(machine)
        placements = machine.placements
        instance = build_once(machine, cls, frame)
        if not isinstance(instance, Instance) or instance.module is None:
            return
        if cpu_is_assumed(machine) or _is_put_on_the_host(instance, accelerator(machine)):
            return  # who says so puts no module on a GPU
        placed = machine.placements != placements and _is_placed(instance)
        device = accelerator(machine)
        if not placed:
            _place(machine, cls, instance, device, frame)
        elif any(tensor.device not in (None, machine.accelerator) for tensor, _, _ in registered(instance)):
            machine.run.elsewhere = True
        found = find(cls, "forward")
        forward = found[0] if found is not None and isinstance(found[0], Function) else taken_method(cls, "forward")
        if forward is None:
            return
        _forget_what_callers_set(machine, cls, instance)
        parameters = forward.node.parameters
        arguments: list[Value] = []
        for name in parameters.positional[1:]:
            if name in forward.defaults:
                break
            arguments.append(protocol_input(machine, forward, name, device if not placed else None, frame))
        keywords: dict[str, Value] = {
            name: Unknown(name) for name in [*parameters.positional[1 + len(arguments) :], *parameters.keyword]
        }
        call = Call(arguments, keywords, cls.node, frame)
        machine.run.abroad = 0  # what building it took there leaves the forward its own
        invoke(machine, forward, call, instance, is_forward=False)

    return run


def _place(machine: Machine, cls: Class, instance: Instance, device: str, frame: Frame) -> None:
    """Move a module as its users do: by its own `.to`, if it has one, or its own `.cuda` for the GPU that is in use."""
    target = DeviceValue(*(parse_device(device) or ("cpu", None)), machine.site(cls.node, frame))
    own = find(cls, "to")
    if own is not None and isinstance(own[0], Function):
        call_value(machine, Bound(own[0], instance), Call([target], {}, cls.node, frame))
        return
    own = find(cls, "cuda")
    if own is None or not isinstance(own[0], Function) or target.type != "cuda":
        move_module(machine, instance, device, cls.node, frame)
        return
    current = machine.state.current_device
    machine.store.set(machine.state, "current_device", target.index)
    try:
        call_value(machine, Bound(own[0], instance), Call([], {}, cls.node, frame))
    finally:
        machine.store.set(machine.state, "current_device", current)


def _forget_what_callers_set(machine: Machine, cls: Class, instance: Instance) -> None:
    """What a method that no other of the class calls sets to what it is given (`self.target = target`) is the callers'
    by the time of the forward."""
    given = frozenset(_set_by_callers(machine.project, cls))
    held = {id(tensor) for tensor, _, _ in registered(instance)} if given else set()
    for name in given:
        field = instance.fields.get(name)
        if isinstance(field, Tensor) and id(field) not in held:
            machine.store.put(instance.fields, name, Unknown(name))


def _set_by_callers(project: Project, cls: Class) -> Iterator[str]:
    methods = [method for part in mro(cls) if isinstance(part, Class) for method in part.fields.values()]
    nodes = [method.node for method in methods if isinstance(method, Function)]
    uses = [_uses(project, node) for node in nodes]
    called = frozenset().union(*(names for names, _ in uses))
    for node, (_, kept) in zip(nodes, uses, strict=True):
        if node.name not in called and not node.name.startswith("__"):
            yield from kept


@memoized
def _uses(project: Project, node: ir.Function) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names of the attributes in a method, and those of its object that it sets to what it is given."""
    parameters = node.parameters.positional
    names: set[str] = set()
    kept: list[str] = []
    for part in walk(node.body.statements):
        if isinstance(part, ir.Attribute):
            names.add(part.name)
        elif isinstance(part, ir.Assign) and isinstance(part.value, ir.Name) and part.value.id in parameters[1:]:
            targets = [target for target in part.targets if isinstance(target, ir.Attribute)]
            kept += [target.name for target in targets if dotted(target.value) == parameters[0]]
    return frozenset(names), tuple(kept)


def _is_placed(instance: Instance) -> bool:
    """Whether a module has placed all that it holds: whoever builds one that left something behind moves it."""
    return all(tensor.device != "cpu" for tensor, _, _ in registered(instance))


def _is_put_on_the_host(instance: Instance, device: str) -> bool:
    """Whether the constructor of a module has brought it to the CPU, `self.to("cpu")`: there its users leave it."""
    return device != "cpu" and instance.module is not None and instance.module.device == "cpu"


_NOT_TENSORS = frozenset(
    "batch batch_size n num mode training args kwargs cfg config opt return_dict device name names data sample targets "
    "inputs features outputs outs preds predictions kwarg epoch step iteration index idx k temperature".split()
)


def protocol_input(machine: Machine, forward: Function, name: str, device: str | None, frame: Frame) -> Value:
    """What a forward gets by protocol: a tensor on the accelerator, unless its annotation says something else."""
    annotation = forward.node.parameters.annotations.get(name)
    if annotation is not None:
        text = _annotation_text(annotation)
        if "Tensor" not in text.split(".")[-1]:
            return Unknown(name)
    elif name in _NOT_TENSORS or name in probabilities(machine.project, forward.node):
        return Unknown(name)
    tensor = Tensor(device, None, machine.origin("input", forward.node, frame, device, name), assumed=True)
    return tensor if device is not None else Tensor(None)


def _annotation_text(annotation: ir.Expr) -> str:
    if isinstance(annotation, ir.Name):
        return annotation.id
    if isinstance(annotation, ir.Attribute):
        return f"{_annotation_text(annotation.value)}.{annotation.name}"
    if isinstance(annotation, ir.Const) and isinstance(annotation.value, str):
        return annotation.value
    return ""


def run_method(machine: Machine, cls: Class, method: Function, frame: Frame) -> None:
    """Call a method that nobody in sight calls, on an instance built with unknown arguments."""
    if is_for_tests(frame.namespace.path, machine.project.root):
        machine.run.given_device = None
    known = _placed(machine, method, frame) | fixtures(method.node) | never_given(machine, method)
    call = Call([], known, method.node, frame, open=True)
    if method.kind == "staticmethod":
        invoke(machine, method, call, None)
        return
    if method.kind == "classmethod":
        invoke(machine, method, call, cls)
        return
    machine.run.quiet += 1
    try:
        instance = build_once(machine, cls, frame)
    finally:
        machine.run.quiet -= 1
    if not isinstance(instance, Instance):
        return
    if instance.module is not None:
        if enter_hook(machine, cls, instance, method, call) or asks_size(method.node):
            return
        machine.run.elsewhere = machine.run.elsewhere or accelerator(machine) != "cuda:0" or instance.module.unsure
        placed = _is_placed(instance)
        stays = reads_on_the_host(machine.project, cls.node) or _is_put_on_the_host(instance, accelerator(machine))
        if stays or (instance.module.unsure and not placed):
            forget_places(machine, instance)  # of what is not known as a whole nobody knows which part is where
        elif not (placed or called_while_built(machine, cls, method.node)):
            # Who calls the method may have put the module anywhere; that `.cuda()` means another GPU is not held
            # against it, as it is against a forward.
            device = "cpu" if accelerator(machine) == "cpu" else "cuda:0"
            _place(machine, cls, instance, device, frame)
        is_whole = not instance.module.unsure and find(cls, "__init__") is not None
        machine.run.entered = instance if is_whole else None  # heirs give a mixin what it asks for
        machine.store.set(instance.module, "unsure", True)
    elif enter_step(machine, cls, instance, method, call):
        return
    elif is_open_class(cls) and (find(cls, "forward") is not None or _has_parameters(instance)):
        for part in instance.fields.values():  # of a module that an ancestor out of sight makes it, and that is moved
            if isinstance(part, Instance):
                forget_places(machine, part)
            elif isinstance(part, Tensor) and part.is_parameter:
                machine.store.set(part, "device", None)
    if instance.module is None:
        _forget_what_others_move(machine, cls, instance, method)
    set_up(machine, cls, instance, method)
    known |= given(machine, cls, instance, method)
    call_value(machine, Bound(method, instance), Call([], known, method.node, frame, open=True))


def _has_parameters(instance: Instance) -> bool:
    """Whether an object keeps parameters of its own, as modules do."""
    return any(isinstance(part, Tensor) and part.is_parameter for part in instance.fields.values())


def _forget_what_others_move(machine: Machine, cls: Class, instance: Instance, entered: Function) -> None:
    """Modules that another method moves, `def to(self, device): self.net.to(device)`, or a program of the project, may
    be there by now."""
    parts = {name: part for name, part in instance.fields.items() if isinstance(part, Instance) and part.module}
    if not parts:
        return
    movers = {name for name, mover in _moved_parts(machine.project, cls.node) if mover is not entered.node}
    for name, part in parts.items():
        if name in movers or name in moved_by_programs(machine.project, cls.frame.namespace.path):
            if all(tensor.device in (None, "cpu") for tensor, _, _ in registered(part)):
                forget_places(machine, part)


@memoized
def _moved_parts(project: Project, cls: ir.Class) -> frozenset[tuple[str, ir.Function]]:
    """The attributes that methods of a class move, each with the method."""
    found: set[tuple[str, ir.Function]] = set()
    for method in cls.body:
        if not isinstance(method, ir.Function) or method.name == "__init__" or not method.parameters.positional:
            continue
        this = method.parameters.positional[0]
        for part in walk(method.body.statements):
            if isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute) and part.function.name in MOVES:
                name = dotted(part.function.value)
                if name.startswith(f"{this}.") and name.count(".") == 1:
                    found.add((name.partition(".")[2], method))
    return frozenset(found)


def _rows(node: ir.Node) -> tuple[int, int]:
    return node.at.lineno, node.at.end_lineno
