"""Objects that only hold what they are given: of several, any is what all of them hold at each name."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Instance, Tensor
from devlint.analysis.events import MixedDevices
from devlint.worlds import GPU2
from tests.analysis.programs import Run

RECORDS = {
    "function": "Step = collections.namedtuple('Step', 'state reward')",
    "class": "class Step(typing.NamedTuple):\n    state: torch.Tensor\n    reward: torch.Tensor",
    "dataclass": "@dataclasses.dataclass\nclass Step:\n    state: torch.Tensor\n    reward: torch.Tensor",
    "plain": "class Step:\n    def __init__(self, state, reward):\n        self.state, self.reward = state, reward\n"
    "    def __repr__(self):\n        return f'{self.state} {self.reward}'",
}
STEPS = """
steps = [Step(torch.zeros(1, 2).cuda(), torch.zeros(1)) for _ in range(3)]
one = random.choice(steps)
some = random.sample(steps, 2)[0]
"""
CHANGED = """
class Step:
    def __init__(self, state):
        self.state = state
    def cuda(self):
        self.state = self.state.cuda()
class Held:
    def __init__(self, state):
        self.held = [state]
    def cuda(self):
        self.held[0] = self.held[0].cuda()
steps = [Step(torch.zeros(2)), Step(torch.zeros(2))]
held = [Held(torch.zeros(2)), Held(torch.zeros(2))]
random.choice(steps).cuda()
one = random.choice(steps)
other = random.choice(held)
"""
IMPORTS = "import collections, dataclasses, random, typing\nimport torch\n"


@pytest.mark.parametrize("form", RECORDS)
def test_any_of_several(form: str) -> None:
    """What all hold on one device is there, whichever it is."""
    run = Run(IMPORTS + RECORDS[form] + STEPS, GPU2)
    for name in ("one", "some"):
        step = run[name]
        assert isinstance(step, Instance)
        state, reward = step.fields["state"], step.fields["reward"]
        assert isinstance(state, Tensor) and state.device == "cuda:0"
        assert isinstance(reward, Tensor) and reward.device == "cpu"


def test_unlike_ones() -> None:
    """What they hold in different places is unknown, and that alone."""
    run = Run(
        IMPORTS + RECORDS["function"] + "\na = Step(torch.zeros(1).cuda(), torch.zeros(1))\n"
        "b = Step(torch.zeros(1), torch.zeros(1))\none = random.choice([a, b])",
        GPU2,
    )
    one = run["one"]
    assert isinstance(one, Instance)
    state, reward = one.fields["state"], one.fields["reward"]
    assert isinstance(state, Tensor) and state.device is None
    assert isinstance(reward, Tensor) and reward.device == "cpu"


def test_objects_that_change() -> None:
    """An object with a method that writes to it may have been changed through another name: nothing is known."""
    run = Run(IMPORTS + CHANGED, GPU2)
    assert not isinstance(run["one"], Instance) and not isinstance(run["other"], Instance)


def test_modules() -> None:
    """Of several modules none stands for the others, for each may have been moved."""
    run = Run(
        IMPORTS + "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 2)\none = random.choice([Net(), Net()])",
        GPU2,
    )
    assert not isinstance(run["one"], Instance)


def test_branches() -> None:
    """Named tuples are joined where branches meet; other objects are not, for their identity may matter."""
    text = "\nif input():\n    step = Step(torch.zeros(1), torch.zeros(1))\n"
    text += "else:\n    step = Step(torch.zeros(1), torch.ones(1))\n"
    tuples = Run(IMPORTS + RECORDS["function"] + text, GPU2)
    assert isinstance(tuples["step"], Instance)
    objects = Run(IMPORTS + RECORDS["plain"] + text, GPU2)
    assert not isinstance(objects["step"], Instance)


def test_replay_memory() -> None:
    """What is sampled, turned over and joined is where it was put."""
    run = Run(
        IMPORTS + "Step = collections.namedtuple('Step', ('state', 'reward'))\n"
        "memory = collections.deque([], maxlen=100)\n"
        "for _ in range(50):\n    memory.append(Step(torch.zeros(1, 2).cuda(), torch.zeros(1)))\n"
        "batch = Step(*zip(*random.sample(memory, 8)))\n"
        "value = torch.cat(batch.state).sum(1) + torch.cat(batch.reward)",
        GPU2,
    )
    assert [event.site.row for event in run.events(MixedDevices)] == [8]


MANY = "".join(f"    part{number}: torch.Tensor\n" for number in range(12))
MOVED_BY_NAME = f"""
@dataclasses.dataclass
class Batch:
{MANY}
    def to(self, device):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name).to(device))
        return self
batch = Batch(*[torch.ones(2) for _ in range(12)]).to("cuda")
first, last = batch.part0, batch.part11
"""


def test_attributes_to_which_a_long_loop_did_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a loop moves attributes by their names, those to which it did not come may be anywhere."""
    monkeypatch.setattr("devlint.analysis.flow.loops.is_cheap", lambda machine, began: False)
    run = Run(IMPORTS + MOVED_BY_NAME, GPU2)
    first, last = run["first"], run["last"]
    assert isinstance(first, Tensor) and first.device == "cuda:0"
    assert not isinstance(last, Tensor) or last.device != "cpu"
