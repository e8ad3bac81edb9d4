"""What a program puts in the place of what libraries define: looked up from then on, kept by who took it before."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Const, Mapping, Tensor, Value
from devlint.worlds import CPU, GPU1, World
from tests.analysis.programs import Run


def value_of(expression: str, setup: str, world: World = GPU1) -> Value:
    """The abstract value of an expression after some statements."""
    return Run(f"{setup}result = {expression}\n", world)["result"]


def device(expression: str, setup: str) -> str | None:
    """Where a tensor is in the world with one GPU."""
    value = value_of(expression, f"import torch\n{setup}")
    assert isinstance(value, Tensor)
    return value.device


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("", "cuda:0"),
        ("torch.Tensor.cuda = lambda self, *args: self\n", "cpu"),
        ("def stays(self, device=None):\n    return self\ntorch.Tensor.cuda = stays\n", "cpu"),
        ("cuda = torch.Tensor.cuda\ntorch.Tensor.cuda = lambda self: self\ntorch.Tensor.cuda = cuda\n", "cuda:0"),
        ("setattr(torch.Tensor, 'cuda', lambda self: self)\n", "cpu"),
        ("torch.Tensor.is_ours = True\n", "cuda:0"),
    ],
)
def test_a_method_of_tensors(setup: str, expected: str) -> None:
    assert device("torch.ones(2).cuda()", setup) == expected


def test_a_method_of_modules() -> None:
    setup = "torch.nn.Module.cuda = lambda self, device=None: self\nnet = torch.nn.Linear(2, 2).cuda()\n"
    assert device("net.weight", setup) == "cpu"
    assert device("net.to('cuda').weight", setup) == "cuda:0"


def test_a_function() -> None:
    setup = "import torch\nimport functools\ntorch.load = functools.partial(torch.load, map_location='cpu')\n"
    loaded = value_of("torch.load('net.pt')", setup)
    assert isinstance(loaded, Mapping) and isinstance(loaded.rest, Tensor) and loaded.rest.device == "cpu"


def test_who_has_taken_the_function_before_keeps_it() -> None:
    setup = "ones = torch.ones\ntorch.ones = lambda *shape: ones(*shape, device='cuda')\n"
    assert device("torch.ones(2)", setup) == "cuda:0"
    assert device("ones(2)", setup) == "cpu"


def test_one_that_is_replaced_on_one_way_only() -> None:
    setup = "import torch\nif input():\n    torch.ones = lambda *shape: 3\n"
    assert not isinstance(value_of("torch.ones(2)", setup, GPU1), Tensor)


def test_an_answer() -> None:
    value = value_of("torch.cuda.is_available()", "import torch\ntorch.cuda.is_available = lambda: True\n", CPU)
    assert isinstance(value, Const) and value.value is True


def test_what_modules_register_may_be_anywhere() -> None:
    setup = (
        "register = torch.nn.Module.register_parameter\n"
        "torch.nn.Module.register_parameter = lambda self, name, value: register(self, name, value.cuda())\n"
        "first = torch.nn.Linear(2, 2)\n"
        "torch.nn.Module.register_parameter = register\n"
        "second = torch.nn.Linear(2, 2)\n"
    )
    assert device("first.weight", setup) is None
    assert device("second.weight", setup) == "cpu"
