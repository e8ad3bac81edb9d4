"""`nn.Module`: what is registered, attributes and items. Those of `torch.nn` are built in `building`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from devlint.analysis.access import ANY_NAME, call_value, is_no_wrapper, is_only_inside
from devlint.analysis.dispatch import Call, Iteration
from devlint.analysis.domain.ancestry import external_bases, find, is_open_class
from devlint.analysis.domain.module_state import COLLECTION, HIDDEN, TABLES, UNNAMED, ModuleState
from devlint.analysis.domain.values import (
    BOOL,
    POISON,
    SLICE,
    STRING,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    present,
)
from devlint.analysis.events import Choice, ModuleHasNoDevice, Way, Wrapped, WrapperAttribute, WrapperMissing, way
from devlint.analysis.python.classes import is_given_by_others
from devlint.analysis.python.mappings import rewrite
from devlint.analysis.python.replacing import replaced
from devlint.analysis.python.sequences import bounds
from devlint.analysis.python.unset_attributes import note_unset
from devlint.analysis.python.unwritten import end_if_unwritten
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.leaves import note_unregistered, refuse_copy
from devlint.analysis.pytorch.opaque import (
    attribute_of_opaque,
    children_of_opaque,
    forget_place,
    item_of_opaque,
    unknown_part,
)
from devlint.analysis.pytorch.results import device_of
from devlint.analysis.signals import Crash
from devlint.semantics import errors, libraries, table
from devlint.semantics.libraries import LIGHTNING_MODULE
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


CONTAINERS = frozenset(
    f"torch.nn.{name}"
    for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Module")
)


def builtin_path(instance: Instance) -> str | None:
    """The dotted name of the built-in module class that an instance is of, or derives from."""
    for path in external_bases(instance.cls):
        canonical = libraries.canonical(path)
        if canonical.startswith("torch.nn."):
            return canonical
    return None


def registered(instance: Instance, seen: set[int] | None = None) -> Iterator[tuple[Tensor, Instance, str | int]]:
    """The parameters and buffers of a module and its submodules: tensor, owner, and field name or index."""
    seen = set() if seen is None else seen
    module = instance.module
    if module is None or id(instance) in seen:
        return
    seen.add(id(instance))
    for index, child in enumerate(map(present, module.children or ())):
        if isinstance(child, Tensor):
            yield child, instance, index
        elif isinstance(child, Instance):
            yield from registered(child, seen)
    if not instance.fields:
        return
    kinds = module.kinds
    for name, field in list(instance.fields.items()):
        value = present(field)
        if value.__class__ is Tensor:
            if kinds.get(name) in ("parameter", "buffer"):
                yield value, instance, name
        elif value.__class__ is Instance and value.module is not None and kinds.get(name) == "module":
            yield from registered(value, seen)


def forget_places(machine: Machine, instance: Instance) -> None:
    """A module may have been moved out of sight: its tensors may be anywhere."""
    for tensor, _, _ in list(registered(instance)):
        machine.store.set(tensor, "device", None)


def own_tensors(value: Instance) -> Iterator[tuple[str | None, Tensor]]:
    """The parameters and buffers that a module registers itself, by name; None where the name is not known."""
    module = value.module
    assert module is not None
    for index, child in enumerate(map(present, module.children or ())):
        if isinstance(child, Tensor):
            yield None if module.unsure else str(index), child
    for name, held in list(value.fields.items()):
        field = present(held)
        if isinstance(field, Tensor) and module.kinds.get(name) in ("parameter", "buffer"):
            yield None if name in (HIDDEN, UNNAMED) else name, field


def named_modules(value: Instance, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Instance]]:
    """The module and all below it, each once, by dotted names."""
    seen = set() if seen is None else seen
    if value.module is None or id(value) in seen:
        return
    seen.add(id(value))
    yield prefix, value
    for name, child in own_children(value):
        yield from named_modules(child, f"{prefix}.{name}" if prefix else name, seen)


def named_tensors(value: Instance, prefix: str = "") -> Iterator[tuple[str | None, Tensor, Instance]]:
    """The parameters and buffers of a module and its submodules: dotted name, where it is known, tensor, owner."""
    for path, owner in named_modules(value, prefix):
        for name, tensor in own_tensors(owner):
            known = name is not None and UNNAMED not in path.split(".")
            yield (f"{path}.{name}" if path else name) if known else None, tensor, owner


def submodules(instance: Instance, found: dict[int, Instance] | None = None) -> dict[int, Instance]:
    """The module and all registered submodules, by identity."""
    found = {} if found is None else found
    module = instance.module
    if module is None or id(instance) in found:
        return found
    found[id(instance)] = instance
    for child in map(present, module.children or ()):
        if isinstance(child, Instance):
            submodules(child, found)
    for name, field in instance.fields.items():
        value = present(field)
        if isinstance(value, Instance) and module.kinds.get(name) == "module":
            submodules(value, found)
    return found


def members(instance: Instance) -> list[tuple[str, Value]]:
    """What a module registers itself as submodules (and a list its parameters), by the names that torch gives them."""
    module = instance.module
    assert module is not None
    named: list[tuple[str, Value]] = [
        (name, value)
        for name, value in ((name, present(field)) for name, field in instance.fields.items())
        if isinstance(value, Instance) and module.kinds.get(name) == "module"
    ]
    if not module.children:
        return named
    known = {id(value) for _, value in named}
    return [
        *((str(index), child) for index, child in enumerate(map(present, module.children)) if id(child) not in known),
        *named,
    ]


def in_order(instance: Instance) -> list[Value]:
    """What a module registers itself as submodules, in order."""
    assert instance.module is not None
    if not instance.fields:
        return instance.module.children or []
    return [child for _, child in members(instance)]


def own_children(instance: Instance) -> list[tuple[str, Instance]]:
    """The submodules that a module registers itself, by the names that torch gives them."""
    return [(name, part) for name, part in members(instance) if isinstance(part, Instance) and part.module is not None]


def device_of_module(instance: Instance) -> str | None:
    """The one device of all registered tensors; None where there is none, several, or one is not known."""
    devices = {tensor.device for tensor, _, _ in registered(instance)}
    return devices.pop() if len(devices) == 1 else None


def class_name(value: Instance) -> str:
    """The name of an instance's class, or of the function that makes such modules; `C.from_pretrained` makes a `C`."""
    if isinstance(value.cls, Class):
        return value.cls.name
    path, _, last = value.cls.path.rpartition(".")
    maker = path.rpartition(".")[2]
    return maker if maker[:1].isupper() and last[:1].islower() else last


