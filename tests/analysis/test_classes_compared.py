"""Classes told apart: `type(model) in (DataParallel, DistributedDataParallel)`, by `==`, `is` and `in`."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.plain import NotConstant
from devlint.analysis.domain.values import Tensor, Unknown
from devlint.worlds import GPU2
from tests.analysis.programs import Run

IMPORTS = """
import abc
import dataclasses
import elsewhere
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
class Other(Net):
    pass
class Plain(abc.ABC):
    def __init__(self, n):
        self.n = n
@dataclasses.dataclass
class Pair:
    n: int
class Odd(elsewhere.Base):
    def __init__(self, n):
        self.n = n
class Table(dict):
    pass
net, other, layer = Net(), Other(), nn.Linear(2, 2)
parallel = nn.DataParallel(nn.Linear(2, 2))
"""
WRAPPERS = "(nn.parallel.DataParallel, nn.parallel.DistributedDataParallel)"
KNOWN = {
    f"type(parallel) in {WRAPPERS}": True,
    f"type(net) in {WRAPPERS}": False,
    f"type(layer) not in {WRAPPERS}": True,
    "type(parallel) is nn.DataParallel": True,
    "type(parallel) == nn.parallel.DistributedDataParallel": False,
    "type(net) is nn.DataParallel": False,
    "type(net) is not nn.Linear": True,
    "type(net) == Net": True,
    "type(other) == Net": False,
    "type(other) in (Net, nn.Linear)": False,
    "type(other) in [Net, Other]": True,
    "type(torch.zeros(2)) in (list, tuple)": False,
    "str(type(torch.zeros(2))) == \"<class 'torch.Tensor'>\"": True,
    "'torch.tensor' in str(type(torch.zeros(2)))": False,
    "'ndarray' in repr(type(torch.zeros(2).numpy()))": True,
    "type(torch.zeros(2)).__name__ == 'Tensor'": True,
    "type(torch.zeros(2).numpy()).__name__ != 'ndarray'": False,
    "[].__class__.__name__ in ('list', 'tuple')": True,
    "str(type([])) == \"<class 'list'>\"": True,
    "Net() == Net()": False,
    "net != other": True,
    "Plain(1) == Plain(1)": False,
    "Plain(1) != other": True,
}
UNKNOWN = ["type(net) == elsewhere.Net", "type(layer) in (elsewhere.Linear,)", "type(elsewhere.net) is nn.Linear"]
UNKNOWN += ["Pair(1) == Pair(1)", "Odd(1) == Odd(1)", "Table(a=1) == Table(a=1)", "Plain(1) == elsewhere.plain"]


@pytest.mark.parametrize("expression", KNOWN)
def test_known(expression: str) -> None:
    assert Run(f"{IMPORTS}answer = {expression}").python("answer") is KNOWN[expression]


@pytest.mark.parametrize("expression", UNKNOWN)
def test_unknown(expression: str) -> None:
    """A class of another library may be an alias of any."""
    with pytest.raises(NotConstant):
        Run(f"{IMPORTS}answer = {expression}").python("answer")


@pytest.mark.parametrize(
    "question",
    [
        "torch.jit.is_tracing()",
        "torch._C._get_tracing_state()",
        "torchvision._is_tracing()",
        "torch.onnx.is_in_onnx_export()",
    ],
)
def test_what_is_asked_of_a_trace(question: str) -> None:
    """Code that nothing traces is run as it stands."""
    run = Run(f"import torch, torchvision\nx = torch.zeros(2)\nif {question}:\n    x = x.cuda()\n", GPU2)
    x = run["x"]
    assert isinstance(x, Tensor) and x.device == "cpu"


def test_settings_beside_weights() -> None:
    """What was saved beside weights may be a number: what Python's own numbers make of it is not known."""
    run = Run(
        "import math, torch\nsaved = torch.load('a.ckpt', map_location='cuda')\nwidth = saved['config']['width']\n"
        "scale = math.log(10.0) / width\nmean = saved['mean'] - torch.zeros(2, device='cuda')",
        GPU2,
    )
    assert isinstance(run["scale"], Unknown)
    mean = run["mean"]
    assert isinstance(mean, Tensor) and mean.device == "cuda:0"


def test_class_of_what_is_loaded() -> None:
    """A file may hold weights by name or a whole model: nobody knows what the class of it makes."""
    run = Run(
        "import torch\nmodel = torch.load('a.pt', map_location='cuda')\nother = model.__class__(**{'width': 3})\n"
        "named = type(model)\n",
        GPU2,
    )
    assert isinstance(run["other"], Unknown)
    assert isinstance(run["named"], Unknown)
