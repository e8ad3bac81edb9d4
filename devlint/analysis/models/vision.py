"""torchvision and Pillow: what datasets give, and what transforms make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.plain import join_all
from devlint.analysis.domain.values import (
    NONE,
    NUMBER,
    SOME_RANK,
    UNKNOWN,
    Array,
    Bound,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.models.torch_data import samples_in_turn
from devlint.analysis.pytorch.building import construct_builtin
from devlint.analysis.pytorch.module_calls import call_by_row
from devlint.analysis.pytorch.results import derived
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

PICTURE: Final = "PIL.Image.Image"
CLASSES: Final = "torchvision.datasets.Classification"
_TRANSFORMS: Final = "torchvision.transforms"


# -- pictures


@models(*(f"PIL.Image.{name}" for name in ("open", "new", "fromarray", "frombytes", "merge", "blend", "composite")))
def picture(machine: Machine, call: Call) -> Value:
    """`Image.open(path)`: a picture of Pillow, which is no tensor and holds none."""
    return Instance(External(PICTURE), machine.site(call.node, call.frame))


@method_models(
    PICTURE,
    *"convert resize crop rotate transpose copy filter point quantize thumbnail transform reduce __enter__".split(),
)
def changed_picture(machine: Machine, value: Instance, call: Call) -> Value:
    """Another picture."""
    return value


# -- transforms


@method_models(f"{_TRANSFORMS}.Compose", "__call__", "forward")
def compose(machine: Machine, value: Instance, call: Call) -> Value:
    """`Compose(transforms)(picture)`: one after the other."""
    steps = _steps(machine, value, call)
    given = call.argument(0, "img")
    if steps is None or given is None or len(call.positional) != 1 or call.keywords:
        return UNKNOWN
    for step in steps:
        if isinstance(given, (Sequence, Mapping)) and not _is_own(step):
            return UNKNOWN  # those of `transforms.v2` take any structure
        given = call_value(machine, step, call.with_arguments([given]))
    return given


def _is_own(step: Value) -> bool:
    """Whether a transform is the program's own: a function, or an object of one of its classes."""
    return isinstance(step, (Function, Bound)) or (isinstance(step, Instance) and isinstance(step.cls, Class))


@method_models(f"{_TRANSFORMS}.RandomApply", "__call__", "forward")
def maybe_apply(machine: Machine, value: Instance, call: Call) -> Value:
    """`RandomApply(transforms)(picture)`: all of them, or none."""
    made = compose(machine, value, call)
    return UNKNOWN if made is UNKNOWN else join_all(machine, (call.positional[0], made))


@method_models(f"{_TRANSFORMS}.RandomChoice", "__call__", "forward")
def any_of(machine: Machine, value: Instance, call: Call) -> Value:
    """`RandomChoice(transforms)(picture)`: one of them."""
    steps = _steps(machine, value, call)
    if not steps:
        return UNKNOWN
    return join_all(machine, tuple(call_value(machine, step, call) for step in steps))


@method_models(f"{_TRANSFORMS}.Lambda", "__call__", "forward")
def apply_function(machine: Machine, value: Instance, call: Call) -> Value:
    """`Lambda(f)(picture)`."""
    function = value.state["arguments"].get("lambd")
    return UNKNOWN if function is None else call_value(machine, function, call)


@method_models(f"{_TRANSFORMS}.ToImage", "__call__", "forward")
def to_image(machine: Machine, value: Instance, call: Call) -> Value:
    """`ToImage()(picture)`: pictures and arrays become tensors of the CPU, tensors stay where they are."""
    given = call.argument(0, "inpt")
    return _image(machine, call, "ToImage") if isinstance(given, Array) else _prepared(machine, given, call)


@method_models(f"{_TRANSFORMS}.preset", "__call__", "forward")
def prepare(machine: Machine, value: Instance, call: Call) -> Value:
    """`weights.transforms()(picture)`: pictures become tensors of the CPU, tensors stay where they are.

    https://docs.pytorch.org/vision/stable/models.html#using-the-pre-trained-models
    """
    return _prepared(machine, call.argument(0, "img"), call)


def _prepared(machine: Machine, given: Value | None, call: Call) -> Value:
    if isinstance(given, Tensor):
        return derived(given)
    return _image(machine, call, "transforms") if _is_picture(given) else UNKNOWN


def _image(machine: Machine, call: Call, name: str) -> Tensor:
    return Tensor("cpu", SOME_RANK, machine.origin("host", call.node, call.frame, "cpu", name))


def _steps(machine: Machine, value: Instance, call: Call) -> list[Value] | None:
    """The transforms that one of several holds, if all are known."""
    held = value.fields.get("transforms") or value.state["arguments"].get("transforms")
    found = None if not isinstance(held, (Sequence, Instance)) else iterate(machine, held, call.node, call.frame)
    return None if found is None or found.open else found.items


def _is_picture(value: Value | None) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.path == PICTURE


# -- datasets


@method_models(CLASSES, "__getitem__")
def classified_sample(machine: Machine, value: Instance, call: Call) -> Value:
    """A picture, through `transform`, and the number of its class, through `target_transform`."""
    if "arguments" not in value.state:
        return UNKNOWN
    given = Instance(External(PICTURE), value.site)
    image = _transformed(machine, value, "transform", given, call)
    return Sequence("tuple", [image, _transformed(machine, value, "target_transform", NUMBER, call)])


method_models(CLASSES, "__iter__")(samples_in_turn(classified_sample))


