"""Where the host meets a tensor's memory: conversions, pending copies, waiting for the device, page-locked memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.values import POISON, Array, Tensor, Value
from devlint.analysis.events import PinAccelerator, Synchronized, ToHost, UnsynchronizedRead
from devlint.analysis.flow.narrowing import is_for_arrays
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.meeting import Part, operand
from devlint.analysis.pytorch.missing import unavailable
from devlint.analysis.pytorch.results import derived, is_any_content
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


def to_host(
    machine: Machine, value: Tensor, function: str, node: ir.Node, frame: Frame, kind: str, where: ir.Node | None = None
) -> None:
    """A tensor is given to code that needs host memory: on CUDA that raises."""
    machine.run.elsewhere = True
    if value.device in (None, "cpu", POISON) or value.assumed or is_any_content(value):
        return
    if kind == "library" and is_for_arrays(machine, value, node, frame):
        return
    error = errors.message("numpy", device=value.device)
    if machine.is_caught(error):
        raise Crash(machine.kind_of(error))
    site = machine.site(node, frame)
    machine.emit(
        ToHost,
        site,
        error=error,
        operand=operand(machine, value, Part(value, "", where), site, frame),
        function=function,
        kind=kind,
        needs_detach=value.requires_grad is True,
        within=machine.run.stack[-1].at.lineno if machine.run.stack else 0,
    )
    machine.store.set(value, "device", POISON)


def names_cpu(call: Call) -> bool:
    """Whether a move says itself that it goes to the CPU, `x.to("cpu")`: what is there may be on a GPU, then."""
    node = call.node
    given = (
        [*node.args[:1], *(part for name, part in node.keywords if name == "device")]
        if isinstance(node, ir.Call)
        else []
    )
    return any(isinstance(part, ir.Const) and part.value == "cpu" for part in given)


def read_pending(machine: Machine, value: Tensor, reader: str, node: ir.Node, frame: Frame) -> None:
    """The host reads what a non-blocking copy may not have brought yet."""
    if value.pending is None or value.pending != machine.state.synchronizations or value.origin is None:
        return
    copy = value.origin.find("async-copy")
    if copy is None:
        return
    machine.emit(
        UnsynchronizedRead,
        machine.site(node, frame),
        copy.site,
        text=source_text(machine, copy.site),
        reader=reader,
    )
    machine.store.set(value, "pending", None)


def read_through(machine: Machine, value: Value, reader: str, node: ir.Node, frame: Frame) -> None:
    """The host reads an array: what a non-blocking copy brings to the tensor of whose memory it is a view."""
    if isinstance(value, Array) and value.source is not None:
        read_pending(machine, value.source, reader, node, frame)


def let_arrive(machine: Machine) -> None:
    """The host waits for the device: what non-blocking copies bring is there afterwards."""
    machine.store.set(machine.state, "synchronizations", machine.state.synchronizations + 1)


def synchronize(machine: Machine, value: Tensor, call: Call, how: str) -> None:
    """The host waits for the device, or may: pending copies are there afterwards.

    In a loop, what is on the CPU now may be what the round has put there in place of others.
    """
    if value.device != "cpu" or (call.frame.loops and value.pending is None):
        let_arrive(machine)
        note_wait(machine, value, how, call.node, call.frame)


def note_wait(machine: Machine, value: Tensor, how: str, node: ir.Node, frame: Frame) -> None:
    """The host waits for the device inside a loop."""
    if (
        Synchronized not in machine.wanted
        or not frame.loops
        or machine.run.protocol
        or value.device in (None, "cpu", POISON)
    ):
        return
    site = machine.site(node, frame)
    loop = machine.site(frame.loops[-1], frame)
    machine.emit(Synchronized, site, text=source_text(machine, site), how=how, loop=loop)


def pin(machine: Machine, value: Tensor, call: Call) -> Value:
    """A copy in page-locked memory: of dense CPU tensors only."""
    if value.device not in (None, "cpu", POISON) and not value.assumed:
        if machine.run.trying:
            raise Crash
        site = machine.site(call.node, call.frame)
        machine.emit(
            PinAccelerator,
            site,
            error=errors.message("pin", device=value.device),
            operand=operand(machine, value, None, site, call.frame),
        )
        machine.store.set(value, "device", POISON)
        return value
    if value.device != "cpu":
        return value
    if not machine.world.has_cuda and not value.assumed and not machine.run.path:
        unavailable(machine, "cuda", None, machine.site(call.node, call.frame), "torch.Tensor.pin_memory", None)
    made = derived(value)
    made.pinned = True
    return made
