"""Reading the program form without running it: all nodes below one, names as they are written, what a file calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devlint.syntax import ir


def dotted(node: object) -> str:
    """Return `self.layer.weight` for a name or a chain of attributes that begins with one, else ""."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.name}" if base else ""
    return ""


def walk(node: Any) -> Iterator[ir.Node]:
    """Yield the node (or the nodes of a list) and everything below, bodies of functions included, in their order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.__class__ in (list, tuple):
            waiting.extend(reversed(node))
            continue
        if isinstance(node, ir.Node):
            yield node
        elif not isinstance(node, (ir.Generator, ir.Parameters)):
            continue
        below = [getattr(node, slot) for slot in node.__slots__ if slot not in ("at", "_lower", "_body")]
        if isinstance(node, ir.Function):
            below.insert(0, node.body.statements)
        for value in reversed(below):
            if value.__class__ is dict:
                waiting.extend(reversed(value.values()))
            elif value.__class__ is not str:
                waiting.append(value)


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
