"""Methods of `nn.Module` and of its containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from devlint.analysis.access import assign_attribute, attribute, call_value, iterate, truth
from devlint.analysis.dispatch import Call, on
from devlint.analysis.domain.ancestry import external_bases, find, is_open_class
from devlint.analysis.domain.values import (
    BOOL,
    MAX_ITEMS,
    NONE,
    STRING,
    UNKNOWN,
    Bound,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Shared,
    Tensor,
    Value,
    birth,
    const,
    constant,
    is_none,
    present,
)
from devlint.analysis.flow.counting import leaves_nothing
from devlint.analysis.models import parallel
from devlint.analysis.python.classes import modelled
from devlint.analysis.python.lacking import lacks_method
from devlint.analysis.pytorch.backward import handle
from devlint.analysis.pytorch.building import initialise_builtin
from devlint.analysis.pytorch.leaves import note_unsaved, refuse_copy
from devlint.analysis.pytorch.loads import take_for_weights
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.module_calls import WITH_KWARGS, call_builtin, class_forward
from devlint.analysis.pytorch.module_modes import set_mode
from devlint.analysis.pytorch.module_moves import apply_registered, cast_module, change_type, move
from devlint.analysis.pytorch.modules import (
    MODULE_METHODS,
    builtin_path,
    miss_wrapped,
    module_attribute,
    name_of_member,
    named_modules,
    named_tensors,
    own_children,
    register_attribute,
    registered,
    submodules,
)
from devlint.analysis.pytorch.opaque import attribute_of_opaque, children_of_opaque, forget_place
from devlint.analysis.pytorch.results import as_tensor, derived
from devlint.analysis.pytorch.snapshots import note_loaded, separate
from devlint.analysis.pytorch.unnamed import register_unnamed
from devlint.analysis.pytorch.weight_names import LOAD_HOOKS, refuse_names
from devlint.analysis.signals import Crash
from devlint.analysis.state import SCRIPTED, TRACE
from devlint.semantics import libraries, table

if TYPE_CHECKING:
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.machine import Machine


def module_method(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`module.name(...)` where the user's classes have no such method."""
    answer = modelled(machine, value, name, call)
    if answer is not None:
        return answer
    if name in ("to", "cuda", "cpu", "to_empty"):
        return move(machine, value, name, call)
    if name == "forward" and isinstance(value.cls, External):
        return class_forward(machine, value, call)
    known = base_method(machine, value, name, call)
    if known is not UNKNOWN or name in MODULE_METHODS:
        return known
    inside = attribute_of_opaque(machine, value, name)
    if inside is not None:
        return call_value(machine, inside, call)
    if libraries.may_move(f"of.{name}"):
        forget_place(machine, value)
    getter = find(value.cls, "__getattr__")
    if getter is not None:
        return call_value(machine, module_attribute(machine, value, name, call.node, call.frame), call)
    miss_wrapped(machine, value, name, call.node, call.frame)
    if lacks_method(machine, value, name, call.frame):
        raise Crash("AttributeError")
    return UNKNOWN


