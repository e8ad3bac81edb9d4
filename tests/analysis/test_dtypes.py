"""What tells an array of numpy from a tensor: whose a dtype is, and of which module a class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import found
from tests.analysis.programs import value_of

SETUP = "import numpy as np\nimport torch\nt = torch.rand(3)\na = np.ones(3)\ni = torch.ones(3, dtype=torch.int64)"

VALUES = {
    "isinstance(t.dtype, torch.dtype), isinstance(a.dtype, torch.dtype)": (True, False),
    "isinstance(t.dtype, np.dtype), isinstance(a.dtype, np.dtype)": (False, True),
    "isinstance(i.dtype, torch.dtype), isinstance(torch.float32, torch.dtype)": (True, True),
    "a.dtype is torch.float32, a.dtype == torch.float64, a.dtype != torch.int64": (False, False, True),
    "t.dtype == np.float32, i.dtype == np.int64, t.dtype == a.dtype": (False, False, False),
    "a.dtype in (torch.float32, torch.float64), t.dtype not in (np.float32, np.float64)": (False, True),
    "type(t).__module__, type(a).__module__": ("torch", "numpy"),
    "type(a).__module__ == np.__name__, type(t).__module__ == np.__name__": (True, False),
    "type(t).__module__.startswith('torch'), type(a).__name__": (True, "ndarray"),
    "hasattr(t, 'cpu'), hasattr(a, 'cpu'), hasattr(a, 'detach')": (True, False, False),
}


@pytest.mark.parametrize("expression", VALUES)
def test_as_numpy_and_torch_answer(expression: str) -> None:
    assert value_of(f"({expression})", SETUP) == VALUES[expression]


GUARDS = (
    "x.dtype is torch.float32 or x.dtype is torch.float64",
    "isinstance(x.dtype, torch.dtype)",
    "not isinstance(x.dtype, np.dtype)",
    "type(x).__module__.startswith('torch')",
    "type(x).__module__ != np.__name__",
)


@pytest.mark.parametrize("guard", GUARDS)
def test_guards_between_arrays_and_tensors(guard: str, tmp_path: Path) -> None:
    text = f"""
import numpy as np
import torch

def mean(x):
    if {guard}:
        x = x.cpu().numpy()
    return np.mean(x)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(mean(torch.rand(3, device=device)), mean(np.ones(3)))
"""
    assert found(text, tmp_path) == []
