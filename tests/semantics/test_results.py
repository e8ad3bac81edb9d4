"""What rows say about results, on the CPU: their kind and rank, in-place work, the state of modules."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from agreement import chosen_samples, forms
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db

from devlint.analysis.domain.values import SOME_RANK, UNKNOWN, Sequence, Tensor, const
from devlint.analysis.pytorch.ranks import result_rank
from devlint.semantics import table

warnings.simplefilter("ignore")

EVERY = int(os.environ.get("DEVLINT_EVERY_NTH_OPERATOR", "3"))
# gather: an empty index may have any number of dimensions. embedding: the sample takes the weight first.
RANKS_APART = ("torch.gather", "torch.Tensor.gather", "torch.nn.functional.embedding")


def calls() -> Iterator[tuple[table.Row, dict[str, Any], Any]]:
    """Yield (row, bound arguments, result) for torch's own samples of every operator that has a row."""
    torch.manual_seed(0)
    for op in op_db[::EVERY]:
        rows = list(forms(op))
        for sample in chosen_samples(op) if rows else []:
            for row, function in rows:
                value = sample.input.clone() if isinstance(sample.input, torch.Tensor) else sample.input
                try:
                    result = function(value, *sample.args, **sample.kwargs)
                except Exception:
                    continue
                if row.name.startswith("torch.Tensor."):
                    bound = table.bind(row, sample.args, sample.kwargs, receiver=value)
                else:
                    bound = table.bind(row, (value, *sample.args), sample.kwargs)
                yield row, bound, result


@pytest.fixture(scope="module")
def results() -> list[tuple[table.Row, dict[str, Any], Any]]:
    return list(calls())


def result_of(row: table.Row, bound: dict[str, Any]) -> str:
    """The result that holds for these arguments."""
    for parameter, result in row.result_if:
        given = bound.get(parameter)
        if given is not None and given is not False and (parameter != "dim" or not isinstance(given, torch.Tensor)):
            return result
    return row.result


def of_kind(result: str, value: Any) -> bool:
    kind = result.partition("(")[0]
    if kind in ("tensor", "same"):
        return isinstance(value, torch.Tensor)
    if kind in ("tensors", "each"):
        return isinstance(value, (list, tuple, torch.Tensor))
    if kind == "tuple":
        return isinstance(value, tuple) and len(value) == len(split(result))
    if kind == "named":
        return all(isinstance(getattr(value, name, None), torch.Tensor) for name in split(result))
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "scalar":
        return isinstance(value, (int, float, complex))
    return True


def split(result: str) -> list[str]:
    inner = result[result.find("(") + 1 : result.rfind(")")]
    depth, parts = 0, [""]
    for character in inner:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def rank_is(row: table.Row, bound: dict[str, Any], rank: int) -> bool:
    """Whether the rank of a result is what the row's rule gives."""
    first = bound.get(row.concerned[0]) if row.concerned else None
    first = first[0] if isinstance(first, (list, tuple)) and first else first
    if row.rank == "keep":
        return not isinstance(first, torch.Tensor) or rank == first.dim() or first.dim() == 0
    if row.rank == "zero":
        return rank == 0
    if row.rank == "some":
        return rank >= 1
    if row.rank.isdigit():
        return rank == int(row.rank)
    if row.rank == "loss":
        return rank == 0 or bound.get("reduction") == "none"
    if row.rank == "broadcast":
        tensors = [value for name in row.concerned if isinstance(value := bound.get(name), torch.Tensor)]
        return rank == max((tensor.dim() for tensor in tensors), default=rank)
    if "inplace" in row.flags:
        return True  # the first argument has changed already
    main = abstract(first) if isinstance(first, torch.Tensor) else Tensor(None)
    given = {
        name: [abstract(part) for part in value] if row.kinds.get(name) == "variadic" else abstract(value)
        for name, value in bound.items()
    }
    computed = result_rank(row, main, given)
    return computed is None or rank == computed or (computed >= SOME_RANK and rank >= 1)


def abstract(value: Any) -> Any:
    """An argument as the interpreter has it."""
    if isinstance(value, torch.Tensor):
        return Tensor("cpu", value.dim(), size=value.shape[0] if value.dim() else None)
    if isinstance(value, (list, tuple)):
        return Sequence("tuple", [abstract(part) for part in value])
    return const(value) if value is None or isinstance(value, (bool, int, float, str)) else UNKNOWN


