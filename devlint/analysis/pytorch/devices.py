"""Devices: what a device-like value means in this world, and what is no device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.dispatch import TRUTH, on
from devlint.analysis.domain.values import (
    SOME_INDEX,
    Const,
    DeviceValue,
    External,
    Instance,
    Scalar,
    Sequence,
    Unknown,
    Value,
)
from devlint.analysis.events import AvailabilityNotCalled, CudaInWorker, DeviceNamed, DeviceNumber, InvalidDevice, Site
from devlint.analysis.flow.gpu_numbers import is_chosen
from devlint.analysis.flow.users_devices import as_given, is_in_no_world, note_default, note_device
from devlint.analysis.pytorch.missing import UseKind, gone, unavailable
from devlint.analysis.running import FIRST_GPU
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.semantics.devices import ACCELERATORS, parse_device

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.analysis.state import Worker
    from devlint.syntax import ir


def source_text(machine: Machine, site: Site) -> str:
    """The program text at a site, on one line."""
    return machine.project.text_at(site)


def is_device_like(value: Value | None) -> bool:
    """Whether a value names a device: a handle, a string, an index."""
    if isinstance(value, DeviceValue):
        return True
    return isinstance(value, Const) and isinstance(value.value, (str, int)) and not isinstance(value.value, bool)


def resolve(
    machine: Machine,
    value: Value | None,
    node: ir.Node,
    frame: Frame,
    operation: str = "",
    kind: UseKind = "use",
) -> str | None:
    """Return the device that a device-like value means here and now: `cpu`, `cuda:0`; None when that is not known.

    Where this world does not have it, that is told and POISON is returned; inside a `try` the program goes to its
    handler.
    """
    if value is None:
        return default_device(machine, node, frame, operation)
    literal: Site | None = None
    if isinstance(value, DeviceValue):
        device_type, index, literal = value.type, value.index, value.site
    elif isinstance(value, Const):
        content = value.value
        if content is None:
            return default_device(machine, node, frame, operation)
        if isinstance(content, str):
            parsed = parse_device(content)
            literal = value.site
            if parsed is None:
                return invalid(machine, content, node, frame, operation, literal)
            device_type, index = parsed
        elif isinstance(content, int) and not isinstance(content, bool):
            if content < 0:
                return negative(machine, value, node, frame, operation)
            device_type, index = "cuda", content
            if value.site is not None and value.site.key in machine.places.ranks:
                machine.entry.consulted.add("rank")
        else:
            return None
    elif isinstance(value, Scalar) and value.kind == "number" and machine.device_count:
        device_type, index = "cuda", SOME_INDEX
    elif isinstance(value, Sequence):
        return several(machine, value, node, frame, operation)
    else:
        return _resolve_other(machine, value, node, frame, operation, kind)
    if device_type == "cpu" or is_in_no_world(index):
        note_default(machine, value.site if isinstance(value, Const) else literal)
    found = isinstance(value, DeviceValue) and value.of is not None and not value.is_text
    if isinstance(value, DeviceValue) and value.of is not None and value.of.assumed:
        presume(machine, node, frame)
    chosen = is_chosen(machine, value)
    return use(machine, device_type, index, node, frame, operation, literal, kind, chosen, found=found)


def _resolve_other(
    machine: Machine, value: Value, node: ir.Node, frame: Frame, operation: str, kind: UseKind
) -> str | None:
    """What names no device by itself: a context manager that is taken for one, a setting of the user's, an input."""
    if isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == "torch.cuda.device":
        if operation.startswith("torch.cuda."):  # its own functions read the number of the context manager
            return resolve(machine, value.state["target"], node, frame, operation, kind)
        site = machine.site(node, frame)
        machine.emit(
            InvalidDevice,
            site,
            value.site or site,
            error=errors.message("invalid-device", form="context", operation=operation),
            kind="context",
            operation=operation,
            text="torch.cuda.device",
        )
        return gone(machine)
    users = as_given(machine, value) if machine.run.gives_a_gpu else value
    if users is not value:
        return resolve(machine, users, node, frame, operation, kind)
    if not operation.startswith("torch.cuda."):
        note_device(machine, value, operation != ".to")
    given = given_device(machine, value)
    if given is not None:
        presume(machine, node, frame)
    return given


