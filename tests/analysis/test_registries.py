"""Classes that are looked up by name: in dicts, in registries of the program and in those of libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import expected, found
from tests.analysis.programs import Run

HEAD = """
import argparse
import torch
from torch import nn

class Plain(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.fc = nn.Linear(size, 4)
    def forward(self, x):
        return self.fc(x)

class Masked(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.fc = nn.Linear(size, 4)
    def forward(self, x):
        return self.fc(x) + torch.ones(4){inside}
"""
MAIN = """
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = {made}
    net.to(device)
    y = net(torch.rand(2, 4, device=device))
    return y + torch.rand(2, 4){outside}

if __name__ == "__main__":
    main()
"""
FOUND = "  # DEV303: gpu1 gpu2"

OWN = """
class Registry:
    def __init__(self):
        self._table = {}
    def get(self, key):
        return self._table.get(key, None)
    def register(self, name=None):
        def wrap(cls):
            self._table[name or cls.__name__] = cls
            return cls
        return wrap
    def build(self, cfg):
        given = dict(cfg)
        cls = self.get(given.pop("type"))
        if cls is None:
            raise KeyError(cfg)
        return cls(**given)
NETS = Registry()
NETS.register()(Plain)
NETS.register()(Masked)
"""
DICT = "NETS = {'Plain': Plain, 'Masked': Masked}\n"
GET = "def get(name):\n    if name in NETS:\n        return NETS[name]()\n    raise ValueError(name)\n"
MMCV = "from mmcv.utils import Registry, build_from_cfg\nNETS = Registry('nets')\n"
MMENGINE = "from mmengine.registry import Registry\nNETS = Registry('nets')\n"
FVCORE = "from fvcore.common.registry import Registry\nNETS = Registry('nets')\n"
BY_MODULE = "NETS.register_module()(Plain)\nNETS.register_module(name='Masked', module=Masked)\n"
BY_OBJECT = "NETS.register(Plain)\nNETS.register()(Masked)\n"

KNOWN = {
    "a dict": (DICT, "NETS['Plain']()"),
    "a registry of its own": (OWN, "NETS.build(dict(type='Plain', size=4))"),
    "mmcv's": (MMCV + BY_MODULE, "NETS.build(dict(type='Plain', size=4))"),
    "mmcv's, by a function": (MMCV + BY_MODULE, "build_from_cfg(dict(type='Plain'), NETS, dict(size=4))"),
    "mmengine's, by the class itself": (MMENGINE, "NETS.build(dict(type=Plain, size=4))"),
    "fvcore's": (FVCORE + BY_OBJECT, "NETS.get('Plain')()"),
}
ANY = {
    "a dict": (DICT, "NETS[args.name]()"),
    "a dict that may lack it": (DICT, "NETS.get(args.name)()"),
    "a dict with a default": (DICT, "NETS.get(args.name, Plain)()"),
    "a function that knows its names": (DICT + GET, "get(args.name)"),
    "a registry of its own": (OWN, "NETS.build(dict(type=args.name))"),
    "mmcv's": (MMCV + BY_MODULE, "NETS.build(dict(type=args.name))"),
    "fvcore's": (FVCORE + BY_OBJECT, "NETS.get(args.name)(size=4)"),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_known_name_gives_its_class(kind: str, tmp_path: Path) -> None:
    registry, made = KNOWN[kind]
    text = HEAD.format(inside=FOUND) + registry + MAIN.format(made=made, outside=FOUND)
    assert found(text, tmp_path) == expected(text)  # the other one is entered by protocol


@pytest.mark.parametrize("kind", ANY)
def test_another_name_gives_any_of_them(kind: str, tmp_path: Path) -> None:
    registry, made = ANY[kind]
    text = HEAD.format(inside=FOUND) + registry + MAIN.format(made=made, outside=FOUND)
    assert found(text, tmp_path) == expected(text)


def test_a_name_that_may_be_absent() -> None:
    """What is asked whether it is None may be so."""
    run = Run(
        "import os\nTABLE = {'abs': lambda x: 1, 'neg': lambda x: 1}\n"
        "made = TABLE.get(os.environ.get('KIND'))\n"
        "one = 'none' if made is None else made(0)\n"
        "found = TABLE.get('abs')(3)\n"
    )
    assert run.ended
    assert run.python("found") == 1
    assert "Scalar" in repr(run["one"])


def test_registries_that_build_by_a_function_of_their_own_or_are_not_in_sight(tmp_path: Path) -> None:
    for registry in (
        "from mmcv import Registry\nNETS = Registry('nets', build_func=print)\n" + BY_MODULE,
        "from mmdet.registry import MODELS as NETS\n" + BY_MODULE,
    ):
        text = HEAD.format(inside="") + registry + MAIN.format(made="NETS.build(dict(type='Plain'))", outside="")
        assert [place for place in found(text, tmp_path) if place.row > 20] == []


ENDED = """
def pick(name, kind):
    if name == "a":
        return torch.ones(3, device=kind)
    elif name:
        return torch.zeros(3, device=kind)
    raise ValueError(name)
"""


def test_a_raise_at_the_end_is_the_other_side() -> None:
    """What returned before is all that there is."""
    text = "import sys, torch\n" + ENDED + "names = sys.argv[1:]\nx = pick(names[0], 'cuda')\n"
    assert getattr(Run(text)["x"], "device", None) == "cuda:0"
