"""What plain Python values lack: they live on no device, and `.to()`, `.cuda()`, `.cpu()` or `.device` is an error; and
the methods that a module of the program's own lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import ANY_NAME, has_attribute
from devlint.analysis.dispatch import ATTRIBUTE, on
from devlint.analysis.domain.ancestry import external_bases, mro
from devlint.analysis.domain.plain import ancestors, missing
from devlint.analysis.domain.plain_types import type_name
from devlint.analysis.domain.values import Class, Const, Instance, Mapping, Method, Sequence, Value
from devlint.analysis.events import DroppedMove, MoveOnArray
from devlint.analysis.forms import written_in
from devlint.analysis.frames import Locals
from devlint.analysis.programs.callers import is_word_of_users
from devlint.analysis.python.classes import ELSEWHERE, annotated_fields
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

MOVES: Final = ("to", "cuda", "cpu")
LACKED: Final = frozenset({*MOVES, "device"})
"""What tensors, modules and much else have, and no plain value has."""


def read_lacking(machine: Machine, value: Value, name: str, node: ir.Node, frame: Frame) -> Value:
    """`value.name`, where no such attribute is: an error, told where this is surely such a value and surely comes here.

    Raises:
        Crash: it does.
    """
    kind = type_name(value)
    if not kind or _is_placeholder(value) or not (_is_own(machine, value) and comes_surely(machine, frame)):
        return missing(machine, "AttributeError")
    if is_told_apart(machine, node, frame):
        return missing(machine, "AttributeError")
    refuse(machine, kind, name, node, frame)
    raise Crash("AttributeError")


def refuse(machine: Machine, kind: str, name: str, node: ir.Node, frame: Frame) -> None:
    """Tell of an attribute that a type lacks, unless a handler around catches that: every build of torch raises it."""
    names = ancestors("AttributeError")
    if not all(names.isdisjoint(caught) for caught in machine.run.trying):
        return
    trying, machine.run.trying = machine.run.trying, ()
    machine.emit(
        MoveOnArray,
        machine.site(node, frame),
        error=errors.message("no-attribute", type=kind, name=name),
        text=source_text(machine, machine.site(receiver_of(node), frame)),
        method=name,
        type_name=kind,
    )
    machine.run.trying = trying


def ask_nothing(machine: Machine, value: Const, error: str, node: ir.Node, frame: Frame) -> None:
    """Tell of a None that a move gave back, if it surely comes to where it is asked for something."""
    known = machine.nothings.get(value)
    if known is not None and not machine.run.trying and comes_surely(machine, frame):
        site, name = known
        machine.emit(DroppedMove, machine.site(node, frame), site, error=error, text=name, kind="nothing")


def _is_placeholder(value: Value) -> bool:
    """Whether it is a 0, "" or [] that stands where the program means to put something else."""
    if isinstance(value, (Sequence, Mapping)):
        return not value.items and not value.open
    return isinstance(value, Const) and not value.value


def _is_own(machine: Machine, value: Value) -> bool:
    """Whether the running program has put the value there itself: by protocol, callers may put others in its place."""
    if not machine.run.protocol or machine.run.importing:
        return True
    if not isinstance(value, (Sequence, Mapping)) or value.open or not machine.run.activations:
        return False
    names = machine.run.activations[0].frame.names
    return isinstance(names, Locals) and value.born >= names.born


def comes_surely(machine: Machine, frame: Frame) -> bool:
    """Whether the program comes here by nothing but what is known and what its user may choose: a condition that is
    not understood may be what tells such values from tensors."""
    if machine.run.doubts or not all(choice.condition for choice in machine.run.path):
        return False
    return not any(_is_past_doubt(part) for part in (frame, *(a.call.frame for a in machine.run.activations)))


def is_told_apart(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether the way to where a value is asked for what it lacks hangs on an answer about that very value, that nobody
    knows: `if boxes.shape[1] == 5:` may be what tells arrays from tensors."""
    receiver = receiver_of(node)
    if not isinstance(receiver, ir.Name):
        return False
    about = re.compile(rf"\b{re.escape(receiver.id)}\b\s*[.\[]")
    return any(
        choice.site is not None
        and choice.site.path == frame.namespace.path
        and about.search(choice.condition or machine.project.text_at(choice.site))
        for choice in machine.run.path
    )


