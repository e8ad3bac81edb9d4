"""Moves that are thrown away where a wrapper brings the tensor there are advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

PROGRAM = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = {wrapped}.to(device)
x = torch.rand(8, 6)
x.to(device)
print({use})
"""


@pytest.mark.parametrize(
    ("wrapped", "use", "severity", "names"),
    [
        ("nn.DataParallel(nn.Linear(6, 3))", "model(x[:4])", "advice", True),
        ("nn.DataParallel(nn.Linear(6, 3))", "model(x).sum(), torch.ones(6, device=device) * x", "error", False),
        ("nn.Linear(6, 3)", "model(x)", "error", False),
        ("nn.DataParallel(nn.Linear(6, 3))", "x.sum()", "error", False),
    ],
)
def test_what_a_wrapper_brings_there_is_advice(
    wrapped: str, use: str, severity: str, names: bool, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.format(wrapped=wrapped, use=use), encoding="utf-8")
    found = [finding for finding in check([path], Config(root=tmp_path)) if finding.code == "DEV201"]
    assert [finding.severity for finding in found] == [severity]
    assert ("DataParallel takes it to" in found[0].message) is names
