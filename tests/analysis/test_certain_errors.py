"""Errors that have nothing to do with devices, and that each machine meets: what comes after them is never reached."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from devlint.config import Config
from devlint.linter import check

PROGRAM = """\
import torch
from torch import nn
{before}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loss = nn.functional.mse_loss(torch.ones(2), torch.ones(2))
net = nn.Linear(2, 2)
{middle}
print(torch.ones(2).cuda())
"""

KEEPER = """
class Keeper:
    def __init__(self):
        self.size = 2
    def use(self):
        return self.model.size{more}
"""
LAYER = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
    def forward(self, x):
        return self.inner(x) * self.scale{more}
"""
OTHER = "\nclass Other:\n    def __init__(self):\n        self.model = self.scale = 3\n"

RAISES = {
    "nobody sets the attribute": (KEEPER.format(more=""), "Keeper().use()"),
    "others set theirs": (KEEPER.format(more="") + OTHER, "Keeper().use()"),
    "nobody sets the attribute of the module": (LAYER.format(more="") + OTHER, "Layer()(torch.ones(2))"),
    "no such method": (KEEPER.format(more=""), "Keeper().run()"),
    "an attribute of the object, read from outside": (KEEPER.format(more=""), "print(Keeper().model)"),
    "a name that is filled later": (
        "found = None\ndef fill():\n    global found\n    found = nn.Linear(2, 2)\ndef use():\n    return found.weight",
        "use()\nfill()",
    ),
    "a name that nobody fills": ("found = None\ndef use():\n    return found.run()", "use()"),
    "a number has no items": ("", "print(loss.data[0])"),
    "a tensor has no keys": ("", "print(torch.ones(3)['a'])"),
    "Variable knows no device": ("", "x = torch.autograd.Variable(torch.ones(2), device=device)"),
    "optimizers are strict": (
        "",
        "o = torch.optim.SGD(net.parameters(), lr=0.1)\no.load_state_dict(o.state_dict(), False)",
    ),
    "a tensor of a dict": ("", "print(torch.tensor((1.0, {'a': 2})))"),
    "an old tensor of a dict": ("", "print(torch.FloatTensor((1.0, {'a': 2})))"),
    "no array": ("", "print(torch.from_numpy((1.0, 2.0)))"),
    "a pair is no array": ("", "pair = (torch.ones(2), 3)\nprint(pair.flatten())"),
    "reset gives a pair": ("import gymnasium as gym", "state = gym.make('CartPole-v1').reset()\ntorch.tensor(state)"),
    "step gives five": ("import gymnasium as gym", "s, r, done, info = gym.make('CartPole-v1').step(1)"),
    "step of another gives five": ("import gymnasium as gym", "s, r, done, info = gym.make('Own-v0').step(1)"),
}

GOES_ON = {
    "its method sets it": (KEEPER.format(more="") + "    def set(self):\n        self.model = 3\n", "Keeper().use()"),
    "somebody sets it": (KEEPER.format(more=""), "k = Keeper()\nk.model = nn.Linear(2, 2)\nk.use"),
    "somebody may set it": (KEEPER.format(more="") + "\ndef put(k):\n    k.model = 3\n", "Keeper().use()"),
    "somebody sets what is named elsewhere": (
        KEEPER.format(more="") + "\ndef put(k, name):\n    setattr(k, name, 3)\n",
        "Keeper().use()",
    ),
    "it is waited for": (KEEPER.format(more=""), "try:\n    Keeper().use()\nexcept AttributeError:\n    pass"),
    "a class of others": ("from lib import Base" + KEEPER.format(more="").replace("Keeper:", "Keeper(Base):"), ""),
    "its class gives any": (
        KEEPER.format(more="\n    def __getattr__(self, name):\n        return self\n"),
        "print(Keeper().model)",
    ),
    "a mixin of one that has it": (
        KEEPER.format(more="") + "\nclass Heir(Keeper):\n    model = nn.Linear(2, 2)\n    model.size = 3\n",
        "Heir().use()",
    ),
    "a name that was filled": (
        "found = None\ndef fill():\n    global found\n    found = nn.Linear(2, 2)\ndef use():\n    return found.weight",
        "fill()\nuse()",
    ),
    "a name that somebody may fill": (
        "from lib import start\nfound = None\ndef fill():\n    global found\n    found = nn.Linear(2, 2)\n"
        "@start\ndef other():\n    global found\n    found = 3\ndef use():\n    return found.weight",
        "use()",
    ),
    "an item of a vector": ("", "print(torch.ones(3)[0])"),
    "a network has modes": ("", "net.load_state_dict(net.state_dict(), False)"),
    "the first of a pair": ("import gymnasium as gym", "state, _ = gym.make('CartPole-v1').reset()"),
    "five": ("import gymnasium as gym", "s, r, d, t, i = gym.make('CartPole-v1').step(1)"),
    "an older package": ("import gym", "s, r, done, info = gym.make('CartPole-v1').step(1)"),
    "a wrapper that gives four": (
        "import gymnasium as gym\nfrom gymnasium.wrappers import StepAPICompatibility",
        "s, r, done, info = StepAPICompatibility(gym.make('CartPole-v1'), False).step(1)",
    ),
    "methods of a pair": ("", "print((1, 2).index(1), torch.ones(2).shape.numel())"),
}


class Environment:
    """What each environment of gymnasium gives."""

    def reset(self) -> tuple[list[float], dict[str, Any]]:
        return [0.0], {}

    def step(self, action: int) -> tuple[list[float], float, bool, bool, dict[str, Any]]:
        return [0.0], 1.0, False, False, {}


