"""Entries by protocol that are run without CUDA again: those that have a word for it in what they run, by any name."""

from __future__ import annotations

import pytest

from devlint.analysis.events import DeviceNumber
from tests.analysis.analysed import analysed, told

NETWORK = """
def mark(y):
    return y + torch.zeros(2, device=y.get_device())
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
    def forward(self, x):
        y = self.inner(x)
        if FOUND:
            return y
        return mark(y)
"""


def network(before: str, found: str) -> str:
    return f"import torch\nfrom torch import nn\n{before}\n" + NETWORK.replace("FOUND", found)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", "torch.cuda.is_available()"),
        ("from torch.cuda import is_available", "is_available()"),
        ("from torch.cuda import is_available as found", "found()"),
        ("from torch.cuda import (\n    is_available,\n)", "is_available()"),
        ("from torch.cuda import *", "is_available()"),
        ("try:\n    from torch.cuda import is_available\nexcept ImportError:\n    pass", "is_available()"),
        ("found = torch.cuda.is_available", "found()"),
        ("found = lambda: torch.cuda.is_available()", "found()"),
        ("def found():\n    return torch.cuda.is_available()", "found()"),
        ("", "'# '.strip() and torch.cuda.is_available()"),
        (
            "from functools import cache\n@cache\ndef found():\n    return torch.cuda.is_available()\n"
            "class Other:\n    if found():\n        pass\n    kind = 1",
            "found()",
        ),
    ],
)
def test_a_question_whether_there_is_cuda_is_heard_under_any_name(before: str, found: str) -> None:
    assert told(analysed(network(before, found)), DeviceNumber)


@pytest.mark.parametrize(
    ("helper", "found"),
    [
        ("def ask():\n    return torch.cuda.is_available()", "ask()"),
        ("def ask():\n    return torch.cuda.is_available(), 2", "ask()[0]"),
        ("def ask():\n    return {'gpu': torch.cuda.is_available()}", "ask()['gpu']"),
        ("class ask:\n    def __init__(self):\n        self.gpu = torch.cuda.is_available()", "ask().gpu"),
        (
            "class Kept:\n    pass\ndef ask():\n    kept = Kept()\n    kept.gpu = torch.cuda.is_available()\n"
            "    return kept",
            "ask().gpu",
        ),
    ],
)
def test_what_another_file_tells_is_heard_whatever_holds_it(helper: str, found: str) -> None:
    files = {"nets.py": network("from helpers import ask", found), "helpers.py": f"import torch\n{helper}\n"}
    assert told(analysed(files), DeviceNumber)


def test_a_word_in_a_comment_or_a_docstring_or_a_function_that_is_not_run_is_no_question() -> None:
    words = '\n\ndef unused():\n    """Uses CUDA."""\n    return torch.cuda.is_available()  # CUDA\n'
    text = network("", "y.dim() == 2").replace("get_device()", "device") + "        # on cuda\n"
    plain, speaking = analysed(text), analysed(text + words)
    assert speaking.statistics["entries"] - plain.statistics["entries"] <= 2
