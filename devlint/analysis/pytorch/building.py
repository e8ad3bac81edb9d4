"""Building the classes of `torch.nn`: parameters and buffers by their rows, what containers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import METHODS, Call
from devlint.analysis.domain.ancestry import is_module_class
from devlint.analysis.domain.module_state import HIDDEN, UNNAMED, ModuleState
from devlint.analysis.domain.values import (
    NONE,
    SOME_RANK,
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
    is_none,
    present,
)
from devlint.analysis.python.mappings import update
from devlint.analysis.python.replacing import registers_elsewhere
from devlint.analysis.pytorch.devices import resolve
from devlint.analysis.pytorch.modules import CONTAINERS, forget_places, is_dictionary
from devlint.analysis.pytorch.opaque import hide_members, hide_parameters, is_opaque
from devlint.analysis.pytorch.results import derived
from devlint.semantics import libraries, table

if TYPE_CHECKING:
    from devlint.analysis.events import MarkKind
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row

_FROM_ARGUMENT: Final = "from-argument"
"""The flag of class methods that make a module of a tensor."""


def construct_builtin(machine: Machine, path: str, row: Row, call: Call) -> Value:
    """Build an instance of a class of `torch.nn`, by its name or by a class method: `nn.Embedding.from_pretrained`."""
    if _FROM_ARGUMENT in row.flags:
        path = path.rpartition(".")[0]
    instance = Instance(External(path), machine.site(call.node, call.frame))
    instance.module = ModuleState()
    instance.module.forward = _plain_forward(libraries.canonical(path))
    initialise_builtin(machine, instance, path, row, call)
    if machine.state.replaced and registers_elsewhere(machine):
        forget_places(machine, instance)
    return instance


def _plain_forward(path: str) -> Row | None:
    """The row of the forward of a class of `torch.nn`, unless it has members to run or a model of its own."""
    if not path.startswith("torch.nn.") or path in CONTAINERS or "forward" in METHODS.get(path, ()):
        return None
    return table.lookup(f"{path}.forward")


def initialise_builtin(machine: Machine, instance: Instance, path: str, row: Row | None, call: Call) -> None:
    """What `__init__` of a class of `torch.nn` does to an instance."""
    module = instance.module
    assert module is not None
    module.row = row
    if path == "torch.nn.Module":
        machine.store.set(module, "is_bare", True)
        return
    if path in CONTAINERS:
        machine.store.set(module, "is_bare", True)
        _fill_container(machine, instance, path, call)
        return
    if row is None:
        return
    bound: dict[str, Any] = table.bind(row, call.positional, call.keywords)
    if is_opaque(row):
        hide_parameters(machine, instance, row, bound, call)
        return
    machine.store.set(module, "is_bare", not call.open and _is_bare(path, row, bound))
    if "loss" in row.flags:
        _note_reduction(machine, instance, bound, call)
    in_forward = _inside_forward(machine)
    has_more = any(not state.condition for state in row.states)
    device: str | None = None
    for state in row.states:
        from_argument = _FROM_ARGUMENT in row.flags
        source = bound.get(row.parameters[0].name if from_argument else f"_{state.name}")
        if from_argument or (isinstance(source, Value) and not is_none(source)):
            made = _made_of(machine, source, row, call)
            frozen = bound.get("freeze" if from_argument else "_freeze", const(from_argument))
            made.requires_grad = constant(frozen) is False
            machine.store.put(module.kinds, state.name, "parameter")
            machine.store.put(instance.fields, state.name, made)
            continue
        given = bound.get(state.name)
        if isinstance(given, Tensor):
            held = Tensor(
                given.device,
                given.rank,
                machine.origin("loss-weight", call.node, call.frame, given.device, state.name, given.origin),
            )
            held.assumed = given.assumed
            machine.store.put(module.kinds, state.name, "buffer" if state.is_buffer else "parameter")
            machine.store.put(instance.fields, state.name, held)
            continue
        if not _exists(state, bound):
            continue
        if device is None:
            target = bound.get("device")
            device = resolve(machine, target if isinstance(target, Value) else None, call.node, call.frame, path)
        kind: MarkKind = "layer-in-forward" if in_forward else "parameter"
        place = None if has_more and not _surely_exists(state, bound) else device
        tensor = Tensor(place, _state_rank(path, state.name), machine.origin(kind, call.node, call.frame, place, path))
        tensor.is_parameter = not state.is_buffer
        tensor.requires_grad = not state.is_buffer
        machine.store.put(module.kinds, state.name, "buffer" if state.is_buffer else "parameter")
        machine.store.put(instance.fields, state.name, tensor)
    for name, value in bound.items():  # modules given as arguments (TransformerEncoder(layer)) are registered copies
        if isinstance(value, Instance) and value.module is not None and name != "self":
            machine.store.put(module.kinds, name, "module")
            machine.store.put(instance.fields, name, value)


def _is_bare(path: str, row: Row, bound: dict[str, Any]) -> bool:
    """Whether nothing that is given to a class of `torch.nn` can be a tensor or a module, and it makes none itself."""
    values = [value for name, value in bound.items() if name != "self"]
    known = libraries.canonical(path).startswith("torch.nn.") and row.effect == "module" and "opaque" not in row.flags
    return known and not any(
        [
            *(_exists(state, bound) for state in row.states),
            *(not isinstance(value, (Const, Scalar, Sequence, External)) for value in values),
        ]
    )


def _note_reduction(machine: Machine, instance: Instance, bound: dict[str, Any], call: Call) -> None:
    """How a loss reduces: `reduction`, as torch keeps it; its older names and what is handed on tell nothing."""
    told = bound.get("reduction")
    if call.open or "reduce" in bound or "size_average" in bound:
        told = UNKNOWN
    if isinstance(told, Value):
        machine.store.put(instance.fields, "reduction", told)


def _made_of(machine: Machine, given: Any, row: Row, call: Call) -> Tensor:
    """The parameter that is made of an argument, where that is."""
    held = derived(given) if isinstance(given, Tensor) else Tensor(None)
    if isinstance(given, Tensor):
        held.origin = machine.origin("parameter", call.node, call.frame, given.device, row.name, given.origin)
    held.is_parameter = True
    return held


def _exists(state: Any, bound: dict[str, Any]) -> bool:
    if not state.condition:
        return True
    value = bound.get(state.condition)
    if value is None:
        return bool(state.default)
    return value.value not in (False, None, 0) if isinstance(value, Const) else bool(state.default)


def _surely_exists(state: Any, bound: dict[str, Any]) -> bool:
    """Whether what a layer is given says that it has a parameter: of a bias that may not be there, since it hangs on
    what nobody knows (`bias=other.bias`), nothing is told, for the weight beside it tells what there is to tell."""
    return not state.condition or isinstance(bound.get(state.condition, NONE), (Const, Scalar))


def _state_rank(path: str, name: str) -> int:
    """How many dimensions a parameter or buffer of a class of `torch.nn` has."""
    if name == "num_batches_tracked":
        return 0
    rank = _RANKS.get(path.rpartition(".")[2]) if libraries.canonical(path).startswith("torch.nn.") else None
    if rank is None:
        return SOME_RANK
    return rank if name == "weight" else 1 if name == "bias" else SOME_RANK


_RANKS: Final = {
    "Linear": 2,
    "LazyLinear": 2,
    "Embedding": 2,
    "EmbeddingBag": 2,
    **{f"{kind}{n}d": n + 2 for kind in ("Conv", "LazyConv", "ConvTranspose", "LazyConvTranspose") for n in (1, 2, 3)},
}
"""How many dimensions the weight of a layer has; its bias has one."""


def _inside_forward(machine: Machine) -> bool:
    """Whether a layer is built while a module's own forward runs (in that very activation)."""
    for activation in reversed(machine.run.activations):
        function, owner = activation.frame.function, activation.frame.owner
        if function is None or function.name == "__init__":
            return False
        if function.name == "forward" and owner is not None and is_module_class(owner):
            return True
    return False


