"""`try`: what a handler would catch makes the body silent, and is its way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.ancestry import external_bases, mro
from devlint.analysis.domain.plain import ancestors
from devlint.analysis.domain.values import Class, Instance, Unknown
from devlint.analysis.events import Choice
from devlint.analysis.flow.choices import Decision
from devlint.analysis.machine import TORCH_ERRORS
from devlint.analysis.signals import RAISE, Crash, Signal
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import Decision
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

from devlint.analysis.flow.control import fork

_GUARDING = frozenset(
    "Exception BaseException RuntimeError AssertionError TypeError AttributeError NameError ValueError "
    "AcceleratorError CudaError UnboundLocalError StandardError NotImplementedError".split()
)


def guards(handler: ir.Handler) -> bool:
    """Whether a handler would catch what torch raises about devices, and doesn't raise it again.

    One that ends the program, or says in words of its own that a GPU is needed, was meant: an assertion does the same.
    """
    last = handler.body[-1] if handler.body else None
    if isinstance(last, ir.Raise):
        again = isinstance(last.value, ir.Name) and handler.name is not None and last.value.id == handler.name.id
        if last.value is None or again:
            return False
    if handler.type is None:
        return True
    return any(name in _GUARDING for name in caught_names(handler))


_TELLING = frozenset("print warn warning error info debug critical exception print_exc write".split())


def only_tells(handler: ir.Handler) -> bool:
    """Whether a handler says what was raised and does nothing about it: the program goes on without what failed."""
    told = False
    for statement in handler.body:
        call = statement.value if isinstance(statement, ir.ExprStatement) else None
        if not isinstance(call, ir.Call) or not isinstance(call.function, (ir.Name, ir.Attribute)):
            return False
        name = last_name(call.function)
        if name not in _TELLING:
            return False
        told = told or name in ("exception", "print_exc") or _names(handler.name, call)
    return told


def _names(name: ir.Name | None, call: ir.Call) -> bool:
    """Whether a call is given what the name stands for."""
    written = walk([*call.args, *(value for _, value in call.keywords)])
    return name is not None and any(isinstance(part, ir.Name) and part.id == name.id for part in written)


def caught_names(handler: ir.Handler) -> list[str]:
    """The names of the exceptions that a handler catches."""
    if handler.type is None:
        return ["BaseException"]
    types = handler.type.items if isinstance(handler.type, ir.Display) else [handler.type]
    names = [last_name(kind) for kind in types]
    return [name for name in names if name]


def catches(handler: ir.Handler, kind: str, thrown: Instance | None = None) -> bool:
    """Whether a handler catches what the program raised itself, or else a builtin exception (or, for "", what torch
    raises about devices)."""
    if thrown is not None:
        return not _names_of(thrown).isdisjoint(caught_names(handler))
    return not (ancestors(kind) | TORCH_ERRORS).isdisjoint(caught_names(handler)) if kind else guards(handler)


def _thrown(machine: Machine) -> Instance | None:
    """The exception of the program's own that is on its way."""
    thrown = machine.run.thrown
    return thrown if isinstance(thrown, Instance) else None


def _names_of(thrown: Instance) -> set[str]:
    """The names of the classes of an exception."""
    names = {"BaseException"}
    if isinstance(thrown.cls, Class):
        names |= {cls.name for cls in mro(thrown.cls) if isinstance(cls, Class)}
    for path in external_bases(thrown.cls):
        name = path.rpartition(".")[2]
        names |= {name, *ancestors(name)}
        if not path.startswith("builtins."):
            names.add("Exception")
    return names


_ABSENT = frozenset({"FileNotFoundError", "OSError", "IOError", "EnvironmentError"})


def run_try(machine: Machine, node: ir.Try, frame: Frame) -> Signal | None:
    """`try`: where a handler has an answer to a missing file, both ways are possible."""
    absent = next((handler for handler in node.handlers if not _ABSENT.isdisjoint(caught_names(handler))), None)
    if absent is None or not any(isinstance(statement, ir.Assign) for statement in absent.body):
        return _run_try(machine, node, frame)
    site = machine.site(node, frame)
    key = site.key
    machine.run.asked[key] = None
    assumed = machine.run.assume.get(key)

    def missing() -> Signal | None:
        signal = machine.block(absent.body, frame)
        final = machine.block(node.final, frame) if node.final else None
        return signal if final is None else final

    if assumed is not None:
        return _run_try(machine, node, frame) if assumed else missing()
    decision = Decision(None, key, Choice("", True, machine.site(absent, frame)))
    return fork(machine, decision, lambda: _run_try(machine, node, frame), missing, frame)


def _run_try(machine: Machine, node: ir.Try, frame: Frame) -> Signal | None:
    """try/except/else/finally: a handler that would catch a device error makes the body silent and is its way out."""
    guard = next((handler for handler in node.handlers if guards(handler)), None)
    telling = guard is not None and only_tells(guard)
    expected = len(machine.run.expected)
    machine.run.expected += [name for handler in node.handlers for name in caught_names(handler)]
    trying = machine.run.trying
    if guard is not None:
        caught = (name for handler in node.handlers if guards(handler) for name in caught_names(handler))
        machine.run.trying = (*trying, frozenset(caught))
    machine.run.telling += telling
    crash: Crash | None = None
    signal: Signal | None = None
    machine.run.thrown = None
    try:
        signal = machine.block(node.body, frame)
    except Crash as raised:
        crash = raised
    finally:
        machine.run.trying = trying
        machine.run.telling -= telling
        del machine.run.expected[expected:]
    kind = "" if crash is None else crash.kind
    thrown = None if kind else _thrown(machine)
    if crash is not None and not any(catches(handler, kind, thrown) for handler in node.handlers):
        if node.final:
            machine.block(node.final, frame)
            machine.run.thrown = thrown
        raise crash
    passes = signal is RAISE and thrown is not None and not any(catches(h, kind, thrown) for h in node.handlers)
    if (crash is not None or signal is RAISE) and node.handlers and not passes:
        chosen = next((h for h in node.handlers if catches(h, kind, thrown)), node.handlers[0])
        if chosen.name is not None:
            machine.store.put(frame.names, chosen.name.id, Unknown() if thrown is None else thrown)
        machine.run.thrown = None
        signal = machine.block(chosen.body, frame)
    elif signal is None:
        if node.orelse:
            signal = machine.block(node.orelse, frame)
    final = machine.block(node.final, frame) if node.final else None
    return signal if final is None else final
