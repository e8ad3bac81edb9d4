"""Where the wrong device of a tensor began: the root of a clash, and the calls that passed the tensor down to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from devlint.analysis.dispatch import Callback
from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import POISON, Array, Instance, Mapping, Sequence, Tensor, Value
from devlint.analysis.events import CauseKind, Site
from devlint.analysis.forms import reach
from devlint.analysis.pytorch.modules import registered
from devlint.analysis.pytorch.staleness import is_stale
from devlint.analysis.running import Activation

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

P = TypeVar("P")

_BY_MARK: dict[str, CauseKind] = {
    "dropped": "dropped",
    "rebound": "rebound",
    "left-behind": "attribute",
    "unregistered": "container",
    "rebuilt": "rebuilt",
    "attached": "attached",
    "layer-in-forward": "layer-in-forward",
    "loss-weight": "loss",
    "metric-state": "metric",
    "cached": "cache",
    "type-cast": "type-cast",
    "optimizer-state": "optimizer-state",
}


def trace_root(
    machine: Machine, tensor: Tensor, node: ir.Node, frame: Frame, is_check: bool = False
) -> tuple[CauseKind, Site]:
    """Where the wrong device of a tensor began, and of what kind that is.

    A mistake that has left its mark on the tensor, such as a dropped move, is the root itself. What the function that
    crashes has made, or its module, is told where it was made. Else it is the crash, or, where another file has passed
    the tensor down to it, the outermost of these calls. `is_check`: the function does no more than to check what its
    caller gives.
    """
    site = machine.site(node, frame)
    origin = tensor.origin
    if origin is None:
        return "mixed", site
    if is_stale(machine, tensor):
        cached = origin.cached()
        if cached is not None and cached.stored is not None:
            return "cache", cached.stored
    if origin.kind == "traced":
        return "mixed", origin.site
    mark = _newest_cause(origin)
    if mark is not None:
        return _BY_MARK[mark.kind], mark.site
    if _was_sent_back(machine, origin):
        return "module-input", origin.site
    if origin.kind == "module-moved":
        owner = _owner_call(machine, tensor)
        if owner is not None:
            return "module-input", owner
    if origin.kind == "parameter":
        owner = _owner_call(machine, tensor)
        return ("module-input" if owner is not None or tensor.is_parameter else "mixed"), owner or site
    chain = _passing(machine, tensor, origin)
    if chain and origin.kind in ("factory", "host") and _made_by_its_module(machine, origin):
        return "factory", origin.site
    served = machine.run.served.get(origin, 0)
    if chain and served > chain[-1].tick:
        chain = _passing(machine, tensor, origin, served)
        if not chain:
            return "mixed", site
    if chain:
        return _root_of_passed(machine, chain, site, frame, is_check)
    if origin.kind in ("factory", "host"):
        return _root_of_made(machine, tensor, origin, site, frame)
    return "mixed", site


def _root_of_made(machine: Machine, tensor: Tensor, origin: Origin, site: Site, frame: Frame) -> tuple[CauseKind, Site]:
    """The root of what the program made, and passed to no function that runs."""
    made_here = origin.frame is frame or _in_callees(machine, origin, frame)
    if made_here and (frame.function is not None or _in_running_loop(origin, frame)):
        if origin.first() in machine.run.sent:
            return "mixed", site  # it was made there on purpose, and is sent on where it is needed
        return "factory", origin.site
    owner = None if made_here else _owner_call(machine, tensor, unmoved=True)
    if owner is not None:
        return "module-input", owner
    if made_here or origin.kind != "factory":
        return "mixed", site
    if origin.frame is not None and origin.frame.function is None and frame.function is None:
        return "mixed", site
    if origin.first() in machine.run.sent:
        return "mixed", site  # a buffer that was moved since, of which something was computed before
    return "factory", origin.site


def _root_of_passed(
    machine: Machine, chain: list[Activation], site: Site, frame: Frame, is_check: bool
) -> tuple[CauseKind, Site]:
    """The root of what a chain of calls, innermost first, has passed down to where it crashes."""
    passed = chain[-1]
    seen = passed.call.frame.namespace is frame.namespace and not is_check
    if seen and not any(each.is_forward for each in chain):
        return "mixed", site  # who reads the file sees both, and the functions between need not be right
    outermost = next((each for each in reversed(chain) if each.is_forward or _enters_module(each)), passed)
    if outermost.call.frame.namespace is passed.call.frame.namespace:
        passed = outermost  # the call of the module, where what stands between is in sight, too
    return ("module-input" if passed.is_forward else "mixed"), machine.site(passed.call.node, passed.call.frame)


def is_handed_around(machine: Machine, operands: Iterable[tuple[Tensor, P]], frame: Frame, root: Site) -> bool:
    """Whether the file of `root` has called a function that it can only have been given, with what all came from
    elsewhere: the handler of an event, say. Who wrote the function knows what it gets."""
    path = frame.namespace.path
    if root.path == path or path in reach(machine.project, root.path):
        return False
    for tensor, _ in operands:
        origin = tensor.origin
        if origin is None or origin.site.path == root.path or not _passing(machine, tensor, origin):
            return False
    return True


def _enters_module(activation: Activation) -> bool:
    """Whether somebody else calls a method of a module, or a module its own forward by name."""
    receiver, caller = activation.receiver, activation.call.frame.receiver
    if not isinstance(receiver, Instance) or receiver.module is None or activation.frame.function is None:
        return False
    by_name = activation.frame.function.name == "forward"
    return by_name or not isinstance(caller, Instance) or caller.module is None


def taken_abroad(machine: Machine, given: Tensor, operands: Iterable[tuple[Tensor, P]]) -> tuple[Tensor, P] | None:
    """Of what meets an input of a module: what was placed on another device while the module ran, which is, itself,
    where its input is."""
    if given.origin is None:
        return None
    chain = _passing(machine, given, given.origin)
    ran = next((each for each in reversed(chain) if each.is_forward), None)
    if ran is None or not isinstance(ran.receiver, Instance) or ran.receiver.module is None:
        return None
    if {tensor.device for tensor, _, _ in registered(ran.receiver)} != {given.device}:
        return None
    for tensor, part in operands:
        origin = tensor.origin
        if tensor.device != given.device and origin is not None and origin.tick > ran.tick:
            if origin.kind in ("moved", "placed"):
                return tensor, part
    return None


def _was_sent_back(machine: Machine, origin: Origin) -> bool:
    """Whether a function that has ended took a module to the CPU, which others had put on an accelerator."""
    if origin.kind != "module-moved" or origin.device != "cpu" or origin.frame is None or origin.previous is None:
        return False
    if origin.frame.function is None or any(active.frame is origin.frame for active in machine.run.activations):
        return False
    before = origin.previous.find("module-moved", "moved", "placed")
    return before is not None and before.frame is not origin.frame and before.device not in (None, "cpu", POISON)


def _made_by_its_module(machine: Machine, origin: Origin) -> bool:
    """Whether the module that is given a value has made it, in another method: its callers only kept it."""
    maker = None if origin.frame is None else origin.frame.receiver
    return (
        isinstance(maker, Instance)
        and maker.module is not None
        and any(active.is_forward and active.receiver is maker for active in machine.run.activations)
    )


def _newest_cause(origin: Origin) -> Origin | None:
    """The newest mark that is a cause, unless an explicit move or placement came after it."""
    mark: Origin | None = origin
    while mark is not None:
        if mark.kind in _BY_MARK:
            return mark
        if mark.kind in ("moved", "placed", "module-moved", "loader", "input", "async-copy"):
            return None
        mark = mark.previous
    return None


def _in_callees(machine: Machine, origin: Origin, frame: Frame) -> bool:
    """Whether a value was made during the running activation of `frame`, in something that it called."""
    return frame.function is not None and origin.tick > frame.tick


def made_in_entry(machine: Machine, origin: Origin | None) -> bool:
    """Whether a value was made by what the running entry has called: nobody else can have put another in its place."""
    return origin is not None and bool(machine.run.activations) and origin.tick > machine.run.activations[0].tick


def _in_running_loop(origin: Origin, frame: Frame) -> bool:
    """At module level: whether the value was made inside a loop that is still running."""
    if not frame.loops:
        return False
    at, loop = origin.site.at, frame.loops[-1].at
    return bool(loop.lineno <= at.lineno <= loop.end_lineno)


def _passing(machine: Machine, tensor: Tensor, origin: Origin, since: int = 0) -> list[Activation]:
    """The calls that passed the value down to where it is, innermost first, of those begun since then."""
    found: list[Activation] = []
    for activation in reversed(machine.run.activations):
        if activation.tick < since or not _passes(activation, tensor, origin):
            break
        found.append(activation)
    return found


def _passes(activation: Activation, tensor: Tensor, origin: Origin) -> bool:
    if origin.tick > activation.tick or activation.call.__class__ is Callback:
        return False
    first = origin.first()
    for value in activation.call.values():
        for passed in _reachable(value, 3):
            if passed is tensor or (passed.origin is not None and passed.origin.first() is first):
                return True
    return False


def _reachable(value: Value, depth: int) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if not depth:
        return []
    if isinstance(value, Sequence):
        return [t for part in value.items for t in _reachable(part, depth - 1)]
    if isinstance(value, Mapping):
        return [t for part in value.items.values() for t in _reachable(part, depth - 1)]
    if isinstance(value, Instance) and value.module is None:
        return [t for part in value.fields.values() for t in _reachable(part, depth - 2 if depth > 1 else 0)]
    if isinstance(value, Array) and value.source is not None:
        return [value.source]
    return []


def _owner_call(machine: Machine, parameter: Tensor, unmoved: bool = False) -> Site | None:
    """The outermost call of a module that owns this parameter, among the calls that run.

    `unmoved`: that owns this buffer, or from whose buffer alone it was computed, if the module was never moved.
    """
    activation, module = next(_owners(machine, parameter, unmoved), (None, None))
    if activation is None or module is None or (unmoved and not _is_unmoved(module)):
        return None
    return machine.site(activation.call.node, activation.call.frame)


def _is_unmoved(module: Instance) -> bool:
    """Whether a module was never moved, and all that it holds is where that has left it."""
    assert module.module is not None
    places = {tensor.device for tensor, _, _ in registered(module)} - {None, POISON}
    return module.module.device is None and len(places) < 2


def unmoved_owner(machine: Machine, parameter: Tensor) -> Site | None:
    """Where the outermost module was built that owns this parameter or buffer and runs, if it was never moved."""
    owner = next((module for _, module in _owners(machine, parameter, True)), None)
    return owner.site if owner is not None and _is_unmoved(owner) else None


def _owners(machine: Machine, parameter: Tensor, computed: bool) -> Iterator[tuple[Activation, Instance]]:
    """The modules that own a parameter or buffer, of the calls that run, outermost first.

    `computed`: also those that own what it was computed from alone.
    """
    origin = parameter.origin if computed else None
    for activation in machine.run.activations:
        receiver = activation.receiver
        if (activation.is_forward or computed) and isinstance(receiver, Instance) and receiver.module is not None:
            tensors = [tensor for tensor, _, _ in registered(receiver)]
            if any(tensor is parameter or (tensor.origin is origin is not None) for tensor in tensors):
                yield activation, receiver
