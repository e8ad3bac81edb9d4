"""Where a plain container of a module is filled that starts empty: `self.tables = {}`, and then item by item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devlint.analysis.domain.ancestry import mro
from devlint.analysis.domain.values import Class, Instance, Tensor
from devlint.analysis.events import Site
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

_ADDING: Final = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "appendleft"})
_EMPTY: Final = frozenset({"list", "dict", "OrderedDict", "defaultdict", "deque"})


def put_at(tensor: Tensor, module: Instance, name: str, place: Site) -> Site:
    """Where a tensor came into the container that a module's attribute was given at a place.

    That is where the module's own method made it, if that was after the container, or else the first statement that
    fills this one, if it starts empty.
    """
    origin = tensor.origin
    made_here = origin is not None and origin.frame is not None and origin.frame.receiver is module
    if origin is not None and made_here and origin.site.path == place.path and origin.site.row > place.row:
        return origin.site
    for body in _bodies_with(module, place):
        rows = [node for node in walk(body) if _fills(node, name) and node.at.lineno > place.row]
        if rows and any(_starts_empty(node, name, place) for node in walk(body)):
            return Site(place.path, min(rows, key=lambda node: (node.at.lineno, node.at.col_offset)).at)
    return place


def _bodies_with(module: Instance, place: Site) -> Iterator[list[ir.Stmt]]:
    """The body of the method in which a place stands."""
    for cls in mro(module.cls) if isinstance(module.cls, Class) else ():
        for part in cls.node.body if isinstance(cls, Class) and cls.frame.namespace.path == place.path else ():
            if isinstance(part, ir.Function) and part.at.lineno <= place.row <= part.at.end_lineno:
                yield part.body.statements


def _is_attribute(node: ir.Node, name: str) -> bool:
    """Whether it is `self.name`, or an item of it."""
    while isinstance(node, ir.Subscript):
        node = node.value
    return isinstance(node, ir.Attribute) and node.name == name and isinstance(node.value, ir.Name)


def _fills(node: ir.Node, name: str) -> bool:
    """Whether a node adds to the container under this name."""
    if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute):
        return node.function.name in _ADDING and _is_attribute(node.function.value, name)
    if isinstance(node, ir.Assign):
        return any(isinstance(target, ir.Subscript) and _is_attribute(target, name) for target in node.targets)
    return isinstance(node, ir.Augment) and _is_attribute(node.target, name)


def _starts_empty(node: ir.Node, name: str, place: Site) -> bool:
    """Whether a statement gives the attribute an empty container at a place."""
    if not isinstance(node, ir.Assign) or node.at.lineno != place.row:
        return False
    if not any(isinstance(target, ir.Attribute) and target.name == name for target in node.targets):
        return False
    value = node.value
    if isinstance(value, (ir.Display, ir.DictDisplay)):
        return not value.items
    return isinstance(value, ir.Call) and last_name(value.function) in _EMPTY
