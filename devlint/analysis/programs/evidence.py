"""What speaks for a program that means to run without a GPU.

A program that asks whether CUDA is there, has a device flag or a branch for the CPU, means to: what it forgets is
reported. One that is built on packages which are nothing without a GPU does not. `machine.entry.evidence` gathers this
for one entry point, with the files that it speaks for: the one that asks, and the one that called it to ask or
imported it; `devlint.analysis.reading` weighs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import path_of
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import Const, DeviceValue, Instance, Mapping, ModuleValue, Value
from devlint.analysis.flow.choices import Decision, decide
from devlint.analysis.frames import held
from devlint.analysis.machine import forget_evidence
from devlint.analysis.memo import memoized
from devlint.semantics import table
from devlint.syntax import ir
from devlint.syntax.walk import dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def decide_branch(machine: Machine, node: ir.If, frame: Frame) -> Decision:
    """Decide the condition of an `if`. That CUDA was asked for counts only where something hangs on the answer, and not
    where the program leaves without it."""
    known = len(machine.entry.evidence)
    around, machine.run.branching = machine.run.branching, node
    try:
        decision = decide(machine, node.test, frame)
    finally:
        machine.run.branching = around
    if len(machine.entry.evidence) > known:
        without = node.body if decision.truth is not machine.has_cuda else node.orelse
        by_option = all(kind == "option" for kind, _ in list(machine.entry.evidence)[known:])
        harmless = not node.orelse and all(
            _needs_no_guard(statement, frame) or (by_option and _chooses_current(statement, frame))
            for statement in node.body
        )
        harmless = harmless or (not node.orelse and _only_counts(node.body, frame))
        if harmless or (decision.truth is not None and _leaves(without)):
            forget_evidence(machine, known)
        else:
            note_doubts(machine, [node.test], frame, known)
    return decision


def note_doubts(machine: Machine, nodes: list[ir.Expr], frame: Frame, known: int) -> None:
    """Note what stands beside a question for CUDA (found after the first `known`), an option or what was written down
    elsewhere: the program doubts that this device is there. `if args.gpu >= 0:` asks for no more than the option."""
    if all(kind != "availability" for kind, _ in list(machine.entry.evidence)[known:]):
        return
    for part in walk(nodes):
        value = _written_down(part, frame)
        if isinstance(value, (Const, DeviceValue)) and value.site is not None:
            machine.places.doubted.add(value.site.key)


def _written_down(node: ir.Node, frame: Frame) -> Value | None:
    """What settings hold, if that takes no evaluation: `DEVICE`, `config.DEVICE` of a module, a class or an object,
    `settings["device"]`."""
    if isinstance(node, ir.Name):
        return held(node, frame)
    if not isinstance(node, (ir.Attribute, ir.Subscript)):
        return None
    base = _written_down(node.value, frame)
    if isinstance(node, ir.Subscript):
        index = node.index
        return base.items.get(index.value) if isinstance(base, Mapping) and isinstance(index, ir.Const) else None
    if isinstance(base, ModuleValue):
        return base.namespace.names.get(node.name)
    if isinstance(base, Instance) and node.name in base.fields:
        return base.fields[node.name]
    found = find(base.cls if isinstance(base, Instance) else base, node.name) if base is not None else None
    return found[0] if found is not None else None


_EXITS = frozenset({"exit", "_exit", "abort", "quit"})


def _leaves(statements: list[ir.Stmt]) -> bool:
    """Whether statements end with a `raise`, or with what ends the program."""
    last = statements[-1] if statements else None
    if isinstance(last, ir.ExprStatement) and isinstance(last.value, ir.Call):
        return last_name(last.value.function) in _EXITS
    return isinstance(last, ir.Raise)


_QUESTIONS = frozenset({"is_available", "device_count", "get_device_name", "is_built"})
_AMOUNTS = frozenset(
    {"memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_summary"}
)
_PLAIN = _QUESTIONS | _AMOUNTS | {"format", "str", "bool", "int", "round"}
_SHOWS = frozenset({"builtins.print", "builtins.display", "IPython.display.display", "warnings.warn"})


def only_shows(node: ir.ExprStatement, frame: Frame) -> bool:
    """Whether a statement asks for nothing but to show the answer: `print(torch.cuda.is_available())`."""
    if not isinstance(node.value, ir.Call):
        return False
    path = outside_path(node.value.function, frame)
    if path.endswith(".is_available"):
        return True
    written = [*node.value.args, *(value for _, value in node.value.keywords)]
    return (path in _SHOWS or _logs(node.value.function) or _only_in_texts(written)) and all(
        (isinstance(part.function, (ir.Name, ir.Attribute)) and last_name(part.function) in _PLAIN)
        or _is_beside(part, frame)
        for part in walk(written)
        if isinstance(part, ir.Call)
    )


def _only_in_texts(written: list[ir.Expr]) -> bool:
    """Whether each question stands inside a text that is put together of several: nothing but a reader can tell."""
    texts = [part for part in walk(written) if isinstance(part, ir.FString) or _formats(part)]
    inside = {id(part) for text in texts for part in walk([text])}
    asked = [part for part in walk(written) if _asks_cuda(part)]
    return bool(asked) and all(id(part) in inside for part in asked)


def _formats(node: ir.Node) -> bool:
    """Whether an expression is `"...".format(...)`."""
    if not isinstance(node, ir.Call) or not isinstance(node.function, ir.Attribute):
        return False
    text = node.function.value
    return node.function.name == "format" and isinstance(text, ir.Const) and isinstance(text.value, str)


def _is_beside(call: ir.Call, frame: Frame) -> bool:
    """Whether a call of a library's function, not of torch's, has nothing to do with the question."""
    path = outside_path(call.function, frame)
    return path != "" and not path.startswith("torch.") and not any(_asks_cuda(inner) for inner in walk(call))


def only_kept_to_show(machine: Machine, node: ir.Assign, frame: Frame) -> bool:
    """Whether an answer is kept under a name that is used for nothing but to show it."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ir.Name) or not isinstance(node.value, ir.Call):
        return False
    is_local = target.scope is ir.NameScope.LOCAL
    body = frame.function if is_local and frame.function is not None else frame.namespace.module
    names, statements = _parts(machine.project, body)
    reads = names.get(target.id, frozenset())
    if len(reads) == 1:
        return id(target) in reads and any(only_shows(part, frame) for part in statements)
    naming = [(part, found) for part in statements if (found := _names(part, target.id))]
    return reads == {id(target)}.union(*(found for part, found in naming if only_shows(part, frame)))