MODULE_METHODS = frozenset(
    "to cuda cpu parameters buffers named_parameters named_buffers children modules named_children named_modules "
    "state_dict load_state_dict register_buffer register_parameter add_module register_module eval train half float "
    "double bfloat16 requires_grad_ apply share_memory zero_grad forward __call__ append extend insert keys values "
    "items get pop update type to_empty compile get_submodule get_parameter _apply register_forward_hook".split()
)

# -- attributes and items


def register_attribute(
    machine: Machine, instance: Instance, name: str, value: Value, node: ir.Node, frame: Frame
) -> None:
    """What `module.name = value` registers; the place of a plain assignment is kept."""
    module = instance.module
    assert module is not None
    known = module.kinds.get(name)
    value = present(value)
    if isinstance(value, Tensor) and value.is_parameter:
        registered_as = "parameter"
    elif isinstance(value, Instance) and value.module is not None:
        registered_as = "module"
    elif known == "buffer" and isinstance(value, (Tensor, Unknown)):
        registered_as = "buffer"
    else:
        registered_as = ""
    if isinstance(value, Tensor) and not registered_as:
        if known == "parameter" and name in instance.fields and not module.is_replica:
            if value.origin is not None:
                refuse_copy(machine, value, name, "assign", node, frame)
            registered_as = known  # torch refuses it, or a parametrization writes it to the parameter
        elif value.origin is not None:
            note_unregistered(machine, value, node, frame)
    if known != (registered_as or None):
        machine.store.put(module.kinds, name, registered_as)
        machine.run.grown += registered_as == "module" and module.device is not None
    if not registered_as and isinstance(value, (Tensor, Sequence, Mapping, Instance)):
        machine.store.put(module.places, name, machine.site(node, frame))


