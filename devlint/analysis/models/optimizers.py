"""`torch.optim`: optimizers hold parameters, and make state where the parameters are at the first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, METHODS, Call, method_models, models, on
from devlint.analysis.domain.ancestry import external_bases
from devlint.analysis.domain.lattice import KeptState
from devlint.analysis.domain.origins import marks
from devlint.analysis.domain.plain import key_of
from devlint.analysis.domain.values import (
    NONE,
    NUMBER,
    OWN_CLASS,
    POISON,
    UNKNOWN,
    Class,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    const,
)
from devlint.analysis.events import Choice, MixedDevices, MovedParameter, Operand, Site
from devlint.analysis.models.copying import copied
from devlint.analysis.models.torch_files import relocated
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.leaves import moved_leaf, note_steps
from devlint.analysis.pytorch.loads import take_for_weights
from devlint.analysis.pytorch.meeting import Part, meet
from devlint.analysis.pytorch.results import derived
from devlint.analysis.pytorch.snapshots import note_changed
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

OPTIMIZER = "torch.optim.Optimizer"
CLASS_NAME: Final = "class name"
"""Under this key of its state an optimizer of torch keeps which one it is."""
_STATELESS = frozenset({"SGD"})
_EAGER = frozenset({"Adagrad"})
"""Optimizers that make their state when they are built, not at the first step (torch/optim/adagrad.py)."""
_PARTS: Final = {
    "SGD": "momentum_buffer",
    "Adam": "exp_avg exp_avg_sq",
    "AdamW": "exp_avg exp_avg_sq",
    "NAdam": "exp_avg exp_avg_sq",
    "RAdam": "exp_avg exp_avg_sq",
    "Adamax": "exp_avg exp_inf",
    "Adadelta": "square_avg acc_delta",
    "Adagrad": "sum",
    "RMSprop": "square_avg",
    "Rprop": "prev step_size",
}
"""What the state of one parameter holds that must be where the parameter is."""
_COUNTERS: Final = frozenset({"step", "mu_product", "eta", "mu"})
"""What of the state is a number, or a tensor that is read as one."""
_EXTRAS: Final = {"Adam": {"amsgrad"}, "AdamW": {"amsgrad"}, "RMSprop": {"momentum", "centered"}}
"""Arguments that add to it."""
PARTS: Final = "parts"
"""Under this key of its state an optimizer of torch's keeps the names of what it holds, if they are known."""
_NAMES = (
    "SGD Adam AdamW Adamax NAdam RAdam Adadelta Adagrad ASGD RMSprop Rprop SparseAdam Adafactor LBFGS Muon Optimizer"
).split()


def _optimizers_named(name: str) -> Callable[[Machine, Call], Value]:
    """What `torch.optim.Adam(params)` makes, by the name of the class."""

    def make(machine: Machine, call: Call) -> Value:
        made = Instance(External(OPTIMIZER), machine.site(call.node, call.frame))
        made.state[OWN_CLASS] = External(f"torch.optim.{name}")
        return initialise(machine, made, call)

    return make


for _name in _NAMES:
    models(f"torch.optim.{_name}", f"torch.optim.{_name.lower()}.{_name}")(_optimizers_named(_name))


@method_models(OPTIMIZER, "__init__")
def initialise(machine: Machine, made: Instance, call: Call) -> Value:
    """What an optimizer keeps; non-leaf tensors are refused."""
    parameters = _parameters(machine, call.argument(0, "params"), call)
    for tensor in parameters:
        source = moved_leaf(tensor)
        if source is not None:
            if machine.run.trying:
                raise Crash
            root = source.site
            machine.emit(
                MovedParameter,
                machine.site(call.node, call.frame),
                root,
                error=errors.message("non-leaf"),
                text=source_text(machine, root),
                is_parameter=True,
                device=tensor.device or "",
            )
    made.state[CLASS_NAME] = name = _class_name(made, call)
    momentum = call.argument(2, "momentum")
    made.state["params"] = parameters
    if isinstance(made.cls, Class):
        _open_books(machine, made, parameters, call)
    is_known = name in _PARTS and not _EXTRAS.get(name, set()) & call.keywords.keys() and len(call.positional) < 5
    made.state[PARTS] = tuple(_PARTS[name].split()) if is_known else ()
    made.state["keeps"] = name not in _STATELESS or (momentum is not None)
    site = machine.site(call.node, call.frame)
    eager = parameters if name in _EAGER else []
    made.state["devices"] = {id(t): KeptState(t.device, site) for t in eager if t.device and t.device != POISON}
    return made


