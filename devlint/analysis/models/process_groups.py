"""Process groups of `torch.distributed`: who starts one, who asks for it, and what their collectives take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import VALUES, Call, models
from devlint.analysis.domain.values import NONE, POISON, Scalar, Unknown, Value, const, constant, is_none
from devlint.analysis.events import CpuInCollective
from devlint.analysis.flow.choices import cpu_is_asked_for
from devlint.analysis.programs.entries import is_for_tests
from devlint.analysis.pytorch.meeting import operand, tensors_in
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@models("torch.distributed.init_process_group")
def init_process_group(machine: Machine, call: Call) -> Value:
    """`init_process_group(backend)`."""
    backend = constant(call.argument(0, "backend"))
    text = (
        backend
        if isinstance(backend, str)
        else ""
        if backend is ... and call.argument(0, "backend") is not None
        else "default"
    )
    machine.store.set(machine.state, "collective", text)
    if text == "nccl":
        if machine.device_count == 0:
            raise Crash  # a program that is launched on GPUs says so here: nothing is said of machines without one
        if constant(call.argument(3, "world_size")) == 1:
            machine.entry.consulted.add("rank")  # there is but one process on this way: its device is nobody else's
        rank = call.argument(4, "rank")
        if isinstance(rank, (Unknown, Scalar)):
            machine.entry.consulted.add("distributed")
    return NONE


@models("torch.distributed.destroy_process_group")
def destroy_process_group(machine: Machine, call: Call) -> Value:
    """`destroy_process_group()`: there is none any more; that of one `group` leaves the others."""
    if call.argument(0, "group") is None:
        machine.store.set(machine.state, "collective", None)
    return NONE


@models("torch.distributed.is_initialized")
def is_initialized(machine: Machine, call: Call) -> Value | None:
    """`is_initialized()`: yes, once the program has done it, and no before. Of what nobody in sight calls only tests
    are known to start theirs themselves; without a GPU there is none, for launchers of GPUs start those. Elsewhere
    nobody knows, but it is the same wherever it is asked."""
    if machine.state.collective is not None:
        return const(True)
    home = machine.run.home if machine.run.protocol else None
    starts_its_own = home is None or is_for_tests(home, machine.project.root)
    if starts_its_own or not machine.device_count:
        return const(False)
    return Unknown("torch.distributed.is_initialized()", True)


@models("torch.distributed.get_backend")
def get_backend(machine: Machine, call: Call) -> Value:
    """`get_backend()`: what the program chose; without a GPU a group that works is none of NCCL's."""
    known = machine.state.collective
    if known:
        return const(known)
    return const("gloo") if machine.device_count == 0 else Scalar(kind="string")


VALUES["torch.distributed.Backend.NCCL"] = lambda machine: const("nccl")
VALUES["torch.distributed.Backend.GLOO"] = lambda machine: const("gloo")


_COLLECTIVES = (
    "broadcast all_reduce reduce send isend recv irecv all_gather all_gather_into_tensor all_to_all all_to_all_single "
    "gather scatter reduce_scatter reduce_scatter_tensor"
).split()


@models(*(f"torch.distributed.{name}" for name in _COLLECTIVES))
def collective(machine: Machine, call: Call) -> Value:
    """Collectives of NCCL take CUDA tensors only; who chose the CPU would not choose NCCL for it."""
    group = call.keywords.get("group")
    own_group = group is not None and not is_none(group)  # which may have a backend of its own
    if machine.state.collective == "nccl" and machine.has_several and not own_group and not cpu_is_asked_for(machine):
        for value in call.values():
            for tensor in tensors_in(value, 2):
                if tensor.device == "cpu":
                    if machine.run.trying:
                        raise Crash
                    site = machine.site(call.node, call.frame)
                    machine.emit(
                        CpuInCollective,
                        site,
                        error=errors.message("collective", device="cpu"),
                        operation=_name(call),
                        operand=operand(machine, tensor, None, site, call.frame),
                    )
                    machine.store.set(tensor, "device", POISON)
                    return NONE
    return NONE


def _name(call: Call) -> str:
    function = call.node.function if isinstance(call.node, ir.Call) else None
    return function.name if isinstance(function, ir.Attribute) else getattr(function, "id", "")


@models("torch.distributed.get_rank")
def get_rank(machine: Machine, call: Call) -> Value:
    """The rank of this process: not known."""
    machine.entry.consulted.add("rank")
    return Scalar(0, "number")
