"""Statements, except `match`, imports and assignment to targets, which have rooms of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from devlint.analysis.access import binary, iterate
from devlint.analysis.dispatch import ENTER, EVALUATE, Call, executes
from devlint.analysis.domain.ancestry import external_bases, find, mro
from devlint.analysis.domain.values import (
    UNKNOWN,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Instance,
    Sequence,
    Tensor,
    Unknown,
    Value,
    birth,
    const,
)
from devlint.analysis.flow.arms import is_arm_for_gpu
from devlint.analysis.flow.assumed_sizes import rests_on_size
from devlint.analysis.flow.choices import decide
from devlint.analysis.flow.control import fork
from devlint.analysis.flow.counting import passes
from devlint.analysis.flow.flags import answered
from devlint.analysis.flow.handlers import run_try
from devlint.analysis.flow.loops import loop, never_ends
from devlint.analysis.flow.narrowing import bind_agreeing, narrow
from devlint.analysis.flow.other_values import note_other_way
from devlint.analysis.frames import Frame, held
from devlint.analysis.machine import forget_evidence
from devlint.analysis.programs.evidence import (
    decide_branch,
    only_kept_to_show,
    only_places_a_load,
    only_shows,
    outside_path,
)
from devlint.analysis.python.binding import annotated, bind
from devlint.analysis.python.calls import invoke
from devlint.analysis.python.classes import annotated_fields, name_fields
from devlint.analysis.python.containers import delete_item, extend
from devlint.analysis.python.decorators import decorate
from devlint.analysis.python.descriptors import name_descriptors
from devlint.analysis.python.enumerations import make_members
from devlint.analysis.python.expressions import evaluate_call, function_value
from devlint.analysis.python.importing import TYPE_CHECKING_NAMES, defer_imports
from devlint.analysis.python.instances import instance_method
from devlint.analysis.python.introspection import note_heir
from devlint.analysis.python.metaclasses import inherit_metaclass, take_metaclass
from devlint.analysis.pytorch.checks import note_assertion, note_raise, raises
from devlint.analysis.pytorch.device_handles import enter_device
from devlint.analysis.pytorch.device_names import tell_missing_key
from devlint.analysis.pytorch.module_methods import base_method
from devlint.analysis.pytorch.moves import note_dropped, note_rebound, note_uncalled, nothing_of_move
from devlint.analysis.pytorch.staleness import is_filled
from devlint.analysis.signals import BREAK, CONTINUE, RAISE, Crash, Signal
from devlint.syntax import ir
from devlint.syntax.vocabulary import VOCABULARY
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@executes(ir.ExprStatement)
def expression_statement(machine: Machine, node: ir.ExprStatement, frame: Frame) -> None:
    """An expression whose value is not used: dropped moves are seen here."""
    since, known = machine.clock, len(machine.entry.evidence)
    if isinstance(node.value, ir.Call):
        result = evaluate_call(machine, node.value, frame, unused=True)
        note_dropped(machine, node, result, frame, since)
    elif isinstance(node.value, ir.Comprehension) and node.value.kind == "generator":
        machine.evaluate(node.value.generators[0].iterable, frame)  # nobody asks it for its items
    else:
        result = machine.evaluate(node.value, frame)
        if isinstance(node.value, ir.Comprehension):
            note_dropped(machine, node, result, frame, since)
    if len(machine.entry.evidence) > known and (only_shows(node, frame) or only_places_a_load(node, frame)):
        _keep_loads(machine, known)


def _keep_loads(machine: Machine, known: int) -> None:
    """Forget what was found after the first `known`, but for what speaks of loads."""
    later = list(machine.entry.evidence)[known:]
    forget_evidence(machine, known)
    machine.entry.evidence.update((found, None) for found in later if found[0] == "map_location")


@executes(ir.Assign)
def assign(machine: Machine, node: ir.Assign, frame: Frame) -> None:
    """`a = b = value`."""
    known = len(machine.entry.evidence)
    value = _filled(EVALUATE[node.value.__class__](machine, node.value, frame))
    if len(machine.entry.evidence) > known and (
        only_kept_to_show(machine, node, frame) or only_places_a_load(node, frame)
    ):
        _keep_loads(machine, known)
    if node.annotation is not None and value.__class__ is Unknown:
        value = annotated(machine, node.annotation, frame, value)
    if value.__class__ is Unknown and isinstance(value, Unknown) and value.path in machine.run.proved:
        value = const(machine.run.proved[value.path])
    if value.__class__ is Const and not machine.world.has_cuda and _sets_up(node, frame):
        site = machine.site(node.value, frame)
        machine.places.settings.add(site.key)
        value = Const(True, site)
    if value.__class__ is Const:
        value = nothing_of_move(machine, node.targets[0], node.value, value, frame)
    for target in node.targets:
        note_uncalled(machine, target, node.value, value, frame)
        bind(machine, target, value, node, frame)


def _filled(value: Value) -> Value:
    """What stands under a name: `...` is a blank that somebody has to fill in, as exercises of courses have them."""
    if _is_blank(value):
        return UNKNOWN
    if isinstance(value, Sequence) and value.items and all(map(_is_blank, value.items)):
        return Sequence(value.kind, [UNKNOWN] * len(value.items), value.open)
    return value


def _is_blank(value: Value) -> bool:
    return isinstance(value, Const) and value.value is Ellipsis


def _sets_up(node: ir.Assign, frame: Frame) -> bool:
    """Whether a statement of a file gives a name the literal True: a setting, which users edit."""
    is_true = isinstance(node.value, ir.Const) and node.value.value is True
    return is_true and frame.function is None and frame.owner is None and isinstance(node.targets[0], ir.Name)


@executes(ir.Annotate)
def annotate(machine: Machine, node: ir.Annotate, frame: Frame) -> None:
    """`target: annotation` binds nothing."""


@executes(ir.Augment)
def augment(machine: Machine, node: ir.Augment, frame: Frame) -> None:
    """`target operator= value`; in place for lists and tensors."""
    old = machine.evaluate(node.target, frame)
    value = machine.evaluate(node.value, frame)
    if isinstance(old, Sequence) and old.kind == "list" and node.operator == "+":
        extend(machine, old, value, node, frame)
        return
    if isinstance(old, Instance) and old.module is not None and node.operator == "+":
        base_method(machine, old, "extend", Call([value], {}, node, frame))
        return
    result = binary(machine, node.operator, old, value, node, frame)
    if isinstance(old, Tensor) and isinstance(result, Tensor) and result.device == old.device:
        result = old
    bind(machine, node.target, result, node, frame)


def _raises_by_size(machine: Machine, node: ir.If, truth: bool, frame: Frame) -> bool:
    """Whether the side that is taken raises, since something is assumed to hold items."""
    chosen = node.body if truth else node.orelse
    return bool(chosen) and isinstance(chosen[-1], ir.Raise) and rests_on_size(machine, node.test, frame)


@executes(ir.If)
def if_statement(machine: Machine, node: ir.If, frame: Frame) -> Signal | None:
    """`if`: one side where the world decides, else both."""
    run = machine.run
    before = run.weighed, run.weighs
    run.weighed, run.weighs = False, frozenset()
    mark, began = machine.store.position(), birth()
    decision = decide_branch(machine, node, frame)
    weighed, weighs = run.weighed, run.weighs
    run.weighed, run.weighs = before
    if decision.truth is not None:
        truth = decision.truth != _raises_by_size(machine, node, decision.truth, frame)
        if run.from_options:
            note_other_way(machine, node, truth, frame)
        narrow(machine, node.test, frame, truth)
        if not truth and node.body and isinstance(node.body[0], (ir.Import, ir.ImportFrom)):
            if outside_path(node.test, frame) in TYPE_CHECKING_NAMES:
                defer_imports(machine, node.body, frame)
        if not truth and node.body and isinstance(node.body[-1], ir.Return):
            frame.guarded = True
        chosen = node.body if truth else node.orelse
        raised = raises(chosen)
        if raised is not None:
            note_raise(machine, node.test, truth, raised, frame)
        guards = run.guards
        run.guards += is_arm_for_gpu(machine, node.test, frame, truth)
        run.guards += truth and _is_for_gpus(machine, node, frame)
        signal: Signal | None = RAISE
        try:
            signal = branch(machine, chosen, frame)
            return signal
        finally:
            run.guards = guards
            if weighed or weighs:
                if passes(machine, node, truth, signal, mark, began, frame):
                    run.passing = True
                else:
                    run.weighed, run.weighs = run.weighed or weighed, run.weighs | weighs

    run.weighed, run.weighs = run.weighed or weighed, run.weighs | weighs

    def side(holds: bool) -> Signal | None:
        around = run.proved
        run.proved = {**around, **answered(machine, node.test, frame, holds)}
        narrow(machine, node.test, frame, holds)
        try:
            return branch(machine, node.body if holds else node.orelse, frame)
        finally:
            run.proved = around

    if is_filled(node, frame):
        return side(False)
    return fork(machine, decision, lambda: side(True), lambda: side(False), frame)


def _is_for_gpus(machine: Machine, node: ir.If, frame: Frame) -> bool:
    """Whether an `if` asks for a setting of a file that is on, and does nothing but what is done for GPUs: whoever has
    none turns it off."""
    value = held(node.test, frame)
    return (
        isinstance(value, Const)
        and value.site is not None
        and value.site.key in machine.places.settings
        and all(_speaks(part) for part in _simple(node.body) if _concerns(part, frame))
    )


def _simple(statements: list[ir.Stmt]) -> Iterator[ir.Stmt]:
    """The statements among some that hold no others, and those of their blocks."""
    for statement in statements:
        if isinstance(statement, (ir.If, ir.For, ir.With)):
            yield from _simple(statement.body)
            yield from _simple(getattr(statement, "orelse", []))
        else:
            yield statement


def _concerns(statement: ir.Stmt, frame: Frame) -> bool:
    """Whether a statement has to do with anything that was there before it."""
    named = [part for part in walk(statement) if isinstance(part, ir.Name)]
    return any(part.id in frame.names or part.id in frame.namespace.names for part in named)


def _speaks(statement: ir.Stmt) -> bool:
    return any(
        f".{part.name}" in VOCABULARY or last_name(part.value) in _BACKENDS
        if isinstance(part, ir.Attribute)
        else isinstance(part, ir.Name) and part.id in VOCABULARY
        for part in walk(statement)
    )


_BACKENDS = frozenset({"backends", "cudnn"})


def branch(machine: Machine, statements: list[ir.Stmt], frame: Frame) -> Signal | None:
    """Execute one side of an `if`."""
    frame.branches += 1
    try:
        return machine.block(statements, frame)
    finally:
        frame.branches -= 1


@executes(ir.For)
def for_statement(machine: Machine, node: ir.For, frame: Frame) -> Signal | None:
    """`for`."""
    iterable = machine.evaluate(node.iterable, frame)
    found = iterate(machine, iterable, node.iterable, frame)
    if found is None or (not found.items and found.open):
        items: list[Value] = [UNKNOWN, UNKNOWN]
        is_open = True
    else:
        items, is_open = found.items, found.open
        if not items:
            return machine.block(node.orelse, frame) if node.orelse else None
        if is_open and len(items) == 1:
            items = items * 2

    def body(value: Value) -> Signal | None:
        bind(machine, node.target, value, node, frame)
        signal = machine.block(node.body, frame)
        note_rebound(machine, node, value, iterable, frame)
        return signal

    return loop(machine, items, is_open, body, node, frame)


@executes(ir.While)
def while_statement(machine: Machine, node: ir.While, frame: Frame) -> Signal | None:
    """`while`: taken to run at least once unless the condition is known to be false."""
    decision = decide(machine, node.test, frame)
    if decision.truth is False:
        return machine.block(node.orelse, frame) if node.orelse else None

    def body(value: Value) -> Signal | None:
        if value is not _FIRST and decide(machine, node.test, frame).truth is False:
            return BREAK
        narrow(machine, node.test, frame, True)
        return machine.block(node.body, frame)

    asked = len(machine.run.path)
    signal = loop(machine, [_FIRST, UNKNOWN, UNKNOWN], True, body, node, frame)
    if signal is None and never_ends(machine, node, asked, frame):
        raise Crash("SystemExit")
    return signal


_FIRST = Unknown("first round")


@executes(ir.Try)
def try_statement(machine: Machine, node: ir.Try, frame: Frame) -> Signal | None:
    """`try`."""
    return run_try(machine, node, frame)


@executes(ir.With)
def with_statement(machine: Machine, node: ir.With, frame: Frame) -> Signal | None:
    """`with`: device contexts change the default or current device until the end."""
    leave: list[Callable[[], None]] = []
    suppressing = False
    try:
        for expression, target in node.items:
            value = machine.evaluate(expression, frame)
            if value.__class__ is Unknown and isinstance(expression, ir.Call):
                if last_name(expression.function) in _EXPECTING:
                    value = Instance(External("contextlib.suppress"))
            if isinstance(value, Instance) and isinstance(value.cls, External):
                suppressing = suppressing or value.cls.path == "contextlib.suppress"
            bound, exit_context = enter(machine, value, expression, frame)
            if exit_context is not None:
                leave.append(exit_context)
            if target is not None:
                bind(machine, target, bound, node, frame)
        signal = machine.block(node.body, frame)
        return None if suppressing and signal is RAISE else signal
    except Crash:
        if not suppressing:
            raise
        return None
    finally:
        for exit_context in reversed(leave):
            exit_context()


_EXPECTING = frozenset({"assertRaises", "assertRaisesRegex"})
"""Methods of `unittest.TestCase`: what fails inside is expected to."""


def enter(machine: Machine, value: Value, node: ir.Node, frame: Frame) -> tuple[Value, Callable[[], None] | None]:
    """Enter a context manager: what is bound to its target, and what leaving it undoes."""
    if isinstance(value, DeviceValue):
        return value, enter_device(machine, value, node, frame)
    if isinstance(value, Instance):
        if isinstance(value.cls, External):
            opens = ENTER.get(value.cls.path)
            return opens(machine, value, None, node, frame) if opens is not None else (value, None)
        if find(value.cls, "__enter__") is not None:
            call = Call([], {}, node, frame)
            bound = instance_method(machine, value, "__enter__", call)

            def leave() -> None:
                if find(value.cls, "__exit__") is not None:
                    instance_method(machine, value, "__exit__", call.with_arguments([const(None)] * 3))

            return bound, leave
        return value, None
    if isinstance(node, ir.Call) and outside_path(node.function, frame) == "torch.device":
        return UNKNOWN, enter_device(machine, DeviceValue("?"), node, frame)
    return UNKNOWN, None


@executes(ir.Return)
def return_statement(machine: Machine, node: ir.Return, frame: Frame) -> Signal:
    """`return`."""
    if node.value is None:
        return Signal("return", const(None))
    value = _filled(machine.evaluate(node.value, frame))
    if value.__class__ is Const and isinstance(node.value, ir.Call) and isinstance(node.value.function, ir.Attribute):
        value = nothing_of_move(machine, node.value.function.value, node.value, value, frame)
    return Signal("return", value)


@executes(ir.Raise)
def raise_statement(machine: Machine, node: ir.Raise, frame: Frame) -> Signal:
    """`raise`."""
    value = None if node.value is None else machine.evaluate(node.value, frame)
    kind = value.cls if isinstance(value, Instance) else value
    machine.run.raised = next(iter(external_bases(kind)), "") if kind is not None else ""
    machine.run.thrown = value if isinstance(value, Instance) else None
    return RAISE


@executes(ir.Break)
def break_statement(machine: Machine, node: ir.Break, frame: Frame) -> Signal:
    """`break`."""
    return BREAK


@executes(ir.Continue)
def continue_statement(machine: Machine, node: ir.Continue, frame: Frame) -> Signal:
    """`continue`."""
    return CONTINUE


@executes(ir.Assert)
def assert_statement(machine: Machine, node: ir.Assert, frame: Frame) -> Signal | None:
    """`assert`: known to fail, it is a raise; else it holds. One that asks for CUDA is no way to do without."""
    known, weighed, weighs = len(machine.entry.evidence), machine.run.weighed, machine.run.weighs
    decision = decide(machine, node.test, frame)
    forget_evidence(machine, known)
    if decision.truth:
        machine.run.weighed, machine.run.weighs = weighed, weighs  # no round that goes on has another answer
    if decision.truth is False and not rests_on_size(machine, node.test, frame):
        if isinstance(node.test, ir.Compare) and machine.run.missed is node.test:
            tell_missing_key(machine, node.test.left, node.test.right, node.test, frame, "AssertionError")
        else:
            note_assertion(machine, node, frame)
        return RAISE
    narrow(machine, node.test, frame, True)
    bind_agreeing(machine, node.test, frame)
    return None


@executes(ir.Delete)
def delete(machine: Machine, node: ir.Delete, frame: Frame) -> None:
    """`del`: a deleted name is not reported as unbound."""
    for target in node.targets:
        if isinstance(target, ir.Name) and target.id in frame.names:
            machine.store.put(frame.names, target.id, UNKNOWN)
        elif isinstance(target, ir.Subscript):
            receiver = machine.evaluate(target.value, frame)
            delete_item(machine, receiver, machine.evaluate(target.index, frame), target, frame)
        elif isinstance(target, ir.Attribute):
            receiver = machine.evaluate(target.value, frame)
            if isinstance(receiver, Instance):
                machine.store.remove(receiver.fields, target.name)


@executes(ir.Function)
def function_definition(machine: Machine, node: ir.Function, frame: Frame) -> None:
    """`def`: defaults are evaluated now, decorators applied."""
    value: Value = function_value(machine, node, frame)
    for decorator in reversed(node.decorators):
        value = decorate(machine, decorator, value, node, frame)
    machine.store.put(frame.names, node.name, value)


def _tell_parents(machine: Machine, cls: Class, node: ir.Class, frame: Frame) -> None:
    """`__init_subclass__` of the nearest parent that has one: registries are filled by it."""
    for parent in mro(cls)[1:]:
        hook = parent.fields.get("__init_subclass__") if isinstance(parent, Class) else None
        if isinstance(hook, Function):
            keywords = {name: machine.evaluate(value, frame) for name, value in node.keywords if name is not None}
            keywords.pop("metaclass", None)
            invoke(machine, hook, Call([], keywords, node, frame), cls)
            return


@executes(ir.Class)
def class_definition(machine: Machine, node: ir.Class, frame: Frame) -> None:
    """`class`: the body runs in a frame of its own."""
    bases = [machine.evaluate(base, frame) for base in node.bases]
    value = Class(node.name, bases, {}, frame, node)
    for keyword, expression in node.keywords:
        given = machine.evaluate(expression, frame)
        if keyword == "metaclass":
            take_metaclass(value, given)
    inner = Frame(value.fields, frame, frame.namespace, frame.tick)
    inner.owner = value
    inner.function = frame.function
    machine.block(node.body, inner)
    name_descriptors(machine, value, node, frame)
    for base in bases:
        if isinstance(base, External) and base.path.split(".")[-1] in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"):
            value.properties["enum"] = True
        elif isinstance(base, Class) and base.properties.get("enum"):
            value.properties["enum"] = True
        if isinstance(base, External) and base.path == "typing.NamedTuple":
            name_fields(value, annotated_fields(node))
        if isinstance(base, Class) and base.dataclass_fields is not None and value.dataclass_fields is None:
            value.dataclass_fields = list(base.dataclass_fields)
    note_heir(machine, value)
    inherit_metaclass(value)
    if value.properties.get("enum"):
        make_members(machine, value)
    _tell_parents(machine, value, node, frame)
    result: Value = value
    for decorator in reversed(node.decorators):
        result = decorate(machine, decorator, result, node, frame)
    machine.store.put(frame.names, node.name, result)
