"""Models that turn texts into vectors by a method of their own: sentence_transformers, the tokenizers of open_clip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.values import UNKNOWN, Array, External, Instance, Tensor, Value, const, constant, is_none
from devlint.analysis.pytorch.building import construct_builtin
from devlint.analysis.pytorch.modules import device_of_module, forget_places
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_LOADED: Final = "sentence_transformers.loaded.SentenceTransformer"
_PLACES: Final = ("modules", "model_kwargs", "backend")
"""Arguments that bring modules along, or place them."""


@models("sentence_transformers.SentenceTransformer")
def load_embedder(machine: Machine, call: Call) -> Value:
    """`SentenceTransformer(name, device=)`: by default on the GPU where there is one. Earlier releases move it there
    when it encodes first."""
    row = table.lookup(_LOADED)
    assert row is not None
    given = call.keywords.get("device")
    if call.open or len(call.positional) > 1 or any(name in call.keywords for name in _PLACES):
        given = UNKNOWN
    elif given is None or is_none(given):
        machine.entry.consulted.add("accelerator")
        given = const("cuda" if machine.has_cuda else "cpu")
    return construct_builtin(machine, _LOADED, row, call.with_arguments([], {"device": given}))


@method_models(_LOADED, "encode")
def encode(machine: Machine, value: Instance, call: Call) -> Value:
    """`model.encode(texts)`: arrays, or with `convert_to_tensor=True` a tensor where the model is."""
    if not is_none(call.keywords.get("device")):
        forget_places(machine, value)  # it goes there
    wanted = constant(call.keywords.get("convert_to_tensor", const(False)))
    if call.open or len(call.positional) > 1 or "output_value" in call.keywords or wanted not in (True, False):
        return UNKNOWN
    if wanted:
        device = device_of_module(value)
        return Tensor(device, None, machine.origin("placed", call.node, call.frame, device, "encode"))
    arrays = constant(call.keywords.get("convert_to_numpy", const(True)))
    return Array() if arrays is True else UNKNOWN


@models("open_clip.get_tokenizer")
def tokenizer_of_clip(machine: Machine, call: Call) -> Value:
    """`open_clip.get_tokenizer(name)` gives what is called as `open_clip.tokenize` is."""
    return External("open_clip.tokenize")
