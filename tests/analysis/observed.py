"""How a real value is written in the marks of `tests.analysis.annotated`: evaluated in the process of a program."""

from __future__ import annotations

from typing import Any


def show(value: Any) -> str:
    """Return the device of a tensor, the devices of a module, the items of a container, else its `repr`; no spaces."""
    import torch

    if isinstance(value, torch.Tensor):
        return str(value.device)
    if isinstance(value, torch.nn.Module):
        return "+".join(sorted({str(t.device) for t in (*value.parameters(), *value.buffers())})) or "nothing"
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(show, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{show(item)}" for key, item in value.items()) + "}"
    return type(value).__name__ if "numpy" in type(value).__module__ else repr(value).replace(" ", "")
