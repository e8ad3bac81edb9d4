"""GPUs of which nobody knows the number: the only one where there is one; of several, what is so on any is told."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Tensor
from devlint.analysis.events import Event, GeneratorDevice, MixedDevices, ToHost
from devlint.worlds import CPU, GPU1, GPU2, World
from tests.analysis.analysed import analysed
from tests.analysis.programs import Run

HEAD = """\
import argparse
import os
import sys
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
parser = argparse.ArgumentParser()
parser.add_argument("--index", type=int, required=True)
parser.add_argument("--other", type=int, required=True)
args = parser.parse_args()
n, number = args.index, int(input())
"""
ROW = HEAD.count("\n") + 1

PLACED = [
    "torch.zeros(2, device=torch.device('cuda', n))",
    "torch.zeros(2, device=torch.device('cuda', index=n))",
    "torch.zeros(2, device=torch.device(f'cuda:{n}'))",
    "torch.zeros(2, device=f'cuda:{n}')",
    "torch.zeros(2, device='cuda:%d' % n)",
    "torch.zeros(2, device='cuda:%s' % (n,))",
    "torch.zeros(2, device='cuda:{}'.format(n))",
    "torch.zeros(2, device='cuda:{gpu}'.format(gpu=n))",
    "torch.zeros(2, device='cuda:' + str(n))",
    "torch.zeros(2, device='cuda:' + str(number))",
    "torch.zeros(2, device=number)",
    "torch.zeros(2, device=int(sys.argv[1]))",
    "torch.zeros(2, device=os.getpid() % torch.cuda.device_count())",
    "torch.zeros(2).to(number)",
    "torch.zeros(2).to(torch.device('cuda', n))",
    "torch.zeros(2).cuda(n)",
    "torch.zeros(2).cuda(number, non_blocking=True)",
    "nn.Linear(2, 2).to(f'cuda:{n}').bias.detach()",
    "nn.Linear(2, 2).cuda(n).bias.detach()",
    "nn.Linear(2, 2).to(number).bias.detach()",
]


def place(statements: str, world: World) -> str | None:
    """Where `x` is, with nothing assumed."""
    value = Run(HEAD + statements, world)["x"]
    assert isinstance(value, Tensor)
    return value.device


def events(statements: str, kind: type[Event]) -> set[tuple[int, str]]:
    """Rows and worlds of the events of a kind."""
    return {
        (event.site.row - ROW + 1, event.world)
        for event in analysed(HEAD + statements + "\nprint('done')\n").events
        if isinstance(event, kind)
    }


@pytest.mark.parametrize("placed", PLACED)
def test_where_it_is(placed: str) -> None:
    assert place(f"x = {placed}\n", GPU1) == "cuda:0"
    assert place(f"x = {placed}\n", GPU2) is None


@pytest.mark.parametrize("placed", PLACED)
def test_it_meets_the_cpu(placed: str) -> None:
    both = {(2, "gpu1"), (2, "gpu2")}
    assert events(f"x = {placed}\ny = x + torch.ones(2)\n", MixedDevices) == both
    assert events(f"x = {placed}\ny = x.numpy()\n", ToHost) == both


@pytest.mark.parametrize("placed", PLACED)
@pytest.mark.parametrize("other", ["cuda", "cuda:0", "cuda:1"])
def test_it_may_be_any(placed: str, other: str) -> None:
    """With another GPU it may agree, and with another of which nobody knows the number."""
    text = f"x = {placed}\nif torch.cuda.device_count() > 1:\n    x + torch.ones(2, device='{other}')\n"
    assert events(text, MixedDevices) == set()
    text = f"x = {placed}\ny = x + torch.ones(2, device=f'cuda:{{args.other}}')\n"
    assert events(text, MixedDevices) == set()


def test_two_known_gpus_differ_nevertheless() -> None:
    text = "x = torch.zeros(2, device=f'cuda:{n}')\nif torch.cuda.device_count() > 1:\n"
    text += "    torch.zeros(2, device='cuda:1') + torch.zeros(2, device='cuda:0')\n"
    assert events(text, MixedDevices) == {(3, "gpu2")}


def test_the_current_gpu() -> None:
    text = "torch.cuda.set_device(n)\nx = torch.zeros(2).cuda()\ny = x + torch.ones(2, device='cuda')\n"
    assert place(text, GPU1) == "cuda:0"
    assert place(text, GPU2) is None
    assert events(text, MixedDevices) == set()
    assert events(text + "z = x + torch.ones(2)\n", MixedDevices) == {(4, "gpu1"), (4, "gpu2")}


def test_generators() -> None:
    text = "g = torch.Generator(device=f'cuda:{n}')\nx = torch.rand(2, generator=g)\n"
    assert events(text, GeneratorDevice) == {(2, "gpu1"), (2, "gpu2")}
    text = "g = torch.Generator(device=f'cuda:{n}')\nx = torch.rand(2, generator=g, device=f'cuda:{n}')\n"
    assert events(text, GeneratorDevice) == set()


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.ones(2).to(n) + torch.ones(2)",
        "x = torch.ones(2, device=n) + torch.ones(2)",
        "d = torch.device('cuda', n) if n >= 0 else torch.device('cpu')\n"
        "x = torch.ones(2).to(d) + torch.ones(2, device=d)",
        "d = n if n >= 0 else 'cpu'\nx = torch.ones(2).to(d) + torch.ones(2, device=d)",
        "d = f'cuda:{n}' if torch.cuda.is_available() and n >= 0 else 'cpu'\nx = torch.ones(2, device=d)\nif n >= 0:\n"
        "    y = x + torch.ones(2).cuda(n)\nelse:\n    y = x + torch.ones(2)\ny.cpu().numpy()",
        "if torch.cuda.is_available():\n    d = torch.device('cuda', n)\n    x = torch.ones(2)\n    if x.device != d:\n"
        "        x = x.to(d)\n    x + torch.ones(2, device=d)",
        "if torch.cuda.is_available():\n    x = torch.ones(2, device=f'cuda:{n}')\n    y = torch.ones(2)\n"
        "    y = y if y.device == x.device else y.to(x.device)\n    z = x + y\n    z = z.cpu() if z.is_cuda else z\n"
        "    z.numpy()",
        "if torch.cuda.is_available():\n    torch.cuda.set_device(n)\n"
        "    net = DistributedDataParallel(nn.Linear(2, 2).cuda(), device_ids=[n], output_device=n)\n"
        "    net(torch.ones(2, 2)) + torch.ones(2).cuda(n)",
        "if torch.cuda.is_available():\n"
        "    net = DistributedDataParallel(nn.Linear(2, 2).cuda(n), device_ids=args.ids)\n"
        "    net(torch.ones(2, 2))",
    ],
)
def test_right(text: str) -> None:
    """What may be the CPU by its type, what is chosen, compared or moved along."""
    assert events(text + "\n", MixedDevices) == events(text + "\n", ToHost) == set()


def test_where_a_tensor_is_that_follows_is_no_choice() -> None:
    """That a tensor is where a device of the user's is decides on which way the program goes; nobody chooses it."""
    text = "if torch.cuda.is_available():\n    d = torch.device(args.where)\n    m = torch.ones(2)\n"
    text += "    m = m if m.device == d else m.to(d)\n    y = torch.ones(2, device=d) * m\n"
    text += "    if d.type == 'cuda':\n        y + torch.ones(2).cuda()\n"
    assert events(text, MixedDevices) == set()


def test_without_a_gpu() -> None:
    text = (
        "if torch.cuda.is_available():\n    x = torch.zeros(2, device='cuda:%d' % n)\nelse:\n    x = torch.zeros(2)\n"
    )
    assert place(text, CPU) == "cpu"
    assert not [event for event in analysed(HEAD + text + "print(x + 1)\n").events if event.world == "cpu"]