@pytest.mark.parametrize("name", RAISES)
def test_what_comes_after_an_error_is_not_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, middle = RAISES[name]
    assert _codes(PROGRAM.format(before=before, middle=middle), tmp_path) == []
    package = ModuleType("gymnasium")
    monkeypatch.setattr(package, "make", lambda name: Environment(), raising=False)
    monkeypatch.setitem(sys.modules, "gymnasium", package)
    program = PROGRAM.format(before=before, middle=middle).rpartition("print(")[0]
    with pytest.raises((AttributeError, TypeError, ValueError, IndexError, RuntimeError)):
        exec(compile(program, name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", GOES_ON)
def test_what_raises_nothing_ends_nothing(name: str, tmp_path: Path) -> None:
    before, middle = GOES_ON[name]
    assert _codes(PROGRAM.format(before=before, middle=middle), tmp_path) == ["DEV102"]


MIXIN = """
import torch
class Trains:
    def start(self):
        self.model.train()
        x = torch.rand(2).to("cuda:0")
        return x + torch.zeros(2)
"""


def test_code_that_nobody_calls_may_be_given_its_attributes(tmp_path: Path) -> None:
    assert _codes(MIXIN, tmp_path) == ["DEV303"]


BUILT = """
import torch
from torch import nn
class Recurrent(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.width = width
        self.hidden = self.start(self.{read})
        self.layer = nn.Linear(4, 4)
    def start(self, size):
        return torch.zeros(size, 4)
    def forward(self, x):
        return self.layer(x) + self.start(len(x))
"""


@pytest.mark.parametrize(("read", "codes"), [("width", ["DEV303"]), ("length", [])])
def test_what_no_constructor_can_build_is_not_entered(read: str, codes: list[str], tmp_path: Path) -> None:
    assert _codes(BUILT.format(read=read), tmp_path) == codes


EXTENSION = """
{first}
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x):
        return x + torch.zeros(4)
"""


@pytest.mark.parametrize(
    ("first", "codes"),
    [
        ("from torch.utils.ffi import _wrap_function", []),
        ("import torch.utils.data", ["DEV303"]),
        ("try:\n    from torch.utils.ffi import _wrap_function\nexcept ImportError:\n    pass", ["DEV303"]),
    ],
)
def test_what_torch_has_no_more(first: str, codes: list[str], tmp_path: Path) -> None:
    assert _codes(EXTENSION.format(first=first), tmp_path) == codes


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("import kernels.wrapped", []),
        ("from kernels.wrapped import apply", []),
        ("from kernels import wrapped", []),
        ("import kernels", ["DEV303"]),
        ("try:\n    from kernels.wrapped import apply\nexcept ImportError:\n    apply = None", ["DEV303"]),
    ],
)
def test_what_an_imported_file_can_not_import(statement: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "kernels" / "_ext").mkdir(parents=True)
    (tmp_path / "kernels" / "__init__.py").write_text("")
    (tmp_path / "kernels" / "_ext" / "__init__.py").write_text("from torch.utils.ffi import _wrap_function\n")
    (tmp_path / "kernels" / "wrapped.py").write_text("from ._ext import lib\n\ndef apply(x):\n    return lib.run(x)\n")
    assert _codes(EXTENSION.format(first=statement), tmp_path) == codes


NONE_BY_A_CONDITION = """
import torch
from somewhere import load
class Graph:
    def __init__(self, inner):
        self.inner = inner
    def use(self):
        if self.inner is not None:
            raise ValueError("empty only")
        return self.inner.nodes
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Graph(load()).use(), device)
"""


def test_none_that_a_condition_has_told_is_no_accelerator(tmp_path: Path) -> None:
    assert _codes(NONE_BY_A_CONDITION, tmp_path) == []


FOR_GPUS = """
import torch
{first}
kind = torch.float16 if torch.cuda.is_available() else torch.float32
print(torch.zeros(3).cuda().to(kind))
"""


@pytest.mark.parametrize(
    ("first", "codes"),
    [
        ("import tensorrt", []),
        ("import engine", []),
        ("from engine import run", []),
        ("try:\n    import engine\nexcept ImportError:\n    engine = None", ["DEV102"]),
        ("def start():\n    import engine", ["DEV102"]),
        ("import plain", ["DEV102"]),
    ],
)
def test_files_that_packages_for_gpus_alone_carry(first: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("import tensorrt\n\ndef run(x):\n    return tensorrt.run(x)\n")
    (tmp_path / "plain.py").write_text("def run(x):\n    import tensorrt\n    return tensorrt.run(x)\n")
    assert _codes(FOR_GPUS.format(first=first), tmp_path) == codes


def _codes(text: str, folder: Path) -> list[str]:
    program = folder / "program.py"
    program.write_text(text)
    return [one.code for one in check([program], Config(root=folder)) if one.severity != "advice"]


def test_a_name_that_an_imported_file_leaves_empty(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(SETTINGS)
    assert _codes(USES_SETTINGS, tmp_path) == []
    assert _codes(USES_SETTINGS.replace("start()", "settings.load()"), tmp_path) == ["DEV102"]


SETTINGS = """
conf = None

def load():
    global conf
    conf = {"size": 2}

if __name__ == "__main__":
    conf = {}
"""
USES_SETTINGS = """
import torch
import settings
start()
from settings import conf

class Reader:
    def __init__(self):
        self.size = conf.size

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Reader()
print(torch.ones(2).cuda())
""".replace("start()", "start = print\nstart()")
