"""What holds itself: no walk over it goes round for ever, and what follows is told."""

from __future__ import annotations

import pytest

from tests.analysis.analysed import analysed, told

MODULE = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.me = self

    def forward(self, x):
        return self.layer(x)
"""
DATA = """
from dataclasses import asdict, dataclass
from torch.utils.data import DataLoader, default_collate

@dataclass
class Item:
    x: object
    me: object = None

item = Item(torch.ones(2))
item.me = item
"""

CIRCLES = {
    "a list in itself": "a = []\na.append(a)\nb = []\nb.append(b)\nprint(a == b, a in b, str(a))",
    "lists in each other": "a = []\nb = [a]\na.append(b)\na.insert(0, b)\na[0] = [[b]]\na.extend(a)\na += [b]",
    "a dict in itself": "a = {}\na['a'] = a\na.update({'b': [a]})\na.setdefault('c', a)\nb = dict(a)\nprint(a == b)",
    "under an unknown key": "a = {}\na[input()] = a\na.update({input(): a})\ntorch.save(a, 'f')",
    "joined": "a = []\nb = [a]\nif input():\n    a.append(b)\nelse:\n    a.append([a])\nprint(a == b)",
    "moved": MODULE + "net = Net()\nnet.parts = [net]\nnet.to('cpu')\nnet.apply(print)\nnet.state_dict()",
    "replicas": MODULE + "torch.nn.DataParallel(Net().cuda())(torch.ones(2, 2).cuda())",
    "a loader": DATA + "for batch in DataLoader([item, item]):\n    print(batch.x)",
    "a loader that takes it as it is": DATA + "for batch in DataLoader([item], collate_fn=list):\n    print(batch)",
    "collated": DATA + "default_collate([item, item])",
    "as a dict": DATA + "asdict(item)",
    "copied": "import copy\na = {}\nb = [a]\na['b'] = b\nc = copy.deepcopy([a, b])\nc.append(c)",
}


@pytest.mark.parametrize("lines", CIRCLES.values(), ids=list(CIRCLES))
def test_what_follows_a_circle_is_told(lines: str) -> None:
    text = f"import torch\n{lines}\ntorch.zeros(3).cuda().numpy()\n"
    analysis = analysed(text)
    assert not analysis.failures
    assert not analysis.statistics["budget: recursion"]
    row = text.count("\n")
    assert {world for _, _, at, world in told(analysis) if at == row} >= {"gpu1", "gpu2"}
