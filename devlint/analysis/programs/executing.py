"""Files that are run: once a world, as an import does, and what that does to CUDA whenever they are imported again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.values import UNKNOWN, DeviceValue, ModuleValue, const
from devlint.analysis.forms import imports_by_branch, run_with
from devlint.analysis.frames import Frame, Namespace
from devlint.analysis.memo import memoized
from devlint.analysis.notes import NOT_IMPORTED, Imported
from devlint.analysis.python.names import bound_by
from devlint.analysis.python.settings import is_module, may_have_settings
from devlint.analysis.signals import Crash, OutOfBudget
from devlint.semantics import libraries
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project
    from devlint.analysis.state import State

_DEFAULTS = ("default_device", "default_type", "current_device", "replaced")
"""What `defaults_of` a state are."""


def module_name(path: str) -> tuple[str, str]:
    """The `__name__` and `__package__` of a file."""
    stem = os.path.splitext(os.path.basename(path))[0]
    package = os.path.basename(os.path.dirname(path))
    return (package if stem == "__init__" else stem), package


IMPORT_ERRORS: Final = frozenset({"ModuleNotFoundError", "ImportError"})


def pass_on(module: ModuleValue | None) -> None:
    """Raise what an import in a file raises again where that is imported: no machine comes further.

    Raises:
        Crash: it has raised.
    """
    if module is not None and module.namespace.failed:
        raise Crash(module.namespace.failed)


def run_file(machine: Machine, path: str) -> ModuleValue | None:
    """Run a file as an import does: once in this world, without a log, with what it does to CUDA repeated."""
    machine.entry.touched.add(path)
    existing = machine.namespaces.get(path)
    if existing is not None:
        known = machine.imports.get(path, NOT_IMPORTED)
        if known.consulted and known.visible != machine.state.visible:
            machine.run.answered_before = True
        _repeat_effects(machine, path)
        return ModuleValue(existing)
    module = machine.project.module(path)
    if module is None:
        return None
    name, package = module_name(path)
    namespace = Namespace(path, name, package, module)
    machine.namespaces[path] = namespace
    if may_have_settings(module):
        machine.with_settings.append(namespace)
    run = machine.run
    events, consulted, evidence = machine.entry.events, machine.entry.consulted, machine.entry.evidence
    log, machine.store.log = machine.store.log, None
    lost = machine.loss.lost, machine.loss.named, machine.loss.hidden
    state = machine.state
    before = (state.cuda_initialised, state.visible, state.visible_text, state.was_chosen)
    defaults, imported, was_alive = defaults_of(state), state.imported, state.alive
    processes = (state.cuda_unused, state.cuda_used, state.may_spawn)
    state.cuda_initialised, state.cuda_unused = None, True
    machine.begin(5000 + 15 * module.text.count("\n"), {})
    machine.run.importing = run.importing + 1
    machine.run.expected = list(run.expected)  # who imports it may wait for what it can't import
    imports = machine.imports.setdefault(path, Imported())
    imports.visible = state.visible
    machine.entry.events, machine.entry.consulted, machine.entry.evidence = imports.events, set(), {}
    try:
        run_body(machine, namespace)
    finally:
        if any(map(is_module, namespace.names.values())):
            machine.with_modules.append(namespace)
        if machine.run.elsewhere or machine.run.strayed or machine.loss.named:
            machine.elsewhere_by_import.add(path)
        imports.consulted = machine.entry.consulted
        if machine.entry.consulted:
            from devlint.analysis.programs.sameness import print_of

            machine.prints[path] = print_of(namespace, machine.prints)
        imports.evidence = machine.entry.evidence
        machine.run = run
        machine.entry.events, machine.entry.consulted = events, consulted | machine.entry.consulted
        machine.entry.evidence = evidence
        machine.store.log = log
        machine.loss.lost, machine.loss.named, machine.loss.hidden = lost
        imports.effects = _effects(state, before[1], before[2], processes[2], was_alive)
        imports.defaults = _set_since(state, defaults), state.imported - imported
        state.cuda_initialised, state.visible, state.visible_text, state.was_chosen = before
        state.default_device, state.default_type, state.current_device, state.replaced = defaults
        state.imported = imported
        state.cuda_unused, state.cuda_used, state.may_spawn = processes
    _repeat_effects(machine, path)
    return ModuleValue(namespace)


def run_as_library(machine: Machine, path: str) -> ModuleValue | None:
    """Run a file that nobody in sight runs. The packages around it are run before, as by every import of it, where that
    tells: where they set defaults for new tensors, or where they would be run in the middle of the file, by what it
    imports (`from . import tools`), and meet it half run."""
    inside = run_with(machine.project, path)
    for package in reversed(_packages(path)):
        if package in inside or _sets_defaults(machine.project, package):
            run_file(machine, package)
    return run_file(machine, path)


def _packages(path: str) -> list[str]:
    """The files of the packages around a file, as far as there may be any, the inner ones first."""
    folders = (str(folder) for folder in PurePath(path).parents)
    return [package for folder in folders if (package := os.path.join(folder, "__init__.py")) != path]


@memoized
def _sets_defaults(project: Project, package: str) -> bool:
    """Whether the file of a package, or one that it imports at once, may set where new tensors are created."""
    if project.source(package) is None:
        return False
    sources = map(project.source, (package, *imports_by_branch(project, package)[0]))
    return any(source is not None and "set_default_" in source.text for source in sources)


def defaults_of_packages(machine: Machine, path: str) -> set[str]:
    """The defaults for new tensors that the packages around a file have set, elsewhere than on the CPU, when they were
    imported: every import of the file imports them before."""
    found: set[str] = set()
    for package in _packages(path):
        for slot, value in machine.imports.get(package, NOT_IMPORTED).defaults[0]:
            if slot in ("default_device", "default_type") and isinstance(value, DeviceValue) and value.type != "cpu":
                found.add(slot)
    return found


def _effects(
    state: State, visible: tuple[int, ...] | None, visible_text: str | None, may_spawn: bool, was_alive: bool
) -> tuple[Site | None, tuple[int, ...] | None, str | None, Site | None, bool, bool]:
    """What an import did to CUDA and to processes: the state after it, against what was visible and allowed before.
    Last, whether the import needs a device that the world lacks."""
    return (
        state.cuda_initialised,
        state.visible if state.visible is not visible else None,
        state.visible_text if state.visible_text is not visible_text else None,
        None if state.cuda_unused else state.cuda_used,
        state.may_spawn and not may_spawn,
        was_alive and not state.alive,
    )


_NO_EFFECTS: Final = (None, None, None, None, False, False)


def _repeat_effects(machine: Machine, path: str) -> None:
    imports = machine.imports.get(path, NOT_IMPORTED)
    touched, visible, text, used, spawns, dies = imports.effects or _NO_EFFECTS
    if dies:
        machine.store.set(machine.state, "alive", False)
    if visible is not None and machine.state.cuda_initialised is None:
        machine.store.set(machine.state, "visible", visible)
        machine.store.set(machine.state, "visible_text", text)
        machine.store.set(machine.state, "was_chosen", True)
    if touched is not None and machine.state.cuda_initialised is None:
        machine.store.set(machine.state, "cuda_initialised", touched)
    if used is not None and machine.state.cuda_unused:
        machine.store.set(machine.state, "cuda_unused", False)
        machine.store.set(machine.state, "cuda_used", used)
    if spawns:
        machine.store.set(machine.state, "may_spawn", True)
    repeat_defaults(machine, path)
    machine.entry.consulted |= imports.consulted
    machine.entry.evidence |= imports.evidence


def defaults_of(state: State) -> tuple[DeviceValue | None, DeviceValue | None, int | None, dict[str, Any]]:
    """Where factories create, as of now, which GPU is the current one, and what stands in the place of torch's own."""
    return state.default_device, state.default_type, state.current_device, state.replaced


