"""Averaged copies of models (`torch.optim.swa_utils`), and modules called with other parameters (`torch.func`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.module_state import ModuleState
from devlint.analysis.domain.values import NONE, UNKNOWN, External, Instance, Mapping, Sequence, Tensor, Value
from devlint.analysis.models.copying import copied
from devlint.analysis.pytorch.devices import resolve
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.module_moves import move_module
from devlint.analysis.pytorch.modules import builtin_path, registered, submodules

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

AVERAGED = "torch.optim.swa_utils.AveragedModel"
_BATCHES: Final = 2
"""How many batches are looked at: the others are like them."""


@models(AVERAGED)
def averaged_model(machine: Machine, call: Call) -> Value:
    """`AveragedModel(model, device)`: a deep copy, moved where it is told."""
    model = call.argument(0, "model")
    if not isinstance(model, Instance) or model.module is None:
        return UNKNOWN
    inner = copied(model, {})
    assert isinstance(inner, Instance)
    made = Instance(External(AVERAGED), machine.site(call.node, call.frame))
    made.module = ModuleState()
    made.module.kinds["module"] = "module"
    made.fields["module"] = inner
    made.state.update(inner=inner, distributed=False, first=None)
    target = call.given(1, "device")
    if target is not None:
        device = resolve(machine, target, call.node, call.frame, AVERAGED)
        move_module(machine, inner, device, call.node, call.frame)
    return made


@method_models(AVERAGED, "update_parameters")
def update_parameters(machine: Machine, value: Instance, call: Call) -> Value:
    """Averages across devices on purpose."""
    return NONE


@models("torch.optim.swa_utils.update_bn")
def update_bn(machine: Machine, call: Call) -> Value:
    """`update_bn(loader, model, device)`: the model is called with the first of each batch, moved where it is told.

    A model without batch normalisation is not called.
    """
    loader, model, target = call.argument(0, "loader"), call.argument(1, "model"), call.given(2, "device")
    if loader is None or not isinstance(model, Instance) or model.module is None or not _normalises_batches(model):
        return NONE
    batches = iterate(machine, loader, call.node, call.frame)
    if batches is None:
        return NONE
    modes = [(part, part.state.get("training")) for part in submodules(model).values()]
    call_method(machine, model, "train", call.with_arguments([]))
    for batch in batches.items[:_BATCHES]:
        given = _first_of(batch)
        if target is not None and given is not None:
            given = call_method(machine, given, "to", call.with_arguments([target]))
        if given is not None:
            call_value(machine, model, call.with_arguments([given]))
    for part, mode in modes:
        if mode is None:
            machine.store.remove(part.state, "training")
        else:
            machine.store.put(part.state, "training", mode)
    return NONE


def _first_of(batch: Value) -> Value | None:
    """What the model is called with; None where that is not known."""
    if isinstance(batch, Sequence) and batch.kind in ("list", "tuple"):
        batch = batch.items[0] if batch.items else UNKNOWN
    return batch if isinstance(batch, Tensor) else None


def _normalises_batches(model: Instance) -> bool:
    """Whether some part surely is batch normalisation."""
    return any("BatchNorm" in (builtin_path(part) or "") for part in submodules(model).values())


def _values(given: Value) -> list[Tensor]:
    """The tensors of a dict, known by name or not; one on no known device for what is no dict."""
    if not isinstance(given, Mapping):
        return [Tensor(None)]
    return tensors_in(given) + (tensors_in(given.rest) if given.rest is not None else [])


@models("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def functional_call(machine: Machine, call: Call) -> Value:
    """`functional_call(module, parameters, args)`: the module runs with these tensors in the place of its own."""
    module, given = call.argument(0, "module"), call.argument(1, "parameter_and_buffer_dicts")
    arguments = call.argument(2, "args")
    dicts = [given] if isinstance(given, Mapping) else given.items if isinstance(given, Sequence) else []
    if not isinstance(module, Instance) or module.module is None or not dicts:
        return UNKNOWN
    tensors = [tensor for part in dicts for tensor in _values(part)]
    if not tensors or len({tensor.device for tensor in tensors}) > 1:
        return UNKNOWN
    copy = copied(module, {})
    assert isinstance(copy, Instance)
    for tensor, _, _ in registered(copy):
        tensor.device = tensors[0].device
        tensor.origin = tensors[0].origin
    positional = list(arguments.items) if isinstance(arguments, Sequence) else [] if arguments is None else [arguments]
    return call_value(machine, copy, call.with_arguments(positional))