def test_results_are_of_the_kind_that_the_row_says(results: list[tuple[table.Row, dict[str, Any], Any]]) -> None:
    wrong = {
        f"{row.name}: {result_of(row, bound)}, torch gives {type(value).__name__}"
        for row, bound, value in results
        if not of_kind(result_of(row, bound), value)
    }
    # The sample of lstsq calls it through a function that gives a plain tuple.
    assert {text for text in wrong if not text.startswith("torch.linalg.lstsq")} == set()


def test_ranks_follow_their_rules(results: list[tuple[table.Row, dict[str, Any], Any]]) -> None:
    wrong = {
        f"{row.name}: rank={row.rank}, torch gives {value.dim()} dimensions"
        for row, bound, value in results
        if isinstance(value, torch.Tensor) and row.name not in RANKS_APART and not rank_is(row, bound, value.dim())
    }
    assert len({row.name for row, _, _ in results}) > 800 / EVERY
    assert not wrong


def test_in_place_means_that_the_first_argument_comes_back(
    results: list[tuple[table.Row, dict[str, Any], Any]],
) -> None:
    wrong = set()
    for row, bound, value in results:
        first = bound.get("self", bound.get(row.concerned[0]) if row.concerned else None)
        if "inplace" in row.flags and row.name.startswith("torch.Tensor.") and value is not first:
            wrong.add(row.name)
    assert not wrong


def test_in_place_flags_are_those_of_the_operators() -> None:
    for row in table.rows("torch"):
        operator = getattr(torch.ops.aten, row.name.rpartition(".")[2], None)
        if not isinstance(operator, torch._ops.OpOverloadPacket) or row.name.endswith("__"):
            continue
        schema = getattr(operator, operator.overloads()[0])._schema
        written = bool(schema.arguments) and schema.arguments[0].alias_info is not None
        written = written and schema.arguments[0].alias_info.is_write
        if row.parameters or "self" in row.concerned:
            assert ("inplace" in row.flags) == written or row.effect == "none" or not row.concerned, row.name


ARGUMENTS: dict[str, object] = {
    **dict.fromkeys(("in_features", "out_features", "in1_features", "in2_features", "num_features"), 4),
    **dict.fromkeys(("in_channels", "out_channels", "num_channels", "embed_dim", "d_model", "input_size"), 4),
    **dict.fromkeys(("hidden_size", "num_embeddings", "embedding_dim", "normalized_shape", "num_classes"), 4),
    **dict.fromkeys(("num_groups", "num_heads", "nhead", "kernel_size", "num_layers", "num_chunks", "size"), 1),
    "n_classes": 4,
    "cutoffs": [2],
    "bias": True,
    "mode": "LSTM",
    "dim_feedforward": 4,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "output_ratio": 0.5,
}
MODULES = [
    row
    for row in table.rows("modules")
    if row.effect == "module" and row.name.count(".") == 2 and "lazy" not in row.flags and row.family != "container"
]


def build(row: table.Row, **changed: object) -> nn.Module | None:
    kind = getattr(nn, row.name.rpartition(".")[2])
    needed = [p.name for p in row.parameters if (not p.optional or p.name in ARGUMENTS) and p.kind == "positional"]
    accepted = inspect.signature(kind.__init__).parameters
    arguments = {name: ARGUMENTS[name] for name in needed if name in ARGUMENTS and name != "bias"}
    try:
        return kind(**arguments, **{k: v for k, v in changed.items() if k in accepted or "args" in accepted})
    except TypeError:
        return None


@pytest.mark.parametrize("row", MODULES, ids=lambda row: row.name)
def test_modules_have_the_state_that_the_row_says(row: table.Row) -> None:
    conditions = {state.condition for state in row.states if state.condition}
    tensors = {state.condition for state in row.states if state.is_buffer and "weight" in state.condition}
    for given in (None, False, True):
        changed: dict[str, object] = {}
        if given is not None:
            changed = dict.fromkeys(conditions - tensors, given)
            changed |= {name: torch.ones(4) if given else None for name in tensors}
        if (module := build(row, **changed)) is None:
            continue
        parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
        for state in row.states:
            value = changed.get(state.condition, state.default)
            present = not state.condition or (value is not False and value is not None)
            held = parameters.get(state.name) if not state.is_buffer else buffers.get(state.name)
            assert (held is not None) == present, (state.name, changed)
        if "no-parameters" in row.flags:
            assert not parameters
        elif not changed and row.family != "attention":
            said = {state.name.removesuffix("_l0") for state in row.states}
            assert {name.removesuffix("_l0") for name in (*parameters, *buffers)} <= said | {
                "tail.0.0.weight",
                "tail.0.1.weight",
            }


def test_every_module_can_be_built_here() -> None:
    assert sum(build(row) is not None for row in MODULES) > 0.75 * len(MODULES)