def module_attribute(machine: Machine, value: Instance, name: str, node: ir.Node, frame: Frame) -> Value:
    """An attribute of a module that is neither a field nor of a user class."""
    module = value.module
    assert module is not None
    if machine.state.replaced and replaced(machine, "torch.nn.Module", name) is not None:
        return UNKNOWN
    if name == "training":
        known = value.state.get("training")
        return known if isinstance(known, Value) else Unknown("training", False)
    if name in TABLES:
        if name == "_modules":
            forget_place(machine, value)
        return table_of(value, name)
    if name in MODULE_METHODS or table.lookup(f"torch.nn.Module.{name}") is not None:
        return Method(value, name)
    getter = find(value.cls, "__getattr__")
    if getter is not None and isinstance(getter[0], Function):
        return call_value(machine, Bound(getter[0], value), Call([const(name)], {}, node, frame))
    if name == "module" and value.state.get("inner") is not None:
        inner: Value = value.state["inner"]
        note_wrapped(machine, value, node, frame)
        return inner
    inside = attribute_of_opaque(machine, value, name)
    if inside is not None:
        return inside
    if name in (
        "in_features",
        "out_features",
        "in_channels",
        "out_channels",
        "num_embeddings",
        "embedding_dim",
        "hidden_size",
    ):
        return Scalar(0, "number")
    if name == "on_gpu" and LIGHTNING_MODULE in [libraries.canonical(path) for path in external_bases(value.cls)]:
        device = device_of_module(value)
        return BOOL if device in (None, POISON) else const(device != "cpu")
    if name == "device":
        parallel = isinstance(value.cls, External) and value.cls.path == "torch.nn.DataParallel"
        for path in () if parallel else external_bases(value.cls):
            if libraries.has_device(path):
                device = device_of_module(value)
                if device not in (None, POISON):
                    assert device is not None
                    return device_of(Tensor(device))
                return UNKNOWN
        if ANY_NAME in value.state or (machine.run.protocol and is_given_by_others(machine, value.cls, name)):
            return UNKNOWN
        if parallel or not (module.unsure or is_open_class(value.cls) or value.state.get("inner")):
            site = machine.site(node, frame)
            machine.crash(
                ModuleHasNoDevice,
                site,
                error=errors.message("no-attribute", type=class_name(value), name=name),
                text=source_text(machine, machine.site(node.value, frame)) if isinstance(node, ir.Attribute) else "it",
                class_name=class_name(value),
                by_protocol=machine.run.protocol,
            )
    if name == "module":
        _miss_wrapper(machine, value, node, frame)
    miss_wrapped(machine, value, name, node, frame)
    note_unset(machine, value, name, node, frame)
    end_if_unwritten(machine, value, name, frame)
    return unknown_part(machine, value) if HIDDEN in value.fields else UNKNOWN


def note_wrapped(machine: Machine, value: Instance, node: ir.Node, frame: Frame) -> None:
    """Note that this world has a wrapper where the module inside is asked for."""
    since = _given(machine, value.state["since"]) if "since" in value.state else None
    note = Wrapped(machine.world.name, _given(machine, machine.run.path), since)
    machine.project.wrapped.setdefault(machine.site(node, frame).key, set()).add(note)


def _given(machine: Machine, path: Iterable[Choice]) -> Way:
    """What was assumed on a way, but for the defaults of options: they hold where nobody asks for them, too."""
    return way(choice for choice in path if machine.run.unless_given.get(choice.condition) is not choice.value)


_MISSED = "wrapper missed"
"""Under this key of its state, a module notes that it was asked for the one inside: the program has ended there."""


def _miss_wrapper(machine: Machine, value: Instance, node: ir.Node, frame: Frame) -> None:
    """Tell that a module is asked for the one inside, and there is no wrapper around it. Whether it has one on another
    machine is for `reading.settle` to say.

    Raises:
        Crash: a handler may be waiting for it.
    """
    if not is_no_wrapper(value) or (machine.run.protocol and is_given_by_others(machine, value.cls, "module")):
        return
    error = errors.message("no-attribute", type=class_name(value), name="module")
    if machine.run.trying:
        raise Crash("AttributeError")
    if machine.state.alive and _MISSED not in value.state:
        machine.store.put(value.state, _MISSED, True)
        machine.emit(
            WrapperMissing,
            machine.site(node, frame),
            error=error,
            text=source_text(machine, machine.site(node.value, frame)) if isinstance(node, ir.Attribute) else "it",
            class_name=class_name(value),
            given=_given(machine, machine.run.path),
        )


def miss_wrapped(machine: Machine, value: Instance, name: str, node: ir.Node, frame: Frame) -> None:
    """Tell that a DataParallel (DDP) is asked for what only the module inside has: it passes nothing on but calls.

    Raises:
        Crash: it is so.
    """
    if not is_only_inside(value, name):
        return
    read = node.function if isinstance(node, ir.Call) else node
    machine.crash(
        WrapperAttribute,
        machine.site(read, frame),
        error=errors.message("no-attribute", type=class_name(value), name=name),
        text=source_text(machine, machine.site(read.value, frame)) if isinstance(read, ir.Attribute) else "it",
        wrapper=class_name(value),
        name=name,
    )


def table_of(value: Instance, name: str) -> Mapping:
    """`module._modules` and its like: what is written there by name is a field that is registered."""
    module = value.module
    assert module is not None
    if module.is_replica and name != "_modules":
        return Mapping({}, None, True)
    holds, path = TABLES[name], builtin_path(value)
    is_open = module.unsure or module.children is None or path not in CONTAINERS or is_open_class(value.cls)
    found = Mapping(dict(members(value) if holds == "module" else _tensors_of(value, holds)), None, is_open)
    found.of = None if module.children else value
    found.holds = holds
    return found


