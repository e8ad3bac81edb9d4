"""Names that are read unbound: which of them are a matter of devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

ANSWERS = """\
import torch

{first}

def answer(question):
    return torch.as_tensor(question).cuda() * 2, len(question)


def warm_up(questions):
    for question in questions:
        try:
            torch.cuda.synchronize()
            reply, length = answer(question)
        except (AssertionError, RuntimeError):
            print("too long:", question)
            reply = None
        print(reply, int(length))


warm_up([[1, 2], [3]])
"""

USED = '```python\nimport torch\nprint(torch.ones(2, device=device))\n{between}device = "cuda"\n```\n'


def codes(path: Path) -> list[str]:
    return [finding.code for finding in check([path], Config(root=path.parent)) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("first", "expected"), [("", []), ("chosen = 'cuda' if torch.cuda.is_available() else 'cpu'", ["DEV105"])]
)
def test_what_a_handler_leaves_unbound_is_of_programs_that_run_without_a_gpu(
    first: str, expected: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "warm.py"
    path.write_text(ANSWERS.format(first=first))
    assert codes(path) == expected


@pytest.mark.parametrize(("between", "expected"), [("", ["DEV105"]), ("```\n\n```python\n", [])])
def test_what_another_fence_binds_is_no_later_binding(between: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(USED.format(between=between))
    assert codes(path) == expected
