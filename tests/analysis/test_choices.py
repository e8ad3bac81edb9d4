"""Conditions that the program leaves open: explored, consistently, within bounds; budgets end in silence."""

from __future__ import annotations

import time

import pytest

from devlint.analysis.events import AvailabilityNotCalled, DeviceUnavailable, MixedDevices, ToHost
from devlint.analysis.flow.conditions import excludes
from tests.analysis.analysed import analysed, told

HEAD = """\
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--half", action="store_true")
parser.add_argument("--gpu", type=int)
args = parser.parse_args()
args.cuda = args.cuda and torch.cuda.is_available()
x = torch.zeros(2)
y = torch.zeros(2)
"""
ROW = HEAD.count("\n") + 1


def mixed(text: str) -> list[tuple[int, str, list[tuple[str, bool]]]]:
    events = analysed(HEAD + text + "print(x)\n").events
    return sorted(
        (event.site.row - ROW + 1, event.world, [(choice.condition, choice.value) for choice in event.when])
        for event in events
        if isinstance(event, MixedDevices)
    )


def test_a_choice_is_answered_once_on_a_path() -> None:
    """What moves under a flag and is used under the same flag agrees."""
    assert mixed("if args.cuda:\n    x = x.cuda()\nif args.cuda:\n    y = y.cuda()\nx + y\n") == []
    assert (
        mixed("if args.cuda:\n    x = x.cuda()\nif not args.cuda:\n    z = x + y\nelse:\n    z = x + y.cuda()\n") == []
    )


@pytest.mark.parametrize("both", ["args.half and args.cuda", "args.cuda and args.half"])
def test_both_of_two_flags_hold_where_each_does(both: str) -> None:
    assert mixed(f"both = {both}\nif args.cuda:\n    x = x.cuda()\nif both:\n    z = x + y.cuda()\n") == []
    assert mixed(f"both = {both}\nif args.cuda:\n    x = x.cuda()\nif both:\n    z = x + y\n") != []


@pytest.mark.parametrize("inner", ["args.cuda", "cuda"])
def test_inside_its_side_a_choice_has_its_answer(inner: str) -> None:
    """What is asked again further inside, there or in a function, was answered where the side began."""
    helper = f"def add(d, cuda):\n    if {inner}:\n        return d + y.cuda()\n    return d + y\n"
    assert mixed(helper + "if args.cuda:\n    z = add(x.cuda(), args.cuda)\nelse:\n    z = add(x, args.cuda)\n") == []
    assert mixed(helper + "if args.half:\n    z = add(x.cuda(), args.cuda)\nelse:\n    z = 1\n") != []
    nested = "def add(d, cuda):\n    if cuda:\n        return d + y.cuda()\n    return d + y\n"
    assert mixed(nested + "for _ in range(2):\n    z = add(x.cuda(), args.cuda) if args.cuda else x + y\n") == []


@pytest.mark.parametrize(
    ("condition", "value"),
    [("given.half", False), ("not given.half", True), ("given.n > 1", False), ("not given.n <= 1", True)],
)
def test_when_has_the_sign_of_what_stands_there(condition: str, value: bool) -> None:
    """A condition without a name is shown as it stands, without its `not`."""
    text = (
        "given = torch.somewhere()\ngiven.ready = 1\nz = torch.zeros(2).cuda() if torch.cuda.is_available() else x\n"
        f"if {condition}:\n    z = 1\nelse:\n    x + z\n"
    )
    assert {tuple(when) for _, _, when in mixed(text)} == {(("", value),)}


@pytest.mark.parametrize(
    "move",
    [
        "b = b.cuda(a.get_device()) if a.is_cuda else b.cpu()",
        "if a.is_cuda:\n        b = b.cuda()\n    else:\n        b = b.cpu()",
    ],
)
def test_where_a_tensor_is_that_nothing_is_known_of_is_no_choice(move: str) -> None:
    """It follows from what was computed; the other operands may have come from the same place."""
    text = f"def near(a, b, bound):\n    {move}\n    return (a - b) <= bound\n"
    text += "a = torch.somewhere(3)\nif torch.is_tensor(a):\n    near(a, y, abs(y))\n"
    assert mixed(text) == []


