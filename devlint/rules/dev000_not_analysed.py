"""DEV000: a source, or a part of it, could not be analysed. The linter makes these findings itself."""

from __future__ import annotations

from devlint.rules.base import Example, Rule

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu"  # DEV000:
x = torch.zeros(3, device=device)
"""

GOOD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.zeros(3, device=device)
"""

RULE = Rule(
    code="DEV000",
    name="not-analysed",
    summary="A file, or a cell of a notebook, could not be analysed.",
    what="""\
Source that can't be read or parsed, and source whose analysis failed or ran past its limit. The finding stands at the
row that the parser names and gives its reason. In a notebook it concerns one cell; the other cells are analysed.""",
    why="""\
A file that is skipped in silence looks like a file without findings. So this rule can't be deselected, and the exit
code is 1. The other files are analysed all the same.""",
    example=Example(
        bad=BAD,
        good=GOOD,
        errors=dict.fromkeys(("cpu", "gpu1", "gpu2"), "SyntaxError: '(' was never closed"),
    ),
    worlds=(),
    references=("https://docs.python.org/3/reference/grammar.html",),
)
