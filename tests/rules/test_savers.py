"""Who saved what a program loads: what programs beside it bring to the CPU before they save it is harmless."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.files import FoundFile
from devlint.linter import check, lint
from devlint.pipeline import Options

LOADS = """\
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2)
net.load_state_dict(torch.load("net.pt"))
print(net.to(device))
"""
HEAD = "import torch\nimport torch as th\n"
FROM_CPU = {
    "each tensor in a loop": """\
def save(net, path):
    state = net.state_dict()
    for key, value in state.items():
        state[key] = value.cpu()
    kept = {}
    kept["params"] = state
    torch.save(kept, path)
""",
    "each item of the state": """\
net = torch.nn.Linear(2, 2)
state = net.state_dict()
for key in state.keys():
    state[key] = state[key].to(torch.device("cpu"))
th.save(state, "net.pt")
""",
    "in a comprehension": """\
def save(net, path):
    torch.save({key: value.cpu() for key, value in net.state_dict().items()}, path)
""",
    "the module as a whole": "def save(net, path):\n    torch.save(net.cpu(), path)\n",
    "the module, and back": """\
class Trainer:
    def save(self, path, device):
        self.net.to("cpu")
        torch.save({"net": self.net.state_dict(), "epoch": self.epoch}, path)
        self.net.to(device)
""",
}
FROM_ANYWHERE = {
    "as it is": "def save(net, path):\n    torch.save(net.state_dict(), path)\n",
    "numbers beside it": """\
def save(net, path, loss):
    loss = loss.cpu()
    torch.save({"net": net.state_dict(), "loss": loss}, path)
""",
    "other things from the CPU": """\
def save(masks, path):
    torch.save([mask.cpu() for mask in masks], path)
""",
    "another network": """\
def save(net, other, path):
    other.cpu()
    torch.save(net.state_dict(), path)
""",
    "in another function": """\
def show(net):
    net.cpu()
    print(net.state_dict())
def save(net, path):
    torch.save(net.state_dict(), path)
""",
    "no program": "def save(:\n    torch.save(net.cpu().state_dict(), path)\n",
}


def severity(folder: Path, load: str = "load.py") -> list[str]:
    """How grave the load is in a run over all files of a folder."""
    files = sorted(folder.rglob("*.py"))
    found = check(files, Config(root=folder))
    return [item.severity for item in found if item.code == "DEV106"]


@pytest.mark.parametrize("text", FROM_CPU.values(), ids=FROM_CPU)
def test_what_is_brought_to_the_cpu_is_advice(text: str, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(LOADS)
    (tmp_path / "train.py").write_text(HEAD + text)
    assert severity(tmp_path) == ["advice"]


@pytest.mark.parametrize("text", FROM_ANYWHERE.values(), ids=FROM_ANYWHERE)
def test_what_is_saved_where_it_is_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(LOADS)
    (tmp_path / "train.py").write_text(HEAD + text)
    assert severity(tmp_path) == ["error"]


@pytest.mark.parametrize(("mark", "said"), [("README.md", "advice"), (None, "error")])
def test_what_a_folder_beside_saves_counts_in_one_project(mark: str | None, said: str, tmp_path: Path) -> None:
    """A folder without the marks of a project may hold programs that have nothing to do with each other."""
    for name, text in (("load.py", LOADS), ("train.py", HEAD + FROM_CPU["in a comprehension"])):
        (tmp_path / name.partition(".")[0]).mkdir()
        (tmp_path / name.partition(".")[0] / name).write_text(text)
    if mark is not None:
        (tmp_path / mark).write_text("")
    assert severity(tmp_path) == [said]


PART = """\
import os
import requests
import torch
NAME, URL = os.path.join("weights", "part.pt"), "https://example.org/part.pt"
{helper}
def build(path):
    net = torch.nn.Linear(2, 2)
    net.load_state_dict(torch.load({path}))
    return net
"""
USES = """\
import torch
import part
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(part.build("weights/net.pt").to(device))
"""


@pytest.mark.parametrize(
    ("path", "helper", "expected"),
    [
        ("path", "", ["error"]),
        ("NAME", "", ["advice"]),
        (
            "fetch()",
            "def fetch():\n    name = input()\n    open(name, 'w').write(requests.get(URL).text)\n    return name\n",
            ["advice"],
        ),
        ("find()", "def find():\n    return input()\n", ["error"]),
    ],
)
def test_a_name_that_only_a_library_knows_is_somebody_elses(
    path: str, helper: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "part.py").write_text(PART.format(path=path, helper=helper))
    (tmp_path / "program.py").write_text(USES)
    assert severity(tmp_path) == expected


BESIDE = """\
import os
import torch
from pathlib import Path
HERE = Path(__file__).parent
def build(name):
    net = torch.nn.Linear(2, 2)
    folder = {folder}
    net.load_state_dict(torch.load(os.path.join(folder, "net.pt")))
    return net
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(build("net").to(device))
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("os.path.join(os.path.dirname(os.path.realpath(__file__)), 'weights')", "advice"),
        ("HERE / 'weights'", "advice"),
        ("os.path.join('weights', name)", "error"),
    ],
)
def test_what_lies_beside_the_code_was_published_with_it(folder: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BESIDE.format(folder=folder))
    assert severity(tmp_path) == [expected]


def test_what_a_program_that_saves_loads_in_a_library_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(PART.format(path="path", helper=""))
    (tmp_path / "program.py").write_text(USES)
    assert severity(tmp_path) == ["error"]
    (tmp_path / "program.py").write_text(USES + 'torch.save(part, "net.pt")\n')
    assert severity(tmp_path) == []


