"""Methods behind decorators of other libraries: those that are known to call what they took are followed, others hide
what comes of the call, not what happens in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import expected, found

HEAD = "import torch\nfrom torch import nn\n"

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    @{decorator}
    def forward(self, x):
        y = self.fc(x)
        return y{end}
"""
PROGRAM = """
def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net().to(device)
    y = net(torch.rand(2, 4){moved})
    return y + torch.rand(2, 4){end}
if __name__ == "__main__":
    main()
"""
FOUND = "  # DEV303: gpu1 gpu2"
MADE = " + torch.ones(4)" + FOUND

TRANSPARENT = {
    "auto_fp16()": "from mmcv.runner import auto_fp16",
    "force_fp32(apply_to=('x',))": "from mmcv.runner import force_fp32",
    "custom_fwd": "from torch.cuda.amp import custom_fwd",
    "torch.inference_mode()": "",
    "typechecked": "from typeguard import typechecked",
    "jaxtyped(typechecker=None)": "from jaxtyping import jaxtyped",
    "add_start_docstrings('It adds.')": "from transformers.utils import add_start_docstrings",
    "deprecated(reason='old')": "from deprecated import deprecated",
}
UNKNOWN = {
    "wrap": "from somewhere import wrap",
    "wrap(3)": "from somewhere import wrap",
    "tools.wrap": "import somewhere.tools as tools",
    "wrap(2)\n    @torch.no_grad()": "from somewhere import wrap",
}


@pytest.mark.parametrize("decorator", TRANSPARENT | UNKNOWN)
def test_a_forward_that_nobody_calls_is_entered(decorator: str, tmp_path: Path) -> None:
    text = HEAD + (TRANSPARENT | UNKNOWN)[decorator] + NET.format(decorator=decorator, end=MADE)
    assert found(text, tmp_path) == expected(text)


@pytest.mark.parametrize("decorator", TRANSPARENT | UNKNOWN)
def test_a_forward_that_a_program_calls_is_followed_as_far_as_it_is_known(decorator: str, tmp_path: Path) -> None:
    end = FOUND if decorator in TRANSPARENT else ""
    text = HEAD + (TRANSPARENT | UNKNOWN)[decorator] + NET.format(decorator=decorator, end="")
    text += PROGRAM.format(moved=".to(device)", end=end)
    assert found(text, tmp_path) == expected(text)


@pytest.mark.parametrize("decorator", UNKNOWN)
def test_what_a_decorator_gives_is_not_known(decorator: str, tmp_path: Path) -> None:
    """It may move what the program gives it; what the forward makes itself is another matter."""
    text = HEAD + UNKNOWN[decorator] + NET.format(decorator=decorator, end=MADE)
    text += PROGRAM.format(moved="", end="")
    assert found(text, tmp_path) == expected(text)


def test_a_decorator_that_moves(tmp_path: Path) -> None:
    text = HEAD + "from pytorch_lightning.core.decorators import auto_move_data"
    text += NET.format(decorator="auto_move_data", end="") + PROGRAM.format(moved="", end="")
    assert found(text, tmp_path) == []


INHERITED = """
from somewhere import wrap
class Base(nn.Module):
    @wrap
    def forward(self, x):
        return self.fc(x) + torch.ones(4)  # DEV303: gpu1 gpu2
class Net(Base):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
class Other(Base):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x)
"""


def test_a_forward_of_a_base(tmp_path: Path) -> None:
    text = HEAD + INHERITED
    assert found(text, tmp_path) == expected(text)


REGISTERED = """
from diffusers import ConfigMixin, ModelMixin
from diffusers.configuration_utils import register_to_config
class Net(ModelMixin, ConfigMixin):
    @register_to_config
    def __init__(self, size=4):
        super().__init__()
        self.fc = nn.Linear(size, 4)
        self.grid = torch.linspace(0, 1, 4)  # DEV501: gpu1 gpu2
    def forward(self, x):
        return self.fc(x) + self.grid
"""


def test_a_constructor_that_keeps_its_arguments(tmp_path: Path) -> None:
    text = HEAD + REGISTERED
    assert found(text, tmp_path) == expected(text)
