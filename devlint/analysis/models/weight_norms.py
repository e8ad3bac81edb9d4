"""`torch.nn.utils.weight_norm` and `spectral_norm`: a parameter becomes a plain tensor that each call makes anew; and
parametrizations, which each call asks what to make of a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.module_state import CONVERTED
from devlint.analysis.domain.plain import pair
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    UNKNOWN,
    Bound,
    Const,
    External,
    Instance,
    Sequence,
    Tensor,
    Value,
    constant,
)
from devlint.analysis.pytorch.modules import submodules
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_RENEW: Final = "torch.nn.utils.weight_norm.WeightNorm.__call__"
"""The hook that runs before the module's `forward`, bound to the name of the tensor that it makes."""
_ASK: Final = "torch.nn.utils.parametrize.ParametrizationList.__call__"
"""The same for parametrizations, bound to the name of the parameter and what is made of it."""
_HOOKS: Final = "forward_pre_hooks"
_UTILS: Final = "torch.nn.utils"


def _register(machine: Machine, module: Instance, name: str, value: Value, kind: str) -> None:
    assert module.module is not None
    machine.store.put(module.module.kinds, name, kind)
    machine.store.put(module.fields, name, value)


def _part(value: Tensor, kind: str) -> Tensor:
    """A parameter or buffer that is computed of the parameter."""
    made = derived(value)
    made.is_parameter = made.requires_grad = kind == "parameter"
    return made


def _plain(source: Tensor) -> Tensor:
    """What is computed of a parameter for one call."""
    made = derived(source)
    made.requires_grad = True
    return made


def reparameterise(machine: Machine, call: Call, source: str, others: dict[str, str]) -> Value | None:
    """Put `weight_v` (`weight_orig`) and what goes with it in the place of `weight`, which becomes a plain tensor."""
    module, name = call.argument(0, "module"), _name(call)
    if not isinstance(module, Instance) or module.module is None or name is None:
        return None
    weight = module.fields.get(name)
    if not isinstance(weight, Tensor) or module.module.kinds.get(name) != "parameter" or weight.device == POISON:
        return None
    _register(machine, module, name + source, weight, "parameter")
    for suffix, kind in others.items():
        _register(machine, module, name + suffix, _part(weight, kind), kind)
    _register(machine, module, name, _plain(weight), "")
    machine.store.put(module.module.places, name, machine.site(call.node, call.frame))
    hook = Bound(External(_RENEW), Const(name))
    machine.store.put(module.state, _HOOKS, (*(module.state.get(_HOOKS) or ()), hook))
    machine.store.epoch += 1
    return module


def _name(call: Call) -> str | None:
    """The name of the parameter, where it is known."""
    given = call.argument(1, "name")
    name = "weight" if given is None and not call.open else constant(given)
    return name if isinstance(name, str) else None


@models(f"{_UTILS}.weight_norm", f"{_UTILS}.weight_norm.weight_norm")
def weight_norm(machine: Machine, call: Call) -> Value | None:
    """`weight_norm(module)`: a length and a direction."""
    return reparameterise(machine, call, "_v", {"_g": "parameter"})


@models(f"{_UTILS}.spectral_norm", f"{_UTILS}.spectral_norm.spectral_norm")
def spectral_norm(machine: Machine, call: Call) -> Value | None:
    """`spectral_norm(module)`: the parameter, and two vectors as buffers."""
    return reparameterise(machine, call, "_orig", {"_u": "buffer", "_v": "buffer"})


@models(
    *(f"{_UTILS}.parametrizations.{kind}" for kind in ("weight_norm", "spectral_norm", "orthogonal")),
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
)
def convert(machine: Machine, call: Call) -> None:
    """`parametrizations.weight_norm(module)`: the module gets a class of its own; so do norms that synchronise."""
    module = call.argument(0, "module")
    if isinstance(module, Instance):
        for part in submodules(module).values():
            machine.store.put(part.state, CONVERTED, True)


@models(f"{_UTILS}.parametrize.register_parametrization")
def parametrise(machine: Machine, call: Call) -> None:
    """`register_parametrization(module, "weight", part)`: the part belongs to the module, and each call asks it."""
    module, name = call.argument(0, "module"), constant(call.argument(1, "tensor_name") or NONE)
    part = call.argument(2, "parametrization")
    convert(machine, call)
    if not isinstance(module, Instance) or module.module is None or not isinstance(name, str):
        return
    if isinstance(part, Instance) and part.module is not None:
        hooks = module.state.get(_HOOKS) or ()
        _register(machine, module, f"parametrizations.{name}.{len(hooks)}", part, "module")
        hook = Bound(External(_ASK), pair(Const(name), part))
        machine.store.put(module.state, _HOOKS, (*hooks, hook))
        machine.store.epoch += 1