def receiver_of(node: ir.Node) -> ir.Node:
    """What is asked for an attribute or a method."""
    asked = node.function if isinstance(node, ir.Call) else node
    return asked.value if isinstance(asked, ir.Attribute) else node


def _is_past_doubt(frame: Frame) -> bool:
    """Whether the other side of such a condition has left the activation, or the running round of a loop."""
    part: Frame | None = frame
    while part is not None:
        if part.leaving or any(choice is None or not choice.condition for _, choice in part.return_keys):
            return True
        part = part.outer if part.function is not None else None
    return False


_OF_WRAPPED: Final = frozenset("dynamo_ctx graph_for join module no_sync save save_to_buffer".split())
"""What a library that prepares, compiles or scripts a module gives it."""
PLAIN_BASES: Final = frozenset({"torch.nn.Module", "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})


def lacks_method(machine: Machine, value: Instance, name: str, frame: Frame) -> bool:
    """Whether a module of the program's own surely has no such attribute: no class in sight gives it one, and no file
    that takes part writes it. Where nobody calls what runs, its callers may; of what the object asks itself, they have
    to, and nothing is known of what comes then."""
    module, cls = value.module, value.cls
    if module is None or not isinstance(cls, Class) or ANY_NAME in value.state:
        return False
    if module.unsure and (machine.run.entered is not value or is_for_heirs(machine, cls, name)):
        return False
    if machine.run.protocol and frame.receiver is not value:
        return False
    if (
        name.startswith("_")
        or name in _OF_WRAPPED
        or value.state.keys() - {"training"}
        or not PLAIN_BASES.issuperset(external_bases(cls))
        or machine.state.replaced
    ):
        return False
    if any(isinstance(base, Class) and may_be_extended(machine, base) for base in mro(cls)):
        return False
    return has_attribute(machine, value, name) is False and not _is_assigned(machine, cls, name)


def is_for_heirs(machine: Machine, cls: Class, name: str) -> bool:
    """Whether others may give objects of a class what it asks itself for, of which nobody calls that in sight: files
    that use it speak of it, or its class says what it is, `scale: Tensor`."""
    if is_word_of_users(machine.project, cls.frame.namespace.path, name):
        return True
    return any(isinstance(base, Class) and name in annotated_fields(base.node) for base in mro(cls))


def _is_assigned(machine: Machine, cls: Class, name: str) -> bool:
    """Whether the program, or the file of a class, or what the one or the other imports, gives anything an attribute of
    this name, or one whose name it computes."""
    return any(
        not {name, None}.isdisjoint(written_in(machine.project, module))
        for module in writers(machine, cls)
        if name in module.text or "setattr(" in module.text
    )


def writers(machine: Machine, cls: Class, frame: Frame | None = None) -> list[ir.Module]:
    """The files that may give objects of a class an attribute: the program, its own, that of the frame, and what they
    import."""
    files = set(machine.project.imported(cls.frame.namespace.path))
    if frame is not None:
        files |= machine.project.imported(frame.namespace.path)
    if machine.run.activations:
        files |= machine.project.imported(machine.run.activations[0].call.frame.namespace.path)
    return [module for path, module in machine.project.loaded() if path in files]


_EXTENDS: Final = re.compile(
    r"(?<![\w.])(?:locals|vars|globals|exec|eval|setattr)\(|__bases__|__dict__|types\.MethodType"
)


def may_be_extended(machine: Machine, cls: Class) -> bool:
    """Whether a class is given methods by more than its body: decorators, metaclasses, what its file does by names."""
    module = machine.project.module(cls.frame.namespace.path)
    extends = module is None or _EXTENDS.search(module.text) is not None
    return bool(cls.node.decorators or cls.properties.get(ELSEWHERE)) or extends


@on(ATTRIBUTE, Sequence)
def sequence_attribute(machine: Machine, value: Sequence, name: str, node: ir.Node, frame: Frame) -> Value:
    """`xs.name` is a method."""
    return read_lacking(machine, value, name, node, frame) if name in LACKED else Method(value, name)
