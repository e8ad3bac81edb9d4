"""What a test puts in another place, and what becomes of modules that are given to calls which are left out."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Instance, Unknown
from devlint.analysis.events import MixedDevices
from devlint.analysis.pytorch.modules import registered
from devlint.worlds import GPU2
from tests.analysis.analysed import analysed
from tests.analysis.programs import Run

PLACES = "import torch\n\ndef place():\n    return torch.device('cpu')\n"
TEST = """
import torch
import places

def move(net):
    net.to(places.place())

def test_moved({fixture}):
    net = torch.nn.Linear(2, 2).to("cuda")
    {patch}
    move(net)
    net(torch.zeros(3, 2, device="cuda"))
"""
PATCHES = {
    "monkeypatch.setattr(places, 'place', lambda: torch.device('cuda'))": [],
    "monkeypatch.setattr(places, name='place', value=lambda: torch.device('cuda'))": [],
    "monkeypatch.setattr('places.place', lambda: torch.device('cuda'))": [],
    "monkeypatch.setattr(torch.nn.Module, 'to', lambda self, device: self)": [],
    "monkeypatch.setenv('PLACE', 'cuda')": [12],
    "monkeypatch.setattr(places, 'other', 3)": [12],
    "pass": [12],
}


def clashes(text: str) -> list[int]:
    """The rows in which a test, entered by protocol, has tensors meet."""
    found = analysed({"places.py": PLACES, "test_places.py": text}).events
    return sorted(e.site.row for e in found if isinstance(e, MixedDevices) and e.world == "gpu1")


@pytest.mark.parametrize("patch", PATCHES)
def test_monkeypatch(patch: str) -> None:
    """The function that is put in the place of another is called; a test that patches torch itself is not followed."""
    assert clashes(TEST.format(fixture="monkeypatch", patch=patch)) == PATCHES[patch]


OWN = """
import torch
from unittest import mock
from places import net_on

@mock.patch("{target}"{given})
def test_while(*mocks):
    net_on()(torch.zeros(3, 2, device="cuda"))

def test_after():
    test_while()
    net_on()(torch.zeros(3, 2, device="cuda"))
"""
OWN_PLACES = """
import torch
class Places:
    @staticmethod
    def first():
        return torch.device("cpu")
def place():
    return Places.first() if torch.cuda.is_available() else torch.device("cpu")
def net_on():
    return torch.nn.Linear(2, 2).to(place())
"""


@pytest.mark.parametrize(
    ("target", "given", "rows"),
    [
        ("places.place", "", [12]),
        ("places.place", ", lambda: torch.device('cuda')", [12]),
        ("places.Places.first", ", new=staticmethod(lambda: torch.device('cuda'))", [12]),
        ("places.place", ", lambda: torch.device('cpu')", [8]),
        ("places.other", "", [8]),
        ("places.torch.device", ", lambda name: 'cuda'", [12]),
        ("elsewhere.place", "", [8]),
    ],
)
def test_patches_of_own_names(target: str, given: str, rows: list[int]) -> None:
    """Where a patch names what the project defines, callers get the new one until the test ends."""
    found = analysed({"places.py": OWN_PLACES, "test_places.py": OWN.format(target=target, given=given)}).events
    assert sorted({e.site.row for e in found if isinstance(e, MixedDevices) and e.world == "gpu1"}) == rows


def test_other_parameters() -> None:
    """Only pytest's own fixture is known by its name."""
    text = TEST.format(fixture="patcher", patch="patcher.setattr(places, 'place', None)")
    assert clashes(text) == [12]


DEEP = """
import torch
def {name}(net, n):
    if n:
        {name}(net, n - 1)
    else:
        net{body}
net = torch.nn.Linear(2, 2)
{name}(net, 40)
"""


@pytest.mark.parametrize(
    ("name", "body", "device"),
    [("place", ".cuda()", None), ("show", ".extra_repr()", "cpu"), ("forward", ".cuda()", "cpu")],
)
def test_calls_that_are_left_out(name: str, body: str, device: str | None) -> None:
    """Where a module is that was given to a call which is left out is not known, if the function speaks of devices."""
    run = Run(DEEP.format(name=name, body=body), GPU2)
    net = run["net"]
    assert isinstance(net, Instance)
    assert {tensor.device for tensor, _, _ in registered(net)} == {device}


WRITING = """
import torch
class Forecaster:
    def __init__(self, device):
        self.device = torch.device(device)
        self.name = "a"
        self.best = None
    def place(self, device, n):
        if n:
            return self.place(device, n - 1)
        self._now(device)
        return self
    def _now(self, device):
        self.device, self.best = device, 1
f = Forecaster("cuda")
f.place("cpu", 40)
"""


def test_what_a_call_that_is_left_out_may_have_written_is_not_known() -> None:
    run = Run(WRITING, GPU2)
    found = run["f"]
    assert isinstance(found, Instance)
    assert {name: isinstance(found.fields[name], Unknown) for name in ("device", "name", "best")} == {
        "device": True,
        "name": False,
        "best": True,
    }
