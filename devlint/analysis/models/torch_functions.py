"""Functions of torch that are more than a row of the tables: the current device, tensors from data, generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import assign_attribute, call_value, iterate
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.dtypes import dtype_of
from devlint.analysis.domain.plain import refuse_dicts
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    NUMBER,
    POISON,
    SIZE,
    SOME_INDEX,
    SOME_RANK,
    UNKNOWN,
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Maybe,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.events import InvalidDevice, LegacyType, Site
from devlint.analysis.python.classes import bind_to_class
from devlint.analysis.pytorch.array_ranks import nesting
from devlint.analysis.pytorch.backward import wait_for_function
from devlint.analysis.pytorch.devices import asked_of, default_device, demand_gpu, legacy_error, mark_used, resolve, use
from devlint.analysis.pytorch.host import let_arrive
from devlint.analysis.pytorch.loads import take_for_weights
from devlint.analysis.pytorch.missing import die, unavailable
from devlint.analysis.pytorch.results import derived, loaded_tensor
from devlint.analysis.pytorch.rows import argument_node, demand_cpu
from devlint.analysis.pytorch.tensors import combine
from devlint.analysis.signals import Crash
from devlint.semantics import table
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


# -- the current device, and the default one


@models("torch.cuda.current_device")
def current_device(machine: Machine, call: Call) -> Value:
    """`torch.cuda.current_device()`: an index; raises without CUDA."""
    device = use(machine, "cuda", None, call.node, call.frame, "torch.cuda.current_device", kind="query")
    if device in (None, POISON):
        return NUMBER
    assert device is not None
    return Const(int(device[5:]))


@models("torch.use_deterministic_algorithms")
def use_deterministic_algorithms(machine: Machine, call: Call) -> Value:
    """`use_deterministic_algorithms(mode)`: programs go other ways where there is no such algorithm on a GPU."""
    mode = call.argument(0, "mode")
    machine.store.set(machine.state, "deterministic", BOOL if mode is None else mode)
    return NONE


@models("torch.are_deterministic_algorithms_enabled")
def are_deterministic_algorithms_enabled(machine: Machine, call: Call) -> Value:
    """What the program asked for; who calls code that is entered by protocol may have asked for either."""
    return BOOL if machine.run.protocol else machine.state.deterministic


@models("torch.cuda.set_device")
def set_device(machine: Machine, call: Call) -> Value:
    """`torch.cuda.set_device(device)`: changes the current device."""
    target = call.argument(0, "device")
    if isinstance(target, (Unknown, Scalar)) or target is None or call.open:
        if machine.device_count == 0:
            if not machine.state.alive:
                return NONE  # the program did not come here: no number was found for it
            site = machine.site(call.node, call.frame)
            machine.entry.launched = True
            if not machine.run.path and call.frame.returns is None:
                unavailable(machine, "cuda", SOME_INDEX, site, "torch.cuda.set_device", None, "query")
            elif not (isinstance(target, Unknown) and target.named):
                die(machine)  # a rank that was computed is no -1, as an option may be
            return NONE
        machine.entry.consulted.add("rank")
        machine.store.set(machine.state, "current_device", None)
        return NONE
    if isinstance(target, Const) and isinstance(target.value, int) and target.value < 0:
        return NONE  # nothing happens, also without CUDA
    if demand_gpu(machine, target, call.node, call.frame, "torch.cuda.set_device", True):
        return NONE
    device = resolve(machine, target, call.node, call.frame, "torch.cuda.set_device", kind="query")
    if device is not None and device.startswith("cuda:"):
        mark_used(machine, machine.site(call.node, call.frame))
        machine.store.set(machine.state, "current_device", int(device[5:]))
    return NONE


@models("torch.cuda.synchronize", "torch.accelerator.synchronize")
def synchronize(machine: Machine, call: Call) -> Value:
    """`torch.cuda.synchronize()`: pending copies are there afterwards."""
    option = asked_of(machine, call.argument(0, "device"))
    use(machine, "cuda", None, call.node, call.frame, "torch.cuda.synchronize", kind="query", asked=option)
    let_arrive(machine)
    return NONE


@models("torch.get_default_device")
def get_default_device(machine: Machine, call: Call) -> Value:
    """`torch.get_default_device()`: a default tensor type is none, wherever it creates (seen on a GPU)."""
    default = machine.state.default_device
    return DeviceValue("cpu") if default is None or default is machine.state.default_type else default


@models("torch.set_default_device")
def set_default_device(machine: Machine, call: Call) -> Value:
    """`torch.set_default_device(device)`: where factories create from now on. Whether it is there is asked by them.

    Source: `torch/__init__.py` and `torch/utils/_device.py`: a `DeviceContext` keeps the device and uses nothing.
    """
    target = call.given(0, "device")
    default = None if target is None else _as_device(target)
    if default is not None and default.type == "?" and target is not None:
        resolve(machine, target, call.node, call.frame, "torch.set_default_device")  # what is no device is refused
    machine.store.set(machine.state, "default_device", default)
    return NONE


def _as_device(target: Value) -> DeviceValue:
    if isinstance(target, DeviceValue):
        return target
    content = constant(target)
    if isinstance(content, str):
        parsed = parse_device(content)
        if parsed is not None:
            return DeviceValue(*parsed, _named_at(target))
    if isinstance(content, int) and content >= 0 and not isinstance(content, bool):
        return DeviceValue("cuda", content, _named_at(target))
    return DeviceValue("?")


def _named_at(target: Value) -> Site | None:
    return target.site if isinstance(target, Const) else None


@models("torch.set_default_tensor_type")
def set_default_tensor_type(machine: Machine, call: Call) -> Value:
    """`torch.set_default_tensor_type("torch.cuda.FloatTensor")`: the default device too."""
    target = call.argument(0, "t")
    text = target.path if isinstance(target, External) else constant(target)
    if not isinstance(text, str):
        _set_default_type(machine, DeviceValue("?"))
        return NONE
    site = machine.site(call.node, call.frame)
    if "cuda" in text:
        error = legacy_error(machine, "torch.set_default_tensor_type")
        machine.emit(LegacyType, site, error=error, text=text, operation="torch.set_default_tensor_type")
        device = use(machine, "cuda", None, call.node, call.frame, "torch.set_default_tensor_type", kind="legacy")
        _set_default_type(machine, DeviceValue("?" if device in (None, POISON) else "cuda"))
    else:
        _set_default_type(machine, None)
    return NONE


def _set_default_type(machine: Machine, device: DeviceValue | None) -> None:
    """The default tensor type is a default device, too."""
    machine.store.set(machine.state, "default_type", device)
    machine.store.set(machine.state, "default_device", device)


# -- tensors from data


@models("torch.tensor")
def tensor_of_data(machine: Machine, call: Call) -> Value:
    """`torch.tensor(data, dtype=, device=)`, which warns of a tensor: data that nobody knows are none, then."""
    return _with_dtype(call, _tensor_from_data(machine, call, is_copy=True))


@models("torch.as_tensor", "torch.asarray", "torch.scalar_tensor")
def tensor_from_data(machine: Machine, call: Call) -> Value:
    """`torch.as_tensor(data, dtype=, device=)`, which may be the data themselves."""
    return _with_dtype(call, _tensor_from_data(machine, call, is_copy=False))


def _with_dtype(call: Call, made: Value) -> Value:
    dtype = call.argument(1, "dtype")
    if isinstance(made, Tensor) and dtype is not None:
        made.dtype = dtype_of(dtype)
    return made


def _tensor_from_data(machine: Machine, call: Call, is_copy: bool) -> Value:
    """`torch.tensor(data, device=)`: a tensor keeps its device, unless the program has set a default, other data are
    put on the default device."""
    data = call.argument(0, "data") or call.keywords.get("obj") or UNKNOWN
    refuse_dicts(data)
    target = call.given(-1, "device")
    node, frame = call.node, call.frame
    operation = "torch.tensor"
    rank = data.rank if isinstance(data, (Tensor, Array)) else nesting(data)
    if isinstance(data, Unknown) and not isinstance(data, Host) and target is None:
        if isinstance(data, Maybe) or not is_copy:
            return Tensor(None)
    if target is not None:
        device = target.device if isinstance(target, Tensor) else resolve(machine, target, node, frame, operation)
        return (
            Tensor(POISON)
            if device == POISON
            else Tensor(device, rank, machine.origin("placed", node, frame, device, operation))
        )
    is_set = machine.state.default_device is not None
    if isinstance(data, Tensor) and not is_set:
        made = derived(data)
        made.requires_grad = constant(call.keywords.get("requires_grad")) is True
        return made
    if isinstance(data, Sequence) and not is_set:
        inner = _tensor_inside(data)
        if inner is not None:
            device = None if inner.device is None else "cpu"
            return Tensor(device, rank, machine.origin("factory", node, frame, "cpu", operation))
    if call.open:
        return Tensor(None, rank)
    device = default_device(machine, node, frame, operation)
    if device == POISON:
        return Tensor(POISON)
    made = Tensor(device, rank, machine.origin("factory", node, frame, device, operation))
    made.requires_grad = constant(call.keywords.get("requires_grad")) is True
    if isinstance(data, Sequence) and not data.open:
        made.size = len(data.items)
    return made


def _tensor_inside(data: Sequence) -> Tensor | None:
    for part in data.items[:4]:
        if isinstance(part, Tensor):
            return part
    return None


@models("torch.Size")
def size(machine: Machine, call: Call) -> Value | None:
    """`torch.Size(sizes)`: a tuple of numbers, as many as it is given."""
    given = call.positional[0] if call.positional else Sequence("tuple", [])
    if not isinstance(given, Sequence):
        return None
    made = Sequence("tuple", [part if isinstance(part, (Const, Scalar)) else SIZE for part in given.items], given.open)
    made.is_shape = True
    return made


@models("torch.from_numpy", "torch.frombuffer")
def from_numpy(machine: Machine, call: Call) -> Value:
    """`torch.from_numpy(array)`: on the CPU."""
    array = call.positional[0] if call.positional else UNKNOWN
    if isinstance(array, (Sequence, Mapping)):
        raise Crash("TypeError")
    rank = array.rank if isinstance(array, Array) else SOME_RANK
    return Tensor(
        "cpu",
        rank if rank is not None else SOME_RANK,
        machine.origin("host", call.node, call.frame, "cpu", "torch.from_numpy"),
    )


@models("torch.autograd.Variable")
def variable(machine: Machine, call: Call) -> Value:
    """`Variable(x)` is `x`.

    Raises:
        Crash: it is given what it does not take: `device=`.
    """
    if not (call.open or call.keywords.keys() <= {"data", "requires_grad", "volatile"}):
        raise Crash("TypeError")
    return call.positional[0] if call.positional else UNKNOWN


@models("torch.nn.Parameter", "torch.nn.Buffer")
def parameter(machine: Machine, call: Call) -> Value:
    """`nn.Parameter(data)`."""
    data = call.argument(0, "data")
    if isinstance(data, Mapping):
        data = loaded_tensor(data)
    if isinstance(data, Tensor):
        made = Tensor(
            data.device,
            data.rank,
            machine.origin("parameter", call.node, call.frame, data.device, "nn.Parameter", data.origin),
            dtype=data.dtype,
            size=data.size,
        )
        made.assumed, made.behind = data.assumed, data.behind
    else:
        take_for_weights(machine, data)
        made = Tensor(None)
    made.is_parameter = True
    made.requires_grad = constant(call.argument(1, "requires_grad")) is not False
    return made


@models("torch.nn.UninitializedParameter", "torch.nn.parameter.UninitializedParameter", "torch.nn.UninitializedBuffer")
def uninitialized(machine: Machine, call: Call) -> Value:
    """Parameters of lazy modules: they become ordinary ones where the input is."""
    made = Tensor(None)
    made.is_parameter = True
    return made


@models("torch.finfo", "torch.iinfo")
def number_limits(machine: Machine, call: Call) -> Value:
    """`torch.finfo(dtype)`."""
    return Instance(External("torch.finfo"))


@on(INSTANCE_ATTRIBUTES, "torch.finfo")
def number_limit(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`torch.finfo(dtype).min`."""
    return NUMBER


