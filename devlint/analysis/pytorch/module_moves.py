"""Moving a module in place, and what the move leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, method_models
from devlint.analysis.domain.ancestry import find, is_open_class
from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import (
    POISON,
    SOME_INDEX,
    UNKNOWN,
    Bound,
    Class,
    External,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    present,
)
from devlint.analysis.events import LegacyType
from devlint.analysis.flow.users_devices import as_given, note_device
from devlint.analysis.models import distributions
from devlint.analysis.pytorch.bare_modules import holds_nothing
from devlint.analysis.pytorch.devices import (
    demand_gpu,
    given_device,
    is_device_like,
    legacy_error,
    presume,
    resolve,
    use,
)
from devlint.analysis.pytorch.filling import put_at
from devlint.analysis.pytorch.modules import class_name, forget_places, own_children, registered, submodules
from devlint.analysis.pytorch.moves import forget_dropped, note_module_moved
from devlint.analysis.pytorch.opaque import forget_relatives, is_split
from devlint.analysis.pytorch.snapshots import separate
from devlint.analysis.signals import Crash
from devlint.semantics import libraries

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


class Mover(NamedTuple):
    """A move of a module: where to, and where that is written; `by_protocol`: nobody has written it."""

    device: str | None
    node: ir.Node
    frame: Frame
    by_protocol: bool
    name: str

    def origin(self, machine: Machine, tensor: Tensor) -> Origin:
        """The mark that the move leaves on what a tensor becomes."""
        is_sent_back = self.device == "cpu" and tensor.device not in (None, "cpu", POISON)
        previous = tensor.origin if self.device is None or is_sent_back else None
        return machine.origin("module-moved", self.node, self.frame, self.device, self.name, previous)


def move_module(machine: Machine, instance: Instance, device: str | None, node: ir.Node, frame: Frame) -> None:
    """Move a module in place: parameters keep their identity, buffers are replaced; plain attributes stay behind."""
    if device == POISON:
        return
    mover = Mover(device, node, frame, machine.run.protocol and not machine.run.stack, class_name(instance))
    if mover.by_protocol:
        presume(machine, node, frame)
    machine.placements += 1
    parts = list(submodules(instance).values())
    own = [part for part in parts if find(part.cls, "_apply") is not None]
    if own:
        _apply_own(machine, instance, own, mover)
    else:
        for tensor, owner, place in list(registered(instance)):
            _move_tensor(machine, tensor, owner, place, mover)
    forget_relatives(machine, parts, device)
    for part in parts:
        assert part.module is not None
        machine.store.set(part.module, "device", device)
        machine.store.set(part.module, "moved_at", machine.site(node, frame))
        _mark_left_behind(machine, part, device, node, frame)
        for value in map(present, [*(part.module.children or ()), *part.fields.values()]):
            if isinstance(value, Instance) and _may_be_module(value):
                _forget_devices(machine, value)


def _may_be_module(value: Instance) -> bool:
    """Whether an object of a class of the user's own is a module, if what it derives from out of sight is one."""
    return value.module is None and isinstance(value.cls, Class) and is_open_class(value.cls)


def _move_tensor(machine: Machine, tensor: Tensor, owner: Instance, place: str | int, mover: Mover) -> None:
    if tensor.device == mover.device or tensor.device == POISON:
        if mover.by_protocol:
            machine.store.set(tensor, "assumed", True)
        return
    if is_split(tensor, owner, mover.device):
        machine.store.set(tensor, "device", None)
        return
    _replace(machine, tensor, owner, place, _moved_tensor(machine, tensor, mover))


def _moved_tensor(machine: Machine, tensor: Tensor, mover: Mover) -> Tensor:
    made = Tensor(mover.device, tensor.rank, mover.origin(machine, tensor), assumed=mover.by_protocol)
    made.requires_grad = tensor.requires_grad
    return made


def _replace(machine: Machine, tensor: Tensor, owner: Instance, place: str | int, made: Tensor) -> None:
    """Put a moved tensor in the place of a registered one: a parameter stays the object that it is."""
    forget_dropped(machine, tensor, made.device)
    separate(machine, tensor)
    if not tensor.is_parameter and isinstance(place, str):
        machine.store.put(owner.fields, place, made)
        if tensor.origin is not None and not made.assumed:
            machine.run.sent.add(tensor.origin.first())
        return
    machine.store.set(tensor, "device", made.device)
    machine.store.set(tensor, "origin", made.origin)
    if made.assumed:
        machine.store.set(tensor, "assumed", True)


# -- modules with an `_apply` of their own

_FUNCTION: Final = "torch.nn.Module._apply.fn"


