"""Small edits of program text that fixers share. All of them touch nothing but the characters they replace."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final, TypeAlias

from devlint.analysis.events import Site
from devlint.rules.base import Diagnosis, FixContext, Replacement
from devlint.semantics import table
from devlint.syntax.late import cst

Scope: TypeAlias = "cst.FunctionDef | cst.Lambda | cst.Module"

_SCOPES: Final = 64
"""Of so many scopes what was read is kept: each finding in one asks for it."""


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the node and everything below it, in the order of the text."""
    yield node
    for child in node.children:
        yield from walk(child)


def dotted(node: cst.CSTNode) -> str | None:
    """Return `self.layer.weight` for a chain of names, else None."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    return None


def scope_of(context: FixContext, node: cst.CSTNode) -> Scope:
    """Return the function, lambda or module whose names `node` sees as its own."""
    for parent in context.parents(node):
        if isinstance(parent, cst.FunctionDef | cst.Lambda):
            return parent
    return context.module


@functools.lru_cache(_SCOPES)
def own_nodes(scope: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """Return the nodes of a scope without the insides of functions and classes defined in it."""
    return tuple(_own(scope))


def _own(scope: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in scope.children:
        yield child
        if not isinstance(child, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            yield from _own(child)


def bindings(scope: Scope, name: str) -> list[cst.CSTNode]:
    """Return the nodes that bind `name` in the scope: targets of assignments and loops, parameters, imports."""
    return _bound(scope).get(name, [])


@functools.lru_cache(_SCOPES)
def _bound(scope: Scope) -> dict[str, list[cst.CSTNode]]:
    """The names that a scope binds, each with the nodes that do."""
    found: dict[str, list[cst.CSTNode]] = {}
    for node in own_nodes(scope):
        target: cst.CSTNode | None = None
        match node:
            case cst.AssignTarget() | cst.NamedExpr() | cst.For() | cst.AnnAssign() | cst.AugAssign():
                target = node.target
            case cst.Param() | cst.AsName() | cst.FunctionDef() | cst.ClassDef():
                target = node.name
            case cst.ImportAlias() if node.asname is None:
                target = node.name
        if target is not None:
            for leaf in leaves(target):
                found.setdefault(leaf.value, []).append(leaf)
    return found


def leaves(target: cst.CSTNode) -> Iterator[cst.Name]:
    """Yield the names that an assignment target binds."""
    match target:
        case cst.Name():
            yield target
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from leaves(element.value)


def is_declared_elsewhere(scope: Scope, name: str) -> bool:
    """Tell whether `global name` or `nonlocal name` stands in the scope."""
    return any(
        isinstance(node, cst.Global | cst.Nonlocal) and any(item.name.value == name for item in node.names)
        for node in own_nodes(scope)
    )


def is_local(context: FixContext, node: cst.CSTNode, name: str) -> bool:
    """Tell whether assigning to `name` beside `node` rebinds the variable that is read there."""
    scope = scope_of(context, node)
    if isinstance(scope, cst.Lambda):
        return False
    return bool(bindings(scope, name)) or is_declared_elsewhere(scope, name)


def bound_once_before(context: FixContext, name: str, node: cst.CSTNode, until: int | None = None) -> bool:
    """Tell whether `name` is bound where `node` stands, and not rebound from there to the offset `until`."""
    scope = scope_of(context, node)
    here = context.span(node)[0]
    found = bindings(scope, name)
    if any(isinstance(parent, cst.Import | cst.ImportFrom) for item in found for parent in context.parents(item)):
        return False
    places = [context.span(binding)[0] for binding in found]
    if not places and not isinstance(scope, cst.Module):
        return is_global_constant(context, name)
    return any(place < here for place in places) and not any(here <= place < (until or here) for place in places)


def is_global_constant(context: FixContext, name: str) -> bool:
    """Tell whether `name` is bound once at module level: no import, and on no condition such as a main guard."""
    found = bindings(context.module, name)
    conditional = cst.If | cst.Try | cst.For | cst.While | cst.With | cst.Import | cst.ImportFrom
    return len(found) == 1 and not any(isinstance(parent, conditional) for parent in context.parents(found[0]))


def read_later(context: FixContext, statement: cst.CSTNode, path: str) -> bool:
    """Tell whether the dotted `path` is read after `statement` in its scope, or anywhere in a loop around it."""
    scope = scope_of(context, statement)
    region = context.span(statement)[1]
    loops = [parent for parent in context.parents(statement) if isinstance(parent, cst.For | cst.While)]
    inner = {id(item) for loop in loops for item in walk(loop.body)} if scope is not None else set()
    own = {id(item) for item in walk(statement)}
    for node in walk(scope):
        if id(node) in own or dotted(node) != path:
            continue
        if context.span(node)[0] >= region or id(node) in inner:
            return True
    return False


def is_primary(node: cst.CSTNode) -> bool:
    """Tell whether a method can be called on the expression without brackets around it."""
    return isinstance(
        node, cst.Name | cst.Attribute | cst.Subscript | cst.Call | cst.List | cst.Tuple | cst.Dict | cst.ListComp
    )


def after(context: FixContext, node: cst.CSTNode, suffix: str) -> tuple[Replacement, ...]:
    """Append `suffix` (`.cpu()`) to an expression, in brackets where it binds less tightly than a call."""
    start, end = context.span(node)
    if is_primary(node):
        return (Replacement(end, end, suffix),)
    return (Replacement(start, start, "("), Replacement(end, end, ")" + suffix))


def is_taken_apart(context: FixContext, node: cst.CSTNode) -> bool:
    """Whether an expression is unpacked or indexed where it stands, as the tuple is that some calls give."""
    parent = context.parents(node)[0]
    if isinstance(parent, cst.Assign):
        return any(isinstance(target.target, (cst.Tuple, cst.List)) for target in parent.targets)
    if isinstance(parent, cst.Arg):
        return bool(parent.star)
    if isinstance(parent, cst.WithItem):
        return parent.asname is not None and isinstance(parent.asname.name, (cst.Tuple, cst.List))
    return isinstance(parent, (cst.Subscript, cst.StarredElement, cst.For, cst.CompFor))


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """Return the argument that is passed by this keyword."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument
    return None