def presume(machine: Machine, node: ir.Node, frame: Frame) -> None:
    """Note that what stands where this puts it stands there by protocol."""
    if machine.run.unseen:
        machine.run.presumed.add(machine.site(node, frame).key)


def given_device(machine: Machine, value: Value) -> str | None:
    """The device that an entry point is given (`device`, `x.device`): by protocol the one of its other inputs.

    None where that is no entry by protocol, or the value nothing that it is given.
    """
    if not machine.run.protocol or machine.run.importing or value.__class__ is not Unknown:
        return None
    assert isinstance(value, Unknown)
    if value.path is None or not (value.named if value.path == "device" else value.path.endswith(".device")):
        return None
    if machine.run.assume.get(f"{value.path} is None"):
        return None  # this run answers that none was given
    machine.entry.consulted.add("accelerator")
    if value.path != "device":
        machine.run.asking.update(machine.run.stack[-1:])
    return machine.run.given_device


def invalid(
    machine: Machine, text: str, node: ir.Node, frame: Frame, operation: str, literal: Site | None
) -> str | None:
    """A string that is no device; `"cuda:-1"` with a `-1` of `get_device()` in it is told as that number. What an entry
    by protocol makes of the index of an input, `f"cuda:{x.device.index}"`, is for those on a GPU."""
    if is_for_others(machine, text, literal, frame):
        return None
    if text == "cuda:None" and machine.run.protocol and not machine.has_cuda:
        return use(machine, "cuda", None, node, frame, operation, literal)
    site = machine.site(node, frame)
    if literal is not None and text.endswith(":-1"):
        asked = source_text(machine, literal)
        if asked.endswith(".get_device()"):
            error = errors.message("invalid-device", text=text)
            machine.emit(DeviceNumber, site, literal, error=error, text=asked, use=operation)
            return gone(machine)
    machine.emit(
        InvalidDevice,
        site,
        literal or site,
        error=errors.message("invalid-device", text=text),
        text=text,
        literal=literal,
        operation=operation,
    )
    return gone(machine)


def is_for_others(machine: Machine, text: str, literal: Site | None, frame: Frame) -> bool:
    """Whether a text stands for a device that somebody will set, as callers out of sight may have: it is empty, or
    stands in a file of which nothing runs now (`cfg.device = "auto"`)."""
    if not machine.run.protocol or machine.run.importing:
        return False
    running = {active.frame.namespace.path for active in machine.run.activations} | {frame.namespace.path}
    return not text or (literal is not None and literal.path not in running)


def several(machine: Machine, value: Sequence, node: ir.Node, frame: Frame, operation: str) -> str | None:
    """A list of devices where one is expected: `.to([0, 1])`."""
    if not value.items or operation.startswith("torch.cuda.") or not all(map(is_device_like, value.items)):
        return None
    machine.emit(
        InvalidDevice,
        machine.site(node, frame),
        error=errors.message("invalid-device", form="several", operation=operation, text=value.kind),
        kind="several",
        text=value.kind,
        operation=operation,
    )
    return gone(machine)


def negative(machine: Machine, value: Const, node: ir.Node, frame: Frame, operation: str) -> str | None:
    """A negative index: what `get_device()` answers on the CPU, or a number of the program's own for "no GPU"."""
    site = machine.site(node, frame)
    error = errors.message("invalid-device", text=str(value.value))
    if value.site is not None and value.site.key in machine.places.ranks:
        return None  # a launcher gives another
    if value.site is not None:
        text = source_text(machine, value.site)
        machine.emit(DeviceNumber, site, value.site, error=error, text=text, use=operation)
        return gone(machine)
    if _only_one_of_many(machine):
        return None
    machine.emit(InvalidDevice, site, error=error, text=str(value.value), kind="negative", operation=operation)
    return gone(machine)


def _only_one_of_many(machine: Machine) -> bool:
    """Whether the program may get here with another device: by protocol, or by a flag that asks for a GPU."""
    return (machine.run.protocol and not machine.run.importing) or machine.run.guards > 0