def _transformed(machine: Machine, value: Instance, name: str, given: Value, call: Call) -> Value:
    function = value.fields.get(name) or value.state["arguments"].get(name)
    if value.state["arguments"].get("transforms") is not None:
        return UNKNOWN
    if function is None or is_none(function):
        return given
    return call_value(machine, function, call.with_arguments([given]))


@method_models(CLASSES, "__len__")
def dataset_length(machine: Machine, value: Instance, call: Call) -> Value:
    """How many samples: some."""
    return NUMBER


def _tensors(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`mnist.data`, `mnist.targets`: tensors of the CPU."""
    return Tensor("cpu", SOME_RANK) if name in ("data", "targets", "train_data", "train_labels") else None


def _arrays(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`cifar.data`, an array; `cifar.targets`, a list of numbers."""
    if name == "data":
        return Array(4)
    return Sequence("list", [NUMBER, NUMBER], True) if name == "targets" else None


on(INSTANCE_ATTRIBUTES, *(f"torchvision.datasets.{name}" for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST")))(
    _tensors
)
on(INSTANCE_ATTRIBUTES, *(f"torchvision.datasets.{name}" for name in ("CIFAR10", "CIFAR100")))(_arrays)


# -- models that are made by functions of their own


@models("torch.hub.load")
def load_from_hub(machine: Machine, call: Call) -> Value | None:
    """`torch.hub.load("pytorch/vision", "resnet18")` makes what torchvision has under that name."""
    repository, name = constant(call.argument(0, "repo_or_dir")), constant(call.argument(1, "model"))
    is_vision = isinstance(repository, str) and repository.startswith("pytorch/vision") and isinstance(name, str)
    path = f"torchvision.models.{name}" if is_vision else "torch.hub.load"
    row = table.lookup(path)
    if row is None or row.effect != "module":
        return UNKNOWN
    return construct_builtin(machine, path, row, call.with_arguments([], {} if is_vision else {"device": UNKNOWN}))


@models("clip.load")
def load_clip(machine: Machine, call: Call) -> Value:
    """`clip.load(name, device)`: a model, by default on the GPU where there is one, and what prepares pictures."""
    device = call.given(1, "device") or const("cuda" if machine.has_cuda else "cpu")
    machine.entry.consulted.add("accelerator")
    return Sequence("tuple", [_two_towers(machine, "clip.model", device, call), _preparation(machine, call)])


@models("open_clip.create_model_and_transforms")
def create_open_clip(machine: Machine, call: Call) -> Value:
    """`open_clip.create_model_and_transforms(name, device=)`: a model, by default on the CPU, and two preparations."""
    device = call.keywords.get("device") or (UNKNOWN if call.open else const("cpu"))
    made = _two_towers(machine, "open_clip.model", device, call)
    return Sequence("tuple", [made, _preparation(machine, call), _preparation(machine, call)])


def _two_towers(machine: Machine, path: str, device: Value, call: Call) -> Value:
    row = table.lookup(path)
    assert row is not None
    return construct_builtin(machine, path, row, call.with_arguments([], {"device": device}))


def _preparation(machine: Machine, call: Call) -> Value:
    return Instance(External(f"{_TRANSFORMS}.ToTensor"), machine.site(call.node, call.frame))


@method_models("torchvision.models.detector", "forward")
def detect(machine: Machine, value: Instance, call: Call) -> Value:
    """What a detector finds in evaluation: boxes, labels and scores for each picture; in training, losses by name."""
    row = table.lookup("torchvision.models.detector.forward")
    assert row is not None
    found = call_by_row(machine, value, row, call)
    if constant(value.state.get("training")) is not False or not isinstance(found, Mapping):
        return UNKNOWN
    return Sequence("list", [found, found], True)


@models("torchsummary.summary")
def summarize(machine: Machine, call: Call) -> Value:
    """`summary(model, size)`: runs the model on an input that it makes on the GPU where there is one."""
    model, device = call.argument(0, "model"), constant(call.given(3, "device") or const("cuda"))
    machine.entry.consulted.add("accelerator")
    if call.open or not isinstance(model, Instance) or device not in ("cpu", "cuda"):
        return NONE
    place = "cuda:0" if device == "cuda" and machine.has_cuda else "cpu"
    made = Tensor(place, SOME_RANK, machine.origin("placed", call.node, call.frame, place, "torchsummary.summary"))
    call_value(machine, model, call.with_arguments([made]))
    return NONE


# -- albumentations


@method_models("albumentations.Compose", "__call__")
def augment(machine: Machine, value: Instance, call: Call) -> Value:
    """`transform(image=image, mask=mask)`: a dict of the same names, of tensors if something makes them."""
    steps = _steps(machine, value, call)
    if steps is None or call.open:
        return UNKNOWN
    makes = any(isinstance(step, Instance) and _makes_tensors(step) for step in steps)
    if not makes and not all(isinstance(step, Instance) and _keeps_arrays(step) for step in steps):
        return UNKNOWN
    if makes:
        made: Value = Tensor("cpu", 3, machine.origin("host", call.node, call.frame, "cpu", "ToTensorV2"))
    else:
        made = Array(SOME_RANK)
    known = {name: made for name in call.keywords if name in ("image", "mask")}
    return Mapping(dict(known), None, True)


def _keeps_arrays(step: Instance) -> bool:
    path = step.cls.path if isinstance(step.cls, External) else ""
    last = path.rpartition(".")[2]
    return path.startswith("albumentations.") and last not in ("Lambda", "Compose", "OneOf", "SomeOf", "Sequential")


def _makes_tensors(step: Instance) -> bool:
    path = step.cls.path if isinstance(step.cls, External) else ""
    return path.rpartition(".")[2] in ("ToTensorV2", "ToTensor")
