"""DEV502 unregistered-modules: modules or parameters in a plain list, tuple or dict."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.events import MixedDevices
from devlint.rules import edits, text
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.syntax.late import cst

RULE = Rule(
    code="DEV502",
    name="unregistered-modules",
    summary="A module keeps submodules or parameters in a plain list, tuple or dict.",
    what=(
        "`self.layers = [nn.Linear(...), ...]`, used in `forward` after the module was moved. A list that is handed on "
        "to `nn.ModuleList`, `nn.Sequential` or `add_module` is silent."
    ),
    why=(
        "A module registers only what is assigned to an attribute directly. What stands in a plain container is not "
        "moved, and it is missing from `parameters()` and `state_dict()` as well: the optimizer never trains it and "
        "checkpoints never hold it, on any machine, without an error."
    ),
    example=Example(
        bad="""\
import torch


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [torch.nn.Linear(4, 4) for _ in range(2)]  # DEV502: gpu1 gpu2

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Stack().to(device)
print(model(torch.rand(2, 4, device=device)).shape)
""",
        good="""\
import torch


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Stack().to(device)
print(model(torch.rand(2, 4, device=device)).shape)
""",
    ),
    worlds=("gpu1", "gpu2"),
    error="RuntimeError: Expected all tensors to be on the same device, ...",
    fix_safety=(
        "Unsafe: the layers are trained from then on, and `state_dict()` has their keys, which older checkpoints lack."
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html",
    ),
)


@RULE.on(MixedDevices)
def unregistered(event: MixedDevices, context: TextContext) -> Iterator[Diagnosis]:
    """A layer or parameter in a plain container met a tensor on the module's device."""
    if event.cause == "container":
        culprit = event.culprit
        container = next(
            (mark.note for mark in reversed(culprit.marks) if mark.kind == "unregistered" and mark.note), ""
        )
        which = (
            text.quoted(container if "." in container else f"self.{container}") if container else "a plain container"
        )
        message = f"{which} is no registered container: what it holds stays on {culprit.device} and is not trained"
        yield Diagnosis(event.root, f"{message}; it {text.meeting(event)}", event, text.clash_trace(event))


@RULE.fix
def register(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Wrap the container in `nn.ModuleList`, `nn.ModuleDict` or their like for parameters."""
    assignment = edits.assignment_at(context, diagnosis.site)
    if assignment is None or assignment.value is None:
        return None
    value = assignment.value
    contents = _contents(value, assignment, context)
    if contents is None:
        return None
    is_mapping = isinstance(value, cst.Dict | cst.DictComp)
    kind = "Parameter" if all(edits.function_name(item) == "Parameter" for item in contents) else "Module"
    wrapper = edits.spelling(context, f"torch.nn.{kind}{'Dict' if is_mapping else 'List'}")
    if wrapper is None:
        return None
    start, end = edits.opening(context, value), edits.closing(context, value)
    empty = isinstance(value, cst.List | cst.Dict) and not value.elements
    if empty:
        edited: tuple[Replacement, ...] = (Replacement(start, end, f"{wrapper}()"),)
    else:
        edited = (Replacement(start, start, f"{wrapper}("), Replacement(end, end, ")"))
    why = f"Register them: `{wrapper}` (unsafe: they are trained and saved from then on)"
    return Mend("unsafe", why, edited)


def _contents(
    value: cst.BaseExpression, assignment: cst.Assign | cst.AnnAssign, context: FixContext
) -> list[cst.Call] | None:
    """The calls that build what the container holds; None where they aren't all in sight or a key is no string."""
    items: list[cst.BaseExpression]
    match value:
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            items = [element.value for element in elements] or _appended(assignment, context)
        case cst.ListComp(elt=item):
            items = [item]
        case cst.Dict(elements=pairs):
            if not all(isinstance(pair, cst.DictElement) and _is_text(pair.key) for pair in pairs):
                return None
            items = [pair.value for pair in pairs]
        case cst.DictComp(key=key, value=item):
            if not _is_text(key):
                return None
            items = [item]
        case _:
            return None
    calls = [item for item in items if isinstance(item, cst.Call)]
    kinds = {edits.function_name(call) == "Parameter" for call in calls}
    return calls if calls and len(calls) == len(items) and len(kinds) == 1 else None


def _is_text(key: cst.BaseExpression) -> bool:
    if isinstance(key, cst.Call):
        return isinstance(key.func, cst.Name) and key.func.value == "str"
    return isinstance(key, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString)


def _appended(assignment: cst.Assign | cst.AnnAssign, context: FixContext) -> list[cst.BaseExpression]:
    """What the same function appends to a container that starts empty."""
    target = assignment.target if isinstance(assignment, cst.AnnAssign) else assignment.targets[0].target
    path = edits.dotted(target)
    found: list[cst.BaseExpression] = []
    for node in edits.own_nodes(edits.scope_of(context, assignment)):
        match node:
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="append")), args=[argument]):
                if path is not None and edits.dotted(receiver) == path:
                    found.append(argument.value)
    return found