@models("torch.cuda")
def module_called(machine: Machine, call: Call) -> Value:
    """`torch.cuda("cpu")`: a module is called."""
    machine.crash(
        InvalidDevice,
        machine.site(call.node, call.frame),
        error="TypeError: 'module' object is not callable",
        text="torch.cuda",
        operation="torch.cuda",
    )


@models("torch.is_tensor")
def is_tensor(machine: Machine, call: Call) -> Value:
    """`torch.is_tensor(x)`."""
    value = call.argument(0, "obj")
    if value is None or isinstance(value, (Unknown, External)):
        return BOOL
    return const(isinstance(value, Tensor))


@models("torch.meshgrid")
def several(machine: Machine, call: Call) -> Value | None:
    """`torch.meshgrid(x, y)`: as many tensors as it takes."""
    values = call.positional
    is_open = call.open
    if len(values) == 1 and isinstance(values[0], Sequence):
        is_open = is_open or values[0].open
        values = values[0].items
    made = combine(machine, values, call.node, call.frame, "meshgrid")
    if not isinstance(made, Tensor):
        return UNKNOWN
    rank = SOME_RANK if is_open else len(values)
    return Sequence("tuple", [derived(made, rank) for _ in values], is_open)


# -- contexts


# -- generators, accelerators, files


