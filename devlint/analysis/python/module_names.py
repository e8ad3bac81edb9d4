"""The names of a module, also by way of its `__dict__`: `models.__dict__[args.arch]()`, `vars(models)["resnet18"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import attribute
from devlint.analysis.dispatch import ASSIGN_ATTRIBUTE, ATTRIBUTE, ITEM, on
from devlint.analysis.domain.values import UNKNOWN, External, Mapping, ModuleValue, Value, birth
from devlint.analysis.machine import text_of
from devlint.analysis.python.importing import module_member

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir


_GENERIC: Final = frozenset(
    {
        *(f"builtins.{name}" for name in "dict list set frozenset tuple".split()),
        *(f"collections.{name}" for name in "defaultdict OrderedDict deque Counter ChainMap".split()),
        *(f"queue.{name}" for name in "Queue LifoQueue PriorityQueue SimpleQueue".split()),
        *(f"asyncio.{name}" for name in "Queue LifoQueue PriorityQueue".split()),
        *(f"torch.utils.data.{name}" for name in "DataLoader Subset ConcatDataset ChainDataset".split()),
        *("functools.partial", "functools.cached_property", "contextvars.ContextVar"),
    }
)
"""Classes of libraries that take types in brackets, which change nothing."""


def names_of_module(value: ModuleValue | External) -> Value:
    """`module.__dict__`: of a file of the project its names, of which there may be more by then."""
    if isinstance(value, External):
        return External(f"{value.path}.__dict__")
    return Mapping(dict(value.namespace.names), None, True)


@on(ATTRIBUTE, ModuleValue)
def attribute_of_module(machine: Machine, value: ModuleValue, name: str, node: ir.Node, frame: Frame) -> Value:
    """`module.name` of a project file."""
    if name == "__dict__":
        return names_of_module(value)
    found = module_member(machine, value.namespace, name)
    if found is not None:
        return found
    inner = machine.project.submodule(machine, value.namespace, name)
    return UNKNOWN if inner is None else inner


@on(ASSIGN_ATTRIBUTE, ModuleValue)
def assign_attribute_of_module(
    machine: Machine, value: ModuleValue, name: str, new: Value, node: ir.Node, frame: Frame
) -> None:
    """`module.name = new` of a project file."""
    machine.prints[value.namespace.path] = birth()
    machine.store.put(value.namespace.names, name, new)
    machine.store.epoch += 1


@on(ITEM, External)
def item_of_external(machine: Machine, value: External, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`torchvision.models.__dict__["resnet18"]`: the member of that name; `dict[str, int]` is called as `dict` is; of
    other objects nothing is known."""
    if value.path in _GENERIC:
        return value
    owner, _, last = value.path.rpartition(".")
    name = text_of(index)
    return UNKNOWN if last != "__dict__" or name is None else attribute(machine, External(owner), name, node, frame)
