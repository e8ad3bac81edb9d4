"""Operators that only CUDA has, written with those that every device has.

Formulas of the cells: aten/src/ATen/native/cuda/RNN.cu; of RMSNorm: layer_norm_kernel.cu. Tensors here are CPU
tensors; those of the cells have the shape (batch, gates * hidden).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensor = torch.Tensor
REDUCED = (torch.float16, torch.bfloat16)


def _plus(first: Tensor, second: Tensor | None) -> Tensor:
    return first if second is None else first + second


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the new hidden state, the new cell state and what backward needs."""
    gates = _plus(_plus(input_gates + hidden_gates, input_bias), hidden_bias)
    entry, forget, new, output = gates.chunk(4, 1)
    entry, forget, output, new = entry.sigmoid(), forget.sigmoid(), output.sigmoid(), new.tanh()
    state = forget * cell + entry * new
    return output * state.tanh(), state, torch.cat([entry, forget, new, output], 1)


def lstm_cell_backward(
    grad_hidden: Tensor | None, grad_cell: Tensor | None, cell: Tensor, state: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the gates, of the old cell state and of the bias."""
    entry, forget, new, output = workspace.chunk(4, 1)
    squashed = state.tanh()
    grad_hidden = torch.zeros_like(cell) if grad_hidden is None else grad_hidden
    grad_cell = torch.zeros_like(cell) if grad_cell is None else grad_cell
    grad_state = grad_hidden * output * (1 - squashed * squashed) + grad_cell
    parts = (
        grad_state * new * entry * (1 - entry),
        grad_state * cell * forget * (1 - forget),
        grad_state * entry * (1 - new * new),
        grad_hidden * squashed * output * (1 - output),
    )
    gates = torch.cat(parts, 1)
    return gates, grad_state * forget, gates.sum(0) if has_bias else gates.new_empty(0)


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the new hidden state and what backward needs."""
    in_reset, in_update, in_new = _plus(input_gates, input_bias).chunk(3, 1)
    h_reset, h_update, h_new = _plus(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (in_reset + h_reset).sigmoid(), (in_update + h_update).sigmoid()
    new = (in_new + reset * h_new).tanh()
    return new + update * (hidden - new), torch.cat([reset, update, new, hidden, h_new], 1)


def gru_cell_backward(grad: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of both gates, of the old hidden state and of both biases."""
    reset, update, new, hidden, h_new = workspace.chunk(5, 1)
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_update = grad * (hidden - new) * update * (1 - update)
    grad_reset = grad_new * h_new * reset * (1 - reset)
    of_input = torch.cat([grad_reset, grad_update, grad_new], 1)
    of_hidden = torch.cat([grad_reset, grad_update, grad_new * reset], 1)
    if not has_bias:
        return of_input, of_hidden, grad * update, of_input.new_empty(0), of_input.new_empty(0)
    return of_input, of_hidden, grad * update, of_input.sum(0), of_hidden.sum(0)


def rms_norm(
    source: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """Return the normalised tensor and the reciprocal root mean squares."""
    exact = source.float() if source.dtype in REDUCED else source
    dims = tuple(range(-len(normalized_shape), 0))
    eps = torch.finfo(exact.dtype).eps if eps is None else eps
    scale = torch.rsqrt(exact.square().mean(dims, keepdim=True) + eps)
    result = exact * scale if weight is None else exact * scale * weight
    return result.to(source.dtype), scale


def rms_norm_backward(
    grad: Tensor,
    source: Tensor,
    normalized_shape: Sequence[int],
    scale: Tensor,
    weight: Tensor | None,
    wanted: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of the input and of the weight, None where they are not wanted."""
    dims = tuple(range(-len(normalized_shape), 0))
    normal = source * scale
    weighted = grad if weight is None else grad * weight
    of_source = scale * (weighted - normal * (weighted * normal).mean(dims, keepdim=True)) if wanted[0] else None
    of_weight = (grad * normal).sum_to_size(tuple(normalized_shape)) if wanted[1] and weight is not None else None
    return (
        None if of_source is None else of_source.to(source.dtype),
        None if of_weight is None or weight is None else of_weight.to(weight.dtype),
    )


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def _by_formula(*args: Any, **kwargs: Any) -> int:
    """Choose `SDPBackend.MATH`: the fused attentions are CUDA kernels."""
    return 0


CUDA_ONLY: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
    "_fused_rms_norm": rms_norm,
    "_fused_rms_norm_backward": rms_norm_backward,
    **dict.fromkeys(
        (f"_use_{library}_ctc_loss{kind}" for library in ("cudnn", "miopen") for kind in ("", ".Tensor")), _never
    ),
    "_fused_sdp_choice": _by_formula,
}
