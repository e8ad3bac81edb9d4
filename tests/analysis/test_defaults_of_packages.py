"""Defaults for new tensors that a package sets when it is imported hold in its files, whoever enters them."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices
from tests.analysis.analysed import analysed, told

NETWORK = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
    def forward(self, x):
        return self.inner(x) + torch.zeros(2)
"""


@pytest.mark.parametrize(
    ("package", "is_found"),
    [
        ("", True),
        ("import torch\ntorch.set_default_device('cpu')", True),
        ("import torch\ntorch.set_default_dtype(torch.float64)", True),
        ("import torch\ntorch.set_default_device('cuda')", False),
        ("import torch\nif torch.cuda.is_available():\n    torch.set_default_device('cuda')", False),
        ("import torch\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')", False),
        ("from . import settings", False),
    ],
)
@pytest.mark.parametrize("name", ["pack/nets.py", "pack/inner/nets.py"])
def test_what_a_package_sets_comes_to_its_files(package: str, is_found: bool, name: str) -> None:
    files = {"pack/__init__.py": package, "pack/inner/__init__.py": "", name: NETWORK}
    files["pack/settings.py"] = "import torch\ntorch.set_default_device('cuda')\n"
    files.pop("pack/inner/__init__.py") if "inner" not in name else None
    assert bool(told(analysed(files), MixedDevices)) is is_found