def add_keyword(context: FixContext, call: cst.Call, text: str) -> tuple[Replacement, ...] | None:
    """Add a keyword argument to a call; None where it can't be done without knowing what `**` holds."""
    if any(argument.star == "**" for argument in call.args):
        return None
    if not call.args:
        end = context.span(call)[1] - 1
        return (Replacement(end, end, text),)
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None
    end = closing(context, last.value)
    return (Replacement(end, end, ", " + text),)


def closing(context: FixContext, value: cst.BaseExpression) -> int:
    """Return the offset behind an expression, the brackets around it included."""
    end = context.span(value)[1]
    for _ in value.rpar:
        end = context.text.index(")", end) + 1
    return end


def remove_argument(context: FixContext, call: cst.Call, argument: cst.Arg) -> tuple[Replacement, ...]:
    """Take an argument out of a call, with the comma that belonged to it."""
    place = next(index for index, item in enumerate(call.args) if item is argument)
    start, end = context.span(argument)[0], closing(context, argument.value)
    if place > 0:
        start = closing(context, call.args[place - 1].value)
    elif len(call.args) > 1:
        end = context.span(call.args[1])[0]
    return (Replacement(start, end, ""),)


def call_at(context: FixContext, site: Site) -> cst.Call | None:
    """Return the call at a site: the node itself, or the one that its attribute or expression statement is."""
    node = context.node(site)
    if isinstance(node, cst.Call):
        return node
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        return node.value
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 and isinstance(node.body[0], cst.Expr):
        value = node.body[0].value
        return value if isinstance(value, cst.Call) else None
    if isinstance(node, cst.Name | cst.Attribute):
        parents = context.parents(node)
        if parents and isinstance(parents[0], cst.Call) and parents[0].func is node:
            return parents[0]
    return None