@pytest.mark.parametrize(
    ("condition", "row", "value", "whole"),
    [
        ("given.a or given.b", 3, True, True),
        ("given.a or given.b", 5, False, False),
        ("given.a and given.b", 3, True, False),
        ("given.a and given.b", 5, False, True),
        ("not (given.a or given.b)", 5, True, True),
    ],
)
def test_when_says_no_more_of_a_part_than_is_sure(condition: str, row: int, value: bool, whole: bool) -> None:
    """Where one of two holds, the whole condition is named; where both hold (or neither), the first is."""
    rows = ["pass", "pass"]
    rows[row // 2 - 1] = "x + z"
    text = (
        f"given = torch.somewhere()\nz = torch.zeros(2).cuda() if torch.cuda.is_available() else x\nif {condition}:\n"
    )
    events = analysed(HEAD + text + f"    {rows[0]}\nelse:\n    {rows[1]}\n").events
    whens = {event.when for event in events if isinstance(event, MixedDevices)}
    assert [choice.value for when in whens for choice in when] == [value]
    (site,) = [choice.site for when in whens for choice in when]
    assert site is not None
    shown = text.splitlines()[2][site.at.col_offset : site.at.end_col_offset]
    assert shown == (condition.removeprefix("not (").rstrip(")") if whole else "given.a")


def test_when_names_the_choice() -> None:
    found = mixed("if args.cuda:\n    x = x.cuda()\nx + y\n")
    assert [(row, world) for row, world, _ in found] == [(3, "gpu1"), (3, "gpu2")]
    assert all(when == [("args.cuda", True)] for _, _, when in found)


def test_the_other_answer_is_explored_too() -> None:
    found = mixed("if not args.cuda:\n    pass\nelse:\n    x = x.cuda()\nx + y\n")
    assert {(row, world) for row, world, _ in found} == {(5, "gpu1"), (5, "gpu2")}


def test_what_happens_either_way_has_no_condition() -> None:
    text = "if args.half:\n    x = x.half()\nif torch.cuda.is_available():\n    x = x.cuda()\nx + y\n"
    assert mixed(text) == [(5, "gpu1", []), (5, "gpu2", [])]


def test_an_early_return_settles_a_choice() -> None:
    text = (
        "def run(x, y):\n    if not args.cuda:\n        return x + y\n    x = x.cuda()\n"
        "    if args.cuda:\n        y = y.cuda()\n    return x + y\nrun(x, y)\n"
    )
    assert mixed(text) == []


def test_comparisons_are_choices() -> None:
    text = "if args.gpu is not None and torch.cuda.is_available():\n    x = x.cuda()\nx + y\n"
    assert {(row, world) for row, world, _ in mixed(text)} == {(3, "gpu1"), (3, "gpu2")}
    assert mixed(text.replace("x + y", "if args.gpu is None:\n    x + y")) == []


@pytest.mark.parametrize(
    "choose",
    [
        "index = args.gpu\n    if index is None:\n        index = last",
        "index = args.gpu if args.gpu is not None else last",
        "index = last if args.gpu is None else args.gpu",
        "index = int(args.gpu) if args.gpu is not None else last",
        "index = args.gpu if args.gpu else last",
        "wanted = os.environ.get('GPU')\n    index = int(wanted) if wanted is not None else last",
        "index = pick(last)",
    ],
)
def test_the_number_of_a_gpu_unless_one_is_given(choose: str) -> None:
    """That nothing is given is a run of its own, however that is written."""
    text = "import os\ndef pick(last):\n    if args.gpu is not None:\n        return args.gpu\n    return last\n"
    text += f"if torch.cuda.is_available():\n    last = torch.cuda.device_count() - 1\n    {choose}\n"
    found = mixed(text + "    z = torch.zeros(2, device=torch.device('cuda', index))\n    z + y.cuda()\n")
    assert [(world, [value for _, value in when]) for _, world, when in found] in (
        [("gpu2", [True])],
        [("gpu2", [False])],
    )


def test_two_flags_in_turn() -> None:
    text = "if args.cuda:\n    x = x.cuda()\nif args.half:\n    y = y.half()\nx + y\nif args.half:\n    x + y\n"
    assert {row for row, _, _ in mixed(text)} == {5}


@pytest.mark.parametrize("flags", [1, 2, 4, 8, 16])
def test_choices_cost_no_power_of_two(flags: int) -> None:
    text = "".join(
        f"if args.f{i}:\n    x{i} = torch.zeros(2).to('cuda' if torch.cuda.is_available() else 'cpu')\n"
        f"else:\n    x{i} = torch.zeros(2)\n"
        for i in range(flags)
    )
    head = "import argparse, torch\np = argparse.ArgumentParser()\n" + "".join(
        f"p.add_argument('--f{i}', action='store_true')\n" for i in range(flags)
    )
    runs = analysed(head + "args = p.parse_args()\n" + text + "print(args)\n").statistics["runs"]
    assert runs <= 3 + 2 * 2 * 4  # a run a world; with devices two more for each of at most four choices
    assert runs >= 2 + 2 * min(flags, 4)


KEPT = "kept = torch.device('cpu')\ndef pick(given=None):\n    return given\n"


@pytest.mark.parametrize(
    "guard",
    [
        "d = torch.somewhere()\nif d is not None:\n    kept = d\n",
        "d = torch.somewhere()\nkept = kept if d is None else d\n",
        "d, _ = torch.somewhere()\nif d is not None:\n    kept = d\n",
        "d = torch.somewhere()[0]\nif d is None:\n    d = kept\nkept = d\n",
    ],
)
def test_that_a_result_is_none_is_no_choice(guard: str) -> None:
    """A guard doesn't say that what is not known ever is None; that it is there is a choice as any other."""
    use = "z = torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu')\n"
    assert mixed(f"{KEPT}{guard}{use}z + torch.zeros(2, device=kept)\n") == []
    moved = "d = torch.somewhere()\nif d is not None and torch.cuda.is_available():\n    x = x.cuda()\nx + y\n"
    assert [world for _, world, _ in mixed(moved)] == ["gpu1", "gpu2"]


@pytest.mark.parametrize("given", ["args.gpu", "pick(args.gpu)", "torch.somewhere().gpu"])
def test_that_something_else_is_none_is_a_choice(given: str) -> None:
    text = f"{KEPT}d = {given}\nif d is not None:\n    kept = d\n"
    use = "z = torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu')\n"
    assert [world for _, world, _ in mixed(f"{text}{use}z + torch.zeros(2, device=kept)\n")] == ["gpu1", "gpu2"]


def test_one_question_of_two_values_has_both_answers() -> None:
    """Of a result and of an option: the option may be None."""
    text = f"{KEPT}d = torch.somewhere()\nif d is not None:\n    kept = d\n"
    text += "def place(d):\n    return torch.device('cpu') if d is None else d\nkept = place(*torch.somewhere().all)\n"
    use = "z = torch.zeros(2, device='cuda' if torch.cuda.is_available() else 'cpu')\n"
    assert [world for _, world, _ in mixed(f"{text}{use}z + torch.zeros(2, device=kept)\n")] == ["gpu1", "gpu2"]


@pytest.mark.parametrize(
    ("condition", "guards"),
    [
        ("opt.use_gpu", True),
        ("opt['gpu'] >= 0", True),
        ("not opt.cpu", True),
        ("has_cuda()", True),
        ("opt.cpu", False),
        ("opt.gpu is not None", True),
        ("opt.gpu is None", False),
        ("opt.images", False),
        ("opt.device == opt.other.device", False),
    ],
)
def test_what_nobody_knows_guards_by_its_name(condition: str, guards: bool) -> None:
    text = f"""
import torch
from somewhere import has_cuda, load
print(torch.zeros(2, device="cuda" if torch.cuda.is_available() else "cpu"))
opt = load()
x = torch.zeros(2)
if {condition}:
    x = x.cuda()
"""
    told_of = [event.guarded for event in analysed(text).events if isinstance(event, DeviceUnavailable)]
    assert told_of == [guards]


@pytest.mark.parametrize(
    ("condition", "worlds"),
    [
        ("args.half", []),
        ("args.on", ["gpu1"]),
        ("args.on and args.half", []),
        ("args.half and args.on", []),
        ("args.on and args.other", ["gpu1"]),
        ("args.on and torch.cuda.device_count() > 1", []),
    ],
)
def test_what_is_so_by_default_guards_no_second_gpu(condition: str, worlds: list[str]) -> None:
    options = """
parser.add_argument("--on", type=bool, default=True)
parser.add_argument("--other", type=bool, default=True)
args = parser.parse_args()
if torch.cuda.is_available():
    if """
    analysis = analysed(f"{HEAD}{options}{condition}:\n        torch.cuda.set_device(1)\n")
    events = [event for event in analysis.events if isinstance(event, DeviceUnavailable)]
    assert sorted({event.world for event in events if not event.guarded}) == worlds


def test_what_is_guarded_hides_no_other_use() -> None:
    text = """
def train(opt):
    if opt.gpu:
        print(torch.zeros(2).cuda())
    print(torch.ones(2).cuda())
train(args)
"""
    guarded = [(e.site.row - ROW, e.guarded) for e in analysed(HEAD + text).events if isinstance(e, DeviceUnavailable)]
    assert guarded == [(3, True), (4, False)]


ENDLESS = {
    "calls that double": "".join(f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(x)\n" for i in range(40))
    + "def f40(x):\n    return x.to('cuda')\nf0(torch.zeros(1))\n",
    "nested loops": "x = torch.zeros(1)\n"
    + "".join(f"{'    ' * i}for i{i} in [torch.zeros(1), torch.ones(1), x, x.cpu()]:\n" for i in range(12))
    + "    " * 12
    + "x = x.to('cuda' if x.is_cuda else 'cpu')\n",
    "recursion without an end": "def f(x, n):\n    y = f(x, n + 1)\n    return f(y, n + 2)\nf(torch.zeros(1), 0)\n",
    "while True": "x = torch.zeros(1)\nwhile True:\n    x = x + 1\n",
    "growing lists": "xs = [torch.zeros(1)]\nfor i in range(1000):\n    xs = xs + xs\n    xs.append(xs)\n",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_no_program_hangs(name: str) -> None:
    started = time.process_time()
    analysis = analysed("import torch\n" + ENDLESS[name])
    assert time.process_time() - started < 10
    assert analysis.failures == []


def test_a_budget_that_binds_is_counted_and_ends_in_silence() -> None:
    """A loop over known strings, in a loop over known strings: each round is visited until the steps are used up."""
    letters = list("abcdefgh")
    text = "import torch\ndef work(d):\n    x = torch.zeros(1)\n"
    for depth in range(6):
        text += "    " * (depth + 1) + f"for k{depth} in {letters}:\n"
    text += "    " * 7 + "d[k0 + k1 + k2 + k3 + k4 + k5] = x.cpu()\n"
    text += "work({})\ntorch.zeros(1, device='cuda:1')\n"
    analysis = analysed(text)
    assert sum(count for name, count in analysis.statistics.items() if name.startswith("budget")) > 0
    assert not told(analysis, DeviceUnavailable)
    assert not analysis.failures


def test_cost_grows_with_the_size_of_a_program() -> None:
    block = (
        "def f{0}(x):\n    y = torch.zeros(2)\n    for i in range(3):\n        y = y + x.to('cpu')\n    return y\n"
        "if args.flag{0}:\n    z{0} = f{0}(torch.zeros(2))\n"
    )
    head = "import torch\nfrom options import args\n"
    steps = [
        analysed(head + "".join(block.format(i) for i in range(n)) + "print(args)\n").statistics["steps"]
        for n in (10, 20, 40, 80)
    ]
    assert steps[3] / steps[0] < 8 * 1.5
    assert steps[0] < steps[1] < steps[2] < steps[3]


OPTIONAL = (
    "x = torch.zeros(2) if args.half else None\ny = torch.zeros(2)\nif torch.cuda.is_available():\n    y = y.cuda()\n"
)


@pytest.mark.parametrize(
    "use",
    [
        "if x is not None:\n    x + y\n",
        "if x is None:\n    y.sum()\nelse:\n    x + y\n",
        "z = y if x is None else x + y\n",
        "if isinstance(x, torch.Tensor):\n    x + y\n",
        "assert x is not None\nx + y\n",
        "def f(x, y):\n    if x is None:\n        return y\n    return x + y\nf(x, y)\n",
    ],
)
def test_what_may_be_none_is_known_where_it_is_not(use: str) -> None:
    assert {world for _, world, _ in mixed(OPTIONAL + use)} == {"gpu1", "gpu2"}


def test_whether_it_is_none_follows_the_choice() -> None:
    """What is moved under the flag under which it is there agrees with what is moved where it is there."""
    text = "x = torch.zeros(2).cuda() if args.cuda else None\nif {}:\n    y = y.cuda()\nif x is not None:\n    x + y\n"
    assert mixed(text.format("args.cuda")) == []
    assert mixed(text.format("x is not None")) == []
    assert mixed("other = x\n" + text.format("x is not None").replace("x + y", "other + y.cpu()")) == []
    assert {row for row, _, _ in mixed(text.format("args.half"))} == {5}


def test_one_question_has_one_answer() -> None:
    """Conditions without a name that ask the same, or its contrary, agree."""
    text = (
        "n = len(str(parser))\nz = x.cuda() if n > 1 and torch.cuda.is_available() else None\n"
        "if n <= 1:\n    z = None\nelse:\n    y = y.cuda()\n"
    )
    assert mixed(text.replace(" and torch.cuda.is_available()", "") + "if z is not None:\n    z + y\n") == []


ARGUMENTS = (
    "import sys\nname = {}\nx, y = {{'a': (x, x.cuda()), 'b': (x, y)}}[name] if torch.cuda.is_available() else (x, y)\n"
)


@pytest.mark.parametrize(
    "name",
    [
        "sys.argv[1] if len(sys.argv) > 1 else 'a'",
        "'a' if len(sys.argv) < 2 else sys.argv[1]",
        "(lambda argv: argv[0] if argv else 'a')(sys.argv[1:])",
        "(sys.argv[1:] or ['a'])[0]",
        "'a' if not len(sys.argv[1:]) else sys.argv[1]",
    ],
)
def test_a_program_is_started_without_arguments(name: str) -> None:
    assert mixed(ARGUMENTS.format(name) + "x + y\n") == [(4, "gpu1", []), (4, "gpu2", [])]
    assert mixed(ARGUMENTS.format(name.replace("'a'", "'b'")) + "x + y\n") == []


def test_what_arguments_do_is_explored() -> None:
    text = "import sys\nif len(sys.argv) > 1:\n    x = x.cuda()\n{}\nx + y\n"
    assert {row for row, _, _ in mixed(text.format(""))} == {5}
    assert mixed(text.format("if sys.argv[1:]:\n    y = y.cuda()")) == []
    assert mixed(text.format("if not len(sys.argv) <= 1:\n    y = y.cuda()\n    x + y")) == []
    more = "import sys\nif len(sys.argv) > 2:\n    x = x.cuda()\n"
    more += "if len(sys.argv) > 1:\n    y = y.cuda()\nelse:\n    x + y\n"
    assert mixed(more) == []


def test_a_program_that_needs_arguments_has_some() -> None:
    text = "import sys\nif len(sys.argv) < 2:\n    print('usage')\n    sys.exit(1)\n"
    text += "if torch.cuda.is_available():\n    x.cuda() + y\n"
    assert {row for row, _, _ in mixed(text)} == {6}
    asked = "def run(x, y):\n    if not sys.argv[1:]:\n        return\n    x.cuda() + y\nimport sys\nrun(x, y)\n"
    assert {row for row, _, _ in mixed(asked)} == {4}


PAIRS = """\
import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--fast", action="store_true")
parser.add_argument("--slow", action="store_true")
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--gpu", action="store_true")
parser.add_argument("--size", type=int)
args = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x, y = torch.ones(4), torch.ones(4)
net = nn.Linear(4, 4)
"""
PAIR_ROW = PAIRS.count("\n") + 1


def clashes(text: str) -> set[int]:
    events = analysed(PAIRS + text + "print(x)\n").events
    return {event.site.row - PAIR_ROW + 1 for event in events if isinstance(event, MixedDevices)}


@pytest.mark.parametrize(
    "text",
    [
        "if args.fast:\n    x = x.to(device)\nif args.slow:\n    y = y.to(device)\nx + y\n",
        "if args.fast:\n    x = x.to(device)\nif args.slow:\n    y = y.to(device)\n(x * 2).relu() + y\n",
        "if args.fast:\n    net.to(device)\nif args.slow:\n    y = y.to(device)\nnet(y)\n",
        "if args.fast:\n    x = x.to(device)\nif args.size is not None:\n    y = y.to(device)\nx + y\n",
    ],
)
def test_operands_behind_two_options_are_explored_together(text: str) -> None:
    assert clashes(text) == {5}


@pytest.mark.parametrize(
    "text",
    [
        "if args.fast:\n    x = x.to(device)\nif args.fast:\n    y = y.to(device)\nx + y\n",
        "if args.fast:\n    x = x.to(device)\nif args.slow:\n    y = y.to(device)\nx + y.to(x.device)\n",
        "if args.fast and args.slow:\n    parser.error('one of them')\n"
        "if args.fast:\n    x = x.to(device)\nif not args.fast:\n    y = y.cpu()\nelse:\n    y = y.to(device)\nx + y\n",
        "if args.size is None:\n    x = x.to(device)\nif args.size != 1:\n    y = y.to(device)\nx + y\n",
        "if args.cuda:\n    x = x.cuda()\nif args.gpu:\n    y = y.cuda()\nx + y\n",
        "fast = args.fast and len(str(args)) > 3\nif fast:\n    x = x.to(device)\n"
        "if args.fast:\n    if fast:\n        y = y.to(device)\nx + y\n",
    ],
)
def test_options_that_hang_together_are_not(text: str) -> None:
    assert clashes(text) == set()


def test_pairs_cost_no_more_than_choices_may() -> None:
    """Many options whose operands meet: the number of runs is bounded."""
    text = "".join(f"z{i} = torch.ones(4)\nif args.a{i}:\n    z{i} = z{i}.to(device)\n" for i in range(12))
    sums = "".join(f"z{i} + z{j}\n" for i in range(12) for j in range(i))
    assert analysed(PAIRS + text + sums + "print(x)\n").statistics["runs"] <= 3 * (1 + 2 * 4 + 4 * 3)


MAY_BE_NONE = """\
class Net(nn.Module):
    def __init__(self, bias=False):
        super().__init__()
        self.kernel = nn.Parameter(torch.ones(4))
        self.bias = None
        if bias:
            self.bias = nn.Parameter(torch.ones(4))
        self.head = nn.Linear(4, 4) if bias else None
    def forward(self, x):
        x = x * self.kernel
        if self.bias is not None:
            x = x + self.bias
        return x if self.head is None else self.head(x)
"""


@pytest.mark.parametrize(
    "use",
    [
        "net = Net(args.fast).to(device)\nnet(x.to(device))\n",
        "import copy\nnet = copy.deepcopy(Net(args.fast)).to(device)\nnet(x.to(device))\n",
        "net = Net(args.fast) if args.slow else None\nif args.slow:\n    net.to(device)\n"
        "if net is not None:\n    net(x.to(device))\n",
        "import copy\nnet = Net(args.fast)\nother = copy.deepcopy(net).to(device)\nnet(x)\nother(x.to(device))\n",
    ],
)
def test_what_may_be_none_moves_with_its_module(use: str) -> None:
    assert clashes(MAY_BE_NONE + use) == set()


def test_what_is_used_untested_is_there() -> None:
    text = "if args.slow:\n    net = Net()\nelse:\n    net = None\nif args.slow and torch.cuda.is_available():\n"
    assert clashes(MAY_BE_NONE + text + "    net.kernel + x.cuda()\n") == {19}


SEVERAL = """\
class Table:
    def __init__(self):
        self.kept, self.longest = None, 0
    def of(self, x):
        n = x.shape[0]
        if {condition}:
            return self.kept[:n]
        self.kept, self.longest = torch.arange(n, device=x.device), n
        return self.kept
table = Table()
x + table.of(x)
z = torch.zeros(2, device="cuda" if torch.cuda.is_available() else "cpu")
z * table.of(z)
"""


@pytest.mark.parametrize(
    ("condition", "worlds"),
    [
        ("n <= 99 and self.kept is not None and n <= self.longest", ["gpu1", "gpu2"]),
        ("self.kept is not None and not (n > 99 or n > self.longest)", ["gpu1", "gpu2"]),
        ("n <= 99 and self.kept is not None and n <= self.longest and self.kept.device == x.device", []),
        ("n <= 99 and n <= self.longest and self.kept is None", []),
    ],
)
def test_parts_of_a_condition_are_answered_together(condition: str, worlds: list[str]) -> None:
    """What stands behind several conditions that nobody can answer is reached where all of them hold."""
    assert [world for _, world, _ in mixed(SEVERAL.replace("{condition}", condition))] == worlds


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("if torch.cuda.is_available:\n    torch.cuda.manual_seed(1)\n", False),
        ("print('yes' if torch.cuda.is_available else 'no')\n", False),
        ("device = 'cuda' if torch.cuda.is_available else 'cpu'\nprint(torch.ones(2, device=device))\n", True),
    ],
)
def test_a_question_that_is_not_asked_fails_where_cuda_is_needed(body: str, fails: bool) -> None:
    (event,) = [item for item in analysed("import torch\n" + body).events if isinstance(item, AvailabilityNotCalled)]
    assert (event.error is not None) is fails


def test_a_state_that_an_optimizer_has_behind_a_flag_alone() -> None:
    found = mixed(
        "net = torch.nn.Linear(2, 2)\noptimizer = torch.optim.Adam(net.parameters())\n"
        "if args.half:\n    optimizer.load_state_dict(torch.load('a', map_location='cpu'))\n"
        "net.cuda() if torch.cuda.is_available() else net\nnet(x.to(net.weight.device)).sum().backward()\n"
        "optimizer.step()\n"
    )
    assert {when[0] for _, _, when in found} == {("args.half", True)}
    assert {row for row, _, _ in found} == {7}


RESUMED = (
    "if args.half == 'auto' or torch.load('runs'):\n    args.half = True\n"
    "net = torch.nn.Linear(2, 2)\noptimizer = torch.optim.Adam(net.parameters())\n"
    "def load(settings):\n"
    "    if settings.half:\n        optimizer.load_state_dict(torch.load('a', map_location='cpu'))\n"
    "def place(settings):\n"
    "    net.to('cuda' if torch.cuda.is_available() else 'cpu')\n"
    "    if settings.{asked}:\n"
    "        for state in optimizer.state.values():\n"
    "            for name, value in state.items():\n"
    "                state[name] = value.to(net.weight.device)\n"
    "load(args)\nplace(args)\n"
    "net(x.to(net.weight.device)).sum().backward()\noptimizer.step()\n"
)


def test_one_question_has_one_answer_for_the_state_of_an_optimizer() -> None:
    """The program sets the option itself: the question has no name, and is known by how it is written."""
    assert mixed(RESUMED.format(asked="half")) == []
    assert mixed(RESUMED.format(asked="gpu")) != []


OFFERED = """\
import argparse
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
def plain(x):
    return x.cos()
def left(x):
    return x.cpu()
parser = argparse.ArgumentParser()
parser.add_argument("--how", default="plain", choices=["plain", "left", "other"])
args = parser.parse_args()
x = torch.ones(3, device=device)
"""


def _when_offered(picks: str) -> set[str]:
    events = analysed(OFFERED + picks + "y = y + x\n").events
    return {choice.condition for event in events if isinstance(event, MixedDevices) for choice in event.when}


@pytest.mark.parametrize(
    "picks",
    [
        "y = {'plain': plain, 'left': left}[args.how](x)\n",
        "if args.how == 'left':\n    y = left(x)\nelse:\n    y = plain(x)\n",
        "match args.how:\n    case 'left':\n        y = left(x)\n    case _:\n        y = plain(x)\n",
        "y = globals()[args.how](x)\n",
        "def build(how):\n    return left if how == 'left' else plain\ny = build(args.how)(x)\n",
        "def build(how):\n    if how == 'left':\n        return left\n    return plain\ny = build(args.how)(x)\n",
    ],
)
def test_values_that_an_option_offers_are_tried(picks: str) -> None:
    assert _when_offered(picks) == {"args.how == 'left'"}


def test_a_value_that_leads_to_what_was_run_elsewhere_is_tried_where_the_program_asks_for_it() -> None:
    assert _when_offered("y = plain(x)\nif args.how == 'other':\n    y = plain(x.cpu())\n") == {"args.how == 'other'"}
    assert _when_offered("y = plain(x)\nleft(x)\nif args.how == 'left':\n    y = left(x)\n") == {"args.how == 'left'"}
    assert not _when_offered("y = plain(x)\nif args.how == 'other':\n    print(y)\n")


def test_what_fails_on_one_way_hides_nothing_on_the_other() -> None:
    found = mixed(
        "z = x.to('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "if args.half:\n    z = z + torch.ones(2)\n"
        "for step in range(4):\n    if input():\n        z = z * torch.ones(2)\n"
        "z - y\n"
    )
    assert {(row, tuple(when)) for row, _, when in found} == {
        (3, (("args.half", True),)),
        (6, (("", True),)),
        (7, ()),
    }


def test_what_fails_on_both_ways_is_told_there_alone() -> None:
    found = mixed(
        "z = x.to('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "if args.half:\n    z = z + torch.ones(2)\nelse:\n    z = z * torch.ones(2)\n"
        "z - y\n"
    )
    assert {row for row, _, _ in found} == {3, 5}


@pytest.mark.parametrize(
    "kept",
    [
        "on = True if args.cuda else False",
        "on = not (False if args.cuda else True)",
        "on = False\nif args.cuda:\n    on = True",
        "if args.cuda:\n    on = True\nelse:\n    on = False",
        "args.on = True if torch.cuda.is_available() and args.cuda else False\non = args.on",
        "names = {'on': True if args.cuda else False}\non = names['on']",
    ],
)
def test_yes_and_no_behind_a_condition_keep_its_answer(kept: str) -> None:
    used = "if on:\n    x = x.cuda()\nz = x + ({} if args.cuda else {})\n"
    assert mixed(f"{kept}\n{used.format('y.cuda()', 'y')}") == []
    found = mixed(f"{kept}\n{used.format('y', 'y')}")
    assert [world for _, world, _ in found] == ["gpu1", "gpu2"]
    assert all(("args.cuda", True) in when for _, _, when in found)


def test_yes_and_no_behind_several_conditions_keep_none() -> None:
    """What holds only if both do says nothing of one alone."""
    kept = "on = True if args.cuda and args.half else False\n"
    assert mixed(f"{kept}if on:\n    z = x.cuda() + y.cuda()\nelif args.cuda:\n    z = x.cuda() + y\n") != []


FUNCTIONS = """\
class Adding:
    def there(self, x):
        return x + y.cuda()
    def here(self, x):
        return x + y
    @staticmethod
    def far(x):
        return x + y.cuda()
def there(x):
    return x + y.cuda()
def here(x):
    return x + y
adding = Adding()
"""


@pytest.mark.parametrize(
    "chosen",
    [
        "f = there if args.cuda else here",
        "f = adding.there if args.cuda else adding.here",
        "f = adding.far if args.cuda else here",
        "if not args.cuda:\n    f = here\nelse:\n    f = adding.there",
        "def choose():\n    if args.cuda:\n        return there\n    else:\n        return here\nf = choose()",
        "f = there if args.cuda and not args.half else adding.there if args.cuda else here",
    ],
)
def test_one_of_two_functions_is_called_by_the_answer(chosen: str) -> None:
    moved = "if args.cuda:\n    x = x.cuda()\n"
    assert mixed(f"{FUNCTIONS}{chosen}\n{moved}z = f(x)\n") == []
    found = mixed(f"{FUNCTIONS}{chosen}\nz = f(x)\n")
    assert {world for _, world, _ in found} == {"gpu1", "gpu2"}


def test_one_of_two_functions_gives_what_both_give() -> None:
    """Though nobody can say which, and no answer is worth a run."""
    text = FUNCTIONS + "import elsewhere\nf = there if elsewhere.fast else adding.far\nz = f(x.cuda()) + y\n"
    assert {world for _, world, _ in mixed("if torch.cuda.is_available():\n" + _indented(text))} == {"gpu1", "gpu2"}


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("asked", "excluded"),
    [
        ("args.net", True),
        ("args.fast and args.net", False),  # its parts tell
        ("args.fast or args.net", False),
        ("args.fast and not args.net", False),
        ("(not args.net", False),
    ],
)
def test_of_two_values_one_thing_has_one(asked: str, excluded: bool) -> None:
    """Of `args.fast or args.net == 'deep'` and another such both may hold."""
    assert excludes(f"{asked} == 'deep'", f"{asked} == 'wide'") is excluded
    assert not excludes(f"{asked} == 'deep'", f"{asked} == 'deep'")


