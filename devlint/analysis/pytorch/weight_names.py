"""Names of weights: a wrapper of modules puts `module.` before them, and `load_state_dict` wants them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import NONE, Instance, Mapping, Value, constant
from devlint.analysis.events import ParallelDevice
from devlint.analysis.python.mappings import rewrite
from devlint.analysis.pytorch.modules import builtin_path, class_name, named_modules, named_tensors

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

LOAD_HOOKS: Final = "load_hooks"
_PREFIX: Final = "module."
_WRAPPERS: Final = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})


@models("torch.nn.modules.utils.consume_prefix_in_state_dict_if_present")
def consume_prefix(machine: Machine, call: Call) -> Value | None:
    """`consume_prefix_in_state_dict_if_present(state, "module.")` takes a prefix from names of weights."""
    state, prefix = call.argument(0, "state_dict"), constant(call.argument(1, "prefix"))
    if isinstance(state, Mapping) and isinstance(prefix, str):
        items = {key.removeprefix(prefix) if isinstance(key, str) else key: kept for key, kept in state.items.items()}
        rewrite(machine, state, items)
    return NONE


def refuse_names(machine: Machine, value: Instance, call: Call) -> None:
    """Tell of a state that was taken of a wrapper and goes into a module without one, or the other way round.

    Raises:
        Crash: it is so.
    """
    state = call.argument(0, "state_dict")
    strict = constant(call.argument(1, "strict")) if call.argument(1, "strict") is not None else True
    if not isinstance(state, Mapping) or not state.items or strict is not True or call.open:
        return
    if state.open and state.kind != "state_dict":
        return
    given = {isinstance(key, str) and key.startswith(_PREFIX) for key in state.items}
    wanted = {path is not None and path.startswith(_PREFIX) for path, _, _ in named_tensors(value)}
    if len(given) != 1 or len(wanted) != 1 or given == wanted:
        return
    if value.module is None or any(_is_odd(part) for _, part in named_modules(value)):
        return
    wrapped = given == {True}
    if not wrapped and builtin_path(value) not in _WRAPPERS:
        return
    name = class_name(value)
    machine.crash(
        ParallelDevice,
        machine.site(call.node, call.frame),
        error=f"RuntimeError: Error(s) in loading state_dict for {name}:",
        kind="keys",
        attribute=_PREFIX if wrapped else "",
        wrapper=name,
    )


def _is_odd(part: Instance) -> bool:
    """Whether a part loads its weights in a way of its own, or not all of it is known."""
    module = part.module
    own = any(find(part.cls, name) is not None for name in ("load_state_dict", "_load_from_state_dict"))
    return own or module is None or module.unsure or LOAD_HOOKS in part.state
