"""Frameworks that move modules, batches and metrics themselves: Lightning, accelerate, transformers, torchmetrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.classes import external_bases
from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.missing import die
from devlint.analysis.module_moves import move_module
from devlint.analysis.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Instance,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
)
from devlint.semantics import libraries
from devlint.semantics.libraries import LIGHTNING_MODULE

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_BATCH_HOOKS = frozenset("training_step validation_step test_step predict_step".split())
_HOOKS = _BATCH_HOOKS | {"forward", "configure_optimizers", "on_train_start", "on_fit_start", "on_train_epoch_start"}


@models("lightning.Trainer", "pytorch_lightning.Trainer", "lightning.pytorch.Trainer")
def trainer(machine: Machine, call: Call) -> Value | None:
    """`Trainer(accelerator="gpu")` asks for GPUs in so many words, and ends the program where there are none."""
    accelerator = constant(call.keywords.get("accelerator"))
    gpus = constant(call.keywords.get("gpus"))
    wanted = accelerator in ("gpu", "cuda") or (isinstance(gpus, (int, list)) and bool(gpus))
    if wanted and machine.device_count == 0 and not machine.trying:
        machine.crash(None, machine.site(call.node, call.frame))
    return None


_AUTO: Final = (
    *("AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification", "AutoModelForSeq2SeqLM"),
    *("AutoModelForTokenClassification", "AutoModelForQuestionAnswering", "AutoModelForImageTextToText"),
    *("AutoModelForVision2Seq", "AutoModelForSpeechSeq2Seq", "LlamaForCausalLM", "GPT2LMHeadModel"),
    "T5ForConditionalGeneration",
)
"""Classes of transformers whose models are often loaded in fewer bits."""


@models(
    *("transformers.BitsAndBytesConfig", "transformers.utils.quantization_config.BitsAndBytesConfig"),
    "diffusers.BitsAndBytesConfig",
    *(f"transformers.{name}.from_pretrained" for name in _AUTO),
)
def in_fewer_bits(machine: Machine, call: Call) -> Value | None:
    """`load_in_4bit=True`: kernels for GPUs, whoever asks for them has one. Nothing is said of machines without."""
    asked = any(constant(call.keywords.get(name)) is True for name in ("load_in_4bit", "load_in_8bit"))
    if asked and machine.device_count == 0 and not machine.protocol:
        die(machine)
    return None


def is_hook(cls: Class, name: str) -> bool:
    """Whether a method is called by Lightning itself."""
    return name in _HOOKS and LIGHTNING_MODULE in [libraries.canonical(path) for path in external_bases(cls)]


def enter_hook(machine: Machine, cls: Class, instance: Instance, method: Function, call: Call) -> bool:
    """Enter a hook of a LightningModule by protocol: the module and the batch are on the accelerator."""
    from devlint.analysis.entries import accelerator

    if LIGHTNING_MODULE not in [libraries.canonical(path) for path in external_bases(cls)]:
        return False
    device = accelerator(machine)
    move_module(machine, instance, device, cls.node, call.frame)
    if method.node.name not in _HOOKS:
        call_value(machine, Bound(method, instance), call)
        return True
    arguments: list[Value] = []
    for name in method.node.parameters.positional[1:]:
        if name in method.defaults:
            break
        arguments.append(_hook_argument(machine, name, device, call))
    call_value(machine, Bound(method, instance), Call(arguments, {}, call.node, call.frame))
    return True


def _hook_argument(machine: Machine, name: str, device: str, call: Call) -> Value:
    if "batch" in name and not name.endswith(("idx", "index", "nb")):

        def part() -> Tensor:
            return Tensor(device, 64, machine.origin("input", call.node, call.frame, device, name), assumed=True)

        return Sequence("list", [part(), part()], True)
    return Unknown(name)


@method_models(LIGHTNING_MODULE, "log", "log_dict", "save_hyperparameters", "print", "manual_backward")
def lightning_nothing(machine: Machine, instance: Instance, call: Call) -> Value:
    """Methods that concern no devices."""
    return NONE


@models("accelerate.Accelerator.prepare")
def prepare(machine: Machine, call: Call) -> Value:
    """`accelerator.prepare(...)` moves everything where it wants."""
    return UNKNOWN
