"""Frameworks that move modules, batches and metrics themselves: Lightning, accelerate, transformers, torchmetrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.ancestry import external_bases, find
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.plain import pair
from devlint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    DeviceValue,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.models import library
from devlint.analysis.models.driver import demand_half
from devlint.analysis.models.torch_data import LOADER, PLACED
from devlint.analysis.pytorch.building import construct_builtin
from devlint.analysis.pytorch.module_moves import move_module
from devlint.analysis.pytorch.opaque import ask_for_fewer_bits
from devlint.analysis.signals import Crash
from devlint.semantics import libraries, table
from devlint.semantics.libraries import LIGHTNING_MODULE

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

MODEL: Final = "transformers.PreTrainedModel"
_BATCH_HOOKS = frozenset("training_step validation_step test_step predict_step".split())
_ENDS: Final = {
    f"{prefix}{run}_epoch_end": step
    for run, step in (
        ("train", "training_step"),
        ("training", "training_step"),
        ("validation", "validation_step"),
        ("test", "test_step"),
        ("predict", "predict_step"),
    )
    for prefix in ("on_", "")
}
"""What is called after the steps of an epoch, and what these are called. Before Lightning 2.0 those without `on_` were
given what the steps gave back."""
_HOOKS = _BATCH_HOOKS.union(
    _ENDS, ("forward", "configure_optimizers", "on_train_start", "on_fit_start", "on_train_epoch_start")
)


@models("lightning.Trainer", "pytorch_lightning.Trainer", "lightning.pytorch.Trainer")
def trainer(machine: Machine, call: Call) -> Value | None:
    """`Trainer(accelerator="gpu")` asks for GPUs in so many words, and ends the program where there are none."""
    accelerator = constant(call.keywords.get("accelerator"))
    gpus = constant(call.keywords.get("gpus"))
    wanted = accelerator in ("gpu", "cuda") or (isinstance(gpus, (int, list)) and bool(gpus))
    if wanted and machine.device_count == 0 and not machine.run.trying:
        machine.crash(None, machine.site(call.node, call.frame))
    return None


_LAUNCHED: Final = (
    *(f"colossalai.launch{source}" for source in ("", "_from_torch", "_from_slurm", "_from_openmpi")),
    "mmcv.runner.init_dist",
    "mmengine.dist.init_dist",
)


@models(*_LAUNCHED)
def launch(machine: Machine, call: Call) -> Value:
    """What starts the group of processes, with NCCL unless another backend is named: programs that are launched on
    GPUs."""
    backend = constant(call.keywords.get("backend")) if "backend" in call.keywords else "nccl"
    machine.store.set(machine.state, "collective", backend if isinstance(backend, str) else "")
    if backend == "nccl" and machine.device_count == 0:
        raise Crash  # of machines without one nothing is said
    return UNKNOWN


@models("mmcv.runner.get_dist_info", "mmengine.dist.get_dist_info")
def rank_and_size(machine: Machine, call: Call) -> Value | None:
    """`rank, world_size = get_dist_info()`: one process by itself, where no group was started and no GPU is there on
    which a launcher would have started one."""
    alone = machine.state.collective is None and not machine.device_count
    return pair(const(0), const(1)) if alone else UNKNOWN


@models(
    "transformers.BitsAndBytesConfig",
    "transformers.utils.quantization_config.BitsAndBytesConfig",
    "diffusers.BitsAndBytesConfig",
)
def in_fewer_bits(machine: Machine, call: Call) -> Value | None:
    """`load_in_4bit=True`: kernels for GPUs, whoever asks for them has one. Nothing is said of machines without."""
    ask_for_fewer_bits(machine, call.keywords)
    return None


_RUN = {
    "fit": ("training_step", "validation_step"),
    "validate": ("validation_step",),
    "test": ("test_step",),
    "predict": ("predict_step",),
}
_ACCELERATORS = ("gpu", "cuda", "auto")
_BEFORE: Final = (
    "on_fit_start",
    "on_pretrain_routine_start",
    "on_pretrain_routine_end",
    "on_sanity_check_start",
    "on_sanity_check_end",
)
_IN_A_STEP: Final = (
    "on_before_zero_grad",
    "on_before_backward",
    "on_after_backward",
    "on_before_optimizer_step",
)
_BEGUN: Final = ("start", "epoch_start", "batch_start", "batch_end")
_ENDED: Final = ("epoch_end", "end")


def _hooks_of_callbacks(steps: tuple[str, ...]) -> list[str]:
    """The hooks of a callback that are called beside these steps, in order. An epoch is validated before it ends."""
    runs = ["train" if step == "training_step" else step.removesuffix("_step") for step in steps]
    around = [f"on_{run}_{name}" for run in runs for name in _BEGUN]
    around += [f"on_{run}_{name}" for run in reversed(runs) for name in _ENDED]
    if runs[0] == "train":
        around[3:3] = _IN_A_STEP
        around = [*_BEFORE, *around, "on_fit_end"]
    return ["setup", *around]


def _runs(steps: tuple[str, ...]) -> Callable[[Machine, Instance, Call], Value | None]:
    """A model of a method of a trainer: it runs these steps of a module that the program built.

    The module is on the GPU if that is asked for; a trainer that is told nothing chooses the GPU since Lightning 2.0,
    and the CPU before.
    """

    def run(machine: Machine, value: Instance, call: Call) -> Value | None:
        module = call.argument(0, "model")
        asked = value.state["arguments"].get("accelerator")
        if constant(asked) not in _ACCELERATORS or not machine.has_cuda:
            return None
        if isinstance(module, Instance) and module.module is not None and isinstance(module.cls, Class):
            for name in (*steps, *(end for end, step in _ENDS.items() if step in steps)):
                found = find(module.cls, name)
                if found is not None and isinstance(found[0], Function):
                    enter_hook(machine, module.cls, module, found[0], call)
            for callback in _callbacks(value):
                _run_callback(machine, callback, value, module, steps, call)
        return None

    return run


def _callbacks(trainer: Instance) -> list[Instance]:
    """The callbacks of the program's own that a trainer was given."""
    given = trainer.state["arguments"].get("callbacks")
    items = given.items if isinstance(given, Sequence) else [given]
    return [one for one in items if isinstance(one, Instance) and isinstance(one.cls, Class)]