def _tensors_of(value: Instance, kind: str) -> Iterator[tuple[str, Value]]:
    """The parameters, or the buffers, that a module registers itself, where their names are known."""
    module = value.module
    assert module is not None
    for name, tensor in own_tensors(value):
        if name is not None and module.kinds.get(name, "parameter") == kind:
            yield name, tensor


def replace_table(machine: Machine, value: Instance, name: str, new: Value) -> None:
    """`module._modules = {...}`."""
    held = table_of(value, name)
    if isinstance(new, Mapping) and held.of is not None:
        rewrite(machine, held, dict(new.items))
    if not isinstance(new, Mapping) or new.open or held.of is None:
        assert value.module is not None
        machine.store.set(value.module, "unsure", True)


def module_item(machine: Machine, value: Instance, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`sequential[0]`, `module_dict["name"]`."""
    module = value.module
    assert module is not None
    if HIDDEN in value.fields:
        return item_of_opaque(machine, value, index, node, frame)
    if isinstance(index, Const):
        if isinstance(index.value, str):
            return value.fields.get(index.value) or value.fields.get(UNNAMED, UNKNOWN)
        if isinstance(index.value, int) and module.children is not None and not is_dictionary(value):
            parts = [part for _, part in members(value)]
            try:
                return parts[index.value]
            except IndexError:
                return UNKNOWN
    if module.children and not isinstance(index, Const):
        if index is SLICE:
            within = node.index if isinstance(node, ir.Subscript) else None
            return _slice(value, module, bounds(machine, within, frame) if isinstance(within, ir.Slice) else None)
        return module.children[0] if len(module.children) == 1 else _any_child(machine, module.children)
    if is_dictionary(value) and not isinstance(index, Const):
        parts = [present(value.fields[name]) for name, kind in module.kinds.items() if kind]
        return _any_child(machine, parts) if parts else UNKNOWN
    return UNKNOWN


def add_unnamed(machine: Machine, value: Instance, new: Value, node: ir.Node, frame: Frame) -> None:
    """Give a ModuleDict a member whose name is not known: one stands for all of these, if they are alike."""
    new = present(new)
    before = value.fields.get(UNNAMED)
    if before is not None:
        new = _any_child(machine, [before, new])
    register_attribute(machine, value, UNNAMED, new, node, frame)
    machine.store.epoch += 1
    machine.store.put(value.fields, UNNAMED, new)


def name_of_member(name: str) -> Value:
    """The name of a member of a ModuleDict, where it is known."""
    return STRING if UNNAMED in name.split(".") else const(name)


def _slice(value: Instance, module: ModuleState, taken: slice | None) -> Instance:
    """Some of the members of a container, in another of its class; all of them where it is not known which."""
    own = find(value.cls, "forward") is not None
    part = Instance(value.cls if own else External(builtin_path(value) or "torch.nn.Sequential"), value.site)
    part.module = ModuleState()
    part.module.children = [child for _, child in members(value)]
    if taken is not None and not module.unsure:
        part.module.children = part.module.children[taken]
    part.module.row = module.row
    part.module.unsure = own
    return part


def is_dictionary(value: Instance) -> bool:
    """Whether a module is a ModuleDict, a ParameterDict or a collection of metrics."""
    if isinstance(value.cls, External) and value.cls.path == COLLECTION:
        return True
    return builtin_path(value) in ("torch.nn.ModuleDict", "torch.nn.ParameterDict")


def has_member(value: Instance, name: Value) -> bool | None:
    """Whether a ModuleDict or ParameterDict holds something of that name; None when that is not known."""
    assert value.module is not None
    if isinstance(name, Const) and isinstance(name.value, str) and value.module.kinds.get(name.value):
        return True
    return False if isinstance(name, Const) and not value.module.unsure else None


def _any_child(machine: Machine, children: list[Value]) -> Value:
    """One of several children: the first stands for all when they are alike."""
    devices = set()
    for child in children:
        if isinstance(child, Instance):
            devices.add(device_of_module(child))
        elif isinstance(child, Tensor):
            devices.add(child.device)
        else:
            return UNKNOWN
    if len(devices) != 1:
        return UNKNOWN
    first = children[0]
    if isinstance(first, Instance) and len(children) > 1:
        machine.run.standing.append((first, children[1:]))
    return first


def iterate_module(machine: Machine, value: Instance) -> Iteration | None:
    """Iterating a Sequential, ModuleList, ModuleDict or ParameterList."""
    module = value.module
    assert module is not None
    if module.children is None:
        inside = (
            children_of_opaque(machine, value) if module.row is not None and "indexed" in module.row.flags else None
        )
        return None if inside is None else Iteration([inside], True)
    if is_dictionary(value):
        return Iteration([name_of_member(name) for name, kind in module.kinds.items() if kind], module.unsure)
    return Iteration([part for _, part in members(value)], module.unsure)