@memoized
def _parts(
    project: Project, body: ir.Function | ir.Module
) -> tuple[dict[str, frozenset[int]], tuple[ir.ExprStatement, ...]]:
    """The names in a body, by what is named, and its statements that are expressions."""
    names: dict[str, set[int]] = {}
    statements: list[ir.ExprStatement] = []
    for part in walk(body.body if isinstance(body, ir.Module) else body.body.statements):
        if isinstance(part, ir.Name):
            names.setdefault(part.id, set()).add(id(part))
        elif isinstance(part, ir.ExprStatement):
            statements.append(part)
    return {name: frozenset(found) for name, found in names.items()}, tuple(statements)


def _names(node: ir.Node, name: str) -> set[int]:
    return {id(part) for part in walk(node) if isinstance(part, ir.Name) and part.id == name}


def only_places_a_load(node: ir.Assign | ir.ExprStatement, frame: Frame) -> bool:
    """Whether what a statement asks for decides no more than where checkpoints are loaded to: its answer is given as a
    `map_location`, by itself or under a local name that has no other use."""
    mapped = {id(part) for value in _map_locations(node) for part in walk([value])}
    if all(id(part) in mapped for part in walk([node.value]) if _asks_cuda(part)):
        return bool(mapped)
    if not isinstance(node, ir.Assign) or len(node.targets) != 1 or frame.function is None:
        return False
    target = node.targets[0]
    if not isinstance(target, ir.Name) or target.scope is not ir.NameScope.LOCAL:
        return False
    body = frame.function.body.statements
    given = {id(value) for value in _map_locations(body)}
    read = [part for part in walk(body) if isinstance(part, ir.Name) and part.id == target.id and part is not target]
    return bool(read) and all(id(part) in given for part in read)


def _map_locations(node: ir.Node | list[ir.Stmt]) -> list[ir.Expr]:
    found = [part for part in walk(node) if isinstance(part, ir.Call)]
    return [value for call in found for name, value in call.keywords if name == "map_location"]


def _logs(node: ir.Expr) -> bool:
    return isinstance(node, ir.Attribute) and node.name in ("info", "debug", "warning", "write")


