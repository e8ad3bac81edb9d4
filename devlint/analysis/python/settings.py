"""Settings of a file: global names that its functions set, attributes that its classes let be set, and its modules that
they move."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from devlint.analysis.domain.values import (
    PRESENT,
    UNKNOWN,
    Class,
    Const,
    DeviceValue,
    Instance,
    Mapping,
    Sequence,
    Value,
    is_none,
)
from devlint.analysis.memo import memoized
from devlint.analysis.pytorch.modules import forget_places
from devlint.syntax import ir
from devlint.syntax.walk import attribute_writes, last_name, names_cpu, walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Namespace
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project


def forget_settings(machine: Machine, namespace: Namespace, entered: ir.Function | ir.Class) -> None:
    """Before code is entered by protocol: whoever calls it may have called what sets a device, a flag or None before,
    or call it before the file binds a name again below.

    What the entered function or class sets itself (a value that it makes once) stays as it is; what others keep in an
    attribute that is None at first, the only object of its kind, is there.
    """
    own = entered.body.globals if isinstance(entered, ir.Function) else ()
    for space, settings in _in_sight(machine, namespace):
        for name in settings.names:
            if name not in own and isinstance(space.names.get(name), (Const, DeviceValue)):
                machine.store.put(space.names, name, UNKNOWN)
        for name, places in settings.places.items():
            _forget_items(machine, space.names.get(name), places)
        for owner, attributes in settings.attributes.items():
            cls = space.names.get(owner)
            if not isinstance(cls, Class) or cls.node is entered:
                continue
            for name in attributes:
                first_value = cls.fields.get(name)
                if isinstance(first_value, (Const, DeviceValue)):
                    machine.store.put(cls.fields, name, PRESENT if is_none(first_value) else UNKNOWN)
    first = entered.at.lineno
    for name, rows in _bindings(machine.project, namespace.module).items():
        if rows[0] < first < rows[-1] and name in namespace.names:
            machine.store.put(namespace.names, name, UNKNOWN)
    for space in {id(space): space for space in (namespace, *machine.with_modules)}.values():
        held = [(name, value) for name, value in space.names.items() if is_module(value)]
        for name, value in held:
            if any(mover is not entered for mover in _movers(machine.project, space.module).get(name, ())):
                assert isinstance(value, Instance)
                forget_places(machine, value)


class Settings(NamedTuple):
    """What functions of a file may set: its global names, what its lists and dicts hold at some places, and attributes
    of its classes."""

    names: frozenset[str]
    places: dict[str, frozenset[object]]
    attributes: dict[str, frozenset[str]]


def _in_sight(machine: Machine, namespace: Namespace) -> list[tuple[Namespace, Settings]]:
    """The settings of a file, and those of the files that were imported, where these have any: of hundreds of files few
    do, and each entry asks for them."""
    waiting, machine.with_settings = machine.with_settings, []
    for space in waiting:
        settings = _settings_of(machine.project, space.module)
        if any(settings):
            machine.settings.append((space, settings))
    if any(space is namespace for space, _ in machine.settings):
        return machine.settings
    return [(namespace, _settings_of(machine.project, namespace.module)), *machine.settings]


@memoized
def _settings_of(project: Project, module: ir.Module) -> Settings:
    return Settings(_settable(module), _filled(module), _set_by_classes(module))


def _forget_items(machine: Machine, held: Value | None, places: frozenset[object]) -> None:
    """What a list or dict of a file holds at some places may have been replaced before: devices, what else is plain."""
    if isinstance(held, Sequence):
        kept = [UNKNOWN if place in places and _is_plain(item) else item for place, item in enumerate(held.items)]
        machine.store.set(held, "items", kept)
    elif isinstance(held, Mapping):
        kept_by_key = {key: UNKNOWN if key in places and _is_plain(item) else item for key, item in held.items.items()}
        machine.store.set(held, "items", kept_by_key)


def _is_plain(value: Value) -> bool:
    return isinstance(value, (Const, DeviceValue))


@memoized
def _bindings(project: Project, module: ir.Module) -> dict[str, list[int]]:
    """In which rows statements of a file, outside branches and loops, assign each of its names, in order."""
    found: dict[str, list[int]] = {}
    for statement in module.body:
        for target in statement.targets if isinstance(statement, ir.Assign) else ():
            if isinstance(target, ir.Name):
                found.setdefault(target.id, []).append(statement.at.lineno)
    return found


def is_module(value: Value) -> bool:
    """Whether a value is a module that can be moved in place."""
    return isinstance(value, Instance) and value.module is not None


@memoized
def _movers(project: Project, module: ir.Module) -> dict[str, list[ir.Function | ir.Class]]:
    """The functions and classes of a file that move one of its global names: `net.to(device)`."""
    found: dict[str, list[ir.Function | ir.Class]] = {}
    for statement in module.body:
        if not isinstance(statement, (ir.Function, ir.Class)):
            continue
        for part in walk(statement):
            if isinstance(part, ir.Call) and isinstance(part.function, ir.Attribute):
                receiver = part.function.value
                if part.function.name in MOVES and isinstance(receiver, ir.Name) and not _goes_to_cpu(part):
                    if receiver.scope not in (ir.NameScope.LOCAL, ir.NameScope.FREE):
                        found.setdefault(receiver.id, []).append(statement)
    return found


def _goes_to_cpu(move: ir.Call) -> bool:
    """`net.to("cpu")`: where it stands without it."""
    return any(map(names_cpu, [*move.args, *(value for _, value in move.keywords)]))


MOVES: Final = frozenset({"to", "cuda"})
"""Methods that put a module on a GPU, or where they are told."""


def _settable(module: ir.Module) -> frozenset[str]:
    """The names that functions and methods of a file declare as `global`."""
    found: set[str] = set()
    for statement in module.body if _declares(module.text) else ():
        for part in statement.body if isinstance(statement, ir.Class) else [statement]:
            if isinstance(part, ir.Function):
                found |= part.body.globals
    return frozenset(found)


def _filled(module: ir.Module) -> dict[str, frozenset[object]]:
    """The lists and dicts of a file in which its functions write, at the places that they name: `_device[0] = device`,
    `_settings["device"] = device`."""
    found: dict[str, set[object]] = {}
    functions = [part for part in module.body if isinstance(part, ir.Function)] if _FILLS.search(module.text) else []
    for part in walk(functions):
        for target in part.targets if isinstance(part, ir.Assign) else ():
            if isinstance(target, ir.Subscript) and isinstance(target.index, ir.Const):
                if isinstance(target.value, ir.Name) and target.value.scope is ir.NameScope.GLOBAL:
                    found.setdefault(target.value.id, set()).add(target.index.value)
    return {name: frozenset(places) for name, places in found.items()}


def _set_by_classes(module: ir.Module) -> dict[str, frozenset[str]]:
    """The attributes of each class of a file that its methods set for all: `cls.device = device`, or by its name."""
    by_class: dict[str, frozenset[str]] = {}
    for statement in module.body if _SET_BY_CLASS.search(module.text) else ():
        if not isinstance(statement, ir.Class):
            continue
        found: set[str] = set()
        for part in statement.body:
            if isinstance(part, ir.Function):
                owners = {statement.name}
                if "classmethod" in map(last_name, part.decorators):
                    owners.update(part.parameters.positional[:1])
                for _, name, target in attribute_writes(part.body.statements):
                    if name is not None and isinstance(target, ir.Name) and target.id in owners:
                        found.add(name)
        if found:
            by_class[statement.name] = frozenset(found)
    return by_class


_DECLARES: Final = re.compile(r"\bglobal[ \t]+\w+[ \t\r]*(?:[,;#\\]|$)|\bglobal[ \t]*\\", re.MULTILINE)
"""`global a, b`; not "the global average", as comments say."""

_SET_BY_CLASS: Final = re.compile(r"^[ \t]+(cls|[A-Z]\w*)\.\w+[ \t]*(:[^=\n]*)?=[^=]", re.MULTILINE)

_FILLS: Final = re.compile(r"^[ \t]+\w+\[[^\]\n]+\][ \t]*=[^=]", re.MULTILINE)


def may_have_settings(module: ir.Module) -> bool:
    """Whether a function of a file may declare a name as `global`, set an attribute of its class, or write into a list
    or dict: else no body need be lowered to see which."""
    return _declares(module.text) or any(form.search(module.text) for form in (_SET_BY_CLASS, _FILLS))


def _declares(text: str) -> bool:
    """Whether a text has a `global` statement; most have not even the word, which is found sooner."""
    return "global" in text and _DECLARES.search(text) is not None