def demand_gpu(machine: Machine, value: Value, node: ir.Node, frame: Frame, operation: str, numbered: bool) -> bool:
    """Tell where the CPU is given to what takes GPUs only, or where a number is demanded and there is none.

    Says whether the program raises there.
    """
    given = value.value if isinstance(value, Const) else value
    if isinstance(given, str):
        parsed = parse_device(given)
        given = None if parsed is None else DeviceValue(*parsed)
        if given is None:
            return False
    if isinstance(given, DeviceValue) and given.type == "cpu":
        error, kind, text = f"ValueError: Expected a cuda device, but got: {given}", "cpu", str(given)
        if operation == ".cuda":
            error = "RuntimeError: Invalid device, must be cuda device"
    elif numbered and (given is None or (isinstance(given, DeviceValue) and str(given) == "cuda")):
        error = f"ValueError: Expected a torch.device with a specified index or an integer, but got:{given}"
        if operation == "torch.cuda.device":
            error = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
        kind, text = "number", str(given)
    else:
        return False
    if machine.state.misled or _only_one_of_many(machine):
        return False
    machine.emit(InvalidDevice, machine.site(node, frame), error=error, text=text, kind=kind, operation=operation)
    if operation == ".cuda":
        raise Crash  # each such move raises: the first is told
    gone(machine)
    return True


def demand_type_name(machine: Machine, value: Value, node: ir.Node, frame: Frame, operation: str) -> bool:
    """Tell where a string that names a type of devices is demanded and something else is given.

    Says whether the program raises there.
    """
    site = machine.site(node, frame)
    if isinstance(value, DeviceValue) and not value.is_text:
        error = "ValueError: Expected `device_type` of type `str`, got: `<class 'torch.device'>`"
        machine.emit(InvalidDevice, site, error=error, text=str(value), kind="handle", operation=operation)
        gone(machine)
        return True
    if isinstance(value, Const) and isinstance(value.value, str) and parse_device(value.value) is None:
        invalid(machine, value.value, node, frame, operation, value.site)
        return True
    return False


def legacy_error(machine: Machine, operation: str) -> str | None:
    """Return what a legacy CUDA tensor type raises in this world; None where there is CUDA."""
    return None if machine.has_cuda else errors.message("no-cuda", operation=operation, device="cuda")


def asked_of(machine: Machine, value: Value | None) -> Site | None:
    """Where the default of an option names the device that a question is about: `torch.cuda.synchronize(args.device)`;
    None of what no option gives."""
    site = value.site if isinstance(value, (Const, DeviceValue)) else None
    return site if site is not None and site.key in machine.places.options else None


def use(
    machine: Machine,
    device_type: str,
    index: int | None,
    node: ir.Node,
    frame: Frame,
    operation: str,
    literal: Site | None = None,
    kind: UseKind = "use",
    chosen: bool = False,
    asked: Site | None = None,
    found: bool = False,
) -> str | None:
    """Use a device of this type: its canonical name, or POISON when the world does not have it. `chosen`: an option
    says which; `asked`: where its default names the device that a question is about; `found`: a tensor is there."""
    site = machine.site(node, frame)
    if literal is not None and device_type != "cpu" and DeviceNamed in machine.wanted and not machine.run.protocol:
        machine.emit(DeviceNamed, site, literal, text=device_type if index is None else f"{device_type}:{index}")
    machine.placements += 1
    if kind != "query":
        chosen_index = machine.state.current_device if index is None and device_type == "cuda" else index
        if f"{device_type}:{chosen_index}" != machine.accelerator:
            machine.note_place(device_type)
    if device_type == "cpu":
        return "cpu"
    if device_type not in ACCELERATORS:
        return None  # meta and friends: nothing is said about them
    count = machine.device_count
    if device_type != "cuda":
        if machine.run.protocol and kind == "use":
            raise Crash  # no world has it, so that none of them comes any further
        if machine.run.protocol:
            return None
        return unavailable(machine, device_type, index, site, operation, literal, kind, node=node)
    if not found:
        machine.entry.consulted.update(("count", "named") if index else ("named",))
    if index == SOME_INDEX:
        machine.entry.consulted.add("rank")
        if count:
            initialise(machine, site, operation, kind)
            return some_gpu(machine, count)
        return unavailable(machine, device_type, index, site, operation, literal, kind, node=node)
    if count == 0:
        machine.entry.consulted.add("count" if machine.world.device_count else "named")
        return unavailable(
            machine, device_type, index, site, operation, literal or asked, kind, node=node, chosen=chosen
        )
    if machine.run.worker is not None:
        return _use_in_worker(machine, machine.run.worker, site, operation)
    initialise(machine, site, operation, kind)
    if index is None:
        index = machine.state.current_device
        if index is None:
            return some_gpu(machine, count)
    if index >= count:
        return unavailable(machine, device_type, index, site, operation, literal, kind, node=node, chosen=chosen)
    return f"cuda:{index}"