def _run_callback(
    machine: Machine, callback: Instance, trainer: Instance, module: Instance, steps: tuple[str, ...], call: Call
) -> None:
    """Call the hooks of a callback beside these steps, with the trainer, and with the module on the accelerator."""
    from devlint.analysis.programs.entries import accelerator

    device = accelerator(machine)
    for name in _hooks_of_callbacks(steps):
        found = find(callback.cls, name)
        if found is None or not isinstance(found[0], Function):
            continue
        at = None if name == "setup" else device  # it is called before the module is moved, from wherever that was
        move_module(machine, module, at, call.node, call.frame)  # other hooks may have moved it
        given: list[Value] = [trainer, module]
        for parameter in found[0].node.parameters.positional[3:]:
            if parameter in found[0].defaults:
                break
            given.append(_hook_argument(machine, parameter, device, call))
        call_value(machine, Bound(found[0], callback), Call(given, {}, call.node, call.frame))
        if at is None:
            move_module(machine, module, device, call.node, call.frame)


for _name, _steps in _RUN.items():
    method_models("lightning.Trainer", _name)(_runs(_steps))


def is_hook(cls: Class, name: str) -> bool:
    """Whether a method is called by Lightning itself."""
    if name in _STEPS and not _TRAINERS.isdisjoint(external_bases(cls)):
        return True
    return name in _HOOKS and LIGHTNING_MODULE in [libraries.canonical(path) for path in external_bases(cls)]


_TRAINERS: Final = frozenset(
    {
        "transformers.Trainer",
        "transformers.Seq2SeqTrainer",
        "transformers.trainer.Trainer",
        "transformers.trainer_seq2seq.Seq2SeqTrainer",
        "trl.SFTTrainer",
    }
)
_STEPS: Final = ("compute_loss", "training_step", "prediction_step")
_NAMES: Final = ("input_ids", "attention_mask", "labels")


def enter_step(machine: Machine, cls: Class, instance: Instance, method: Function, call: Call) -> bool:
    """Enter a step of a Trainer of transformers by protocol: it has put the model and the batch on the accelerator."""
    from devlint.analysis.programs.entries import accelerator

    row = table.lookup(MODEL)
    if method.node.name not in _STEPS or row is None or _TRAINERS.isdisjoint(external_bases(cls)):
        return False
    device = "cpu" if accelerator(machine) == "cpu" else "cuda:0"
    origin = machine.origin("input", call.node, call.frame, device, "inputs")
    batch = {name: Tensor(device, 2, origin) for name in _NAMES}  # not assumed: the library puts them there
    inputs = Mapping(dict(batch), Tensor(device, 2, origin), True)
    model = construct_builtin(machine, MODEL, row, Call([], {}, call.node, call.frame))
    assert isinstance(model, Instance)
    move_module(machine, model, device, cls.node, call.frame)
    call_value(machine, Bound(method, instance), Call([model, inputs], {}, call.node, call.frame))
    return True


