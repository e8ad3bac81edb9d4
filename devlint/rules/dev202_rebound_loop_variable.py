"""DEV202 rebound-loop-variable: `for t in batch: t = t.to(device)` moves nothing in the container."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import CpuOnlyArgument, Event, MixedDevices, Operand, ToHost
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV202",
    name="rebound-loop-variable",
    summary=(
        "A loop binds the moved tensor to its loop variable only; the container keeps the tensor that was not moved."
    ),
    what=(
        "`for t in batch: t = t.to(device)`, also over the values or items of a dict, or over a tuple of names: the "
        "loop variable is bound to the moved copy, and after the loop the container, or the names, are used as if "
        "moved."
    ),
    why=(
        "Assigning to the loop variable changes what that name stands for, not what the list or dict holds. Without a "
        "GPU the move returns the tensor itself and nothing shows."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
batch = [torch.rand(3), torch.rand(3)]
for t in batch:
    t = t.to(device)  # DEV202: gpu1 gpu2
print(weight * batch[0])
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
batch = [torch.rand(3), torch.rand(3)]
batch = [t.to(device) for t in batch]
print(weight * batch[0])
""",
    ),
    worlds=("gpu1", "gpu2"),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety=(
        "Storing into a dict by its key is safe. A list comprehension makes a new list, and storing by index needs a "
        "list: unsafe where the container is a tuple or has another name as well."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """An element of the container met a tensor of another device."""
    if event.cause == "rebound":
        message = f"the loop moves only its own variable: {_stays(event.culprit)} and {text.meeting(event)}"
        yield Diagnosis(event.root, message, event, text.clash_trace(event))


@RULE.on(ToHost)
def not_on_the_host(event: ToHost, context: TextContext) -> Iterator[Diagnosis]:
    """The elements were to be brought to the CPU."""
    yield from _demanded_on_cpu(event, event.operand, event.function)


@RULE.on(CpuOnlyArgument)
def not_on_the_cpu(event: CpuOnlyArgument, context: TextContext) -> Iterator[Diagnosis]:
    """The elements were to be brought to the CPU for an argument that has to be there."""
    yield from _demanded_on_cpu(event, event.operand, event.operation)


def _demanded_on_cpu(event: Event, operand: Operand | None, consumer: str) -> Iterator[Diagnosis]:
    if operand is not None and text.newest(operand) == "rebound":
        message = f"the loop moves only its own variable: {_stays(operand)}, and {text.quoted(consumer)} needs the CPU"
        trace = text.operand_trace(event, operand, f"{text.quoted(operand.text)} is used here")
        yield Diagnosis(operand.marks[-1].site, message, event, trace)


def _stays(operand: Operand) -> str:
    return f"{text.quoted(operand.text)} stays on {operand.device}"


@RULE.fix
def store_moved(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Store the moved tensors where they are read: by key, by index, in a new list, or in the names."""
    node = context.node(diagnosis.site)
    loop = node if isinstance(node, cst.For) else None
    for parent in context.parents(node) if node is not None and loop is None else ():
        if isinstance(parent, cst.For):
            loop = parent
            break
    if loop is None or loop.orelse is not None or loop.asynchronous is not None:
        return None
    return _pairs(loop, context) or _names(loop, context) or _list(loop, context)


def _rebinding(loop: cst.For, name: str) -> cst.Assign | None:
    """The statement `t = t.to(device)` directly in the loop's body."""
    for line in loop.body.body:
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            continue
        match line.body[0]:
            case (
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=target))],
                    value=cst.Call(func=cst.Attribute(value=cst.Name(value=receiver), attr=cst.Name(value=method))),
                ) as assignment
            ) if target == receiver == name and method in {"to", "cuda", "cpu"}:
                return assignment
    return None


def _pairs(loop: cst.For, context: FixContext) -> Mend | None:
    """`for k, v in batch.items()` and `for i, t in enumerate(batch)`: store by key or index."""
    match loop.target, loop.iter:
        case (
            cst.Tuple(elements=[cst.Element(value=cst.Name(value=key)), cst.Element(value=cst.Name(value=name))]),
            cst.Call(func=function, args=arguments),
        ):
            container = None
            if isinstance(function, cst.Attribute) and function.attr.value == "items" and not arguments:
                container = edits.dotted(function.value)
            elif isinstance(function, cst.Name) and function.value == "enumerate" and len(arguments) == 1:
                container = edits.dotted(arguments[0].value)
            assignment = _rebinding(loop, name)
            if container is None or assignment is None or key == name:
                return None
            start, end = context.span(assignment.targets[0].target)
            safety = "safe" if isinstance(function, cst.Attribute) else "unsafe"
            stored = f"{container}[{key}]"
            content = stored if _only_use(loop, assignment, name) else f"{stored} = {name}"
            return Mend(
                "safe" if safety == "safe" else "unsafe",
                f"Store the moved tensor: `{stored} = ...`",
                (Replacement(start, end, content),),
            )
    return None


def _only_use(loop: cst.For, assignment: cst.Assign, name: str) -> bool:
    """Tell whether the loop does nothing else with the loop variable."""
    inside = {id(item) for item in edits.walk(assignment)}
    return not any(
        isinstance(item, cst.Name) and item.value == name and id(item) not in inside for item in edits.walk(loop.body)
    )


def _single(loop: cst.For) -> cst.Assign | None:
    """The rebinding, where it is all that the loop does."""
    if not isinstance(loop.target, cst.Name) or len(loop.body.body) != 1:
        return None
    return _rebinding(loop, loop.target.value)


def _one_line(loop: cst.For, context: FixContext, before: str, brackets: str) -> tuple[Replacement, ...]:
    assignment = _single(loop)
    assert assignment is not None
    moved, target = context.source(assignment.value), context.source(loop.target)
    start, end = context.span(loop)[0], context.span(assignment)[1]
    iterable = context.source(loop.iter)
    if isinstance(loop.iter, cst.Tuple):
        iterable = f"({iterable})"
    content = f"{before} = {brackets[0]}{moved} for {target} in {iterable}{brackets[1]}"
    return (Replacement(start, end, content),)


def _names(loop: cst.For, context: FixContext) -> Mend | None:
    """`for t in (x, y): t = t.to(device)`: assign to the names."""
    if _single(loop) is None or not isinstance(loop.iter, cst.Tuple | cst.List) or len(loop.iter.elements) < 2:
        return None
    names = [edits.dotted(element.value) for element in loop.iter.elements]
    if any(name is None or ("." not in name and not edits.is_local(context, loop, name)) for name in names):
        return None
    targets = ", ".join(name for name in names if name is not None)
    return Mend("safe", f"Assign to the names: `{targets} = ...`", _one_line(loop, context, targets, "()"))


def _list(loop: cst.For, context: FixContext) -> Mend | None:
    """`for t in batch: t = t.to(device)`: make a new list."""
    name = edits.dotted(loop.iter)
    if _single(loop) is None or name is None or ("." not in name and not edits.is_local(context, loop, name)):
        return None
    if not edits.read_later(context, loop, name):
        return None
    return Mend("unsafe", f"Make a list of the moved tensors: `{name} = [...]`", _one_line(loop, context, name, "[]"))
