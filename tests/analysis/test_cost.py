"""What is run, and how often: rounds of loops, worlds that share, entries; and that the cost benchmark runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devlint.analysis.events import Event, MixedDevices
from devlint.analysis.project import Project
from devlint.analysis.run import Analysis, analyse
from devlint.sources import read_source

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "cost.py"


def run(text: str) -> Analysis:
    path = "/program.py"
    return analyse(Project(Path("/"), {path: read_source(Path(path), path, text.encode())}))


def worlds(analysis: Analysis, kind: type[Event]) -> set[str]:
    return {event.world for event in analysis.events if isinstance(event, kind)}


def steps(text: str) -> int:
    return run(text).statistics["steps"]


def test_a_program_that_never_counts_devices_runs_in_two_worlds() -> None:
    analysis = run("import torch\nx = torch.zeros(3).cuda()\nprint(x + torch.ones(3))\n")
    assert analysis.statistics["runs"] == 2
    assert worlds(analysis, MixedDevices) == {"gpu1", "gpu2"}


def test_a_program_that_counts_devices_runs_in_all() -> None:
    text = (
        "import torch\n"
        "x = torch.zeros(3).cuda(torch.cuda.device_count() - 1)\n"
        "print(x + torch.zeros(3, device='cuda:0'))\n"
    )
    analysis = run(text)
    assert analysis.statistics["runs"] == 3
    assert worlds(analysis, MixedDevices) == {"gpu2"}


def test_a_program_without_devices_runs_once() -> None:
    assert run("import torch\nprint(torch.zeros(3) + 1)\n").statistics["runs"] == 1


def test_functions_see_the_names_of_their_world() -> None:
    text = (
        "import torch\n"
        "where = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "def work():\n"
        "    return torch.zeros(3, device=where) + torch.ones(3)\n"
    )
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        pytest.param("x = torch.relu(x)", "z = torch.relu(x)", id="a variable of the callee"),
        pytest.param("kept = []; kept.append(x)", "kept = []; print(x)", id="a list of the callee"),
    ],
)
def test_what_a_round_made_itself_needs_no_other_round(body: str, plain: str) -> None:
    text = (
        "import torch\n"
        "from somewhere import going\n"
        "def step(x):\n"
        "    BODY\n"
        "y = torch.zeros(3)\n"
        "while going():\n"
        "    step(y)\n"
    )
    assert steps(text.replace("BODY", body)) == steps(text.replace("BODY", plain))


def test_the_second_round_still_sees_what_the_first_moved() -> None:
    text = (
        "import torch\n"
        "from somewhere import data\n"
        "state = torch.zeros(3)\n"
        "for x in data:\n"
        "    y = state + torch.ones(3)\n"
        "    state = state.cuda()\n"
    )
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}


def test_a_function_that_only_builds_a_class_is_no_entry() -> None:
    text = (
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(3, 3)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x) + torch.ones(3)\n"
        "def small(): return Net()\n"
        "def large(): return Net()\n"
    )
    analysis = run(text)
    assert worlds(analysis, MixedDevices) == {"gpu1", "gpu2"}
    assert analysis.statistics["entries"] <= 3


def test_cost_is_linear_in_size() -> None:
    sys.path.insert(0, str(BENCHMARK.parent))
    try:
        from cost import deep_program, long_program
    finally:
        sys.path.pop(0)
    by_size = [steps(long_program(size)) for size in (300, 600, 1200)]
    assert by_size[1] < 2.2 * by_size[0]
    assert by_size[2] < 2.2 * by_size[1]
    by_depth = [steps(deep_program(depth)) for depth in (12, 20, 28)]
    assert by_depth[2] - by_depth[1] <= 1.1 * (by_depth[1] - by_depth[0])


def test_the_benchmark_runs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nprint(torch.zeros(3).cuda())\n")
    command = [sys.executable, str(BENCHMARK), "--one", str(tmp_path)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert result["lines"] == 3
    assert result["analysis"] > 0
    assert result["cut"] == 0
    assert result["steps"] > 0


def test_a_small_function_may_be_called_in_many_contexts() -> None:
    text = (
        "import torch\n"
        "where = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "def place(x):\n"
        "    return x.device\n"
        + "".join(f"x{number} = torch.zeros(3, device=where)\nplace(x{number})\n" for number in range(30))
        + "last = torch.zeros(3, device=where)\n"
        "print(torch.ones(3, device=place(last)) + torch.ones(3))\n"
    )
    analysis = run(text)
    assert "cut: contexts" not in analysis.statistics
    assert worlds(analysis, MixedDevices) == {"gpu1", "gpu2"}


def test_a_dear_function_is_not() -> None:
    text = (
        "import torch\n"
        "def work(x, n):\n" + "    x = x + 1\n" * 40 + "    return x\n" + "x = torch.zeros(3)\n"
        "for n in ['a', 'b', 'c', 'd']:\n"
        "    for m in ['e', 'f', 'g', 'h', 'i']:\n"
        "        print(work(torch.zeros(3).cuda(), n + m))\n"
    )
    assert run(text).statistics["cut: contexts"] > 0


def test_what_a_call_that_is_cut_may_have_moved_is_not_known() -> None:
    wrappers = "".join(f"def wrap{n}(m):\n    return wrap{n + 1}(m)\n" for n in range(30))
    text = (
        "import torch\n"
        + wrappers
        + "def wrap30(m):\n    return m.cuda()\n"
        + "m = torch.nn.Linear(2, 2)\nwrap0(m)\nm(torch.zeros(1, 2).cuda())\n"
    )
    analysis = run(text)
    assert analysis.statistics["cut: depth"] > 0
    assert worlds(analysis, MixedDevices) == set()
    assert worlds(run(text.replace("m.cuda()", "m")), MixedDevices) == {"gpu1", "gpu2"}


def test_the_first_step_of_an_optimizer_needs_no_other_round() -> None:
    text = (
        "import torch\n"
        "from somewhere import batches\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "for x in batches():\n"
        "    model(x).sum().backward()\n"
        "    STEP\n"
    )
    assert steps(text.replace("STEP", "optimizer.step()")) == steps(text.replace("STEP", "optimizer.zero_grad()"))


def test_state_that_is_left_on_another_device_is_found_in_the_next_round() -> None:
    text = (
        "import torch\n"
        "from somewhere import batches\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "for x in batches():\n"
        "    optimizer.step()\n"
        "    model.cuda()\n"
    )
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}


MODULE = """
import torch
from torch import nn
def half(x):
    return x / 2
