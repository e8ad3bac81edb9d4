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
    """Yield the node (or the nodes of a list) and everything below, bodies of functions included."""
    if isinstance(node, (list, tuple)):
        for item in node:
            yield from walk(item)
        return
    if isinstance(node, ir.Node):
        yield node
    if isinstance(node, ir.Function):
        yield from walk(node.body.statements)
    if isinstance(node, (ir.Node, ir.Generator, ir.Parameters)):
        for slot in node.__slots__:
            if slot not in ("at", "_lower", "_body"):
                value = getattr(node, slot)
                yield from walk(list(value.values()) if isinstance(value, dict) else value)


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