@models("torch.Generator")
def generator(machine: Machine, call: Call) -> Value:
    """`torch.Generator(device)`."""
    made = Instance(External("torch.Generator"), machine.site(call.node, call.frame))
    target = call.given(0, "device")
    made.state["device"] = (
        "cpu" if target is None else resolve(machine, target, call.node, call.frame, "torch.Generator")
    )
    return made


@method_models("torch.Generator", "manual_seed")
def seed_generator(machine: Machine, instance: Instance, call: Call) -> Value:
    """`generator.manual_seed(0)` gives the generator."""
    return instance


@method_models("torch.Generator", "set_state")
def set_generator_state(machine: Machine, instance: Instance, call: Call) -> Value:
    """`generator.set_state(state)`: the state is on the CPU, wherever the generator is."""
    row = table.lookup("torch.Generator.set_state")
    state = call.argument(0, "new_state")
    if row is not None and state is not None:
        demand_cpu(machine, row, "new_state", state, argument_node(call, row, "new_state"), call)
    return instance


@models("torch.default_generator", "torch.manual_seed", "torch.random.manual_seed")
def default_generator(machine: Machine, call: Call) -> Value:
    """`torch.manual_seed(0)` gives the CPU generator."""
    made = Instance(External("torch.Generator"))
    made.state["device"] = "cpu"
    return made


