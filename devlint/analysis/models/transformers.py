"""transformers: what tokenizers and processors make, and what models give back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models, on
from devlint.analysis.domain.values import (
    SLICE,
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

TOKENIZER: Final = "transformers.PreTrainedTokenizerBase"
PROCESSOR: Final = "transformers.ProcessorMixin"
COLLATOR: Final = "transformers.DataCollatorWithPadding"
IMAGES: Final = "transformers.BaseImageProcessor"
ENCODING: Final = "transformers.BatchEncoding"
_OF_TEXTS: Final = ("input_ids", "attention_mask")
OUTPUT: Final = "transformers.ModelOutput"

_SINGLE: Final = frozenset(
    "logits last_hidden_state pooler_output start_logits end_logits prediction_logits seq_relationship_logits "
    "image_embeds text_embeds logits_per_image logits_per_text encoder_last_hidden_state mc_logits pred_boxes "
    "pred_masks predicted_depth sample".split()
)
_SEVERAL: Final = frozenset(
    "hidden_states attentions cross_attentions decoder_hidden_states encoder_hidden_states".split()
)


# -- encodings


def _encoding(machine: Machine, call: Call, names: tuple[str, ...]) -> Value:
    """A dict of what was asked for: with `return_tensors="pt"` tensors on the CPU, of which some have known names.

    Lists become tensors where factories create, arrays do not (`as_tensor` in transformers/tokenization_utils_base.py).
    """
    made = Instance(External(ENCODING), machine.site(call.node, call.frame))
    data = Mapping({}, None, True)
    elsewhere = machine.state.default_device is not None or machine.state.default_type is not None
    if not elsewhere and constant(call.keywords.get("return_tensors")) == "pt" and "device" not in call.keywords:
        made_here = Tensor("cpu", 2, machine.origin("host", call.node, call.frame, "cpu", "return_tensors"))
        data = Mapping({name: derived(made_here) for name in names}, made_here, True)
    made.state["data"] = data
    return made


@models(ENCODING, "transformers.BatchFeature")
def encoding_of(machine: Machine, call: Call) -> Value:
    """`BatchEncoding({"input_ids": ids})`: a copy of the dict, whose tensors `.to()` moves in place; what is made of
    lists isn't known."""
    made = Instance(External(ENCODING), machine.site(call.node, call.frame))
    data = call.argument(0, "data")
    is_alone = not call.open and len(call.positional) < 2 and "tensor_type" not in call.keywords
    known = data if isinstance(data, Mapping) and is_alone else Mapping({}, None, True)
    made.state["data"] = Mapping(dict(known.items), known.rest, known.open)
    return made


@method_models(TOKENIZER, "__call__", "encode_plus", "batch_encode_plus", "pad", "prepare_for_model")
def encode(machine: Machine, value: Instance, call: Call) -> Value:
    """`tokenizer(texts, return_tensors="pt")`."""
    return _encoding(machine, call, _OF_TEXTS)


@method_models(TOKENIZER, "apply_chat_template")
def apply_template(machine: Machine, value: Instance, call: Call) -> Value:
    """A text, tokens, or an encoding; tensors are on the CPU."""
    if constant(call.keywords.get("return_dict")) is True:
        return _encoding(machine, call, _OF_TEXTS)
    return UNKNOWN  # releases differ in what they give unless told


@method_models(COLLATOR, "__call__")
def collate(machine: Machine, value: Instance, call: Call) -> Value:
    """`DataCollatorWithPadding(tokenizer)(features)`: tensors, unless another framework was asked for."""
    asked = value.state["arguments"].get("return_tensors")
    if asked is not None and constant(asked) != "pt":
        return UNKNOWN
    pt = call.with_arguments(call.positional, {"return_tensors": const("pt")})
    return _of_any(machine, pt, _OF_TEXTS)


@method_models(ENCODING, "copy")
def copy_encoding(machine: Machine, value: Instance, call: Call) -> Value:
    """`encoding.copy()`: another one, of the same tensors."""
    made = Instance(External(ENCODING), machine.site(call.node, call.frame))
    data = value.state["data"]
    made.state["data"] = Mapping(dict(data.items), data.rest, data.open) if isinstance(data, Mapping) else data
    return made


def _of_any(machine: Machine, call: Call, names: tuple[str, ...]) -> Value:
    """The same, made of what may be tensors itself, which stay where they are."""
    if any(tensor.device != "cpu" for value in call.values() for tensor in tensors_in(value)):
        names, call = (), call.with_arguments([])
    return _encoding(machine, call, names)


@method_models(IMAGES, "__call__", "preprocess")
def process_images(machine: Machine, value: Instance, call: Call) -> Value:
    """`image_processor(images, return_tensors="pt")`."""
    return _of_any(machine, call, ("pixel_values",))


@method_models(PROCESSOR, "__call__")
def process(machine: Machine, value: Instance, call: Call) -> Value:
    """`processor(text=..., images=..., return_tensors="pt")`: its parts are known by what it is given."""
    names: list[str] = []
    if _is_given(call.keywords.get("text")):
        names += ["input_ids", "attention_mask"]
    if _is_given(call.keywords.get("images")):
        names.append("pixel_values")
    return _of_any(machine, call, tuple(names))


def _is_given(value: Value | None) -> bool:
    return value is not None and not is_none(value)


@on(INSTANCE_ATTRIBUTES, ENCODING)
def encoding_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`encoding.input_ids`."""
    data = value.state.get("data")
    if name == "data" and isinstance(data, Mapping):
        return data
    if not isinstance(data, Mapping) or name not in data.items:
        return None
    return data.items[name]


# -- outputs


def _part(value: Instance, name: str) -> Value:
    """One part of an output: on the device of the model."""
    like = value.state.get("like")
    if not isinstance(like, Tensor):
        return UNKNOWN
    if name == "loss":
        return derived(like, 0)
    if name in _SINGLE:
        return derived(like, 2)
    if name in _SEVERAL:
        return Sequence("tuple", [derived(like, 3), derived(like, 3)], True)
    return UNKNOWN


@on(INSTANCE_ATTRIBUTES, OUTPUT)
def output_attribute(machine: Machine, value: Instance, name: str, site: Site) -> Value | None:
    """`outputs.logits`."""
    part = _part(value, name)
    return None if part is UNKNOWN else part


@method_models(OUTPUT, "__getitem__")
def output_item(machine: Machine, value: Instance, call: Call) -> Value:
    """`outputs["logits"]`, `outputs[0]`."""
    index = call.positional[0] if call.positional else None
    like = value.state.get("like")
    if not isinstance(like, Tensor):
        return UNKNOWN
    if isinstance(index, Const) and isinstance(index.value, str):
        return _part(value, index.value)
    if isinstance(index, Const) and index.value in (0, 1):
        return derived(like, None)
    if index is SLICE:
        return Sequence("tuple", [derived(like, None), derived(like, None)], True)
    return UNKNOWN


@method_models(OUTPUT, "get")
def get_output(machine: Machine, value: Instance, call: Call) -> Value:
    """`outputs.get("logits")`."""
    return output_item(machine, value, call.with_arguments([call.argument(0, "key") or const(None)]))