def base_method(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """A method of `nn.Module` itself (also through `super()`)."""
    module = value.module
    assert module is not None
    method = BASE.get(name)
    if method is not None:
        return method(machine, value, name, call)
    if name == "save" and (TRACE in value.state or SCRIPTED in value.state):
        return call_value(machine, External("torch.jit.save"), call.with_arguments([value, *call.positional]))
    if name in ("to", "cuda", "cpu"):
        return move(machine, value, name, call)
    if name == "__init__":
        path = builtin_path(value)
        if path is not None and not parallel.initialise(machine, value, path, call):
            initialise_builtin(machine, value, path, table.lookup(path), call)
        return NONE
    if name == "__setattr__" and len(call.positional) == 2:
        if isinstance(call.positional[0], Const):
            field = str(call.positional[0].value)
            new = as_tensor(call.positional[1]) if module.kinds.get(field) == "buffer" else call.positional[1]
            register_attribute(machine, value, field, new, call.node, call.frame)
            machine.store.put(value.fields, field, new)
        else:
            machine.store.set(module, "unsure", True)
        return NONE
    if name == "__getattr__" and call.positional and isinstance(call.positional[0], Const):
        return _registered_as(machine, value, str(call.positional[0].value))
    if name == "forward":
        wrapped = value.state.get("inner") is not None
        return (parallel.call_wrapped if wrapped else call_builtin)(machine, value, call)
    if name == "_apply":
        return apply_registered(machine, value, call)
    from devlint.analysis.python.instances import model_method

    return model_method(machine, value, name, call, external_bases(value.cls))


def _registered_as(machine: Machine, value: Instance, name: str) -> Value:
    """What `nn.Module.__getattr__` finds.

    Raises:
        Crash: surely nothing, and a handler waits for that.
    """
    found = value.fields.get(name)
    if found is not None:
        return found
    assert value.module is not None
    is_open = value.module.unsure or (is_open_class(value.cls) and value.state.get("inner") is None)
    if machine.run.trying and not is_open:
        raise Crash
    return UNKNOWN


BaseMethod: TypeAlias = "Callable[[Machine, Instance, str, Call], Value]"
BASE: dict[str, BaseMethod] = {}
"""What every module answers, whatever its class."""
_SEQUENTIAL: Final = "torch.nn.Sequential"


@on(BASE, "parameters", "buffers")
def _parameters(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    assert value.module is not None
    if value.module.is_replica and name == "parameters" and not value.module.unsure:
        return Sequence("replica", [])
    wanted = [
        tensor
        for tensor, owner, place in registered(value)
        if tensor.is_parameter == (name == "parameters") or not isinstance(place, str)
    ]
    return Sequence("generator", list(wanted), value.module.unsure or not wanted)


@on(BASE, "named_parameters", "named_buffers")
def _named_parameters(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    prefix = constant(call.argument(0, "prefix")) if call.given(0, "prefix") is not None else ""
    pairs: list[Value] = [
        Sequence("tuple", [const(path) if path is not None and isinstance(prefix, str) else STRING, tensor])
        for path, tensor, _ in named_tensors(value, prefix if isinstance(prefix, str) else "")
        if tensor.is_parameter == (name == "named_parameters")
    ]
    return Sequence("generator", pairs, True)


@on(BASE, "children", "modules")
def _children(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    assert value.module is not None
    if name == "modules":
        return Sequence("generator", list(submodules(value).values()), value.module.unsure)
    inside = children_of_opaque(machine, value)
    if inside is not None:
        return Sequence("generator", [inside], True)
    found: list[Value] = [child for _, child in own_children(value)]
    return Sequence("generator", found, value.module.unsure)


@on(BASE, "named_children", "named_modules")
def _named_children(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    assert value.module is not None
    inside = children_of_opaque(machine, value) if name == "named_children" else None
    if inside is not None:
        return Sequence("generator", [Sequence("tuple", [STRING, inside])], True)
    named = named_modules(value) if name == "named_modules" else own_children(value)
    pairs: list[Value] = [Sequence("tuple", [name_of_member(path), part]) for path, part in named]
    return Sequence("generator", pairs, value.module.unsure)


TRANSIENT: Final = "transient"
"""Under this key of its state, a module keeps the names of buffers that its `state_dict` leaves out."""


@on(BASE, "state_dict")
def _state_dict(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    items: dict[Any, Value] = {}
    for part in submodules(value).values():
        note_unsaved(machine, part, call)
    prefix = constant(call.given(1, "prefix"))
    for path, tensor, owner in named_tensors(value):
        if path is not None and len(items) < MAX_ITEMS and not _is_transient(path, owner):
            held = derived(tensor)
            held.requires_grad = False
            held.shared = Shared(tensor)
            items[path] = held
    if isinstance(prefix, str):
        items = {prefix + path: held for path, held in items.items()}
    known = [tensor for tensor, _, _ in registered(value)]
    devices = {tensor.device for tensor in known}
    rest = Tensor(devices.pop()) if len(devices) == 1 else None
    if rest is not None:
        rest.shared = Shared(known[-1])
    return Mapping(items, rest, True, "state_dict")


def _is_transient(path: str, owner: Instance) -> bool:
    """Whether the tensor of that dotted name is a buffer that is not saved."""
    return path.rpartition(".")[2] in owner.state.get(TRANSIENT, ())


@on(BASE, "zero_grad", "extra_repr")
def _nothing(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    return NONE


@on(BASE, "load_state_dict")
def _load_state_dict(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """Values are copied to where the module is; with `assign=True` the loaded tensors take its parameters' place."""
    weights = [tensor for tensor, _, _ in registered(value)]
    take_for_weights(machine, call.argument(0, "state_dict"))
    refuse_names(machine, value, call)
    note_loaded(machine, call.argument(0, "state_dict"), weights, call)
    if constant(call.argument(2, "assign")) is True:
        for weight in weights:
            separate(machine, weight)
        state = call.argument(0, "state_dict")
        partial = call.argument(1, "strict")
        strict = not call.open and (partial is None or constant(partial) is True)
        places: dict[str | None, Origin] = {}
        for path, tensor, owner in list(named_tensors(value)):
            if path is not None and _is_transient(path, owner):
                continue
            device = _assigned(state, path, tensor, strict)
            if device is KEPT:
                continue
            if device not in places:
                places[device] = machine.origin("loaded", call.node, call.frame, device)
            machine.store.set(tensor, "device", device)
            machine.store.set(tensor, "origin", places[device])
    _load_own(machine, value, call)
    return UNKNOWN


def _load_own(machine: Machine, value: Instance, call: Call) -> None:
    """Run `_load_from_state_dict` of the parts whose class has one of its own: it may put what is loaded in place."""
    state = call.argument(0, "state_dict")
    if not isinstance(state, Mapping):
        return
    for path, part in list(named_modules(value)):
        if LOAD_HOOKS in part.state:
            _run_load_hooks(machine, part, state, f"{path}." if path else "", call)
        own = find(part.cls, "_load_from_state_dict")
        if own is None:
            continue
        told: list[Value] = [Sequence("list", [], True) for _ in range(3)]
        given = [state, const(f"{path}." if path else ""), Mapping({}, None, True), BOOL, *told]
        call_value(machine, Bound(own[0], part), Call(given, {}, call.node, call.frame))


def _run_load_hooks(machine: Machine, part: Instance, state: Mapping, prefix: str, call: Call) -> None:
    """Hooks that are called before values are copied: they may put what is loaded in place."""
    told: list[Value] = [Sequence("list", [], True) for _ in range(3)]
    given = [state, const(prefix), Mapping({}, None, True), BOOL, *told]
    for hook in part.state[LOAD_HOOKS] or ():
        call_value(machine, hook, Call(given, {}, call.node, call.frame))


KEPT: Final = "kept"
"""What stands for a device where a parameter is not replaced."""


def _assigned(state: Value | None, path: str | None, tensor: Tensor, strict: bool) -> str | None:
    """The device of what `load_state_dict(state, assign=True)` puts in a tensor's place, None where it isn't known."""
    if not isinstance(state, Mapping):
        return None
    held = state.items.get(path) if path is not None else None
    if held is not None:
        return held.device if isinstance(held, Tensor) else None
    possible = {part.device for part in tensors_in(state)}
    if isinstance(state.rest, Tensor):
        possible.add(state.rest.device)
    elif state.open:
        possible.add(None)
    if not strict:
        if not state.open and path is not None:
            return KEPT
        possible.add(tensor.device)
    return possible.pop() if len(possible) == 1 else None


@on(BASE, "register_buffer", "register_parameter", "add_module", "register_module")
def _register_named(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    module = value.module
    assert module is not None
    key = call.argument(0, "name")
    new = call.argument(1, {"register_buffer": "tensor", "register_parameter": "param"}.get(name, "module"))
    if not isinstance(key, Const) or call.open:
        machine.store.set(module, "unsure", True)
        if new is not None:
            register_unnamed(machine, module, new, call, (Tensor,) if name == "register_buffer" else (Tensor, Instance))
        return NONE
    kind = {"register_buffer": "buffer", "register_parameter": "parameter"}.get(name, "module")
    field = str(key.value)
    if kind == "parameter" and isinstance(new, Tensor):
        refuse_copy(machine, new, field, "register", call.node, call.frame)
    machine.run.grown += kind == "module" and module.device is not None and module.kinds.get(field) != kind
    if not (kind == "parameter" and is_none(new)):  # who assigns one later registers it by that
        machine.store.put(module.kinds, field, kind)
    if new is not None and kind != "module":
        new = as_tensor(new)
    if isinstance(new, Tensor) and kind == "buffer" and new.is_parameter:
        new = Tensor(new.device, new.rank, new.origin)
    machine.store.epoch += 1
    machine.store.put(value.fields, field, UNKNOWN if new is None else new)
    if constant(call.argument(2, "persistent")) is False:
        machine.store.put(value.state, TRANSIENT, (*value.state.get(TRANSIENT, ()), field))
    if kind == "module" and isinstance(new, Instance) and module.children and builtin_path(value) == _SEQUENTIAL:
        machine.store.put(module.kinds, field, "")
        machine.store.set(module, "children", [*module.children, new])
    return NONE


@on(BASE, "append", "extend", "insert")
def _append(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    module = value.module
    assert module is not None
    if builtin_path(value) not in ("torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList"):
        return UNKNOWN
    added: list[Value] = call.positional[-1:]
    if name == "extend" and call.positional:
        found = iterate(machine, call.positional[0], call.node, call.frame)
        added = [] if found is None else found.items
        if found is None:
            machine.store.set(module, "unsure", True)
    machine.store.epoch += 1
    machine.store.set(module, "children", [*(module.children or []), *map(present, added)][:64])
    return value


on(BASE, "eval", "train")(set_mode)
on(BASE, "type")(change_type)


@on(
    BASE,
    "half",
    "float",
    "double",
    "bfloat16",
    "requires_grad_",
    "share_memory",
    "compile",
)
def _itself(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    return cast_module(machine, value) if name in _CASTS else value


_CASTS: Final = frozenset({"half", "float", "double", "bfloat16"})


@on(BASE, "apply")
def _apply(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    """`module.apply(f)`: `f` gets every submodule, and the module itself at last.

    Of layers that are alike one is enough, if nothing came of it.
    """
    function = call.argument(0, "fn")
    if isinstance(function, (Function, Bound)):
        parts = list(submodules(value).values())
        done: set[tuple[object, ...]] = set()
        for part in reversed(parts[:_MOST_APPLIED]):
            alike = _likeness(part)
            if alike in done:
                continue
            mark, began, told = machine.store.position(), birth(), len(machine.entry.events)
            call_value(machine, function, call.with_arguments([part]))
            if alike and len(machine.entry.events) == told and leaves_nothing(machine, mark, began):
                done.add(alike)
    return value


def _likeness(part: Instance) -> tuple[object, ...]:
    """What layers have in common that differ in numbers alone: class, and where each parameter is; () for others."""
    if not isinstance(part.cls, External) or part.module is None or part.module.children:
        return ()
    fields = (
        (name, field.device if isinstance(field, Tensor) else field.__class__) for name, field in part.fields.items()
    )
    return part.cls.path, part.module.unsure, *fields


_MOST_APPLIED: Final = 32


@on(BASE, "to_empty")
def _to_empty(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    return move(machine, value, "to", call)


@on(BASE, "get_submodule", "get_parameter", "get_buffer")
def _get_part(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    target = call.argument(0, "target")
    part: Value = value
    if isinstance(target, Const) and isinstance(target.value, str):
        for piece in target.value.split("."):
            inside = dict(own_children(part)) if isinstance(part, Instance) and part.module is not None else {}
            part = inside.get(piece) or attribute(machine, part, piece, call.node, call.frame)
        return part
    return UNKNOWN


@on(BASE, "set_submodule")
def _set_part(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    target, new = constant(call.argument(0, "target")), call.argument(1, "module")
    assert value.module is not None
    if not isinstance(target, str) or new is None:
        machine.store.set(value.module, "unsure", True)
        return NONE
    path, _, last = target.rpartition(".")
    owner: Value = value
    if path:
        owner = _get_part(machine, value, "get_submodule", Call([const(path)], {}, call.node, call.frame))
    if isinstance(owner, Instance) and owner.module is not None and owner.module.children and last.isdigit():
        children = owner.module.children
        machine.store.set(owner.module, "children", [*children[: int(last)], new, *children[int(last) + 1 :]])
    else:
        assign_attribute(machine, owner, last, new, call.node, call.frame)
    return NONE


_HOOKS: Final = {
    "register_forward_hook": "forward_hooks",
    "register_forward_pre_hook": "forward_pre_hooks",
    "register_full_backward_hook": "backward_hooks",
    "register_backward_hook": "backward_hooks",
    "register_full_backward_pre_hook": "backward_pre_hooks",
    "register_load_state_dict_pre_hook": LOAD_HOOKS,
    "_register_load_state_dict_pre_hook": LOAD_HOOKS,
}


@on(BASE, *_HOOKS)
def _register_hook(machine: Machine, value: Instance, name: str, call: Call) -> Value:
    key = _HOOKS[name]
    hook = call.argument(0, "hook")
    if hook is None:
        return UNKNOWN
    machine.store.put(value.state, key, (*(value.state.get(key) or ()), hook))
    if truth(machine, call.keywords.get("with_kwargs", NONE)):
        machine.store.put(value.state, WITH_KWARGS, (*(value.state.get(WITH_KWARGS) or ()), hook))

    def remove() -> None:
        machine.store.epoch += 1
        machine.store.put(value.state, key, tuple(kept for kept in value.state.get(key) or () if kept is not hook))

    return handle(machine, call, remove)