def _open_books(machine: Machine, made: Instance, parameters: list[Tensor], call: Call) -> None:
    """The `state` and `param_groups` of an optimizer of the user's own: its `step` works on them.

    A group holds its parameters, the defaults and what was given with it; others are known where the class derives
    from no optimizer of torch's, which has defaults of its own.
    """
    machine.store.put(made.fields, "state", Mapping({}, None, False, "defaultdict", External("builtins.dict")))
    defaults = call.argument(1, "defaults")
    known: dict[Any, Value] = defaults.items if isinstance(defaults, Mapping) else {}
    is_open = not isinstance(defaults, Mapping) or defaults.open or _class_name(made, call) != "Optimizer"
    groups: list[Value] = [
        Mapping({**known, **given, "params": Sequence("list", list(own), not own)}, None, is_open)
        for given, own in _groups(machine, call, parameters)
    ]
    machine.store.put(made.fields, "param_groups", Sequence("list", groups))


def _groups(machine: Machine, call: Call, parameters: list[Tensor]) -> list[tuple[dict[Any, Value], list[Tensor]]]:
    """The groups that an optimizer is given: one of all parameters, or dicts."""
    given = call.argument(0, "params")
    parts = given.items if isinstance(given, Sequence) and not given.open else []
    if not parts or not all(isinstance(part, Mapping) and not part.open for part in parts):
        return [({}, parameters)]
    return [
        (part.items, _parameters(machine, part.items.get("params"), call))
        for part in parts
        if isinstance(part, Mapping)
    ]


def _class_name(made: Instance, call: Call) -> str:
    if isinstance(made.cls, Class):
        return next((path.rpartition(".")[2] for path in external_bases(made.cls)), "")
    own = made.state.get(OWN_CLASS)
    if isinstance(own, External):
        return own.path.rpartition(".")[2]
    function = call.node.function if isinstance(call.node, ir.Call) else None
    return function.name if isinstance(function, ir.Attribute) else getattr(function, "id", "")


def _parameters(machine: Machine, value: Value | None, call: Call) -> list[Tensor]:
    if value is None:
        return []
    found = iterate(machine, value, call.node, call.frame)
    tensors: list[Tensor] = []
    for part in found.items if found is not None else ():
        if isinstance(part, Tensor):
            tensors.append(part)
        elif isinstance(part, Mapping):
            tensors += _parameters(machine, part.items.get("params"), call)
        elif isinstance(part, Sequence) and len(part.items) == 2 and isinstance(part.items[1], Tensor):
            tensors.append(part.items[1])
    return tensors


@method_models(OPTIMIZER, "step")
def step(machine: Machine, value: Instance, call: Call) -> Value:
    """`optimizer.step(closure)`: calls the closure; makes state at the first step, which must stay with parameters."""
    closure = call.given(0, "closure")
    loss = NONE if closure is None else call_value(machine, closure, call.with_arguments([]))
    note_changed(machine, value.state.get("params", ()))
    note_steps(machine, value.state.get("params", ()), call)
    if value.state.get(CLASS_NAME) == "LBFGS":
        _join_gradients(machine, value, call)
    if value.state.get("keeps"):
        _keep_state(machine, value, call)
        _fill_books(machine, value)
    return loss


def _join_gradients(machine: Machine, value: Instance, call: Call) -> None:
    """L-BFGS makes one vector of all gradients (`_gather_flat_grad` in torch/optim/lbfgs.py)."""
    parts = [Part(tensor, "strict", name="the gradient of a parameter") for tensor in value.state.get("params", ())]
    meet(machine, parts, "cat", call.node, call.frame, "torch.cat")


