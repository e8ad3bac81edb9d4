"""Options that a namespace of argparse surely lacks: to read one raises on every machine.

Sure is what is closed: a parser of the program's own whose every option was written down and seen, a namespace that
nobody out of sight was given, and files that nowhere write an attribute or an option of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import (
    Bound,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    ModuleValue,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.forms import written_in
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine

CLOSED: Final = "closed"
"""Under this key of its state, a parser or a namespace says whether all that it holds was seen. Once it is False it
stays so, on whatever way that was found: no write is undone."""
WHOLE: Final = "whole"
"""Under this key of its state, a namespace says that it has a field for every option of its parser, so that going over
its names goes over those. That is less than being closed: nobody is told that it lacks something."""
_FILES: Final = "files"
_PARSING: Final = frozenset(
    "prog usage description epilog formatter_class add_help allow_abbrev conflict_handler exit_on_error".split()
)
"""What a parser is given that adds no option and changes the name of none."""
_DESCRIBING: Final = frozenset(
    "action nargs const default type choices required help metavar dest version deprecated".split()
)
_WRITES: Final = re.compile(
    r"__dict__|(?<![\w.])(?:vars|locals|exec|eval)\s*\(|set_defaults|\bparents\s*=(?!\s*(?:True|False)\b)|add_subparsers|"
    r"parse_known|Namespace\s*\(|\._actions|_add_action|__setattr__"
)
"""What gives a namespace, or a parser, names that are not written as options."""
_HARMLESS: Final = frozenset(
    f"builtins.{name}" for name in "print str repr format len isinstance hasattr getattr type id bool vars".split()
)


def opens(call: Call) -> bool:
    """Whether a parser is built with more than texts and the like."""
    return call.open or bool(call.positional) or not _PARSING.issuperset(call.keywords)


def is_written(call: Call, named: bool) -> bool:
    """Whether an `add_argument` is written with its flags, and its action is one of argparse's own."""
    node = call.node
    if call.open or not named or not isinstance(node, ir.Call) or not _DESCRIBING.issuperset(call.keywords):
        return False
    given = [*node.args, *(value for name, value in node.keywords if name in (None, "dest"))]
    return all(isinstance(part, ir.Const) and isinstance(part.value, str) for part in given)


def doubt(value: Instance) -> None:
    """What a parser or a namespace holds is not all in sight from now on."""
    for key in (CLOSED, WHOLE):
        if value.state.get(key):
            value.state[key] = False


def close(machine: Machine, parser: Instance, made: Instance, call: Call) -> None:
    """A namespace was parsed: it holds what the parser knows, if that is all in sight."""
    machine.store.put(made.state, CLOSED, False)
    if call.open or not parser.state.get(CLOSED):
        return
    machine.store.put(made.state, WHOLE, True)
    if machine.run.importing or machine.run.protocol:
        return
    path = call.frame.namespace.path
    entry = machine.run.activations[0].call.frame.namespace.path if machine.run.activations else path
    sources = [machine.project.source(part) for part in (path, entry)]
    if all(source is not None and source.kind == "python" for source in sources):
        machine.store.put(made.state, _FILES, (path, entry))
        machine.store.put(made.state, CLOSED, True)


def is_whole(value: Instance) -> bool:
    """Whether a namespace has no names but those of its fields."""
    return bool(value.state.get(WHOLE)) and ANY_NAME not in value.state


def hand_out(callee: Value, name: str, call: Call) -> None:
    """What a call gives to code out of sight may have other options afterwards. `name`: the method that is called."""
    if isinstance(callee, Tensor):
        return
    for value in call.values():
        for part in value.items if isinstance(value, Sequence) else (value,):
            if isinstance(part, Instance) and (part.state.get(CLOSED) or part.state.get(WHOLE)):
                if not _is_in_sight(callee, name):
                    doubt(part)


def leave_out(values: Iterable[Value | None]) -> None:
    """A call that a bound leaves out may have handed on what it was given, and what that holds."""
    for value in values:
        for part in (value, *_parts(value)):
            for held in (part, *_parts(part)):
                if isinstance(held, Instance):
                    doubt(held)


def _parts(value: Value | None) -> Iterable[Value]:
    """What a container or an object of the program's holds."""
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Mapping):
        return value.items.values()
    if isinstance(value, Instance) and isinstance(value.cls, Class):
        return value.fields.values()
    return ()


def _is_in_sight(callee: Value, name: str) -> bool:
    """Whether what is called is the program's own, or changes nothing."""
    if isinstance(callee, External):
        return (f"{callee.path}.{name}" if name else callee.path) in _HARMLESS
    if isinstance(callee, ModuleValue):
        held = callee.namespace.names.get(name)
        return held is not None and not isinstance(held, ModuleValue) and _is_in_sight(held, "")
    if isinstance(callee, Bound):
        return isinstance(callee.function, Function)
    if isinstance(callee, Function):
        return not name
    cls = callee.cls if isinstance(callee, Instance) else callee
    if not isinstance(cls, Class):
        return False
    called = name or ("__init__" if callee is cls else "__call__")
    found = None if isinstance(callee, Instance) and called in callee.fields else find(cls, called)
    return found is not None and isinstance(found[0], Function)


def lacks_option(machine: Machine, value: Value, name: str) -> bool:
    """Whether a value is a namespace that surely has no such attribute."""
    if not isinstance(value, Instance) or not value.state.get(CLOSED) or _FILES not in value.state:
        return False
    if name.startswith("_") or name in value.fields or machine.run.protocol or machine.run.importing:
        return False
    if machine.state.replaced:
        return False
    files = set().union(*map(machine.project.imported, value.state[_FILES]))
    return not any(_may_write(machine, module, name) for path, module in machine.project.loaded() if path in files)


def _may_write(machine: Machine, module: ir.Module, name: str) -> bool:
    """Whether a file gives anything an attribute of this name, or one whose name it computes, or says the name as a
    text: an option that was not seen."""
    if _WRITES.search(module.text):
        return True
    if "setattr" in module.text or name in module.text:
        if not {name, None}.isdisjoint(written_in(machine.project, module)):
            return True
    if name not in module.text.replace("-", "_"):
        return False
    return any(text.lstrip("-").replace("-", "_") == name for text in _texts(module))


def _texts(module: ir.Module) -> list[str]:
    """The strings in a file, less those by which it asks for attributes."""
    parts = list(walk(module.body))
    asked = {
        id(part.args[1])
        for part in parts
        if isinstance(part, ir.Call) and isinstance(part.function, ir.Name) and len(part.args) > 1
        if part.function.id in ("hasattr", "getattr")
    }
    return [
        part.value
        for part in parts
        if isinstance(part, ir.Const) and isinstance(part.value, str) and id(part) not in asked
    ]