def _apply_own(machine: Machine, instance: Instance, own: list[Instance], mover: Mover) -> None:
    """Move a module as torch does, from `_apply` to `_apply`; what an own one may have left out isn't known."""
    function = Instance(External(_FUNCTION))
    function.state["mover"] = mover
    before = {id(part): dict(part.fields) for part in own}
    _apply(machine, instance, Call([function], {}, mover.node, mover.frame))
    for part in own:
        assert part.module is not None
        machine.store.set(part.module, "unsure", True)
        for tensor, _, _ in list(registered(part)):
            if tensor.device not in (mover.device, POISON):
                machine.store.set(tensor, "device", None)
        for name, field in before[id(part)].items():
            if part.fields.get(name) is field and not part.module.kinds.get(name):
                _doubt(machine, part, name, field, mover.device)


def _doubt(machine: Machine, part: Instance, name: str, field: Value, device: str | None) -> None:
    """Forget where a plain attribute is that an own `_apply` isn't known to have moved."""
    if isinstance(field, Tensor) and field.device not in (device, POISON):
        machine.store.put(part.fields, name, Tensor(None, field.rank))
    elif isinstance(field, (Sequence, Mapping)):
        if field.open or any(tensor.device not in (device, POISON) for tensor, _ in _unregistered(field)):
            machine.store.put(part.fields, name, Unknown())
    elif isinstance(field, Maybe):
        machine.store.put(part.fields, name, Unknown())
    elif isinstance(field, Instance) and field.module is None:
        _forget_devices(machine, field)


def _forget_devices(machine: Machine, value: Instance, depth: int = 3) -> None:
    """What an object holds may be anywhere."""
    for name, field in list(value.fields.items()):
        if isinstance(field, Tensor):
            machine.store.put(value.fields, name, Tensor(None, field.rank))
        elif isinstance(field, Instance) and field.module is None and depth:
            _forget_devices(machine, field, depth - 1)
        elif isinstance(field, Instance):
            forget_places(machine, field)


def _apply(machine: Machine, part: Instance, call: Call) -> None:
    """`part._apply(fn)`: that of its class, or torch's."""
    found = find(part.cls, "_apply")
    if found is None:
        apply_registered(machine, part, call)
    else:
        call_value(machine, Bound(found[0], part), call)


def apply_registered(machine: Machine, value: Instance, call: Call) -> Value:
    """`Module._apply(fn)`: what `fn` gives stands in the place of each tensor that is registered, in all submodules."""
    if constant(call.argument(1, "recurse")) is not False:
        for _, child in own_children(value):
            if id(value) in submodules(child):
                raise Crash("RecursionError")
            _apply(machine, child, call)
    function = call.argument(0, "fn")
    mover = function.state.get("mover") if isinstance(function, Instance) else None
    for tensor, owner, place in list(registered(value)):
        if owner is not value:
            continue
        if mover is not None:
            _move_tensor(machine, tensor, owner, place, mover)
        elif function is not None:
            made = call_value(machine, function, call.with_arguments([tensor]))
            _replace(machine, tensor, owner, place, made if isinstance(made, Tensor) else Tensor(None, tensor.rank))
    return value


@method_models(_FUNCTION, "__call__")
def move_one(machine: Machine, function: Instance, call: Call) -> Value:
    """`fn(tensor)` in an own `_apply`: the tensor where its module is moved to."""
    mover, tensor = function.state["mover"], call.argument(0, "t")
    if not isinstance(tensor, Tensor):
        return UNKNOWN
    return tensor if tensor.device in (mover.device, POISON) else _moved_tensor(machine, tensor, mover)


# -- what is left behind


def _mark_left_behind(machine: Machine, instance: Instance, device: str | None, node: ir.Node, frame: Frame) -> None:
    module = instance.module
    assert module is not None
    if device is None:
        return
    any_members = any(_has_any_members(instance.fields.get(name)) for name, kind in module.kinds.items() if kind)
    for name, held in list(instance.fields.items()):
        place, value = module.places.get(name), present(held)
        if place is None or module.kinds.get(name):
            continue
        if isinstance(value, Tensor):
            _leave_behind(machine, value, device, place, frame, name)
        elif isinstance(value, Instance) and value.module is None and distributions.ROW in value.state:
            for tensor in distributions.held(value):
                _leave_behind(machine, tensor, device, place, frame, name)
        elif isinstance(value, Instance) and value.module is None and isinstance(value.cls, Class):
            for field, inner in list(value.fields.items()):
                if isinstance(inner, Tensor) and inner.origin is not None:
                    given = value.places.get(field, inner.origin.site)
                    _leave_behind(machine, inner, device, given, frame, f"{name}.{field}")
        elif isinstance(value, (Sequence, Mapping)):
            for tensor, is_weight in _unregistered(value):
                if any_members:
                    machine.store.set(tensor, "device", None)
                elif not is_weight:
                    _leave_behind(machine, tensor, device, put_at(tensor, instance, name, place), frame, f"{name}[...]")
                elif tensor.device not in (None, device, POISON) and not _was_placed(tensor):
                    machine.store.set(
                        tensor,
                        "origin",
                        Origin(
                            "unregistered", place, frame, machine.tick(), tensor.device, f"self.{name}", tensor.origin
                        ),
                    )