def _fill_books(machine: Machine, value: Instance) -> None:
    """The `state` that the program has seen, after a step of torch's: tensors where each parameter is."""
    books = value.fields.get("state")
    if not isinstance(books, Mapping) or books.open:
        return
    made: dict[Any, Value] = {
        key_of(tensor): Mapping({"step": UNKNOWN}, derived(tensor), True) for tensor in value.state.get("params", ())
    }
    if made.keys() - books.items.keys():
        machine.store.epoch += 1
        machine.store.set(books, "items", {**made, **books.items})


def _keep_state(machine: Machine, value: Instance, call: Call) -> None:
    """State is made where a parameter is at its first step; later steps need both together."""
    if any(tensor.device == POISON for tensor in value.state.get("params", ())):
        return  # a program that has crashed makes no step
    devices: dict[int, KeptState] = dict(value.state.get("devices", {}))
    site = machine.site(call.node, call.frame)
    books = value.fields.get("state")
    for tensor in value.state.get("params", ()):
        if tensor.device is None:
            continue
        before = devices.get(id(tensor))
        if isinstance(books, Mapping) and before is not None:
            before = _booked(books, tensor, before)
        if before is None:
            devices[id(tensor)] = KeptState(tensor.device, site)
        elif before.device != tensor.device:
            if _clash_behind(machine, tensor, before, site):
                break
            devices[id(tensor)] = KeptState(tensor.device, site)
    machine.store.put(value.state, "devices", devices)


def _booked(books: Mapping, tensor: Tensor, before: KeptState) -> KeptState | None:
    """The state of a parameter as the program has left it, if it has had it in its hands; None if nobody knows."""
    entry = books.items.get(key_of(tensor))
    if not isinstance(entry, Mapping) or books.open:
        return None
    parts = [part for name, part in entry.items.items() if name not in _COUNTERS]
    parts += [entry.rest] if entry.rest is not None else []
    if not parts or not all(isinstance(part, Tensor) and part.device not in (None, POISON) for part in parts):
        return None
    kept = next((part for part in parts if isinstance(part, Tensor) and part.device != tensor.device), None)
    if kept is None or kept.device is None:
        return KeptState(tensor.device or "", before.made)
    moved = marks(kept.origin)
    return KeptState(kept.device, moved[-1].site if moved else before.made)


def _books(machine: Machine, value: Instance) -> Value:
    """The `state` of an optimizer of torch's, from now on in the program's hands: for each parameter what was made."""
    devices: dict[int, KeptState] = value.state.get("devices", {})
    parameters: list[Tensor] = value.state.get("params", [])
    names: tuple[str, ...] = value.state.get(PARTS, ())
    if not parameters or any(kept.behind for kept in devices.values()) or any(t.device is None for t in parameters):
        machine.store.put(value.state, "devices", {})
        return UNKNOWN
    items: dict[Any, Value] = {}
    for tensor in parameters:
        kept = devices.get(id(tensor))
        if kept is not None:
            parts: dict[Any, Value] = {"step": UNKNOWN}
            parts.update((name, _placed(tensor, kept.device)) for name in names)
            rest = None if names else _placed(tensor, kept.device)
            items[key_of(tensor)] = Mapping(parts, rest, not names)
    books = Mapping(items, None, False, "defaultdict", External("builtins.dict"))
    machine.store.put(value.fields, "state", books)
    return books


def _placed(parameter: Tensor, device: str) -> Tensor:
    """A tensor of the state, where it was made."""
    made = derived(parameter)
    made.device = device
    return made