def _set_since(state: State, before: tuple[object, ...]) -> tuple[tuple[str, object], ...]:
    """Which defaults are others than before, and what they are."""
    now = defaults_of(state)
    return tuple((slot, now[i]) for i, slot in enumerate(_DEFAULTS) if now[i] is not before[i])


def repeat_defaults(machine: Machine, path: str) -> None:
    """The defaults that a file has set when it was imported, for a run that comes to the import for the first time."""
    state = machine.state
    if path in state.imported:
        return
    imports = machine.imports.get(path, NOT_IMPORTED)
    changed, inner = imports.defaults
    machine.store.set(state, "imported", state.imported | inner | {path})
    for slot, value in changed:
        machine.store.set(state, slot, value)
    if any(slot != "replaced" or _says_of_devices(value) for slot, value in changed):
        machine.entry.consulted |= imports.consulted


def _says_of_devices(replaced: object) -> bool:
    """Whether what stands in the place of libraries' own has to do with more than the host's business."""
    return not isinstance(replaced, dict) or not all(map(libraries.holds_nothing, replaced))


def run_body(machine: Machine, namespace: Namespace) -> bool:
    """Run the statements of a file; tells whether it came to the end."""
    frame = Frame(namespace.names, None, namespace, machine.tick())
    namespace.names.setdefault("__name__", const(namespace.name))
    package = None if namespace.name == "__main__" else namespace.package  # of several the last part alone
    namespace.names.setdefault("__package__", const(package))
    came_through = True
    for cell in _cells(machine.project, namespace):
        rest = iter(cell)
        try:
            for statement in rest:
                if machine.block([statement], frame) is not None:
                    break
        except OutOfBudget:
            machine.count("budget: module")
            return False
        except Crash as crash:
            came_through = False
            if crash.kind in IMPORT_ERRORS and is_plain(machine.project, namespace.path):
                namespace.failed = crash.kind
            _forget(machine, namespace, [statement, *rest])
    namespace.complete = namespace.complete or came_through
    return came_through


def is_plain(project: Project, path: str) -> bool:
    """Whether a file is a program from top to bottom, and no notebook or document."""
    source = project.source(path)
    return source is None or source.kind == "python"


def _forget(machine: Machine, namespace: Namespace, rest: list[ir.Stmt]) -> None:
    """What the rest of a cell that failed would have bound, once mended, nobody knows."""
    if is_plain(machine.project, namespace.path):
        return
    for name in bound_by(rest):
        machine.store.put(namespace.names, name, UNKNOWN)


def _cells(project: Project, namespace: Namespace) -> Iterator[list[ir.Stmt]]:
    """The statements of a file; of a notebook or document by cell: its reader goes on to the next after an error."""
    body = namespace.module.body
    source = project.source(namespace.path)
    if source is None or is_plain(project, namespace.path):
        yield body
        return
    for _, cell in groupby(body, key=lambda statement: source.segment(statement.at.lineno)):
        yield list(cell)
