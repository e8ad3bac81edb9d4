"""What runs when a program calls `backward()`: hooks of tensors and modules, and the `backward` of a Function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, Callback, method_models, models, on
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    UNKNOWN,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Sequence,
    Tensor,
    Value,
)
from devlint.analysis.pytorch.gathering import needs_number
from devlint.analysis.pytorch.meeting import Part, clash, meet, tensors_in
from devlint.analysis.pytorch.results import derived
from devlint.analysis.pytorch.rows import argument_node
from devlint.analysis.pytorch.tensor_methods import METHODS
from devlint.semantics import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from devlint.analysis.machine import Machine

HANDLE: Final = "torch.utils.hooks.RemovableHandle"
SAVING: Final = "torch.autograd.graph.saved_tensors_hooks"
MAX_WAITING = 64


class Hook:
    """A function that the backward pass through a tensor calls.

    `arguments`: what it is called with, None for the gradient of the tensor, on the device that the tensor has then.
    `stays`: the tensor is a parameter, which any later backward pass may reach; others are reached by the next one.
    `gathered`: where the output is that the tensor's replica of DataParallel contributed to. `inputs`: what the forward
    of a Function got, each of which is to be given its gradient where it is.
    """

    __slots__ = ("tensor", "function", "arguments", "stays", "gathered", "inputs")

    def __init__(
        self, tensor: Tensor, function: Value, arguments: list[Value] | None = None, inputs: Items[Value] = ()
    ) -> None:
        self.tensor = tensor
        self.function = function
        self.arguments = arguments
        self.inputs = inputs
        self.stays = tensor.is_parameter
        self.gathered: str | None = None

    def is_reached(self, device: str) -> bool:
        """Whether the backward pass from a loss on this device goes through the tensor, as far as devices tell."""
        reached = self.tensor.device if self.gathered is None else self.gathered
        return reached == device and not (self.stays and self.tensor.requires_grad is False)


class Saving(Hook):
    """What the backward pass gets of what was saved for it: `function` packs a tensor, `unpack` brings it back."""

    __slots__ = ("unpack",)

    def __init__(self, pack: Value, unpack: Value) -> None:
        super().__init__(Tensor(None, None, None), pack)
        self.unpack = unpack

    def is_reached(self, device: str) -> bool:
        """Any backward pass is taken to come to something that was saved so."""
        return True


def wait(machine: Machine, hook: Hook) -> None:
    """Let a hook wait for the backward pass."""
    machine.store.epoch += 1
    machine.store.set(machine.state, "hooks", (*machine.state.hooks[1 - MAX_WAITING :], hook))


def gradient(tensor: Tensor) -> Tensor:
    """The gradient of a tensor is where the tensor is."""
    made = derived(tensor)
    made.requires_grad = False
    return made


def run_hooks(machine: Machine, loss: Value | None, call: Call) -> None:
    """Call what waits for a backward pass from `loss`: which tensors are in its graph is told by their device."""
    device = loss.device if isinstance(loss, Tensor) and loss.device != POISON else None
    if (device or "") not in machine.state.passes:
        machine.store.set(machine.state, "passes", machine.state.passes | {device or ""})
    waiting = machine.state.hooks
    if not waiting:
        return
    machine.store.epoch += 1
    machine.store.set(machine.state, "hooks", tuple(hook for hook in waiting if hook.stays))
    if not isinstance(loss, Tensor) or loss.device in (None, POISON):
        return
    for hook in reversed(waiting):
        if isinstance(hook, Saving):
            _bring_back(machine, hook, loss, call)
        elif hook.is_reached(str(loss.device)):
            _run_hook(machine, hook, call)


def _run_hook(machine: Machine, hook: Hook, call: Call) -> None:
    """Call a hook as autograd does: the current device is that of its tensor."""
    arguments = [gradient(hook.tensor)] if hook.arguments is None else hook.arguments
    before = machine.state.current_device
    kind, _, index = str(hook.tensor.device).partition(":")
    if kind == "cuda" and index:
        machine.store.set(machine.state, "current_device", int(index))
    answer = call_value(machine, hook.function, Callback(list(arguments), {}, call.node, call.frame))
    machine.store.set(machine.state, "current_device", before)
    if hook.inputs:
        _check_gradients(machine, hook, answer, call)


def _bring_back(machine: Machine, hook: Saving, loss: Tensor, call: Call) -> None:
    """Pack and unpack a tensor that is where the loss is: what comes back meets the gradient there."""
    saved = derived(loss)
    saved.rank = None
    packed = call_value(machine, hook.function, Callback([saved], {}, call.node, call.frame))
    back = call_value(machine, hook.unpack, Callback([packed], {}, call.node, call.frame))
    if isinstance(back, Tensor) and back is not saved:
        parts = [Part(back, "strict", name="what was saved"), Part(gradient(loss), "combine", name="the gradient")]
        meet(machine, parts, "backward", call.node, call.frame, "torch.mul")


@models(SAVING)
def saved_tensors_hooks(machine: Machine, call: Call) -> Value:
    """`saved_tensors_hooks(pack, unpack)`, a context: what is computed in it saves what `pack` gives of its tensors."""
    pack, unpack = call.argument(0, "pack_hook"), call.argument(1, "unpack_hook")
    if pack is not None and unpack is not None and not machine.run.protocol:
        wait(machine, Saving(pack, unpack))
    return Instance(External(SAVING), machine.site(call.node, call.frame))


def _check_gradients(machine: Machine, hook: Hook, answer: Value, call: Call) -> None:
    """Compare what the `backward` of a Function returns with the inputs: autograd moves numbers, and refuses others.

    Source: `validate_outputs` of torch/csrc/autograd/engine.cpp.
    """
    several = isinstance(answer, Sequence) and answer.kind == "tuple" and not answer.open
    returned = answer.items if several and isinstance(answer, Sequence) else [answer]
    alone = sum(isinstance(part, Tensor) for part in hook.inputs) == 1  # it is the one that takes a gradient
    for index, (given, of) in enumerate(zip(returned, hook.inputs, strict=False)):
        if not isinstance(given, Tensor) or not isinstance(of, Tensor) or not (alone or of.requires_grad):
            continue
        if 0 in (given.rank, of.rank) or given.device == of.device:
            continue
        if not {None, POISON} & {given.device, of.device}:
            error = (
                f"RuntimeError: Function {_name(hook)}Backward returned an invalid gradient at index {index} - "
                f"expected device {of.device} but got {given.device}"
            )
            named = (Part(given, "strict", name="the gradient"), Part(of, "strict", name="the input"))
            operands = list(zip((given, of), named, strict=True))
            clash(machine, operands, "backward", call.node, call.frame, raised=error)


def _name(hook: Hook) -> str:
    receiver = hook.function.receiver if isinstance(hook.function, Bound) else None
    function = hook.function.function if isinstance(hook.function, Bound) else hook.function
    cls = receiver if isinstance(receiver, Class) else function.owner if isinstance(function, Function) else None
    return cls.node.name if isinstance(cls, Class) else ""


def gather_hooks(machine: Machine, before: tuple[Hook, ...], device: str) -> None:
    """Let what has begun to wait in a replica be reached from where DataParallel gathers its output."""
    for hook in machine.state.hooks:
        if hook not in before and not hook.stays:
            machine.store.set(hook, "gathered", device)


def meet_gradient(
    machine: Machine, outputs: Value, gradients: Value | None, call: Call, path: str, names: tuple[str, str]
) -> None:
    """Check the gradients of outputs, one by one where they come in lists. `names`: of the two parameters."""
    if gradients is None:
        return
    if isinstance(outputs, Sequence) and isinstance(gradients, Sequence):
        for output, gradient in zip(outputs.items, gradients.items, strict=False):
            meet_gradient(machine, output, gradient, call, path, names)
        return
    row = table.lookup(path)
    assert row is not None
    nodes = [argument_node(call, row, name) for name in names]
    parts = [
        Part(outputs, "strict", nodes[0], parameter="self"),
        Part(gradients, "combine", nodes[1], parameter="gradient"),
    ]
    meet(machine, parts, "backward", call.node, call.frame, "torch.Tensor.backward")


@models("torch.autograd.grad")
def gradients(machine: Machine, call: Call) -> Value | None:
    """`torch.autograd.grad(outputs, inputs, grad_outputs)`: what is given as gradient must be where the output is."""
    outputs = call.argument(0, "outputs")
    if outputs is not None:
        given = call.given(2, "grad_outputs")
        meet_gradient(machine, outputs, given, call, "torch.autograd.grad", ("outputs", "grad_outputs"))
    return None


@on(METHODS, "backward")
def backward(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`loss.backward()`; a gradient that is given must be where the tensor is."""
    given = call.given(0, "gradient")
    if given is None:
        needs_number(machine, value, call, "grad can be implicitly created only for scalar outputs")
    meet_gradient(machine, value, given, call, "torch.Tensor.backward", ("self", "gradient"))
    run_hooks(machine, value, call)
    return NONE


