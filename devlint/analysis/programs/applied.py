"""Functions of autograd that nobody in sight applies: entered with their tensors on the accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import external_bases, find
from devlint.analysis.domain.values import Class, Function, Sequence, Tensor, Unknown, Value
from devlint.analysis.models.torch_functions import apply_function
from devlint.analysis.python.names import bound_by
from devlint.analysis.pytorch.backward import run_hooks
from devlint.semantics import table
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

FUNCTION: Final = "torch.autograd.Function"


def is_function(cls: Class) -> bool:
    """Whether a class is a function of autograd, with a forward that is called without an instance."""
    return FUNCTION in external_bases(cls) and _forward(cls) is not None


def enter_function(machine: Machine, cls: Class, device: str, frame: Frame) -> None:
    """Apply it to tensors on `device`, and go back through what it gives."""
    forward = _forward(cls)
    if forward is None:
        return
    names = forward.node.parameters.positional[forward.kind == "classmethod" :]
    if find(cls, "setup_context") is None:
        names = names[1:]
    names = [name for name in names if name not in forward.defaults]
    tensors = tensors_among(forward.node, frozenset(names))
    arguments: list[Value] = [
        Tensor(device, None, machine.origin("input", forward.node, frame, device, name), assumed=True)
        if name in tensors
        else Unknown(name)
        for name in names
    ]
    result = apply_function(machine, Call([cls, *arguments], {}, cls.node, frame))
    given = result.items if isinstance(result, Sequence) else [result]
    outputs = [part for part in given if isinstance(part, Tensor)]
    if outputs:
        run_hooks(machine, outputs[0], Call([], {}, cls.node, frame))


def forward_of(cls: Class) -> ir.Function | None:
    """The forward of a function of autograd."""
    forward = _forward(cls)
    return None if forward is None else forward.node


def _forward(cls: Class) -> Function | None:
    found = find(cls, "forward")
    forward = found[0] if found is not None else None
    return forward if isinstance(forward, Function) and forward.kind in ("staticmethod", "classmethod") else None


def tensors_among(node: ir.Function, names: frozenset[str]) -> set[str]:
    """Which of the parameters `names` are tensors, as the function itself shows: it saves them for the way back, or
    asks for their shape, and asks nothing of them that tensors lack; who makes a tensor of one was given something
    else, and so was perhaps who has another function give it anew."""
    shown: set[str] = set()
    others: set[str] = set()
    for part in walk(node.body.statements):
        if isinstance(part, ir.Attribute) and isinstance(part.value, ir.Name) and part.value.id in names:
            if part.name in _SHAPES:
                shown.add(part.value.id)
            elif part.name not in _ATTRIBUTES and table.method(part.name) is None:
                others.add(part.value.id)
        elif isinstance(part, ir.Call):
            if isinstance(part.function, ir.Name):
                others.add(part.function.id)
            elif isinstance(part.function, ir.Attribute) and part.function.name == "save_for_backward":
                shown.update(given.id for given in part.args if isinstance(given, ir.Name))
            elif isinstance(part.function, ir.Attribute) and part.function.name in _MAKERS:
                others.update(given.id for given in part.args[:1] if isinstance(given, ir.Name))
        elif isinstance(part, ir.Function):
            others.update(part.parameters.positional)
        elif isinstance(part, ir.Assign) and _is_of_a_function(part.value):
            others.update(bound_by([part]))
    return (shown & names) - others


def _is_of_a_function(value: ir.Expr) -> bool:
    """Whether something is what a function with a plain name gives: `x = prepared(x)`."""
    return isinstance(value, ir.Call) and isinstance(value.function, ir.Name)


_ATTRIBUTES: Final = frozenset("device dtype T data grad is_cuda requires_grad".split())
_MAKERS: Final = frozenset("tensor as_tensor asarray from_numpy".split())
_SHAPES: Final = frozenset("shape ndim size dim numel".split())
