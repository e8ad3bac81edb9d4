"""Weights that a program keeps for later by bringing them to the CPU: where they are there already, nothing is copied.

`tensor.cpu()` and `tensor.to("cpu")` return the tensor itself if it is on the CPU (torch.Tensor.to: "If the self Tensor
already has the correct torch.dtype and torch.device, then self is returned"), and what `state_dict()` gives shares the
memory of the module. What was kept so follows the training, and to load it changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.devices import source_text
from devlint.analysis.events import Site, SnapshotNotCopied
from devlint.analysis.results import derived
from devlint.analysis.values import NONE, Mapping, Tensor, Value, present
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.machine import Machine


class Shared:
    """What a tensor shares its memory with: the parameter or buffer `of` a module. `site`: where a move was to copy it
    and did not, `tick` the moment of that. `began`: when the function began in whose loop that was; else the same."""

    __slots__ = ("of", "site", "tick", "began")

    def __init__(self, of: Tensor, site: Site | None = None, tick: int = 0, began: int = 0) -> None:
        self.of = of
        self.site = site
        self.tick = tick
        self.began = began


def kept_on_cpu(machine: Machine, value: Tensor, call: Call) -> Tensor:
    """`tensor.cpu()` of a tensor on the CPU: the tensor itself, remembered if it was to be a copy of a weight."""
    if value.shared is None or value.shared.site is not None:
        return value
    made = derived(value)
    made.requires_grad, made.size = value.requires_grad, value.size
    now, frame = machine.tick(), call.frame
    began = frame.tick if frame.loops and not _leaves(frame.loops[-1], call.node) else now
    made.shared = Shared(value.shared.of, machine.site(call.node, frame), now, began)
    return made


def _leaves(loop: ir.Node, node: ir.Node) -> bool:
    """Whether a branch in which the node stands ends the rounds of the loop."""
    branches = [branch for part in walk(loop) if isinstance(part, ir.If) for branch in (part.body, part.orelse)]
    return any(
        branch and isinstance(branch[-1], _ENDS) and any(part is node for part in walk(branch)) for branch in branches
    )


_ENDS: Final = (ir.Break, ir.Return, ir.Raise)


def names_cpu(call: Call) -> bool:
    """Whether a call of `.to` names the CPU itself, whatever else there is: `x.to("cpu")`."""
    node = call.node
    written = [*node.args, *(value for _, value in node.keywords)] if isinstance(node, ir.Call) else []
    inside = [part for one in written for part in (one, *(one.args if isinstance(one, ir.Call) else ()))]
    return any(isinstance(part, ir.Const) and part.value == "cpu" for part in inside)


def note_copied(machine: Machine, target: Tensor, source: Value | None, call: Call) -> None:
    """`target.copy_(source)`: a weight gets what was kept of it."""
    shared = source.shared if isinstance(source, Tensor) else None
    weight = target if target.shared is None else target.shared.of
    if shared is not None and shared.of is weight:
        _tell(machine, shared, "loaded", call, False)


def note_read(machine: Machine, kept: Value | None, weights: list[Tensor] | None, call: Call) -> None:
    """What was kept is loaded into a module with these weights, or saved (None): are they other ones by now?

    What was kept only if a round of a loop was the best, or is None, need not be of the last round.
    """
    read = NONE if kept is None else present(kept)
    if not isinstance(read, Mapping):
        return
    ours = None if weights is None else {id(tensor) for tensor in weights}
    for one in (kept, *read.items.values()):
        state = NONE if one is None else present(one)
        for part in (*state.items.values(), state.rest) if isinstance(state, Mapping) else ():
            shared = part.shared if isinstance(part, Tensor) else None
            if shared is not None and (ours is None or id(shared.of) in ours):
                if _tell(machine, shared, "saved" if ours is None else "loaded", call, one is not state):
                    return


def _tell(machine: Machine, shared: Shared, kind: str, call: Call, is_of_some_round: bool) -> bool:
    """Tell of what was kept, if it was to be a copy and the weights have changed since."""
    if shared.site is None or machine.written <= (shared.began if is_of_some_round else shared.tick):
        return False
    site, text = machine.site(call.node, call.frame), source_text(machine, shared.site)
    machine.emit(SnapshotNotCopied, site, shared.site, text=text, kind=kind)
    return True
