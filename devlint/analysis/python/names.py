"""Names that a world leaves unbound: where else they are bound, and under which guard."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Any

from devlint.analysis.events import NameUnbound, Site
from devlint.analysis.memo import memoized
from devlint.semantics import errors
from devlint.semantics.devices import DEVICE_TYPES
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

_DEVICE_WORDS = DEVICE_TYPES | {"gpu", "GPU", "CPU", "CUDA", "cuda0"}


def note_unbound(machine: Machine, node: ir.Name, frame: Frame, site: Site) -> bool:
    """Tell of a name that is read unbound, with the guard under which alone it is bound; returns if there is one."""
    body: list[Any]
    if node.scope in (ir.NameScope.LOCAL, ir.NameScope.FREE) and frame.function is not None:
        body = frame.function.body.statements
        scope = "function"
    else:
        body = frame.namespace.module.body
        scope = "module"
    guard, later, speaks = _bindings(body, node.id, node.at.lineno, _fence_end(machine, site))
    if machine.run.protocol and scope == "module" and guard is not None and not asks_torch(guard):
        return True  # a library that has a part for each platform, and nobody in sight takes the wrong one
    if isinstance(guard, ir.Try) and any(isinstance(part, (ir.Import, ir.ImportFrom)) for part in guard.body):
        return True  # what lacks is a package
    given = Site(frame.namespace.path, guard.at) if guard is not None else None
    if given is not None and given.key in machine.run.one_sided:
        return True  # where it is bound the program has died, and that was told
    machine.emit(
        NameUnbound,
        site,
        error=errors.message("unbound", name=node.id, scope=scope),
        name=node.id,
        guard=given,
        device_position=guard is None and not later and node.id in _DEVICE_WORDS and not _is_asked(node, body),
        bound_later=later and speaks,
        tried=_is_tried(body, node.id),
    )
    return guard is not None


def _is_tried(body: list[Any], name: str) -> bool:
    """Whether a name is bound where something is tried, so that a handler may have gone on without it."""
    tries = (part for part in walk(body) if isinstance(part, ir.Try) and part.handlers)
    return any(name in bound_by(part.body) for part in tries)


def _is_asked(node: ir.Name, body: list[Any]) -> bool:
    """Whether an attribute of what the name stands for is read (`cuda.Stream()`), or it is called (`cuda(x)`): a module
    or a function is meant, and no device."""
    return any(
        (isinstance(part, ir.Attribute) and part.value is node) or (isinstance(part, ir.Call) and part.function is node)
        for part in walk(body)
    )


def asks_torch(test: ir.Node) -> bool:
    """Whether a guard itself asks for a GPU, and not a flag of the project's: `if torch.cuda.is_available():`."""
    return isinstance(test, ir.Call) and dotted(test.function).endswith(".is_available")


def _fence_end(machine: Machine, site: Site) -> float:
    """The last row that surely runs with this one: in a document that of its fence, for readers take what they need."""
    source = machine.project.source(site.path)
    if source is None or source.kind != "markdown":
        return inf
    fence, end = source.segment(site.row), site.row
    while end < len(source.rows) and source.segment(end + 1) == fence:
        end += 1
    return end


def _bindings(body: list[Any], name: str, row: int, end: float) -> tuple[ir.Node | None, bool, bool]:
    """The test of the `if`, or the `try`, that alone binds the name; whether it is bound later, up to a row, and to a
    device."""
    guard: ir.Node | None = None
    later = False
    speaks = False
    for statement, test in statements_of(body, None):
        if name not in _bound_by(statement):
            continue
        if test is not None and statement.at.lineno < row:
            guard = guard or test
        elif test is None and row < statement.at.lineno <= end:
            later = True
            if isinstance(statement, ir.Assign):
                speaks = speaks or _names_device(statement.value)
    return guard, later, speaks


def statements_of(body: list[Any], test: ir.Node | None) -> Iterator[tuple[Any, ir.Node | None]]:
    for statement in body:
        yield statement, test
        if isinstance(statement, ir.If):
            yield from statements_of(statement.body, statement.test)
            yield from statements_of(statement.orelse, statement.test)
        elif isinstance(statement, (ir.For, ir.While)):
            over = statement.iterable if isinstance(statement, ir.For) else statement.test
            yield from statements_of(statement.body, test or over)
            yield from statements_of(statement.orelse, test)
        elif isinstance(statement, ir.With):
            suppressing = next(
                (e for e, _ in statement.items if isinstance(e, ir.Call) and _called(e) == "suppress"), None
            )
            yield from statements_of(statement.body, test or suppressing)
        elif isinstance(statement, ir.Try):
            yield from statements_of(statement.body, test or (statement if statement.handlers else None))
            for handler in statement.handlers:
                yield from statements_of(handler.body, test)
            yield from statements_of(statement.final, test)