def test_the_nearest_programs_that_save_are_asked(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("")
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "load.py").write_text(LOADS)
    (tmp_path / "other" / "train.py").write_text(HEAD + FROM_CPU["the module, and back"])
    assert severity(tmp_path) == ["advice"]
    (tmp_path / "one" / "train.py").write_text(HEAD + FROM_ANYWHERE["as it is"])
    assert severity(tmp_path) == ["error"]


def test_it_is_asked_anew_where_the_load_is_known_from_the_cache(tmp_path: Path) -> None:
    config = Config(root=tmp_path)
    load, train = tmp_path / "load.py", tmp_path / "train.py"
    load.write_text(LOADS)
    seen = []
    for text in (FROM_CPU["in a comprehension"], FROM_ANYWHERE["as it is"], FROM_CPU["in a comprehension"]):
        train.write_text(HEAD + text)
        report = lint([FoundFile(path, config, named=True) for path in (load, train)], Options(cache=True))
        seen += [item.severity for item in report.findings if item.code == "DEV106"]
    assert seen == ["advice", "error", "advice"]


SETTINGS = """\
import argparse, os, torch
args = argparse.ArgumentParser().parse_args()
{other}
torch.save({what}, os.path.join(args.folder, "chosen"))
"""
READS = """\
import os, sys, torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
chosen = torch.load(os.path.join(sys.argv[1], "chosen"))
print(chosen.epochs, chosen.state_dict(), torch.ones(2, device=device))
"""


@pytest.mark.parametrize(
    ("what", "other", "expected"),
    [
        ("args", "", []),
        ("args", "torch.save(net, os.path.join(args.folder, 'other'))", []),
        ("net", "", ["error"]),
        ("args", "torch.save(net, 'chosen')", ["error"]),
    ],
)
def test_settings_saved_under_a_name_hold_no_tensor(what: str, other: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SETTINGS.format(what=what, other=other))
    (tmp_path / "read.py").write_text(READS)
    assert severity(tmp_path) == expected


NETWORKS = {
    "net.py": "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n",
    "face.py": "from torch import nn\nclass Face(nn.Module):\n    def forward(self, x):\n        return x\n",
    "train.py": (
        "import torch\nfrom net import Net\nnet = Net()\nnet(torch.ones(1)).sum().backward()\n"
        'torch.save(net.state_dict(), "net.pt")\n'
    ),
}
FACES = HEAD + (
    'from {module} import {name}\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nnet = {name}()\n'
    'net.load_state_dict(torch.load("weights.pt"))\nnet.to(device)\n'
)


def project(folder: Path, files: dict[str, str]) -> None:
    (folder / "README.md").write_text("# Trains\n")
    for number in range(8):
        (folder / f"part{number}.py").write_text("import os\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(("module", "name", "expected"), [("net", "Net", "error"), ("face", "Face", "advice")])
def test_a_network_that_nobody_who_saves_knows_is_somebody_elses(
    module: str, name: str, expected: str, tmp_path: Path
) -> None:
    project(tmp_path, {**NETWORKS, "load.py": FACES.format(module=module, name=name)})
    assert severity(tmp_path) == [expected]


@pytest.mark.parametrize(
    "more",
    [
        {"tools.py": "from face import Face\nnet = Face()\n", "fit.py": "import tools\ntools.net(1).backward()\n"},
        {"build.py": "import importlib\n", "fit.py": 'from build import *\noptimizer = make("face.Face")\n'},
        {"net.yaml": "network: Face\n", "fit.py": "import importlib\nfrom torch import optim\n"},
    ],
    ids=["by way of another file", "by a text", "by a setting"],
)
def test_who_trains_it_may_have_saved_it(more: dict[str, str], tmp_path: Path) -> None:
    project(tmp_path, {**NETWORKS, "load.py": FACES.format(module="face", name="Face"), **more})
    assert severity(tmp_path) == ["error"]


def test_a_load_in_a_helper_is_asked_of_its_callers(tmp_path: Path) -> None:
    helper = HEAD + "def fill(net, path):\n    net.load_state_dict(torch.load(path))\n"
    load = FACES.format(module="face", name="Face").replace(
        'net.load_state_dict(torch.load("weights.pt"))', 'fill(net, "weights.pt")'
    )
    project(tmp_path, {**NETWORKS, "helper.py": helper, "load.py": "from helper import fill\n" + load})
    assert severity(tmp_path) == ["advice"]


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("if os.path.isfile(path):\n    x = torch.load(path)\nelse:\n    x = load_url(URL)\n", "advice"),
        ("if not os.path.exists(path):\n    load_url(URL, 'weights')\nx = torch.load(path)\n", "advice"),
        ("if not os.path.exists(other):\n    load_url(URL, 'weights')\nx = torch.load(path)\n", "error"),
        (
            "import subprocess\nif not os.path.exists(path):\n    subprocess.run(['curl', URL, '-o', path])\n"
            "x = torch.load(path)\n",
            "advice",
        ),
        (
            "import subprocess\nif not os.path.exists(path):\n    subprocess.run(['python', 'train.py', path])\n"
            "x = torch.load(path)\n",
            "error",
        ),
    ],
    ids=["on the other side", "where it is not there", "where another is not there", "by a command", "by a training"],
)
def test_what_is_fetched_where_it_is_not_there_is_somebody_elses(load: str, expected: str, tmp_path: Path) -> None:
    text = HEAD + (
        "import os, sys\nfrom torch.utils.model_zoo import load_url\nURL = 'https://example.org/net.pt'\n"
        "path, other = sys.argv[1], sys.argv[2]\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        f"net = torch.nn.Linear(2, 2)\n{load}net.load_state_dict(x)\nnet.to(device)\n"
    )
    (tmp_path / "load.py").write_text(text)
    assert severity(tmp_path) == [expected]