def _clash_behind(machine: Machine, tensor: Tensor, before: KeptState, site: Site) -> bool:
    """Tell of a clash with a state that is there behind conditions alone, if it can be there on this path: what else
    the path has answered may hang on those conditions, and is told of in the runs that have their answers."""
    answers = {_asked(machine, choice): choice.value for choice in machine.run.path}
    told = {_asked(machine, choice): choice for choice in reversed(before.behind)}
    if any(told[_asked(machine, choice)].value is not choice.value for choice in before.behind):
        return False  # the same question had both answers: no run comes here so
    if any(answers.get(asked, choice.value) is not choice.value for asked, choice in told.items()):
        return False
    open_ones = [choice for asked, choice in told.items() if asked not in answers]
    if open_ones and not told.keys() >= answers.keys():
        return False
    depth = len(machine.run.path)
    machine.run.path += reversed(open_ones)
    try:
        _clash(machine, tensor, before, site)
    finally:
        del machine.run.path[depth:]
    return True


def _asked(machine: Machine, choice: Choice) -> object:
    """What is asked: by its name, or as it is written in its file."""
    if choice.condition or choice.site is None:
        return choice.condition
    return choice.site.path, machine.project.text_at(choice.site) or choice.site.key


def _clash(machine: Machine, tensor: Tensor, before: KeptState, site: Site) -> None:
    if machine.run.trying:
        raise Crash
    operands = (
        Operand("the parameters", tensor.device or "", site, marks(tensor.origin)),
        Operand("the optimizer's state", before.device, before.made, ()),
    )
    machine.emit(
        MixedDevices,
        site,
        error=errors.message("mixed", operation="", operands=[("self", tensor.device or ""), ("other", before.device)]),
        operation="optimizer.step",
        operands=operands,
        guilty=1,
        cause="optimizer-state",
    )
    machine.store.set(tensor, "device", POISON)


@method_models(OPTIMIZER, "state_dict")
def state_dict(machine: Machine, value: Instance, call: Call) -> Value:
    """`optimizer.state_dict()`: the state, and the groups with all in them; numbers stand for parameters."""
    groups = _own_groups(value)
    state = value.fields.get("state")
    if groups is None or not isinstance(state, Mapping):
        return Mapping({}, None, True, "state_dict")
    numbers = {key_of(tensor): index for index, tensor in enumerate(value.state.get("params", ()))}
    packed: list[Value] = [
        Mapping({**group.items, "params": _numbers(group.items.get("params"), numbers)}, group.rest, group.open)
        for group in groups
    ]
    kept = Mapping({numbers.get(key, key): part for key, part in state.items.items()}, state.rest, state.open)
    return Mapping({"state": kept, "param_groups": Sequence("list", packed)}, None, False, "state_dict")


def _numbers(parameters: Value | None, numbers: dict[Any, int]) -> Value:
    """The numbers that stand for the parameters of a group."""
    items = parameters.items if isinstance(parameters, Sequence) and not parameters.open else []
    known = [numbers[key_of(part)] for part in items if isinstance(part, Tensor) and key_of(part) in numbers]
    if not items or len(known) < len(items):
        return Sequence("list", [NUMBER], True)
    return Sequence("list", [const(number) for number in known])


@method_models(OPTIMIZER, "load_state_dict")
def load_state_dict(machine: Machine, value: Instance, call: Call) -> Value:
    """`optimizer.load_state_dict(state)`: the state goes to where the parameters are now; groups are taken as they
    are, but for their parameters.

    Raises:
        Crash: it is given more, as a module's method of this name takes it.
    """
    take_for_weights(machine, call.argument(0, "state_dict"))
    if isinstance(value.cls, External) and not call.open and len([*call.positional, *call.keywords]) > 1:
        raise Crash("TypeError")
    devices: dict[int, KeptState] = {}
    site = machine.site(call.node, call.frame)
    for tensor in value.state.get("params", ()):
        if tensor.device not in (None, POISON):
            devices[id(tensor)] = KeptState(tensor.device, site)
    machine.store.put(value.state, "devices", devices)
    groups = _own_groups(value)
    if groups is None and "state" in value.fields:
        _books(machine, value)
    if groups is not None:
        _load_books(machine, value, groups, call.argument(0, "state_dict"), {kept.device for kept in devices.values()})
    return NONE


def _own_groups(value: Instance) -> list[Mapping] | None:
    """The groups of an optimizer of the user's own, if they are known."""
    groups = value.fields.get("param_groups")
    if not isinstance(value.cls, Class) or not isinstance(groups, Sequence) or groups.open:
        return None
    known = [group for group in groups.items if isinstance(group, Mapping)]
    return known if len(known) == len(groups.items) else None


