"""DEV201 dropped-move: the result of a tensor's `.to()`, `.cuda()` or `.cpu()` is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import CpuOnlyArgument, DroppedMove, Event, Mark, MixedDevices, Operand, ToHost
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst
from devlint.worlds import CPU

RULE = Rule(
    code="DEV201",
    name="dropped-move",
    summary="The result of a tensor's `.to()`, `.cuda()` or `.cpu()` is thrown away.",
    what=(
        "A tensor is moved in a statement of its own, or in a comprehension whose list nobody keeps: nothing was "
        "moved. Also `x = x.cuda` without a call, which puts the method in the place of the tensor, and "
        "`model = model.to(device)` where the class has a `to` of its own that returns nothing.\n\n"
        "Modules are moved in place, and other classes (tokenizer batches, graphs) may be too: the rule speaks only "
        "where the receiver is known to be a tensor, on another device than the one asked for. A `.cpu()` of a name "
        "that nothing reads afterwards makes no difference, and is left alone. It is advice where DataParallel takes "
        "the tensor there, and it meets nothing else."
    ),
    why=(
        "`Tensor.to()` never changes the tensor. It returns a copy on the other device, or the tensor itself where "
        "nothing has to be done. On a machine without a GPU it has nothing to do, so the mistake shows on the GPU "
        "only."
    ),
    example=Example(
        bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
x = torch.rand(3)
x.to(device)  # DEV201: gpu1 gpu2
print(weight * x)
""",
        good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
x = torch.rand(3)
x = x.to(device)
print(weight * x)
""",
    ),
    error=(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
    fix_safety=(
        "Assigning the result back is safe: where the code worked, the move returned the tensor itself. A "
        "comprehension becomes a new list, which is unsafe where the container was a tuple or has another name as "
        "well."
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",),
)


@RULE.on(MixedDevices)
def two_devices(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The unmoved tensor met one of another device."""
    if event.cause == "dropped":
        yield Diagnosis(event.root, _message(event.culprit, event, context), event, text.clash_trace(event))


@RULE.on(DroppedMove)
def nothing_moved(event: DroppedMove, context: TextContext) -> Iterator[Diagnosis]:
    """A tensor's move was thrown away, whether or not something breaks later."""
    if event.kind == "nothing":
        message = f"{text.quoted(context.text(event.root))} returns None, which `{event.text}` then stands for"
        yield Diagnosis(event.root, message, event, text.trail(event, event.root), "end the method with `return self`")
        return
    if event.kind == "uncalled":
        message = f"{text.quoted(context.text(event.root))} is not called: the method takes the place of the tensor"
        yield Diagnosis(event.root, message, event, help=f"call it: `{event.text} = {context.text(event.root)}()`")
        return
    if event.world == CPU.name:
        return  # all tensors are in one place there
    stays = f": {text.quoted(event.text)} stays on {event.source}" if event.source else ""
    message = f"the result of {text.quoted(context.text(event.root))} is thrown away{stays}"
    if event.brought:
        message += f", from where {event.brought} takes it to {event.target}"
    yield Diagnosis(event.root, message, event, severity="advice" if event.brought else None)


@RULE.on(ToHost)
def not_on_the_host(event: ToHost, context: TextContext) -> Iterator[Diagnosis]:
    """The tensor was to be brought to the CPU for code that works on host memory."""
    yield from _demanded_on_cpu(event, event.operand, event.function, context)


@RULE.on(CpuOnlyArgument)
def not_on_the_cpu(event: CpuOnlyArgument, context: TextContext) -> Iterator[Diagnosis]:
    """The tensor was to be brought to the CPU for an argument that has to be there."""
    yield from _demanded_on_cpu(event, event.operand, event.operation, context)


def _demanded_on_cpu(event: Event, operand: Operand | None, consumer: str, context: TextContext) -> Iterator[Diagnosis]:
    if operand is not None and text.newest(operand) == "dropped":
        crash = (
            f"{text.quoted(operand.text)} is still on {operand.device} here, and {text.quoted(consumer)} needs the CPU"
        )
        drop: Mark = operand.marks[-1]
        yield Diagnosis(
            drop.site, _message(operand, event, context, drop), event, text.operand_trace(event, operand, crash)
        )


def _message(operand: Operand, event: Event, context: TextContext, drop: Mark | None = None) -> str:
    site = drop.site if drop is not None else event.root
    stays = f"{text.quoted(operand.text)} stays on {operand.device}"
    message = f"the result of {text.quoted(context.text(site))} is thrown away: {stays}"
    if isinstance(event, MixedDevices):
        message += f" and {text.meeting(event)}"
    return message


@RULE.fix
def assign_back(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Assign the moved tensor, or the list of moved tensors, to the name that it came from."""
    node = context.node(diagnosis.site)
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
        node = node.body[0]
    if isinstance(node, cst.Expr):
        node = node.value
    if isinstance(node, cst.ListComp):
        return _keep_list(node, context)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    target = edits.dotted(node.func.value)
    parents = context.parents(node)
    if target is None or node.lpar or not parents or not isinstance(parents[0], cst.Expr):
        return None
    if edits.method_name(node) not in {"to", "cuda", "cpu"} or not _assignable(diagnosis, context, node, target):
        return None
    start = context.span(node)[0]
    return Mend("safe", f"Assign the result: `{target} = ...`", (Replacement(start, start, f"{target} = "),))


def _assignable(diagnosis: Diagnosis, context: FixContext, node: cst.CSTNode, target: str) -> bool:
    marks = [mark for operand in _operands(diagnosis.event) for mark in operand.marks]
    if "." in target:
        return bool(marks) and all(mark.kind != "parameter" for mark in marks)
    needs_grad = any(
        mark.kind in {"factory", "placed"}
        and mark.site.path == diagnosis.site.path
        and "requires_grad=True" in context.site_text(mark.site).replace(" ", "")
        for mark in marks
    )
    statement = context.statement(node)
    return not needs_grad and edits.is_local(context, node, target) and edits.read_later(context, statement, target)


def _operands(event: Event) -> list[Operand]:
    if isinstance(event, MixedDevices):
        return [event.culprit]
    if isinstance(event, ToHost | CpuOnlyArgument) and event.operand is not None:
        return [event.operand]
    return []


def _keep_list(node: cst.ListComp, context: FixContext) -> Mend | None:
    loop = node.for_in
    name = edits.dotted(loop.iter)
    moved = node.elt
    if name is None or loop.ifs or loop.inner_for_in or not isinstance(moved, cst.Call):
        return None
    if not isinstance(moved.func, cst.Attribute) or edits.dotted(moved.func.value) != edits.dotted(loop.target):
        return None
    if "." not in name and not edits.is_local(context, node, name):
        return None
    if not edits.read_later(context, context.statement(node), name):
        return None
    start = context.span(node)[0]
    return Mend(
        "unsafe", f"Keep the list of moved tensors: `{name} = [...]`", (Replacement(start, start, f"{name} = "),)
    )
