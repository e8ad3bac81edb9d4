"""Which expression names, at some place of the program, the device that a value should have been on."""

from __future__ import annotations

from devlint.analysis.events import MixedDevices, Operand
from devlint.rules.base import Diagnosis, FixContext
from devlint.rules.edits import (
    bindings,
    bound_once_before,
    call_at,
    dotted,
    is_global_constant,
    keyword,
    method_name,
    own_nodes,
    same_file,
    scope_of,
    walk,
)
from devlint.rules.text import partner
from devlint.semantics import table
from devlint.syntax.late import cst

VIEWS = frozenset({"T", "mT", "H", "mH"})
"""Attributes of a tensor that are tensors on its device."""


def device_argument(call: cst.Call) -> cst.BaseExpression | None:
    """Return `d` of `x.to(d)`, `x.to(device=d)`, `x.cuda(d)` and `torch.zeros(3, device=d)`."""
    named = keyword(call, "device")
    if named is not None:
        return named.value
    if method_name(call) in {"to", "cuda"} and call.args and call.args[0].keyword is None and not call.args[0].star:
        return call.args[0].value
    return None


def follow(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode) -> str | None:
    """Return `x.device`, where `x` is the tensor that the culprit clashed with and is the same tensor at `node`.

    It has to be a tensor whenever the program comes there.
    """
    event = diagnosis.event
    if not isinstance(event, MixedDevices):
        return None
    other = partner(event)
    if other is event.culprit:
        return None
    paths = _by_text(diagnosis, context, node, other), _by_parameter(diagnosis, context, node, other)
    return next((f"{path}.device" for path in paths if path and _is_tensor(diagnosis, context, node, path)), None)


def _is_tensor(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode, path: str) -> bool:
    """Tell whether no run has seen anything else under that name at `node`, nor would see a default that is none."""
    event = diagnosis.event
    if not isinstance(event, MixedDevices) or path in event.no_tensors:
        return False
    scope = scope_of(context, node)
    own = bindings(scope, path) if isinstance(scope, cst.FunctionDef) and path.isidentifier() else []
    parameters = [parent for item in own for parent in context.parents(item)[:1] if isinstance(parent, cst.Param)]
    default = parameters[0].default if parameters else None
    if default is None:
        return True
    return context.source(default) == "None" and _needs(diagnosis, context, node, path)


def _needs(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode, path: str) -> bool:
    """Tell whether None would have failed beside `node`, or a condition around it asks for the name."""
    crash = context.node(diagnosis.event.site)
    if crash is not None and context.statement(crash) is context.statement(node):
        return True
    tests = [parent.test for parent in context.parents(node) if isinstance(parent, (cst.If, cst.IfExp))]
    return any(isinstance(part, cst.Name) and part.value == path for test in tests for part in walk(test))


def tensor_path(text: str) -> str | None:
    """Return the name that a tensor is read from: `x` of `x`, `x.sigmoid()` and `x.float().T`.

    Only methods that keep the device are followed; a function (`torch.exp(x)`) and a module's call give None.
    """
    try:
        node: cst.BaseExpression = cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return None
    while True:
        method = node.func if isinstance(node, cst.Call) else node
        if not isinstance(method, cst.Attribute) or not (isinstance(node, cst.Call) or method.attr.value in VIEWS):
            return dotted(node)
        row = table.lookup(f"torch.Tensor.{method.attr.value}")
        if row is None or row.effect != "keep" or row.concerned[:1] != ("self",):
            return None
        node = method.value


def _by_text(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode, other: Operand) -> str | None:
    """The crash stands in the same function as `node`, and the other operand is read from a plain name there."""
    if not same_file(diagnosis, diagnosis.event.site):
        return None
    crash = context.node(diagnosis.event.site)
    scope = scope_of(context, node)
    path = tensor_path(other.text)
    if crash is None or scope_of(context, crash) is not scope or path is None:
        return None
    here, until = context.span(node)[0], context.span(crash)[1]
    if not bound_once_before(context, path.partition(".")[0], node, until):
        return None
    rebound = any(
        isinstance(item, cst.AssignTarget)
        and dotted(item.target) == path
        and here <= context.span(item.target)[0] < until
        for item in own_nodes(scope)
    )
    return None if rebound else path


def _by_parameter(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode, other: Operand) -> str | None:
    """The other operand came in as a parameter of the function in which `node` stands."""
    scope = scope_of(context, node)
    if not isinstance(scope, cst.FunctionDef):
        return None
    for mark in reversed(other.marks):
        if mark.kind == "input" and same_file(diagnosis, mark.site):
            text = context.site_text(mark.site).partition(":")[0].strip()
            own = bindings(scope, text) if text.isidentifier() else []
            if len(own) == 1 and context.span(own[0])[0] == context.site_span(mark.site)[0]:
                return text
    return None


def handle(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode) -> str | None:
    """Return the name of the device handle to which the other operand was moved, where `node` sees the same handle."""
    event = diagnosis.event
    if not isinstance(event, MixedDevices):
        return None
    marks = [mark for operand in event.operands if operand is not event.culprit for mark in reversed(operand.marks)]
    for mark in marks:
        if mark.kind not in {"moved", "placed", "module-moved"} or not same_file(diagnosis, mark.site):
            continue
        call = call_at(context, mark.site)
        value = device_argument(call) if call is not None else None
        path = dotted(value) if value is not None else None
        if path is not None and call is not None and _visible(context, path, call, node):
            return path
    return None


def _visible(context: FixContext, path: str, source: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Tell whether the handle `path` that `source` reads is the same at `node`."""
    name = path.partition(".")[0]
    scope = scope_of(context, node)
    if scope is scope_of(context, source) and bindings(scope, name):
        begin, end = sorted((context.span(source)[0], context.span(node)[0]))
        places = [context.span(item)[0] for item in bindings(scope, name)]
        return any(place < begin for place in places) and not any(begin <= place < end for place in places)
    if bindings(scope, name):
        return False
    own_of_source = scope_of(context, source)
    if own_of_source is not context.module and bindings(own_of_source, name):
        return False
    return scope is not context.module and name == path and is_global_constant(context, name)
