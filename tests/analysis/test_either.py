"""One of several texts, one of several members of an enumeration: what is known of them behind a condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import os, sys
from enum import Enum, auto
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class State(Enum):
    A = auto()
    B = auto()
    C = auto()
"""

PROGRAMS = {
    "a text of two": """
mode = "full" if len(sys.argv) > 1 else "half"
a = mode == "none"  #= False
b = mode != "none"  #= True
c = mode in ("none", "other")  #= False
d = mode == "half"  #= True ?
""",
    "a text of two of another two": """
mode = "full" if len(sys.argv) > 1 else "half"
other = "left" if len(sys.argv) > 2 else "right"
a = mode == other  #= False
""",
    "a text that a loop changes": """
mode = "first"
for text in os.environ.get("MODES", "second third").split():
    if len(text) > 3:
        mode = text
a = mode == "fourth"  #= False ?
""",
    "a text that goes from state to state": """
state = "start"
seen = torch.zeros(2)
for step in range(9):
    if os.getpid() != step:
        if state == "start":
            state = "middle"
        elif state == "middle":
            state = "end"
        elif state == "end":
            seen = torch.zeros(2, device=device)
a = seen  #= gpu ?
""",
    "a member of two": """
state = State.A if len(sys.argv) > 1 else State.B
a = state == State.C  #= False
b = state is State.C  #= False
c = state is not State.C  #= True
d = state in (State.C,)  #= False
e = state == State.B  #= True ?
f = state is None  #= False
g = bool(state)  #= True ?
""",
    "a member of three and one of two": """
state = State.A if len(sys.argv) > 1 else State.B
if len(sys.argv) > 2:
    state = State.C
a = state == State.C  #= False ?
other = State.A if len(sys.argv) > 3 else State.B
b = other == State.C  #= False
""",
    "a member that goes from state to state": """
state = State.A
seen = torch.zeros(2)
for step in range(9):
    if os.getpid() != step:
        state = {State.A: State.B, State.B: State.C, State.C: State.C}[state]
    if state is State.C:
        seen = torch.zeros(2, device=device)
a = seen  #= gpu ?
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
