"""What other libraries do with a CUDA tensor, on a GPU or under simulated CUDA: those that are installed are run."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest
import torch

from devlint.semantics import table

PROGRAM = """
import json, os, sys, warnings
import numpy, torch
warnings.simplefilter("ignore")
torch.set_num_threads(1)
NO_HOST = "can't convert cuda:0 device type tensor to numpy"

def shapes(device):
    line = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, device=device)
    square = torch.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=torch.float64, device=device)
    whole = torch.tensor([1, 2, 3], device=device)
    for tensor in (line, square, whole):
        yield "one", (tensor,)
        yield "two", (tensor, tensor)
        yield "list", ([tensor, tensor],)
    yield "three", (line > 1, line, line)
    yield "number", (line, 1)

def outcome(function, arguments):
    try:
        function(*arguments)
    except Exception as error:
        return "host" if NO_HOST in str(error) else "failed"
    return "fine"

answers = {}
sys.stdout, out = open(os.devnull, "w"), sys.stdout
for name in json.load(sys.stdin):
    function = numpy
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if function is None:
        continue
    found = []
    for (form, there), (_, here) in zip(shapes("cuda"), shapes("cpu")):
        if outcome(function, here) == "fine":
            found.append((form, outcome(function, there)))
    answers[name] = found
print(json.dumps(answers), file=out)
"""


REAL = torch.cuda.is_available()
ACTIVATED = "from devlint import simulated\nsimulated.activate(1)\n"


def on_a_gpu(program: str, data: object = None) -> str:
    """What a program prints in a process of its own, on the GPU that is there, else under simulated CUDA."""
    program = program if REAL else ACTIVATED + program
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    run = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(data), capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


NUMPY = [row for row in table.rows("host") if row.name.startswith("numpy.") and "*" not in row.name]
# Files, and functions that print or fill what they are given.
NOT_CALLED = ("numpy.save", "numpy.load", "numpy.random.", "numpy.fromfile", "numpy.genfromtxt", "numpy.memmap")


@pytest.fixture(scope="module")
def answers() -> dict[str, list[tuple[str, str]]]:
    names = [
        row.name
        for row in NUMPY
        if row.effect in ("host-library", "numpy", "metadata") and not row.name.startswith(NOT_CALLED)
    ]
    found: dict[str, list[tuple[str, str]]] = json.loads(on_a_gpu(PROGRAM, names))
    return found


@pytest.mark.skipif(torch.version.cuda is not None and not REAL, reason="simulated CUDA wants a CPU build")
def test_numpy_converts_what_the_rows_say(answers: dict[str, list[tuple[str, str]]]) -> None:
    wrong = []
    tried = 0
    for name, found in answers.items():
        row = table.lookup(name)
        assert row is not None
        expected = "fine" if row.effect == "metadata" else "host"
        judged = [(form, said) for form, said in found if not (row.effect == "metadata" and form == "list")]
        if "delegates" in row.flags:
            judged = [(form, said) for form, said in found if form == "list"]
        tried += bool(judged)
        if any(said != expected for _, said in judged):
            wrong.append((name, judged))
    assert tried > 250
    assert not wrong


def need(*modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


CASES = [
    pytest.param("matplotlib.pyplot", "plot", "line", marks=need("matplotlib")),
    pytest.param("matplotlib.pyplot", "imshow", "square", marks=need("matplotlib")),
    pytest.param("matplotlib.pyplot", "hist", "line", marks=need("matplotlib")),
    pytest.param("pandas", "DataFrame", "square", marks=need("pandas")),
    pytest.param("pandas", "Series", "line", marks=need("pandas")),
    pytest.param("sklearn.metrics", "accuracy_score", "labels, labels", marks=need("sklearn")),
    pytest.param("sklearn.preprocessing", "normalize", "square", marks=need("sklearn")),
    pytest.param("scipy.stats", "pearsonr", "line, line", marks=need("scipy")),
    pytest.param("scipy.optimize", "linear_sum_assignment", "square", marks=need("scipy")),
]


@pytest.mark.parametrize(("module", "function", "arguments"), CASES)
def test_other_libraries_convert_tensors(module: str, function: str, arguments: str) -> None:
    row = table.lookup(f"{module}.{function}")
    assert row is not None
    assert row.effect == "host-library"
    program = f"""
import torch, {module}
line, labels = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 1, 2])
square = torch.tensor([[4.0, 1.0, 3.0], [2.0, 3.0, 1.0], [1.0, 5.0, 2.0]])
{module}.{function}({arguments})
line, labels, square = line.cuda(), labels.cuda(), square.cuda()
try:
    {module}.{function}({arguments})
except TypeError as error:
    print(error)
"""
    assert "can't convert cuda:0 device type tensor to numpy" in on_a_gpu(program)


@need("pandas")
def test_tensors_in_lists_stay_what_they_are_in_a_table() -> None:
    program = """
import torch, pandas
loss = torch.ones((), device="cuda")
print(pandas.DataFrame({"loss": [loss, loss]}).shape, pandas.DataFrame([loss, loss]).shape)
"""
    assert on_a_gpu(program).startswith("(2, 1) (2, 1)")


@need("torchmetrics")
def test_the_state_of_a_metric_moves_in_place() -> None:
    program = """
import torch, torchmetrics
metric, value = torchmetrics.MeanMetric(), torch.tensor(2.0).cuda()
try:
    metric(value)
except RuntimeError as error:
    print(error)
metric.to("cuda")
print(metric(value).device)
"""
    said = on_a_gpu(program)
    assert "Encountered different devices in metric calculation" in said
    assert said.endswith("cuda:0\n")
    row = table.lookup("torchmetrics.MeanMetric")
    assert row is not None
    assert (row.to, row.base) == ("both", "torchmetrics.Metric")
