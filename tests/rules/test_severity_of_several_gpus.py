"""What is spread over several GPUs by design is for machines that have them; a single number is one machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

ASKS = "if torch.cuda.is_available():\n    print(torch.ones(2).cuda())\n"
"""Makes a question of it, so that the program means to run without a GPU."""

COUNTED = {
    "a loop": "kept = []\nfor i in range(4):\n    kept.append(torch.zeros(2).to(torch.device(i)))\n",
    "a comprehension": "print([torch.zeros(2).cuda(i) for i in range(4)])\n",
    "a keyword": 'kept = []\nfor i in range(0, 3):\n    kept.append(torch.zeros(2, device=f"cuda:{i}"))\n',
    "items with their numbers": "for i, x in enumerate(torch.zeros(3, 2)):\n    print(x.cuda(i))\n",
}
NOT_COUNTED = {
    "a number beside the loop": "for i in range(4):\n    print(torch.zeros(i).cuda(1))\n",
    "a loop that leaves the first out": "for i in range(2, 4):\n    print(torch.zeros(2).cuda(i))\n",
}
HALVES = """\
class Halves(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4).to({first})
        self.second = torch.nn.Linear(4, 2).to("cuda:1")
    def forward(self, x):
        return self.second(self.first(x.to({first})).to("cuda:1"))
"""
USED = f"{ASKS}    print(Halves()(torch.ones(2, 4)))\n"
NAMED = {
    "a class": HALVES.format(first='"cuda:0"') + USED,
    "what such a class gave": (
        HALVES.format(first='"cuda:0"') + USED + '    print(Halves()(torch.ones(2, 4)) + torch.ones(2).to("cuda:1"))\n'
    ),
    "numbers": HALVES.format(first="0").replace('"cuda:1"', "1") + USED,
    "a function": (
        'def main():\n    one, two = torch.device("cuda:0"), torch.device("cuda:1")\n'
        f"    print(torch.ones(2, device=one).to(two))\n{ASKS}    main()\n"
    ),
}
NOT_NAMED = {
    "the second alone": HALVES.format(first='"cpu"') + USED,
    "by an answer": HALVES.format(first='"cuda:0" if torch.cuda.is_available() else "cpu"') + USED,
    "in another class": (
        'class Other:\n    def moved(self, x):\n        return x.to("cuda:0")\n' + HALVES.format(first='"cpu"') + USED
    ),
    "under a condition": (
        "def place(x, fast):\n"
        '    if fast:\n        return x.to("cuda:1")\n    return x.to("cuda:0")\n'
        f"{ASKS}    print(place(torch.ones(2), True))\n"
    ),
    "a script": f'{ASKS}    print(torch.ones(2, device="cuda:0").to("cuda:1"))\n',
}


def severities(folder: Path, text: str) -> set[str]:
    (folder / "program.py").write_text(f"import torch\n{text}")
    found = check([folder / "program.py"], Config(root=folder))
    return {finding.severity for finding in found if finding.code == "DEV101"}


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_who_counts_gpus_has_several(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, text) == {"advice"}


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED)
def test_who_asks_whether_there_is_one_may_have_none(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, ASKS + text) == {"error"}


@pytest.mark.parametrize("text", NOT_COUNTED.values(), ids=NOT_COUNTED)
def test_another_number_is_one_machines(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, text) == {"error"}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_who_names_the_first_and_another_has_both(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, text) == {"advice"}


@pytest.mark.parametrize("text", NOT_NAMED.values(), ids=NOT_NAMED)
def test_who_does_not_take_both_by_design_may_have_one(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, text) == {"error"}