class Net(nn.Module):
    def __init__(self, dim, norm=None):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.norm = norm(dim) if norm else nn.Identity()
        self.layer = nn.Linear(dim, dim) if dim > 3 else None
    def forward(self, x, state=None):
        y = self.layer(x * self.scale) if self.layer is not None else self.norm(x)
        if state is None:
            state = STATE
        return y + state
"""


def test_an_entry_in_which_all_stands_in_its_place_has_no_choices() -> None:
    assert run(MODULE.replace("STATE", "torch.zeros_like(y)")).statistics["runs"] == 1


def test_an_entry_that_puts_something_elsewhere_has() -> None:
    text = MODULE.replace("STATE", "torch.zeros(3)").replace("if self.layer is not None else self.norm(x)", "")
    analysis = run(text)
    assert analysis.statistics["runs"] > 1
    assert worlds(analysis, MixedDevices) == {"gpu1", "gpu2"}


@pytest.mark.parametrize(
    ("kept", "moves"),
    [
        pytest.param("self.register_buffer('kept', torch.zeros(3))", True, id="a buffer"),
        pytest.param("self.kept = [number.item() for number in torch.linspace(0, 1, 3)]", True, id="numbers"),
        pytest.param("self.register_buffer('b', torch.zeros(3)); self.f = half if dim else norm", True, id="code"),
        pytest.param("b = torch.zeros(3); self.f = (lambda x: x + b) if dim > 5 else norm", False, id="a closure"),
    ],
)
def test_what_moves_with_its_module_stands_in_its_place(kept: str, moves: bool) -> None:
    text = MODULE.replace("super().__init__()", f"super().__init__(); {kept}").replace("STATE", "torch.zeros_like(y)")
    assert (run(text).statistics["runs"] == 1) is moves


def test_a_plain_tensor_has_choices_only_where_it_is_used() -> None:
    text = MODULE.replace("super().__init__()", "super().__init__(); self.kept = torch.zeros(3)")
    assert run(text.replace("STATE", "torch.zeros_like(y)")).statistics["runs"] == 1
    assert run(text.replace("STATE", "self.kept")).statistics["runs"] > 1


@pytest.mark.parametrize("value", ["open(path)", "pathlib.Path(path)", "Options()"])
def test_what_has_no_device_makes_no_choice(value: str) -> None:
    text = (
        "import pathlib, sys, torch\n"
        "from somewhere import flag, path\n"
        "class Options:\n"
        "    def __init__(self):\n"
        "        self.width = 3\n"
        "x = torch.zeros(3).cuda()\n"
        f"where = None\nif flag:\n    where = {value}\n"
        "print(where, x)\n"
    )
    assert run(text).statistics["runs"] == 2


COUNTED = (
    """