NAMES = "one two three four five six seven eight nine ten".split()
SPENT = "; ".join(["spent = 0"] * 2500)
"""A row that spends most of the steps of a run."""


@pytest.mark.parametrize(("move", "fails"), [("torch.tensor(value).to(device)", False), ("value + 1", True)])
def test_a_short_loop_visits_all_attributes_late_in_a_run(move: str, fails: bool) -> None:
    fields = "".join(f"        self.{name} = load('{name}').astype('f')\n" for name in NAMES)
    found = analysed(
        f"""
import numpy as np
import torch
from elsewhere import load
{SPENT}
class Shapes:
    def __init__(self):
{fields}
        self.light = np.zeros(3)
    def to(self, device):
        for name, value in self.__dict__.items():
            if type(value).__module__ == np.__name__:
                setattr(self, name, {move})
device = "cuda" if torch.cuda.is_available() else "cpu"
shapes = Shapes()
shapes.to(device)
print(torch.ones(3, device=device) + shapes.light)
"""
    ).events
    assert any(isinstance(event, ToHost) for event in found) is fails


RANKED = """
import argparse
import os
parser = argparse.ArgumentParser()
parser.add_argument("--{name}", type=int, default=-1)
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = str(args.{name})
import torch
print(torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu"))
print(torch.ones(2).cuda())
"""


@pytest.mark.parametrize(("name", "hidden"), [("local_rank", False), ("number", True)])
def test_a_rank_that_no_launcher_gave_hides_no_gpus(name: str, hidden: bool) -> None:
    found = [item for item in analysed(RANKED.format(name=name)).events if isinstance(item, DeviceUnavailable)]
    assert any(item.world == "gpu1" for item in found) is hidden
