"""Modules that only programs come to which move nothing: they stay on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        seen = torch.zeros(1, 4)
        return self.first(x.to(seen.dtype).to(x.device)) + seen
"""
BUILD = "import networks\n\n\ndef build(name):\n    return getattr(networks, name)().eval()\n"
EXPORT = """\
import sys
import torch
from building import build


def export(name, path):
    net = build(name)
    torch.onnx.export(net, torch.ones(1, 4), path)


if __name__ == "__main__":
    export(sys.argv[1], sys.argv[2])
"""


def codes(folder: Path, **files: str) -> list[str]:
    for name, text in {"networks": NET, "building": BUILD, **files}.items():
        (folder / f"{name}.py").write_text(text)
    return [finding.code for finding in check(sorted(folder.glob("*.py")), Config(root=folder))]


def test_what_only_an_export_builds_stays(tmp_path: Path) -> None:
    assert codes(tmp_path, export=EXPORT) == []


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"building": BUILD.replace("import networks", "import networks, rows"), "rows": "import building\n"},
        {"export": EXPORT, "library": "from networks import Net\n"},
        {"export": EXPORT.replace("    torch.onnx", "    net.cuda()\n    torch.onnx")},
        {"export": EXPORT.replace("    torch.onnx", "    net.to(sys.argv[3])\n    torch.onnx")},
        {
            "export": EXPORT,
            "train": "from building import build\nfrom training import Trainer\nTrainer().run(build(1))\n",
        },
        {"export": EXPORT, "building": BUILD.replace(".eval()", ".to(device)").replace("name):", "name, device=0):")},
    ],
    ids=[
        "nobody builds it",
        "nobody in a circle",
        "a library has it",
        "it is moved",
        "or by an argument",
        "or by a trainer",
        "where it is built",
    ],
)
def test_what_anybody_may_take_to_a_gpu_does_not(files: dict[str, str], tmp_path: Path) -> None:
    assert "DEV303" in codes(tmp_path, **files)