import torch
from somewhere import batches, save
model = torch.nn.Linear(2, 2).cuda()
interval = 0
def log(number, loss):
    shown = loss.cpu()
    print(number, shown)
for number, x in enumerate(batches()):
    loss = model(torch.ones(2, device="cuda")).sum()
    BODY
"""
    + 30 * "    loss = loss * 2\n"
)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if number % 10 == 0: print(number, loss.item())", id="it shows something"),
        pytest.param("if number % 10 == 0: log(number, loss)", id="it calls a function"),
        pytest.param("if number % 10 == 0: kept = loss.cpu(); save(kept)", id="it has a variable of its own"),
        pytest.param("if number % 10 == 0: loss = loss.detach()", id="the tensor stands where it stood"),
        pytest.param("if number % 10 == 0: last = loss.cpu()\n    save(last)", id="the tensor stays"),
        pytest.param("if interval > 0: model.cpu()", id="the numbers don't change"),
        pytest.param("assert number >= 0", id="it is asserted"),
    ],
)
def test_a_condition_on_numbers_that_leaves_nothing_needs_no_other_round(body: str) -> None:
    assert steps(COUNTED.replace("BODY", body)) - steps(COUNTED.replace("BODY", "pass")) < 60


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if number == 0: y = torch.zeros(3)\n    loss + y\n    y = y.cuda()", id="what is moved later"),
        pytest.param("y = torch.ones(2)\n    if number == 0: y = y.cuda()\n    model(y)", id="what it moves"),
        pytest.param("if number % 10 == 9: loss + torch.ones(3)", id="a way that was not run"),
        pytest.param(
            "if number == 0: interval = 1\n    if interval > 0: loss + torch.ones(3)", id="numbers that change"
        ),
    ],
)
def test_one_that_leaves_something_needs_another_round(body: str) -> None:
    text = COUNTED.replace("BODY", body)
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}
    assert steps(text) - steps(COUNTED.replace("BODY", "pass")) > 60


def test_numbers_of_a_loop_are_not_known_behind_it() -> None:
    text = (
        "import torch\n"
        "from somewhere import batches\n"
        "for number, x in enumerate(batches()):\n"
        "    shown = number + 1\n"
        "    if number % 10 == 0: print(shown)\n"
        "if shown > 1:\n"
        "    torch.ones(3).cuda() + torch.ones(3)\n"
    )
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}


@pytest.mark.parametrize("value", ["None", "unknown", "(x, x)", "0"])
def test_a_tensor_of_which_nobody_knows_where_it_is_has_nothing_to_lose(value: str) -> None:
    text = (
        "import torch\n"
        "from somewhere import device, flag, unknown\n"
        "x = torch.zeros(3, device=device)\n"
        f"if flag:\n    x = {value}\n"
        "print(x, torch.zeros(3).cuda())\n"
    )
    assert run(text).statistics["runs"] == 2


OPTIONS = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--verbose", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(2, 2)
if args.cuda:
    device = torch.device("cuda")
else:
    device = torch.device("cpu")
BODY
print(model)
"""


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        pytest.param("model.to(device)", 4, id="one option"),
        pytest.param("if device.type == 'cuda': model.cuda()", 4, id="what follows from it"),
        pytest.param("if args.verbose: model.cuda()", 7, id="another one, and both left alone"),
        pytest.param(
            "if args.verbose:\n    print(torch.zeros(3, device='cuda' if args.cuda else 'cpu'))", 4, id="within"
        ),
    ],
)
def test_what_follows_from_a_choice_or_lies_around_one_is_none(body: str, runs: int) -> None:
    assert run(OPTIONS.replace("BODY", body)).statistics["runs"] == runs