@on(INSTANCE_ATTRIBUTES, "torch.Generator")
def generator_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`generator.device`."""
    device = value.state.get("device")
    if name == "device" and isinstance(device, str) and device != POISON:
        kind, _, index = device.partition(":")
        return DeviceValue(kind, int(index) if index else None)
    return None


ACCELERATOR = "torch.accelerator.none"


@models("torch.accelerator.current_device_index", "torch.accelerator.current_device_idx")
def accelerator_index(machine: Machine, call: Call) -> Value:
    """`torch.accelerator.current_device_index()`."""
    return current_device(machine, call)


# -- autograd.Function


def apply_function(machine: Machine, call: Call) -> Value:
    """`MyFunction.apply(x)`: runs the user's forward with a context object."""
    cls = call.positional[0] if call.positional else None
    if not isinstance(cls, Class):
        return UNKNOWN
    found = find(cls, "forward")
    if found is None or not isinstance(found[0], Function):
        return UNKNOWN
    context = Instance(External(CONTEXT), machine.site(call.node, call.frame))
    arguments = list(call.positional[1:])
    setup = find(cls, "setup_context")
    of_class = found[0].kind == "classmethod"
    is_split = setup is not None and len(found[0].node.parameters.positional) - of_class != len(arguments) + 1
    forward = arguments if is_split else [context, *arguments]
    result = call_value(machine, bind_to_class(found[0], cls), call.with_arguments(forward, call.keywords))
    if is_split and setup is not None:
        inputs = Sequence("tuple", arguments, call.open)
        call_value(machine, bind_to_class(setup[0], cls), Call([context, inputs, result], {}, call.node, call.frame))
    if isinstance(result, Tensor) and any(result is argument for argument in arguments):
        result = derived(result)  # what is given back as it came is another tensor
    backward = find(cls, "backward")
    if backward is not None and isinstance(backward[0], Function):
        wait_for_function(machine, bind_to_class(backward[0], cls), context, arguments, result)
    return result


CONTEXT = "torch.autograd.function.FunctionCtx"


@method_models(CONTEXT, "save_for_backward")
def save_for_backward(machine: Machine, value: Instance, call: Call) -> Value:
    """`ctx.save_for_backward(*tensors)`."""
    machine.store.put(value.fields, "saved_tensors", Sequence("tuple", list(call.positional), call.open))
    return NONE


@method_models(CONTEXT, "mark_dirty", "mark_non_differentiable", "set_materialize_grads", "save_for_forward")
def mark(machine: Machine, value: Instance, call: Call) -> Value:
    """Methods of a context that concern no devices."""
    return NONE


models("torch.autograd.Function.apply")(apply_function)


@method_models("torch.autograd.Function", "apply")
def apply_of_instance(machine: Machine, value: Instance, call: Call) -> Value:
    """`MyFunction().apply(x)`: a class method, whoever it is asked of."""
    inner = Call([value.cls, *call.positional], call.keywords, call.node, call.frame, call.open, call.unused)
    return apply_function(machine, inner)


@models("torch.utils.checkpoint.checkpoint")
def checkpoint(machine: Machine, call: Call) -> Value:
    """`checkpoint(function, *args)` calls it."""
    if not call.positional:
        return UNKNOWN
    keywords = {k: v for k, v in call.keywords.items() if k not in ("use_reentrant", "preserve_rng_state")}
    return call_value(machine, call.positional[0], call.with_arguments(call.positional[1:], keywords))


@models("torch.nn.utils.vector_to_parameters", "torch.nn.utils.convert_parameters.vector_to_parameters")
def vector_to_parameters(machine: Machine, call: Call) -> Value:
    """`vector_to_parameters(vector, parameters)`: each gets its part as its data, where the vector is."""
    vector, parameters = call.argument(0, "vec"), call.argument(1, "parameters")
    found = None if parameters is None else iterate(machine, parameters, call.node, call.frame)
    if isinstance(vector, Tensor) and found is not None:
        for parameter in found.items:
            if isinstance(parameter, Tensor):
                assign_attribute(machine, parameter, "data", derived(vector), call.node, call.frame)
    return NONE