def _run_steps(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """What starts a Trainer that the program wrote itself calls its steps, with what the constructor has kept."""
    if isinstance(instance.cls, Class) and not machine.state.trains_on_host:
        for name in _STEPS:
            found = find(instance.cls, name)
            if found is not None and isinstance(found[0], Function):
                enter_step(machine, instance.cls, instance, found[0], call)
    return None


for _path in _TRAINERS:
    method_models(_path, "train", "evaluate", "predict")(_run_steps)


def enter_hook(machine: Machine, cls: Class, instance: Instance, method: Function, call: Call) -> bool:
    """Enter a hook of a LightningModule by protocol: the module and the batch are on the accelerator."""
    from devlint.analysis.programs.entries import accelerator

    if LIGHTNING_MODULE not in [libraries.canonical(path) for path in external_bases(cls)]:
        return False
    device = accelerator(machine)
    move_module(machine, instance, device, cls.node, call.frame)
    if method.node.name not in _HOOKS:
        call_value(machine, Bound(method, instance), call)
        return True
    step = find(cls, _ENDS.get(method.node.name, ""))
    given: list[Value] = []
    if step is not None and isinstance(step[0], Function):
        result = _run_hook(machine, instance, step[0], device, call, given)
        if isinstance(result, Tensor) and step[0].node.name == "training_step":
            result = Mapping({"loss": result})
        given = [Sequence("list", [result], True)]
    _run_hook(machine, instance, method, device, call, given)
    return True


def _run_hook(
    machine: Machine, instance: Instance, method: Function, device: str, call: Call, given: list[Value]
) -> Value:
    """Call a hook with what is given of its arguments, and a batch that stands on the device."""
    names = method.node.parameters.positional[1:]
    arguments = given[: len(names)]
    for name in names[len(arguments) :]:
        if name in method.defaults:
            break
        arguments.append(_hook_argument(machine, name, device, call))
    if method.node.name in _BATCH_HOOKS:
        trains = method.node.name == "training_step"
        call_method(machine, instance, "train" if trains else "eval", Call([], {}, call.node, call.frame))
    return call_value(machine, Bound(method, instance), Call(arguments, {}, call.node, call.frame))


def _hook_argument(machine: Machine, name: str, device: str, call: Call) -> Value:
    if "batch" in name and not name.endswith(("idx", "index", "nb")):

        def part() -> Tensor:
            return Tensor(
                device, 64, machine.origin("input", call.node, call.frame, device, name), assumed=machine.run.protocol
            )

        return Sequence("batch", [part(), part()], True)  # whose type nobody knows: a list, a tensor, a dict
    return Unknown(name)


@method_models(LIGHTNING_MODULE, "log", "log_dict", "save_hyperparameters", "print", "manual_backward")
def lightning_nothing(machine: Machine, instance: Instance, call: Call) -> Value:
    """Methods that concern no devices."""
    return NONE


# -- accelerate

ACCELERATOR: Final = "accelerate.Accelerator"


def _place(machine: Machine, value: Instance) -> str | None:
    """The device of an accelerator; None where its arguments may choose another, or leave what it prepares alone."""
    given = value.state["arguments"]
    if value.state["open"] or any(name in given for name in ("cpu", "device_placement")):
        return None
    machine.entry.consulted.add("accelerator")
    return "cuda:0" if machine.has_cuda else "cpu"


@models(ACCELERATOR)
def accelerator(machine: Machine, call: Call) -> Value:
    """`Accelerator()`: the GPU where there is one; each process that a launcher started has its own."""
    if constant(call.keywords.get("mixed_precision")) == "fp16":
        demand_half(machine)
    made = Instance(External(ACCELERATOR), machine.site(call.node, call.frame))
    made.state.update(arguments=dict(call.keywords), open=call.open or bool(call.positional))
    return made


@on(INSTANCE_ATTRIBUTES, ACCELERATOR)
def accelerator_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`accelerator.device`."""
    place = _place(machine, value) if name == "device" else None
    return None if place is None else DeviceValue(place.partition(":")[0], None)


@method_models(ACCELERATOR, "prepare")
def prepare(machine: Machine, value: Instance, call: Call) -> Value:
    """`accelerator.prepare(model, optimizer, loader)`: modules are moved, loaders will move what they yield."""
    place = _place(machine, value)
    if place is None or call.open or call.keywords:
        library.lose_modules(machine, call.values())
        return UNKNOWN
    made = [_prepared(machine, part, place, call) for part in call.positional]
    return made[0] if len(made) == 1 else Sequence("tuple", made)


@method_models(ACCELERATOR, "prepare_model", "prepare_data_loader", "prepare_optimizer")
def prepare_one(machine: Machine, value: Instance, call: Call) -> Value:
    """One of those; it may be told to leave its argument where it is."""
    if "device_placement" in call.keywords or len(call.positional) != 1:
        library.lose_modules(machine, call.values())
        return UNKNOWN
    return prepare(machine, value, call.with_arguments(call.positional))


def _prepared(machine: Machine, part: Value, place: str, call: Call) -> Value:
    if not isinstance(part, Instance):
        return UNKNOWN
    if part.module is not None:
        move_module(machine, part, place, call.node, call.frame)
        return part
    if LOADER in external_bases(part.cls):
        placed = Instance(part.cls, part.site)
        placed.fields = part.fields
        placed.state = Kept({**part.state, PLACED: place})
        return placed
    return part if part.state.get("params") is not None else UNKNOWN