def test_an_object_that_holds_the_same_again_needs_no_other_round() -> None:
    text = (
        "import torch\n"
        "from typing import NamedTuple\n"
        "from somewhere import going\n"
        "class Pair(NamedTuple):\n"
        "    one: torch.Tensor\n"
        "    other: torch.Tensor\n"
        "y = torch.zeros(3)\n"
        "pair = Pair(y, y)\n"
        "while going():\n"
        "    NAME = Pair(y, y)\n"
    )
    assert steps(text.replace("NAME", "pair")) == steps(text.replace("NAME", "made"))


APPLIED = """
import torch
from torch import nn
def apply_to(layer):
    if isinstance(layer, nn.Linear):
        BODY
net = nn.Sequential(LAYERS)
net.apply(apply_to)
print(net(torch.zeros(2)))
"""


def test_a_function_is_applied_once_to_layers_that_are_alike() -> None:
    def applied(body: str, layers: str) -> int:
        return steps(APPLIED.replace("BODY", body).replace("LAYERS", layers))

    two = "nn.Linear(2, 3), nn.Linear(3, 2)"
    assert (
        applied("nn.init.zeros_(layer.weight)", two) == applied("nn.init.zeros_(layer.weight)", "nn.Linear(2, 2)") + 1
    )
    assert applied("layer.cuda()", two) > applied("layer.cuda()", "nn.Linear(2, 2)") + 1


def test_it_is_applied_to_each_where_something_comes_of_it() -> None:
    text = APPLIED.replace("BODY", "layer.cuda()").replace("LAYERS", "nn.Linear(2, 3), nn.Linear(3, 2)")
    assert worlds(run(text.replace("zeros(2)", "zeros(2).cuda()")), MixedDevices) == set()
    assert worlds(run(text), MixedDevices) == {"gpu1", "gpu2"}


def test_targets_that_the_body_changes_stay_as_they_are() -> None:
    """What a round made of its target is there after the loop, though rounds that only show something are left out."""
    analysis = run(
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "net = torch.nn.Linear(3, 2).to(device)\n"
        "loader = DataLoader(TensorDataset(torch.zeros(8, 3), torch.zeros(8)), batch_size=2)\n"
        "for index, (features, labels) in enumerate(loader):\n"
        "    features = features.to(device)\n"
        "    out = net(features)\n"
        "    if not index % 200:\n"
        "        print(index, len(loader), out)\n"
        "print(net(features), labels.numpy())\n"
    )
    assert worlds(analysis, MixedDevices) == set()


def test_a_program_keeps_its_limit_behind_an_import() -> None:
    """What is run for an import has a limit of its own; the program's is four budgets, before it and after."""
    rounds = "".join(f"x = x + {index}\n" for index in range(400)) * 10
    program = f"import torch\nimport helper\nx = 0\n{rounds}torch.zeros(2).cuda() + torch.zeros(2)\n"
    files = {"/program.py": program, "/helper.py": "y = 1\n"}
    sources = {path: read_source(Path(path), path, text.encode()) for path, text in files.items()}
    assert worlds(analyse(Project(Path("/"), sources), paths=["/program.py"]), MixedDevices) == {"gpu1", "gpu2"}


@pytest.mark.parametrize("called", ["main()", "train()\ntest()"])
def test_what_is_tested_after_training_is_run(called: str) -> None:
    """The contexts in which training has called the network leave those of the test."""
    rows = "".join(f"    x = x * {n} + x\n" for n in range(80))
    steps = "".join(f"    kept.append(net(torch.zeros({n + 1}, device=device)))\n" for n in range(20))
    text = (
        "import torch\n"
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "weight = torch.ones(1, device=device)\n"
        "kept = []\n"
        f"def net(x):\n{rows}    return x * weight\n"
        f"def train():\n{steps}"
        "def test():\n    print(net(torch.zeros(3)))\n"
        "def main():\n    train()\n    test()\n"
        f"{called}\n"
    )
    analysis = run(text)
    assert analysis.statistics["cut: contexts"]
    assert worlds(analysis, MixedDevices) == {"gpu1", "gpu2"}
