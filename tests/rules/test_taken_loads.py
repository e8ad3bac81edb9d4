"""Of what a program loads without a `map_location`, what a network takes is an error; of the rest nobody knows that it
ever was on a GPU: data are mostly saved from the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

HEAD = """\
import sys
from collections import OrderedDict
import torch
from torch import nn
from elsewhere import build, resumes, Wrapper, set_adapter_state_dict
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 4).to(device)
print(net(torch.ones(2, 3).to(device)))
loaded = torch.load(sys.argv[1])
"""

WEIGHTS = {
    "a network takes it": "net.load_state_dict(loaded)",
    "a part of it": "net.load_state_dict(loaded['model'])",
    "an unknown network": "build().load_state_dict(loaded['model'])",
    "an optimizer": "torch.optim.SGD(net.parameters(), lr=0.1).load_state_dict(loaded['optimizer'])",
    "by other names": "net.load_state_dict({name[7:]: weight for name, weight in loaded.items()})",
    "by other names, one by one": """
state = OrderedDict()
for name, weight in loaded["model"].items():
    if name.startswith("module."):
        state[name[7:]] = weight
net.load_state_dict(state)""",
    "by the names of the file": """
state = {}
for name in loaded:
    state[name.replace("old", "new")] = loaded[name]
net.load_state_dict(state)""",
    "beside its own": """
state = net.state_dict()
state.update({name: weight for name, weight in loaded.items() if name in state})
net.load_state_dict(state)""",
    "over its own": """
state = net.state_dict()
for name, weight in loaded.items():
    state[name] = weight
net.load_state_dict(state)""",
    "with its own, unpacked": "net.load_state_dict({**net.state_dict(), **loaded})",
    "with its own, merged": "net.load_state_dict(net.state_dict() | loaded)",
    "as another dict": "net.load_state_dict(dict(loaded))",
    "copied to a parameter": "with torch.no_grad():\n    net.weight.copy_(loaded['weight'])",
    "copied to what a parameter holds": """
for name, weight in net.named_parameters():
    weight.data.copy_(loaded[name])""",
    "copied to its own": """
state = net.state_dict()
for name, weight in loaded.items():
    state[name].copy_(weight)""",
    "put into a parameter": "net.weight.data = loaded['weight']",
    "made a parameter": "net.weight = nn.Parameter(loaded['weight'])",
    "the mean of several": """
states = [loaded, loaded]
net.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in loaded})""",
    "behind an option": """
state = None
if resumes:
    state = loaded
if state is not None:
    net.load_state_dict(state)""",
    "one of two parts": "(loaded.get('ema') or loaded['model']).eval()",
    "moved where it is": "loaded.to(device)",
    "moved and evaluated": "net = loaded.to(device).eval()",
    "moved and called": "net = loaded['net'].to(device)\nprint(net(torch.ones(3, device=device)))",
    "moved, in another type and called": "net = loaded['net'].to(device).float()\nprint(net(torch.ones(3)))",
    "moved and given tensors": "print(loaded.to(device).predict(torch.ones(3, device=device)))",
    "a network in another type": "loaded['model'].float().eval()",
    "a network, or a new one": "model = loaded if resumes else nn.Linear(3, 4)\nmodel.eval()",
    "if there is one": "net.load_state_dict(loaded.get('model'))",
    "by its key": "Wrapper(loaded['state_dict'])",
    "by the name of a function": "set_adapter_state_dict(net, loaded)",
    "by the name of a parameter": "build(state_dict=loaded)",
    "many times": "x = [loaded]\n" + "x = [x, x]\n" * 40 + "net.load_state_dict({'x': x})",
    "it is wrapped": "net = nn.DataParallel(loaded).to(device)",
    "its layers are taken": "net = nn.Sequential(*list(loaded.children())[:-1])",
    "its parameters are named": "print([name for name, _ in loaded.named_parameters()])",
    "it is a network": "loaded.eval()",
    "it works on tensors": "print(loaded.predict(torch.ones(3, device=device)))",
    "it is called": "print(loaded(torch.ones(3)))",
    "a network calls it": """
class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x)
Around(loaded)(torch.ones(3))""",
}
OTHERS = {
    "shown": "print(loaded['captions'])",
    "gone through": "for row in loaded:\n    print(row['caption'])",
    "given away": "Wrapper(loaded)",
    "given to a loss": "loss = nn.CrossEntropyLoss(weight=loaded)",
    "kept in a dict": "kept = {}\nfor name, row in loaded.items():\n    kept[name] = row\nprint(kept)",
    "moved": "rows = loaded['rows'].to(device)\nprint(net(rows))",
    "moved one by one": "for row in loaded:\n    print(net(row.to(device)))",
    "in another type": "print(net(loaded.half()))",
    "copied to a tensor": "torch.zeros(3).copy_(loaded)",
    "kept beside what was loaded": "rows = torch.load('rows.pt', map_location=device)\nrows['more'] = loaded",
    "the mean of several": "print((loaded['first'] + loaded['second']) / 2)",
    "a method of its own": "print(loaded.summary())",
    "what tensors can do": "print(loaded.matmul(torch.ones(3)))",
}


def _severities(text: str, folder: Path) -> list[str]:
    (folder / "program.py").write_text(HEAD + text + "\n")
    found = check([folder / "program.py"], Config(root=folder))
    return [item.severity for item in found if item.code == "DEV106"]


@pytest.mark.parametrize("text", WEIGHTS.values(), ids=WEIGHTS)
def test_what_a_network_takes_is_an_error(text: str, tmp_path: Path) -> None:
    assert _severities(text, tmp_path) == ["error"]


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_may_be_data_is_advice(text: str, tmp_path: Path) -> None:
    assert _severities(text, tmp_path) == ["advice"]


def test_what_a_weight_takes_at_once_is_an_error(tmp_path: Path) -> None:
    text = HEAD[: HEAD.index("loaded")] + "net.weight.data.copy_(torch.load(sys.argv[1]))\n"
    (tmp_path / "program.py").write_text(text)
    assert [one.severity for one in check([tmp_path / "program.py"], Config(root=tmp_path))] == ["error"]
