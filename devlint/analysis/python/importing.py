"""`import` statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import VALUES, Call, executes, models
from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import UNKNOWN, Const, External, ModuleValue, Sequence, Unknown, Value, constant
from devlint.analysis.frames import Frame, Namespace
from devlint.analysis.machine import text_of
from devlint.analysis.python.lacked_names import lacks_name
from devlint.analysis.python.misplaced import is_misplaced
from devlint.analysis.python.unimportable import climbs_out, is_unimportable
from devlint.analysis.signals import Crash
from devlint.semantics import libraries
from devlint.semantics.devices import BACKENDS
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@executes(ir.Import)
def import_statement(machine: Machine, node: ir.Import, frame: Frame) -> None:
    """`import name as alias`."""
    for name, alias in node.names:
        value: Value | None = machine.project.import_module(machine, name, 0, frame.namespace)
        _note_base(machine, _is_for_gpus(machine, value), frame)
        if value is None and is_unimportable(machine.project, name, 0, frame.namespace.path):
            raise Crash(_MISSING)
        if value is None:
            _refuse_misplaced(machine, name, [], frame)
        if alias is None:
            top = name.partition(".")[0]
            if top != name:
                value = machine.project.import_module(machine, top, 0, frame.namespace)
            name_bound = top
        else:
            top = name
            name_bound = alias
        if value is None:
            _note_need(machine, name, frame.namespace.path)
            _note_base(machine, libraries.is_absent_without_gpu(name), frame)
            value = External(top)
        machine.store.put(frame.names, name_bound, value)


@executes(ir.ImportFrom)
def import_from(machine: Machine, node: ir.ImportFrom, frame: Frame) -> None:
    """`from module import name as alias`."""
    if climbs_out(machine.project, node, frame.namespace.path):
        raise Crash(_MISSING)
    module = machine.project.import_module(machine, node.module, node.level, frame.namespace)
    _note_base(machine, _is_for_gpus(machine, module), frame)
    if (
        module is None
        and node.module
        and is_unimportable(machine.project, node.module, node.level, frame.namespace.path)
    ):
        raise Crash(_MISSING)
    if module is None and not node.level:
        _refuse_misplaced(machine, node.module, [name for name, _ in node.names], frame)
    prefix = "." * node.level + node.module
    for name, alias in node.names:
        if name == "*":
            _import_star(machine, module, prefix, frame)
            continue
        value: Value | None = None
        if module is not None:
            value = module_member(machine, module.namespace, name)
            if value is None:
                inner = f"{node.module}.{name}" if node.module else name
                value = machine.project.import_module(machine, inner, node.level, frame.namespace)
                _note_base(machine, _is_for_gpus(machine, value), frame)
            if value is None:
                _note_kernel(machine, name, frame)
                _refuse_lacked(machine, module.namespace, node, name, frame)
                value = UNKNOWN
        elif node.level:
            inner = f"{node.module}.{name}" if node.module else name
            value = machine.project.import_module(machine, inner, node.level, frame.namespace)
            _note_base(machine, _is_for_gpus(machine, value), frame)
            if value is None:
                _note_kernel(machine, name, frame)
                value = Unknown()
        else:
            found = machine.project.import_module(machine, f"{node.module}.{name}", 0, frame.namespace)
            if found is None:
                _note_need(machine, node.module, frame.namespace.path)
                _note_base(machine, libraries.is_absent_without_gpu(node.module), frame)
            value = found if found is not None else _external(machine, f"{node.module}.{name}")
        machine.store.put(frame.names, alias or name, value)


def _is_awaited(machine: Machine, kind: str) -> bool:
    """Whether a handler waits for an error of this kind."""
    return not ancestors(kind).isdisjoint(
        {*machine.run.expected, *(name for caught in machine.run.trying for name in caught)}
    )


def _refuse_misplaced(machine: Machine, name: str, members: list[str], frame: Frame) -> None:
    """A program imports what is not found from where it lies.

    Raises:
        Crash: it is a module of another folder of the project, surely, and no handler waits for that.
    """
    if machine.run.protocol or machine.run.importing or _is_awaited(machine, _MISSING):
        return
    if is_misplaced(machine.project, name, members, frame.namespace):
        raise Crash(_MISSING)


def _refuse_lacked(machine: Machine, module: Namespace, node: ir.ImportFrom, name: str, frame: Frame) -> None:
    """A module is asked for a name that it has not got so far.

    Raises:
        Crash: it surely never has, and no handler waits for that.
    """
    if not _is_awaited(machine, _LACKED) and lacks_name(machine.project, module, node, name, frame.namespace.path):
        raise Crash(_LACKED)


@models("importlib.import_module")
def import_module_call(machine: Machine, call: Call) -> Value:
    """`import_module("package.name")`, `import_module(".name", package)`."""
    name = text_of(call.argument(0, "name"))
    if name is None:
        machine.state.strangers = True
        return UNKNOWN
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    if not level:
        return _imported(machine, name, call.frame.namespace)
    package = text_of(call.argument(1, "package"))
    namespace = call.frame.namespace
    if package is None:
        machine.state.strangers = True
        return UNKNOWN
    if package == namespace.package:  # `__package__`, of which the last part alone is kept
        known = machine.project.import_module(machine, rest, level, namespace)
        machine.state.strangers |= known is None
        return known or UNKNOWN
    parts = package.split(".")
    above = parts[: len(parts) - level + 1]
    return _imported(machine, ".".join([*above, rest] if rest else above), namespace) if above else UNKNOWN


@models("builtins.__import__")
def import_call(machine: Machine, call: Call) -> Value:
    """`__import__("package.name")` gives the package, with a `fromlist` the module."""
    name = text_of(call.argument(0, "name"))
    level = call.argument(4, "level")
    if name is None or (level is not None and constant(level) != 0):
        machine.state.strangers = True
        return UNKNOWN
    named = call.argument(3, "fromlist")
    found = _imported(machine, name, call.frame.namespace)
    if named is not None and not (isinstance(named, Sequence) and not named.items and not named.open):
        return found if not isinstance(named, Unknown) else UNKNOWN
    return _imported(machine, name.partition(".")[0], call.frame.namespace) if "." in name else found


def _imported(machine: Machine, name: str, importer: Namespace) -> Value:
    """The file of the project or the external module that an absolute name means."""
    found = machine.project.import_module(machine, name, 0, importer) if name else None
    if found is None:
        machine.state.strangers = True
        _note_need(machine, name, importer.path)
        return External(name)
    return found


def _note_kernel(machine: Machine, name: str, frame: Frame) -> None:
    """A package of the project has no file for what is imported from it: `from . import iou3d_nms_cuda` is compiled."""
    if libraries.is_kernel(name):
        _note_need(machine, name, frame.namespace.path)
        _note_base(machine, True, frame)


def _note_base(machine: Machine, is_for_gpus: bool, frame: Frame) -> None:
    """A file that imports at its module level, whatever anybody answers, what is for GPUs alone is so itself."""
    if is_for_gpus and frame.function is None and not frame.branches and not _is_awaited(machine, _MISSING):
        machine.entry.evidence["is for GPUs", frame.namespace.path] = None


def _is_for_gpus(machine: Machine, value: Value | None) -> bool:
    """Whether an imported file of the project is for GPUs alone."""
    return isinstance(value, ModuleValue) and ("is for GPUs", value.namespace.path) in machine.entry.evidence


def _note_need(machine: Machine, name: str, path: str) -> None:
    """A package that is nothing without a GPU says that its program is for GPUs, unless it is tried out.

    Raises:
        Crash: it is, where there is none, or it brings an accelerator of another kind, and a handler waits for that.
    """
    if name in BACKENDS and not ancestors(_MISSING).isdisjoint(machine.run.expected):
        raise Crash(_MISSING)
    if not libraries.needs_gpu(name):
        return
    if ancestors(_MISSING).isdisjoint(machine.run.expected):
        machine.entry.evidence["needs a GPU", path] = None
        if libraries.fails_without_gpu(name) and not machine.has_cuda:
            machine.store.set(machine.state, "alive", False)
    elif not machine.world.has_cuda:
        raise Crash(_MISSING)


_MISSING: Final = "ModuleNotFoundError"
_LACKED: Final = "ImportError"


TYPE_CHECKING_NAMES = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})


def defer_imports(machine: Machine, statements: list[ir.Stmt], frame: Frame) -> None:
    """Note the imports under `if TYPE_CHECKING:`, which never run. A name of them that is used after all is imported
    then: packages that import their members on demand tell type checkers, and so us, where those are."""
    deferred = frame.namespace.deferred
    for statement in statements:
        if isinstance(statement, ir.ImportFrom):
            for name, alias in statement.names:
                deferred[alias or name] = (statement.module, statement.level, name)
        elif isinstance(statement, ir.Import):
            for name, alias in statement.names:
                deferred[alias or name.partition(".")[0]] = (name if alias else name.partition(".")[0], 0, "")


def module_member(machine: Machine, namespace: Namespace, name: str) -> Value | None:
    """Return a global name of a file; what it imports for type checkers only is imported now. None if there is none."""
    machine.entry.touched.add(namespace.path)
    value = namespace.names.get(name)
    if value is not None or name not in namespace.deferred:
        return value
    path, level, member = namespace.deferred.pop(name)
    module = machine.project.import_module(machine, path, level, namespace)
    if module is not None:
        value = module_member(machine, module.namespace, member) if member else module
    if value is None and member:
        inner = f"{path}.{member}" if path else member
        value = machine.project.import_module(machine, inner, level, namespace)
    if value is None:
        value = UNKNOWN if level or module is not None else _external(machine, f"{path}.{member}" if member else path)
    namespace.names[name] = value  # for good, as an import is
    return value


def _external(machine: Machine, path: str) -> Value:
    makes = VALUES.get(libraries.canonical(path))
    return External(path) if makes is None else makes(machine)


def _import_star(machine: Machine, module: ModuleValue | None, prefix: str, frame: Frame) -> None:
    if module is None:
        stars = frame.namespace.names.get("*")
        known = stars.items if isinstance(stars, Sequence) else []
        machine.store.put(frame.namespace.names, "*", Sequence("list", [*known, External(prefix)]))
        return
    names = module.namespace.names
    exported = names.get("__all__")
    if isinstance(exported, Sequence) and not exported.open:
        chosen = [item.value for item in exported.items if isinstance(item, Const)]
    else:
        chosen = [name for name in names if not name.startswith("_")]
    for name in chosen:
        if name in names:
            machine.store.put(frame.names, name, names[name])
    inner = names.get("*")
    if isinstance(inner, Sequence):
        machine.store.put(frame.namespace.names, "*", inner)