@models("torch.autograd.backward")
def backward_of_several(machine: Machine, call: Call) -> Value | None:
    """`torch.autograd.backward(tensors)`; its row says what else it demands."""
    outputs = call.argument(0, "tensors") or UNKNOWN
    given = call.given(1, "grad_tensors")
    meet_gradient(machine, outputs, given, call, "torch.autograd.backward", ("tensors", "grad_tensors"))
    found = tensors_in(outputs)
    run_hooks(machine, found[0] if found else None, call)
    return None


@on(METHODS, "register_hook", "register_post_accumulate_grad_hook")
def register(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """`tensor.register_hook(f)`: `f(gradient)`; afterwards, `f(tensor)`."""
    function = call.argument(0, "hook")
    if function is None:
        return UNKNOWN
    hook = Hook(value, function, None if name == "register_hook" else [value])
    wait(machine, hook)
    return handle(machine, call, lambda: _forget(machine, hook))


def _forget(machine: Machine, hook: Hook) -> None:
    machine.store.epoch += 1
    machine.store.set(machine.state, "hooks", tuple(other for other in machine.state.hooks if other is not hook))


def handle(machine: Machine, call: Call, remove: Callable[[], None]) -> Instance:
    """What registering a hook gives, to remove it by."""
    made = Instance(External(HANDLE), machine.site(call.node, call.frame))
    made.state["remove"] = remove
    return made


@method_models(HANDLE, "remove", "__exit__")
def remove(machine: Machine, value: Instance, call: Call) -> Value:
    """`handle.remove()`."""
    removes = value.state.get("remove")
    if removes is not None:
        removes()
    return NONE


# -- modules


def wait_for_module(machine: Machine, module: Instance, inputs: list[Value], result: Value) -> None:
    """Let the backward hooks of a module wait for the backward pass through what this call of it gave."""
    outputs = _tensors(result)
    if not outputs:
        return
    given: list[Value] = [
        gradient(part) if isinstance(part, Tensor) and part.requires_grad is not False else UNKNOWN for part in inputs
    ]
    of_inputs = Sequence("tuple", given)
    of_outputs = Sequence("tuple", [gradient(part) for part in outputs])
    for before in module.state.get("backward_pre_hooks") or ():
        wait(machine, Hook(outputs[0], before, [module, of_outputs]))
    for after in module.state.get("backward_hooks") or ():
        wait(machine, Hook(outputs[0], after, [module, of_inputs, of_outputs]))


def _tensors(result: Value) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, Sequence) and result.kind in ("tuple", "list") and not result.open:
        return [part for part in result.items if isinstance(part, Tensor)]
    return []


# -- autograd.Function


def wait_for_function(
    machine: Machine, function: Value, context: Instance, inputs: Items[Value], result: Value
) -> None:
    """Let the `backward` of a Function wait for the backward pass through what its forward gave."""
    outputs = _tensors(result)
    if outputs and len(outputs) == (len(result.items) if isinstance(result, Sequence) else 1):
        leaf = next((part for part in outputs if not part.is_parameter), None)
        if leaf is not None:
            wait(machine, Hook(leaf, function, [context, *(gradient(part) for part in outputs)], inputs))