@models(f"{_UTILS}.parametrize.remove_parametrizations")
def unparametrise(machine: Machine, call: Call) -> None:
    """`remove_parametrizations(module, "weight")`: no call asks for them any more."""
    module, name = call.argument(0, "module"), constant(call.argument(1, "tensor_name") or NONE)
    convert(machine, call)
    if not isinstance(module, Instance) or module.module is None:
        return
    for field in [one for one in module.fields if one.startswith(f"parametrizations.{name}.")]:
        machine.store.remove(module.fields, field)
        machine.store.remove(module.module.kinds, field)
    hooks = module.state.get(_HOOKS) or ()
    machine.store.put(module.state, _HOOKS, tuple(hook for hook in hooks if not _asks(hook, name)))
    machine.store.epoch += 1


def _asks(hook: Value, name: object) -> bool:
    """Whether a hook is the one that gives this parameter to a parametrization."""
    if not isinstance(hook, Bound) or not isinstance(hook.function, External) or hook.function.path != _ASK:
        return False
    return isinstance(hook.receiver, Sequence) and constant(hook.receiver.items[0]) == name


@models(_ASK)
def ask(machine: Machine, call: Call) -> Value:
    """What each use of a parameter does: it is given to its parametrization, and what comes of it is where it is."""
    asked, module = call.argument(0, ""), call.argument(1, "")
    if not isinstance(asked, Sequence) or not isinstance(module, Instance):
        return UNKNOWN
    weight = module.fields.get(constant(asked.items[0]))
    if isinstance(weight, Tensor):
        call_value(machine, asked.items[1], call.with_arguments([weight]))
    return NONE


@models(_RENEW)
def renew(machine: Machine, call: Call) -> Value:
    """What the hook does: the plain tensor is computed of the parameters, where they are now."""
    name, module = constant(call.argument(0, "")), call.argument(1, "")
    if not isinstance(module, Instance):
        return UNKNOWN
    parameter, weight = _source(module, name), module.fields.get(name)
    if isinstance(parameter, Tensor) and not (isinstance(weight, Tensor) and _is_there(weight, parameter)):
        machine.store.epoch += 1
        machine.store.put(module.fields, name, _plain(parameter))
    return NONE


def _source(module: Instance, name: str) -> Value | None:
    """The parameter of which the tensor is computed."""
    return module.fields.get(f"{name}_orig") or module.fields.get(f"{name}_v")


def _is_there(weight: Tensor, parameter: Tensor) -> bool:
    """Whether the tensor of an earlier call is where it would be made anew."""
    return weight.device == parameter.device and weight.assumed == parameter.assumed


def restore(machine: Machine, call: Call) -> Value | None:
    """`remove_weight_norm(module)`: a parameter again, where the others are."""
    module, name = call.argument(0, "module"), _name(call)
    if not isinstance(module, Instance) or module.module is None or name is None:
        return None
    hooks = module.state.get(_HOOKS) or ()
    hook = next((hook for hook in hooks if _renews(hook, name)), None)
    if hook is None:
        return None
    parameter = _source(module, name)
    for suffix in ("_g", "_u", "_v", "_orig", "_mask"):
        machine.store.remove(module.fields, name + suffix)
        machine.store.remove(module.module.kinds, name + suffix)
    if isinstance(parameter, Tensor):
        _register(machine, module, name, _part(parameter, "parameter"), "parameter")
    machine.store.put(module.state, _HOOKS, tuple(kept for kept in hooks if kept is not hook))
    machine.store.epoch += 1
    return module


def _renews(hook: Value, name: str) -> bool:
    """Whether a hook is the one that makes this parameter."""
    is_one = isinstance(hook, Bound) and isinstance(hook.function, External) and hook.function.path == _RENEW
    return is_one and isinstance(hook, Bound) and constant(hook.receiver) == name


for _kind in ("weight_norm", "spectral_norm"):
    models(f"{_UTILS}.remove_{_kind}", f"{_UTILS}.{_kind}.remove_{_kind}")(restore)