def only_measures(node: ir.Conditional, frame: Frame) -> bool:
    """Whether what hangs on a question is how much memory of the GPU is taken, and a number where there is none:
    `torch.cuda.memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0`."""
    called = [part for part in walk([node.body]) if isinstance(part, ir.Call)]
    names = {outside_path(part.function, frame).rpartition(".") for part in called}
    amounts = {last for module, _, last in names if module == "torch.cuda"}
    return (
        isinstance(node.orelse, ir.Const)
        and bool(amounts)
        and amounts <= _AMOUNTS
        and all(module == "torch.cuda" or last in _PLAIN for module, _, last in names)
    )


_MEASURES = frozenset(
    {
        "torch.cuda.synchronize",
        "torch.cuda.reset_peak_memory_stats",
        "torch.cuda.nvtx.range_push",
        "torch.cuda.nvtx.range_pop",
    }
)
"""A clock waits so, or marks its time: the programs that it measures may all be for GPUs."""


def _needs_no_guard(statement: ir.Stmt, frame: Frame) -> bool:
    """Whether a statement needs no GPU (`torch.cuda.manual_seed_all(0)`, `torch.backends.cudnn.benchmark = True`), or
    only measures one."""
    if isinstance(statement, ir.Assign):
        return all(outside_path(target, frame).startswith("torch.backends.") for target in statement.targets)
    if not isinstance(statement, ir.ExprStatement) or not isinstance(statement.value, ir.Call):
        return False
    if outside_path(statement.value.function, frame).startswith("pytest."):
        return True  # a test that is skipped without CUDA needs it
    if only_shows(statement, frame) and not any(_asks_cuda(part) for part in walk([statement.value])):
        return True
    path = outside_path(statement.value.function, frame)
    row = table.lookup(path)
    return path in _MEASURES or (row is not None and row.effect == "harmless")


def _chooses_current(statement: ir.Stmt, frame: Frame) -> bool:
    """Whether a statement makes a GPU the current one, or the only visible one: `if args.gpu is not None:
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu` asks which, and the next lines show whether there may be none."""
    if isinstance(statement, ir.Assign):
        items = [target for target in statement.targets if isinstance(target, ir.Subscript)]
        return len(items) == len(statement.targets) and all(
            outside_path(item.value, frame) == "os.environ" for item in items
        )
    call = statement.value if isinstance(statement, ir.ExprStatement) else None
    return isinstance(call, ir.Call) and outside_path(call.function, frame) == "torch.cuda.set_device"


def _only_counts(body: list[ir.Stmt], frame: Frame) -> bool:
    """Whether the side of a branch counts the GPUs, `h.num_gpus = torch.cuda.device_count()`, works with the number and
    does nothing else that takes a GPU; and no condition of the file makes a question of it but whether there are
    several: on what such a program does with one GPU nothing hangs."""
    counts: set[str] = set()
    for statement in body:
        if not isinstance(statement, ir.Assign):
            if not _needs_no_guard(statement, frame):
                return False
            continue
        asked = [part for part in walk([statement.value]) if isinstance(part, ir.Attribute) and part.name in _QUESTIONS]
        used = {dotted(part) for part in walk([statement.value])}
        if any(part.name != "device_count" for part in asked) or not (asked or counts & used):
            return False
        if asked:
            counts.update(filter(None, map(dotted, statement.targets)))
    branches = (ir.If, ir.While, ir.Conditional)
    tests = [part.test for part in walk(frame.namespace.module.body) if isinstance(part, branches)]
    return bool(counts) and not any(_asks_whether(test, counts) for test in tests)


def _asks_whether(test: ir.Expr, counts: set[str]) -> bool:
    """Whether a condition asks more of a number of GPUs than whether there are several."""
    several = {
        id(part.left)
        for part in walk([test])
        if isinstance(part, ir.Compare)
        and isinstance(part.right, ir.Const)
        and (part.operator, part.right.value) in _SEVERAL
    }
    return any(dotted(part) in counts and id(part) not in several for part in walk([test]))


_SEVERAL: Final = frozenset({(">", 1), (">=", 2), ("==", 1), ("!=", 1), ("<=", 1), ("<", 2)})


def _asks_cuda(node: ir.Node) -> bool:
    return isinstance(node, ir.Attribute) and node.name in _QUESTIONS


def outside_path(node: ir.Expr, frame: Frame) -> str:
    """The dotted name of what an expression names outside the project; nothing is evaluated."""
    if isinstance(node, ir.Name):
        value = frame.names.get(node.id) or frame.namespace.names.get(node.id)
        if value is None:
            return "builtins.print" if node.id == "print" else ""
        return path_of(value) or ""
    base = outside_path(node.value, frame) if isinstance(node, ir.Attribute) else ""
    return f"{base}.{node.name}" if base and isinstance(node, ir.Attribute) else ""