def given_by_name(machine: Machine, given: Value, call: Call) -> Mapping:
    """What a ModuleDict or ParameterDict is given, by name: a dict, another of its kind, or pairs; open where not all
    of it is known."""
    if isinstance(given, Mapping):
        return given
    if isinstance(given, Instance) and given.module is not None and is_dictionary(given):
        held = {name: value for name, value in given.fields.items() if given.module.kinds.get(name)}
        rest = held.pop(UNNAMED, None)
        return Mapping(dict(held), rest, given.module.unsure)
    made = Mapping({})
    update(machine, made, given, call.node, call.frame)
    return made


def _fill_container(machine: Machine, instance: Instance, path: str, call: Call) -> None:
    module = instance.module
    assert module is not None
    arguments = call.positional
    first = arguments[0] if arguments else None
    if first is None and call.keywords:
        first = call.keywords.get("modules") or call.keywords.get("values") or call.keywords.get("parameters")
        arguments = [first] if first is not None else []
    if path in ("torch.nn.ModuleDict", "torch.nn.ParameterDict") or isinstance(first, Mapping):
        if first is not None:
            given = given_by_name(machine, first, call)
            for key, value in given.items.items():
                _register(machine, instance, str(key), value, call)
            if given.open:
                machine.store.set(module, "unsure", True)  # an object that is a dict, or nobody knows what
            if given.rest is not None:
                _register(machine, instance, UNNAMED, given.rest, call)
            if path == "torch.nn.Sequential":
                known = list(given.items.values())
                hidden = given.open and not (known and all(map(_is_member, known)))
                machine.store.set(module, "children", None if hidden else known)
        return
    items: list[Value] | None = list(arguments)
    seen: list[Value] = []
    if path in ("torch.nn.ModuleList", "torch.nn.ParameterList") or (
        len(arguments) == 1 and isinstance(first, Sequence)
    ):
        items = []
        for argument in arguments:
            found = iterate(machine, argument, call.node, call.frame)
            if found is None or (found.open and not found.items):
                items = None
                break
            items.extend(found.items)
    if call.open:
        seen, items = items or [], None
        if path == "torch.nn.Sequential" and seen and all(map(_is_member, seen)):
            items = seen  # of more than are kept apart: these stand for the others, which are of their like
            machine.store.set(module, "unsure", True)
    if items is None:
        machine.store.set(module, "unsure", True)
        machine.store.set(module, "children", None)
        if path == "torch.nn.Sequential" and hide_members(machine, instance, seen):
            return
        for index, item in enumerate(seen):
            if isinstance(present(item), (Instance, Tensor)):
                _register(machine, instance, str(index), item, call)  # among others, that are not known
    if items is not None and path == "torch.nn.ParameterList":
        items = [parameter_of(item) for item in items]
    machine.store.set(module, "children", None if items is None else [present(item) for item in items])


def _is_member(value: Value) -> bool:
    """Whether it is a module of which all parts are known."""
    return isinstance(value, Instance) and value.module is not None and HIDDEN not in value.fields


def _register(machine: Machine, instance: Instance, name: str, value: Value, call: Call) -> None:
    assert instance.module is not None
    value = present(value)
    if isinstance(value, Instance) and value.module is not None:
        machine.store.put(instance.module.kinds, name, "module")
    elif isinstance(value, Tensor):
        machine.store.put(instance.module.kinds, name, "parameter")
    machine.store.put(instance.fields, name, value)


def parameter_of(value: Value) -> Value:
    """What a ParameterList or ParameterDict holds of what it is given: plain tensors are made parameters."""
    if isinstance(value, Tensor) and not value.is_parameter:
        made = Tensor(value.device, value.rank, value.origin, is_parameter=True, dtype=value.dtype, size=value.size)
        made.assumed, made.behind = value.assumed, value.behind
        made.requires_grad = True
        return made
    return value