def _use_in_worker(machine: Machine, worker: Worker, site: Site, operation: str) -> str | None:
    """A forked process can't initialise CUDA again: a worker of a loader ends, and the program with it."""
    machine.emit(
        CudaInWorker,
        site,
        error=errors.message("fork"),
        operation=operation,
        forked=worker.site,
        by_loader=worker.by_loader,
        initialised=worker.initialised,
    )
    if not worker.by_loader:
        raise Crash
    return gone(machine)


def some_gpu(machine: Machine, count: int) -> str | None:
    """A GPU of which nobody knows the number: the only one that there is; of several, it is not known which.

    A run of its own takes it for the first (`exploring._on_the_first`), and tells what would be so on any.
    """
    machine.run.asked[FIRST_GPU] = None
    return "cuda:0" if count == 1 or machine.run.takes_first else None


_NO_USE = ("torch.Generator",)
"""What takes a device of CUDA without initialising CUDA."""


def initialise(machine: Machine, site: Site, operation: str, kind: UseKind) -> None:
    """CUDA is touched here; a use of a device, not a question about it, surely initialises it."""
    touch(machine, site)
    if kind != "query" and operation not in _NO_USE:
        mark_used(machine, site)


def mark_used(machine: Machine, site: Site) -> None:
    """CUDA is surely initialised from here on."""
    if machine.state.cuda_unused and machine.has_cuda:
        machine.store.set(machine.state, "cuda_unused", False)
        machine.store.set(machine.state, "cuda_used", site)


def touch(machine: Machine, site: Site) -> None:
    """CUDA is initialised here, if it was not before."""
    if machine.state.cuda_initialised is None and machine.has_cuda:
        machine.store.set(machine.state, "cuda_initialised", site)


def counts_devices(machine: Machine, value: Value) -> bool:
    """Whether a number is the answer to how many GPUs there are."""
    return isinstance(value, Const) and value.site is not None and value.site.key in machine.places.counts


def default_device(machine: Machine, node: ir.Node, frame: Frame, operation: str = "") -> str | None:
    """Where factories create when they are not told."""
    return _chosen(machine, machine.state.default_device, node, frame, operation)


def device_of_default_type(machine: Machine, node: ir.Node, frame: Frame, operation: str) -> str | None:
    """Where `torch.Tensor(...)` creates: it obeys the default tensor type, not the default device."""
    return _chosen(machine, machine.state.default_type, node, frame, operation)


def _chosen(machine: Machine, default: DeviceValue | None, node: ir.Node, frame: Frame, operation: str) -> str | None:
    if default is None:
        return "cpu"
    if default.__class__ is not DeviceValue or default.type == "?":
        return None
    return resolve(machine, default, node, frame, operation)


@on(TRUTH, External)
def external_truth(machine: Machine, value: External) -> bool | None:
    """Functions are true: `if torch.cuda.is_available:`; `typing.TYPE_CHECKING` is not."""
    if value.path in ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"):
        return False
    return True if value.path.endswith((".is_available", ".device_count")) else None


def note_condition(machine: Machine, value: Value, test: ir.Expr, frame: Frame) -> None:
    """Tell of an availability function that was tested, not called.

    Whether the program fails is seen when it comes to what needs CUDA; code that is entered by protocol may go on to.
    """
    if isinstance(value, External) and value.path.endswith("cuda.is_available") and not machine.has_cuda:
        machine.store.set(machine.state, "misled", True)
        machine.emit(
            AvailabilityNotCalled,
            machine.site(test, frame),
            error=errors.message("no-cuda") if machine.run.protocol else None,
            text=source_text(machine, machine.site(test, frame)),
        )
