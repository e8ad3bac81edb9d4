"""Leaves: which tensors a backward pass gives a gradient, and what happens where one is used that is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from devlint.analysis.dispatch import ATTRIBUTE, BINARY, ITEM, ITERATE, METHOD, TRUTH, Call, Iteration, on
from devlint.analysis.domain.values import POISON, UNKNOWN, Const, Instance, Scalar, Tensor, Value
from devlint.analysis.events import MovedParameter
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.results import derived
from devlint.semantics import errors
from devlint.semantics.clashes import tensor_type
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


class NoGradient(Value):
    """The None that is `.grad` of a moved copy of a leaf: `leaf` was copied at `site`, to `device`."""

    __slots__ = ("leaf", "site", "device")

    def __init__(self, leaf: Tensor, site: Site, device: str) -> None:
        self.leaf = leaf
        self.site = site
        self.device = device

    def __repr__(self) -> str:
        return f"NoGradient({self.site.row})"


def gradient_of(machine: Machine, value: Tensor) -> Value:
    """`tensor.grad`: after a backward pass the gradient of a leaf; a copy of a leaf on another device has none."""
    origin = value.origin
    if not value.keeps_grad and origin is not None and origin.kind == "moved" and origin.product is value:
        leaf = origin.source
        if leaf is not None and not origin.is_leaf and _is_sure(leaf, value) and _only_moves(origin.node):
            return NoGradient(leaf, origin.site, value.device or "")
    return derived(value) if value.device is not None else UNKNOWN


def may_lack(machine: Machine, gradient: Value, node: ir.Expr) -> bool:
    """Whether `x.grad` may be None for all that is known: backward passes began on other devices only."""
    if not isinstance(node, ir.Attribute) or node.name not in ("grad", "_grad") or not isinstance(gradient, Tensor):
        return False
    passes = machine.state.passes
    return bool(passes) and not passes & {"", gradient.device} and gradient.device != POISON


def moved_leaf(tensor: Tensor) -> Origin | None:
    """The move that made a copy of a parameter or leaf, where the copy is what was given."""
    origin = tensor.origin
    if origin is None or origin.kind != "moved" or origin.source is None or origin.is_leaf:
        return None
    source = origin.source
    is_leaf_with_gradient = source.requires_grad or (source.is_parameter and source.requires_grad is None)
    return origin if is_leaf_with_gradient and source.device != tensor.device and not tensor.is_parameter else None


def refuse_copy(machine: Machine, copy: Tensor, name: str, form: str, node: ir.Node, frame: Frame) -> None:
    """The moved copy of a parameter is put where a module has a parameter: refused, where it really is another.

    Raises:
        Crash: the module refuses it.
    """
    move = moved_leaf(copy)
    if move is None or move.source is None or not _is_sure(move.source, copy):
        return
    kind = tensor_type(copy.device or "")
    machine.crash(
        MovedParameter,
        machine.site(node, frame),
        move.site,
        error=errors.message("not-a-parameter", type=kind, name=name, form=form),
        text=source_text(machine, move.site),
        is_parameter=move.source.is_parameter,
        device=copy.device or "",
    )


def note_unregistered(machine: Machine, copy: Tensor, node: ir.Node, frame: Frame) -> None:
    """A module keeps the moved copy of a parameter that was made for this move alone: no one has the parameter."""
    move = moved_leaf(copy)
    if move is None or move.source is None or not _is_sure(move.source, copy):
        return
    if not move.source.requires_grad or not _only_moves(move.node) or not _is_made_for(move, move.source):
        return
    machine.emit(
        MovedParameter,
        machine.site(node, frame),
        move.site,
        text=source_text(machine, move.site),
        device=copy.device or "",
    )


def note_unsaved(machine: Machine, module: Instance, call: Call) -> None:
    """The state of a module is taken that keeps the moved copies of parameters without a gradient: it lacks them."""
    for copy in module.fields.values():
        move = copy.origin if isinstance(copy, Tensor) and not copy.is_parameter else None
        if not isinstance(copy, Tensor) or move is None or move.kind != "moved" or move.product is not copy:
            continue
        made = move.source
        if made is None or made.requires_grad is not False or not _is_made_for(move, made):
            continue
        if made.device in (None, POISON, copy.device) or copy.device in (None, POISON) or made.assumed:
            continue
        machine.emit(
            MovedParameter,
            machine.site(call.node, call.frame),
            move.site,
            text=source_text(machine, move.site),
            device=copy.device or "",
            lacks="state",
        )


def note_replaced(machine: Machine, old: Value | None, copy: Tensor) -> None:
    """An attribute that had a leaf is given the copy of it that was moved: nothing has the leaf any more but the
    optimizer that was given it before. (Where a name had it, whoever gave it may have it still.)"""
    move = moved_leaf(copy)
    leaf = None if move is None else move.source
    if move is None or leaf is None or leaf is not old or move.product is not copy or leaf.is_parameter:
        return
    if _is_sure(leaf, copy):
        machine.store.put(machine.run.replaced_leaves, leaf, move)


def note_steps(machine: Machine, leaves: Iterable[Tensor], call: Call) -> None:
    """An optimizer makes a step with leaves: of those that were replaced by copies, the copies stay as they are."""
    for leaf in leaves if machine.run.replaced_leaves else ():
        move = machine.run.replaced_leaves.get(leaf)
        if move is not None and move.product is not None:
            machine.emit(
                MovedParameter,
                machine.site(call.node, call.frame),
                move.site,
                text=source_text(machine, move.site),
                is_parameter=False,
                device=move.product.device or "",
                lacks="steps",
            )


def _is_made_for(move: Origin, made: Tensor) -> bool:
    """Whether a parameter was made in the expression that moves it, so that nothing else has it."""
    node = move.node
    receiver = node.function.value if isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute) else None
    return made.is_parameter and made.origin is not None and made.origin.node is receiver


def _is_sure(leaf: Tensor, copy: Tensor) -> bool:
    """Whether the copy is surely another tensor than what was a leaf before it was moved."""
    known = leaf.device not in (None, POISON, copy.device) and copy.device not in (None, POISON)
    return known and leaf.keeps_grad and not leaf.assumed


def _only_moves(node: ir.Node | None) -> bool:
    """Whether a call would give the tensor itself, if it were there already: it names a device and nothing else."""
    if not isinstance(node, ir.Call) or not isinstance(node.function, ir.Attribute):
        return False
    others = [name for name, _ in node.keywords if name not in ("device", "non_blocking")]
    return node.function.name in ("to", "cuda") and len(node.args) < 2 and not others


def _lacks(machine: Machine, value: NoGradient, error: str, node: ir.Node, frame: Frame) -> NoReturn:
    """Tell that the gradient of a copy is used as if there were one, at the move that made the copy.

    Raises:
        Crash: always.
    """
    machine.crash(
        MovedParameter,
        machine.site(node, frame),
        value.site,
        error=error,
        text=source_text(machine, value.site),
        is_parameter=value.leaf.is_parameter,
        device=value.device,
    )


def lacks_argument(machine: Machine, value: NoGradient, function: str, parameter: str, call: Call) -> NoReturn:
    """Tell that the gradient is given to a function that takes a tensor."""
    name = function.rpartition(".")[2]
    error = f"TypeError: {name}(): argument '{parameter}' (position 1) must be Tensor, not NoneType"
    _lacks(machine, value, error, call.node, call.frame)


@on(TRUTH, NoGradient)
def truth_of_none(machine: Machine, value: NoGradient) -> bool | None:
    """None is false."""
    return False


@on(ATTRIBUTE, NoGradient)
def attribute_of_none(machine: Machine, value: NoGradient, name: str, node: ir.Node, frame: Frame) -> Value:
    """`x.grad.name`."""
    _lacks(machine, value, errors.message("no-attribute", type="NoneType", name=name), node, frame)


@on(METHOD, NoGradient)
def method_of_none(machine: Machine, value: NoGradient, name: str, call: Call) -> Value:
    """`x.grad.name(...)`."""
    return attribute_of_none(machine, value, name, call.node, call.frame)


@on(ITEM, NoGradient)
def item_of_none(machine: Machine, value: NoGradient, index: Value, node: ir.Node, frame: Frame) -> Value:
    """`x.grad[index]`."""
    _lacks(machine, value, "TypeError: 'NoneType' object is not subscriptable", node, frame)


@on(ITERATE, NoGradient)
def iterate_none(machine: Machine, value: NoGradient, node: ir.Node, frame: Frame, wanted: int) -> Iteration | None:
    """`for row in x.grad:`."""
    _lacks(machine, value, "TypeError: 'NoneType' object is not iterable", node, frame)


@on(BINARY, NoGradient)
def operator_on_none(
    machine: Machine, operator: str, left: Value, right: Value, node: ir.Node, frame: Frame
) -> Value | None:
    """`x.grad * factor`, with a number or a tensor."""
    none, other = (left, right) if isinstance(left, NoGradient) else (right, left)
    assert isinstance(none, NoGradient)
    if not isinstance(other, (Tensor, Const, Scalar, NoGradient)):
        return UNKNOWN
    kinds = " and ".join(f"'{_type_name(side)}'" for side in (left, right))
    symbol = f"{operator}=" if isinstance(node, ir.Augment) else operator
    _lacks(machine, none, f"TypeError: unsupported operand type(s) for {symbol}: {kinds}", node, frame)


def _type_name(value: Value) -> str:
    """The name of a value's type, as an error has it."""
    if isinstance(value, NoGradient):
        return "NoneType"
    if isinstance(value, Const):
        return type(value.value).__name__
    return "Tensor" if isinstance(value, Tensor) else "float"