def method_name(call: cst.Call) -> str | None:
    """Return `to` of `x.to(device)`."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def function_name(call: cst.Call) -> str | None:
    """Return the last name of what is called: `randn` of `torch.randn(3)` and of `randn(3)`."""
    return call.func.value if isinstance(call.func, cst.Name) else method_name(call)


def makes_distribution(call: cst.BaseExpression) -> bool:
    """Tell whether a call is of a class of `torch.distributions`: it makes no tensor, and can't be moved."""
    return isinstance(call, cst.Call) and f"torch.distributions.{function_name(call)}" in _distributions()


@functools.cache
def _distributions() -> frozenset[str]:
    return frozenset(table.names("torch.distributions"))


def spelling(context: FixContext, qualified: str) -> str | None:
    """Return how the file's module-level imports spell a qualified name (`torch.nn.ModuleList`), None if they don't."""
    module, _, attribute = qualified.rpartition(".")
    best: str | None = None
    for node in own_nodes(context.module):
        match node:
            case cst.Import(names=names):
                for alias in names:
                    whole = dotted(alias.name) or ""
                    asname = alias.asname.name if alias.asname is not None else None
                    if asname is not None and isinstance(asname, cst.Name) and whole == module:
                        return f"{asname.value}.{attribute}"
                    if asname is not None and isinstance(asname, cst.Name) and qualified.startswith(whole + "."):
                        best = best or asname.value + qualified[len(whole) :]
                    if asname is None and whole.partition(".")[0] == qualified.partition(".")[0]:
                        best = best or qualified
            case cst.ImportFrom(module=source, names=names) if source is not None and not isinstance(
                names, cst.ImportStar
            ):
                base = dotted(source)
                for alias in names:
                    whole = f"{base}.{dotted(alias.name)}"
                    name = dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name)
                    if whole == qualified:
                        return name
                    if whole == module:
                        return f"{name}.{attribute}"
    return best


def same_file(diagnosis: Diagnosis, site: Site) -> bool:
    """Tell whether an edit at `site` would stand in the finding's own file."""
    return site.path == diagnosis.site.path


def is_whole_value(context: FixContext, node: cst.CSTNode) -> bool:
    """Tell whether `node` is all that is assigned, returned or passed by the statement: nothing is called on it."""
    parents = context.parents(node)
    return bool(parents) and isinstance(parents[0], cst.Assign | cst.AnnAssign | cst.Return | cst.Arg)


def opening(context: FixContext, value: cst.BaseExpression) -> int:
    """Return the offset of an expression, the brackets around it included."""
    start = context.span(value)[0]
    for _ in value.lpar:
        start = context.text.rindex("(", 0, start)
    return start


def assignment_at(context: FixContext, site: Site) -> cst.Assign | cst.AnnAssign | None:
    """Return the assignment with a single target at a site: the statement, its target or its value."""
    node = context.node(site)
    if node is None:
        return None
    for candidate in (node, *context.parents(node)):
        if isinstance(candidate, cst.Assign):
            return candidate if len(candidate.targets) == 1 else None
        if isinstance(candidate, cst.AnnAssign):
            return candidate
        if isinstance(candidate, cst.SimpleStatementLine) and len(candidate.body) == 1:
            only = candidate.body[0]
            if isinstance(only, cst.AnnAssign) or (isinstance(only, cst.Assign) and len(only.targets) == 1):
                return only
        if isinstance(candidate, cst.BaseStatement):
            return None
    return None


def is_first_parameter(function: cst.FunctionDef, name: str) -> bool:
    """Tell whether `name` is the function's first parameter: what a method calls its object."""
    parameters = (*function.params.posonly_params, *function.params.params)
    return bool(parameters) and parameters[0].name.value == name


def assignments_to(context: FixContext, scope: Scope, path: str) -> list[cst.CSTNode]:
    """Return the targets in the scope that assign to the dotted `path`."""
    found: list[cst.CSTNode] = []
    for node in own_nodes(scope):
        if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign) and dotted(node.target) == path:
            found.append(node.target)
    return found