def assigned_in(loop: ir.Node) -> set[str]:
    """The names and dotted attributes that a loop assigns to, itself or an item of them."""
    if isinstance(loop, ir.Comprehension):
        return {name for generator in loop.generators for name in target_names(generator.target)}
    if not isinstance(loop, (ir.For, ir.While)):
        return set()
    found = set(target_names(loop.target)) if isinstance(loop, ir.For) else set()
    for statement, _ in statements_of(loop.body, None):
        targets = statement.targets if isinstance(statement, ir.Assign) else []
        if isinstance(statement, (ir.Augment, ir.For)):
            targets = [statement.target]
        for target in targets:
            found.update(target_names(target))
            while isinstance(target, ir.Subscript):
                target = target.value
            found.add(dotted(target))
    return found


def visits_all(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether a write at an index or key that is not known is taken to come to all items: in a loop that writes
    nowhere else in the same container. `path[t - 1] = new; path[t] = path[t].cpu()` leaves the last one as it is."""
    if not frame.loops:
        return False
    shifted = _shifted(machine.project, frame.loops[-1])
    return not (shifted and isinstance(node, ir.Subscript) and dotted(node.value) in shifted)


@memoized
def _shifted(project: Project, loop: ir.Node) -> frozenset[str]:
    """The containers that a loop writes at more than one index or key."""
    keys: dict[str, set[object]] = {}
    for part in walk(getattr(loop, "body", [])):
        for target in part.targets if isinstance(part, ir.Assign) else ():
            if isinstance(target, ir.Subscript) and not isinstance(target.index, ir.Const):
                keys.setdefault(dotted(target.value), set()).add(dotted(target.index) or target)
    return frozenset(name for name, written in keys.items() if name and len(written) > 1)


def is_read_again(body: list[Any], statement: ir.Node, name: str) -> bool:
    """Whether a body reads a name after one of its statements: below it, in another round of a loop around it that does
    not bind the name first, or in a function that may be called then."""
    parts = list(walk(body))
    bound = {id(target) for part in parts for target in getattr(part, "targets", ())}
    for part in parts:
        if isinstance(part, ir.Function) and _mentions(part, name):
            return True
        if isinstance(part, ir.Name) and part.id == name and id(part) not in bound:
            if part.at.lineno > statement.at.lineno:
                return True
    around = [part for part in parts if isinstance(part, (ir.For, ir.While)) and statement in set(walk(part.body))]
    return bool(around) and not any(_binds_first(loop, name) for loop in around)


def _binds_first(loop: ir.For | ir.While, name: str) -> bool:
    """Whether each round of a loop binds a name before it reads it."""
    if isinstance(loop, ir.For) and name in set(target_names(loop.target)):
        return True
    if isinstance(loop, ir.While) and _mentions(loop.test, name):
        return False
    first = next((part for part in loop.body if _mentions(part, name)), None)
    return isinstance(first, ir.Assign) and name in bound_by([first]) and not _mentions(first.value, name)


def _mentions(node: ir.Node, name: str) -> bool:
    return any(isinstance(part, ir.Name) and part.id == name for part in walk(node))


def bound_by(statements: list[ir.Stmt]) -> set[str]:
    """The names that statements bind, those inside of them too."""
    return {name for statement, _ in statements_of(statements, None) for name in _bound_by(statement)}


def _called(call: ir.Call) -> str:
    function = call.function
    return last_name(function)


def _bound_by(statement: Any) -> set[str]:
    if isinstance(statement, ir.Assign):
        return {name for target in statement.targets for name in target_names(target)}
    if isinstance(statement, ir.For):
        return set(target_names(statement.target))
    if isinstance(statement, ir.With):
        return {name for _, target in statement.items if target is not None for name in target_names(target)}
    if isinstance(statement, (ir.Function, ir.Class)):
        return {statement.name}
    if isinstance(statement, (ir.Import, ir.ImportFrom)):
        return {alias or name.partition(".")[0] for name, alias in statement.names}
    return set()


def target_names(target: Any) -> Iterator[str]:
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, ir.Display):
        for part in target.items:
            yield from target_names(part)
    elif isinstance(target, ir.Starred):
        yield from target_names(target.value)


def _names_device(value: Any) -> bool:
    """Whether an expression names a device: `torch.device(...)`, `"cuda"`, a conditional of those."""
    if isinstance(value, ir.Conditional):
        return _names_device(value.body) or _names_device(value.orelse)
    if isinstance(value, ir.Const):
        return isinstance(value.value, str) and value.value.partition(":")[0] in DEVICE_TYPES
    if isinstance(value, ir.Call):
        function = value.function
        name = last_name(function)
        return "device" in name or name in ("try_gpu", "current_accelerator")
    return False
