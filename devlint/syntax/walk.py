"""Reading the program form without running it: all nodes below one, names as they are written, what a file calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from devlint.syntax import ir


def dotted(node: object) -> str:
    """Return `self.layer.weight` for a name or a chain of attributes that begins with one, else ""."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.name}" if base else ""
    return ""


def last_name(node: object) -> str:
    """Return `weight` for `self.layer.weight`, `f` for `f`, "" for what is neither a name nor an attribute."""
    return node.id if isinstance(node, ir.Name) else node.name if isinstance(node, ir.Attribute) else ""


def names_cpu(node: object) -> bool:
    """Whether an expression is `"cpu"`, or `torch.device("cpu")`, as it is written."""
    if isinstance(node, ir.Call) and last_name(node.function) == "device" and node.args:
        return names_cpu(node.args[0])
    return isinstance(node, ir.Const) and node.value == "cpu"


def assigned_attributes(node: Any) -> Iterator[str | None]:
    """Yield the attributes that a node (or the nodes of a list) writes, or writes into, of whatever objects: by
    assignments, as the targets of loops and `with`, and by `setattr`; None for a name that is computed."""
    for _, name, _ in attribute_writes(node):
        yield name


def attribute_writes(node: Any) -> Iterator[tuple[ir.Node, str | None, ir.Expr]]:
    """Yield where attributes are written (see `assigned_attributes`), their names, and what stands for the objects."""
    for part in walk(node):
        if isinstance(part, ir.Call):
            if isinstance(part.function, ir.Name) and part.function.id == "setattr" and len(part.args) > 1:
                name = part.args[1]
                known = name.value if isinstance(name, ir.Const) and isinstance(name.value, str) else None
                yield part, known, part.args[0]
            continue
        if isinstance(part, (ir.Assign, ir.Augment, ir.For, ir.With)):
            for target in walk(targets_of(part)):
                if isinstance(target, ir.Attribute):
                    yield target, target.name, target.value


def targets_of(node: ir.Node) -> list[ir.Expr]:
    """What a statement assigns to."""
    if isinstance(node, ir.Assign):
        return node.targets
    if isinstance(node, (ir.Augment, ir.For)):
        return [node.target]
    if isinstance(node, ir.With):
        return [target for _, target in node.items if target is not None]
    return []


def walk(node: Any) -> Iterator[ir.Node]:
    """Yield the node (or the nodes of a list) and everything below, bodies of functions included, in their order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        cls = node.__class__
        if cls is list or cls is tuple:
            waiting.extend(reversed(node))
            continue
        try:
            slots = _BELOW[cls]
        except KeyError:
            slots = _BELOW[cls] = _slots_below(cls)
        if slots is None:
            continue
        if cls is not ir.Generator and cls is not ir.Parameters:
            yield node
        for slot in slots:
            value = getattr(node, slot)
            kind = value.__class__
            if kind is dict:
                waiting.extend(reversed(value.values()))
            elif kind not in _PLAIN:
                waiting.append(value)
        if cls is ir.Function:
            waiting.append(node.body.statements)


_BELOW: Final[dict[type, tuple[str, ...] | None]] = {}
_PLAIN: Final = frozenset({str, int, bool, float, type(None), ir.NameScope})
"""Of what slots hold, the commonest that is no node and holds none."""


def _slots_below(cls: type) -> tuple[str, ...] | None:
    """The slots of a class of nodes under which others may stand, last first; None for what is no node."""
    if not issubclass(cls, (ir.Node, ir.Generator, ir.Parameters)):
        return None
    return tuple(slot for slot in reversed(ir.slots_of(cls)) if slot not in ("_lower", "_body"))


def called_names(body: Iterable[ir.Stmt]) -> set[str]:
    """Return the last names of all that statements call: `Net` for `models.Net(3)`."""
    return {last_name(node.function) for node in walk(body) if isinstance(node, ir.Call)}


def calls(module: ir.Module) -> list[tuple[str, ir.Call]]:
    """Return the calls of a file in which the called has a dotted name, with the names that its imports gave undone.

    `import torch as th; th.save(x, f)` calls `torch.save`.
    """
    found: list[ir.Call] = []
    meant: dict[str, str] = {}
    for node in walk(module.body):
        if isinstance(node, ir.Call):
            found.append(node)
        elif isinstance(node, ir.Import):
            meant.update((alias, name) for name, alias in node.names if alias is not None)
        elif isinstance(node, ir.ImportFrom) and not node.level:
            meant.update((alias or name, f"{node.module}.{name}") for name, alias in node.names)
    paths: list[tuple[str, ir.Call]] = []
    for call in found:
        first, dot, rest = dotted(call.function).partition(".")
        if first:
            paths.append((meant.get(first, first) + dot + rest, call))
    return paths