def _load_books(machine: Machine, value: Instance, groups: list[Mapping], given: Value | None, where: set[str]) -> None:
    """Take what was saved for the state and the groups; what is not known may have brought further keys."""
    items = given.items if isinstance(given, Mapping) else {}
    saved, state = items.get("param_groups"), items.get("state")
    known = [group for group in saved.items if isinstance(group, Mapping)] if isinstance(saved, Sequence) else []
    taken: list[Value] = []
    for index, group in enumerate(groups):
        if len(known) == len(groups):
            loaded = copied(known[index], {})
            assert isinstance(loaded, Mapping)
            taken.append(Mapping({**loaded.items, "params": group.items["params"]}, loaded.rest, loaded.open))
        else:
            taken.append(Mapping({"params": group.items["params"]}, None, True))
    machine.store.epoch += 1
    machine.store.put(value.fields, "param_groups", Sequence("list", taken))
    moved = None
    if isinstance(state, Mapping) and len(where) == 1:
        moved = relocated(machine, state, next(iter(where)))
    parameters = value.state.get("params", ())
    items, rest = (moved.items, moved.rest) if isinstance(moved, Mapping) else ({}, None)
    items = {_numbered(key, parameters): part for key, part in items.items()}
    is_known = isinstance(state, Mapping) and not state.open and (moved is not None or not state.items)
    books = Mapping(items, rest, not is_known, "defaultdict", External("builtins.dict"))
    machine.store.put(value.fields, "state", books)


def _numbered(key: Any, parameters: list[Tensor]) -> Any:
    """The parameter for which a number stands in a saved state."""
    return key_of(parameters[key]) if key.__class__ is int and key < len(parameters) else key


@method_models(OPTIMIZER, "zero_grad", "add_param_group")
def zero_grad(machine: Machine, value: Instance, call: Call) -> Value:
    """Methods that concern no devices."""
    return NONE


@on(INSTANCE_ATTRIBUTES, OPTIMIZER)
def optimizer_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`optimizer.param_groups`, `optimizer.state`."""
    if name == "param_groups":
        params: list[Value] = list(value.state.get("params", ()))
        return Sequence("list", [Mapping({"params": Sequence("list", params)}, None, True)], True)
    if name == "state":
        return value.fields.get("state") or _books(machine, value)
    return None


for _name in _NAMES:  # what the classes of the user's own inherit from them
    METHODS[f"torch.optim.{_name}"] = METHODS[f"torch.optim.{_name.lower()}.{_name}"] = METHODS[OPTIMIZER]


# -- scaling

SCALER = "torch.amp.GradScaler"


@models(SCALER, "torch.GradScaler", "torch.amp.grad_scaler.GradScaler")
@models("torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler")
def grad_scaler(machine: Machine, call: Call) -> Value:
    """`torch.amp.GradScaler()`."""
    return Instance(External(SCALER), machine.site(call.node, call.frame))


@method_models(SCALER, "scale")
def scale(machine: Machine, value: Instance, call: Call) -> Value:
    """`scaler.scale(loss)`: a scaled copy where the loss is."""
    outputs = call.argument(0, "outputs")
    return derived(outputs) if isinstance(outputs, Tensor) else UNKNOWN


@method_models(SCALER, "step")
def scaler_step(machine: Machine, value: Instance, call: Call) -> Value:
    """`scaler.step(optimizer, *args)`: the optimizer's own step, with what else was given (no closure, if enabled)."""
    stepped = call.argument(0, "optimizer")
    if stepped is None:
        return UNKNOWN
    rest = {name: given for name, given in call.keywords.items() if name != "optimizer"}
    return call_method(machine, stepped, "step", call.with_arguments(call.positional[1:], rest))


@method_models(SCALER, "unscale_", "update", "load_state_dict")
def scaler_nothing(machine: Machine, value: Instance, call: Call) -> Value:
    """Methods of a scaler that give nothing."""
    return NONE