def _was_placed(weight: Tensor) -> bool:
    """Whether the module of a weight was itself moved to the GPU where it is: no move of another has left it there."""
    origin = weight.origin
    return origin is not None and origin.kind == "module-moved" and weight.device != "cpu"


def _has_any_members(part: Value | None) -> bool:
    """Whether a registered container was given what is not known: any module that the program holds may be in it."""
    if not isinstance(part, Instance) or part.module is None or not part.module.unsure:
        return False
    return isinstance(part.cls, External) and part.cls.path in ("torch.nn.ModuleDict", "torch.nn.ModuleList")


def _leave_behind(machine: Machine, value: Tensor, device: str, place: Site, frame: Frame, name: str) -> None:
    if value.device not in (None, device, POISON) and value.rank != 0:
        mark = Origin("left-behind", place, frame, machine.tick(), value.device, f"self.{name}", value.origin)
        machine.store.set(value, "origin", mark)


def _unregistered(value: Value, depth: int = 3) -> Iterator[tuple[Tensor, bool]]:
    """The tensors in a plain container, and whether they are parameters, or the weights of a module in it."""
    if isinstance(value, Tensor):
        yield value, value.is_parameter
    elif isinstance(value, Instance) and value.module is not None:
        for tensor, _, _ in registered(value):
            yield tensor, True
    elif depth and isinstance(value, (Sequence, Mapping)):
        for part in value.items if isinstance(value, Sequence) else value.items.values():
            yield from _unregistered(part, depth - 1)


# -- methods


def cast_module(machine: Machine, value: Instance) -> Instance:
    """`module.to(dtype)`, `module.double()`: nothing moves; weights of another type stand in other memory."""
    for tensor, _, _ in registered(value) if machine.run.kept else ():
        separate(machine, tensor)
    return value


def move(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    module = value.module
    assert module is not None
    if not machine.device_count and holds_nothing(value):
        return value
    device: str | None
    if name == "cpu":
        device = "cpu"
    elif name == "cuda":
        target = call.given(0, "device")
        if target is None:
            device = use(machine, "cuda", None, call.node, call.frame, ".cuda")
        elif isinstance(target, (Unknown, Scalar)):
            some = SOME_INDEX if machine.device_count else None
            device = use(machine, "cuda", some, call.node, call.frame, ".cuda")
        elif demand_gpu(machine, target, call.node, call.frame, ".cuda", False):
            device = POISON
        else:
            device = resolve(machine, target, call.node, call.frame, ".cuda")
    else:
        target = call.keywords.get("device") or (call.positional[0] if call.positional else None)
        if target is None or isinstance(target, External) or constant(target) is None:
            return cast_module(machine, value)
        note_device(machine, target, False)
        if machine.run.gives_a_gpu:
            target = as_given(machine, target)
        if isinstance(target, Scalar) and target.kind == "dtype":
            return cast_module(machine, value)
        if isinstance(target, Tensor):
            device = target.device
        elif is_device_like(target) or isinstance(target, (Instance, Scalar, Sequence)):
            device = resolve(machine, target, call.node, call.frame, ".to")
        else:
            device = given_device(machine, target)
            if device is not None:
                presume(machine, call.node, call.frame)
    if device == POISON:
        poison_module(machine, value)
        return value
    note_module_moved(machine, value, device, call)
    move_module(machine, value, device, call.node, call.frame)
    return value


def change_type(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`module.type(torch.cuda.FloatTensor)` moves it to CUDA, `torch.FloatTensor` to the CPU; a dtype moves nothing."""
    target = call.argument(0, "dst_type")
    path = target.path if isinstance(target, External) else constant(target)
    legacy = libraries.legacy_type(path) if isinstance(path, str) else None
    if legacy is None:
        if isinstance(target, External) or (isinstance(target, Scalar) and target.kind == "dtype"):
            return cast_module(machine, value)
        forget_places(machine, value)
        return value
    kind, _ = legacy
    device: str | None = kind
    if kind == "cuda":
        error = legacy_error(machine, "torch.Tensor.type")
        site = machine.site(call.node, call.frame)
        machine.emit(LegacyType, site, error=error, text=str(path), operation=".type")
        device = use(machine, kind, None, call.node, call.frame, ".type", kind="legacy")
    if device == POISON:
        poison_module(machine, value)
    elif all((tensor.device or "").partition(":")[0] == kind for tensor, _, _ in registered(value)):
        cast_module(machine, value)  # what is on a device of that kind stays there
    else:
        note_module_moved(machine, value, device, call)
        move_module(machine, value, device, call.node, call.frame)
    return value


def poison_module(machine: Machine, value: Instance) -> None:
    """A reported crash was in moving this module: nothing more is said about its tensors."""
    for tensor, _, _ in list(registered(value)):
        machine.store.set(tensor, "device", POISON)
