"""What is entered by protocol beside programs: functions that decorators of libraries took, classes that a file only
tries out, modules that were called with what nobody knows, those that register under names that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check
from tests.analysis.annotated import expected, found
from tests.rules.expectations import as_expected

HEAD = "import torch\nfrom torch import nn\n"

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        mask = torch.ones(3)  # DEV303: gpu1 gpu2
        return self.fc(x) * mask
"""
TRIAL = """
if __name__ == "__main__":
    print(Net()(torch.rand(2, 3)).shape)
"""
USER = HEAD + "from net import Net\n"
MOVED = """
def train(loader):
    net = Net().cuda()
    for x in loader:
        net(x.cuda())
"""
BIG = """
class Big(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x):
        return self.net(x)
"""


def places(files: dict[str, str], folder: Path) -> list[tuple[str, int, str]]:
    """Lint all the files."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    told = as_expected(check([folder / name for name in files], Config(root=folder)))
    return [(finding.file, finding.row, finding.code) for finding in told]


def test_what_a_file_tries_out_on_the_cpu_is_entered_for_those_who_import_it(tmp_path: Path) -> None:
    net = HEAD + NET + TRIAL
    assert places({"big.py": USER + BIG, "net.py": net}, tmp_path / "tried") == [("net.py", 9, "DEV303")]
    assert places({"net.py": net}, tmp_path / "alone") == []  # a program that runs on the CPU


def test_around_what_is_tried_out_something_moves(tmp_path: Path) -> None:
    """Programs that move nothing use it on the CPU, as the trial does."""
    used = USER + "net = Net()\nfor _ in range(3):\n    print(net(torch.rand(2, 3)))\n"
    assert places({"net.py": HEAD + NET + TRIAL, "use.py": used}, tmp_path) == []


def test_a_program_that_others_import_is_no_trial_if_it_moves(tmp_path: Path) -> None:
    net = HEAD + NET + "def to(x, device):\n    return x.to(device)\n" + TRIAL
    assert places({"big.py": USER + BIG, "net.py": net}, tmp_path) == []


def test_what_a_trial_imports_is_not_driven_by_it(tmp_path: Path) -> None:
    part = HEAD + NET.replace("Net", "Part")
    net = HEAD + "from part import Part\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n" + TRIAL
    files = {"big.py": USER + BIG, "net.py": net, "part.py": part}
    assert places(files, tmp_path) == [("part.py", 9, "DEV303")]


WHOLE = """
from part import Part
class Whole(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.part = Part()
    def forward(self, x):
        return self.part(self.first(x))
"""
PART = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.grid = torch.arange(3)
    def forward(self, x):
        return self.fc(x) + self.grid
"""


def test_a_module_that_was_called_with_what_nobody_knows_is_entered(tmp_path: Path) -> None:
    """What stands in the file that comes first does not hide what is wrong in the other."""
    told = places({"a.py": HEAD + WHOLE, "part.py": HEAD + PART}, tmp_path / "first")
    assert told == [("part.py", 8, "DEV501")]
    later = WHOLE.replace("from part", "from a")
    assert places({"a.py": HEAD + PART, "whole.py": HEAD + later}, tmp_path / "later") == [("a.py", 8, "DEV501")]


def test_a_module_that_was_called_with_what_is_known_is_not_entered_again(tmp_path: Path) -> None:
    """Who calls it brings what it is asked for to the CPU."""
    whole = WHOLE.replace("self.part(self.first(x))", "self.part(x.cpu())")
    part = HEAD + PART.replace("        self.fc = nn.Linear(3, 3)\n", "").replace("self.fc(x)", "x")
    assert places({"a.py": HEAD + whole, "part.py": part}, tmp_path) == []


def test_a_module_of_which_a_program_built_one_is_the_programs(tmp_path: Path) -> None:
    program = HEAD + "from part import Part\nnet = Part()\nfor x in open('x'):\n    print(net(x))\n"
    assert places({"a.py": program, "part.py": HEAD + PART}, tmp_path) == []


UNNAMED = {
    "parts under names that nobody knows": """
class Late(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.grid = torch.arange(3)  # DEV501: gpu1 gpu2
        for i in range(depth):
            self.add_module("layer%d" % i, nn.Linear(3, 3))
    def forward(self, x):
        return self.fc(x) + self.grid
""",
    "attributes under names that nobody knows": """
class Late(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        for i in range(depth):
            setattr(self, f"layer{i}", nn.Linear(3, 3))
    def forward(self, x):
        return self.fc(x) + torch.ones(3)  # DEV303: gpu1 gpu2
""",
    "a buffer under a name that nobody knows": """
class Statistics(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        for name in names:
            self.register_buffer(name, torch.zeros(3))
    def forward(self, x):
        return self.fc(x) + self.mean
""",
}


@pytest.mark.parametrize("name", UNNAMED)
def test_modules_that_register_under_names_that_nobody_knows(name: str, tmp_path: Path) -> None:
    text = HEAD + UNNAMED[name]
    assert found(text, tmp_path) == expected(text)


LOADED = """
device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(3, 3).to(device)
"""
HANDED = {
    "a route of a server": """
from flask import Flask
app = Flask(__name__)
@app.route("/ask", methods=["POST"])
def ask():
    x = torch.rand(1, 3)  # DEV303: gpu1 gpu2
    return str(net(x))
if __name__ == "__main__":
    app.run()
""",
    "a coroutine, below another decorator": """
from fastapi import FastAPI
app = FastAPI()
@app.post("/ask")
@torch.inference_mode()
async def ask(item):
    x = torch.rand(1, 3)  # DEV303: gpu1 gpu2
    return net(x).tolist()
""",
    "one that only hands on": """
import chainlit
def answer(model, text):
    return model(torch.tensor(text))  # DEV303: gpu1 gpu2
@chainlit.on_message
async def main(message):
    return answer(net, message)
""",
    "a route that brings its input along": """
from fastapi import FastAPI
app = FastAPI()
@app.post("/ask")
def ask(item):
    return net(torch.rand(1, 3).to(device)).tolist()
""",
    "a task of another process": """
import ray
@ray.remote
def ask(item):
    return net(torch.rand(1, 3)).tolist()
""",
    "a method": """
from tools import timed
class Solver:
    def __init__(self):
        self.net = nn.Linear(3, 3).to(device)
    @timed
    def solve(self):
        x = torch.rand(1, 3)  # DEV303: gpu1 gpu2
        return self.net(x)
""",
}

CLOSURES = {
    "what answers for a page": """
import gradio as gr
def main():
    net = nn.Linear(3, 3)
    def answer(text):
        return net(torch.rand(1, 3))  # DEV303: gpu1 gpu2
    page = gr.Interface(fn=answer, inputs="text", outputs="text")
    net.to(device)
    page.launch()
if __name__ == "__main__":
    main()
""",
    "a route that a factory makes": """
from flask import Flask
def create():
    app = Flask(__name__)
    @app.route("/ask")
    def ask():
        x = torch.rand(1, 3)  # DEV303: gpu1 gpu2
        return str(net(x))
    @app.route("/tell")
    def tell():
        return str(net(torch.rand(1, 3, device=device)))
    return app
create().run()
""",
    "a method of what nobody knows": """
import gradio as gr
with gr.Blocks() as page:
    button = gr.Button()
    button.click(lambda text: net(torch.rand(1, 3)))  # DEV303: gpu1 gpu2
page.launch()
""",
    "what the program calls itself": """
import somewhere
def main():
    def move(x, to=None):
        y = torch.ones(3)
        return y if to is None else (x + y.to(to)).sum()
    def start(x):
        return x + torch.ones(3)
    somewhere.register(start)
    print(move(torch.ones(3).to(device), device), start(torch.ones(3)))
main()
""",
    "what needs a GPU that is not there": """
import somewhere
def main():
    def answer(text):
        return torch.rand(1, 3).cuda()
    somewhere.register(answer)
print(torch.cuda.is_available())
main()
""",
}


@pytest.mark.parametrize("name", CLOSURES)
def test_functions_that_are_made_and_handed_to_libraries(name: str, tmp_path: Path) -> None:
    text = HEAD + LOADED + CLOSURES[name]
    assert found(text, tmp_path) == expected(text)


@pytest.mark.parametrize("name", HANDED)
def test_functions_that_decorators_of_libraries_take(name: str, tmp_path: Path) -> None:
    text = HEAD + LOADED + HANDED[name]
    assert found(text, tmp_path) == expected(text)


NAMED = """
import argparse
import torchvision.models as models
parser = argparse.ArgumentParser()
parser.add_argument("--arch", default="resnet18")
args = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
net = models.__dict__[args.arch](pretrained=True).to(device)
net(torch.rand(1, 3, 224, 224))  # DEV302: gpu1 gpu2
other = vars(models)["resnet18"]().to(device)
other(torch.rand(1, 3, 224, 224))  # DEV302: gpu1 gpu2
own = models.__dict__[input()]().to(device)
own(torch.rand(1, 3, 224, 224))
"""


def test_members_of_a_module_by_its_dict(tmp_path: Path) -> None:
    assert found(HEAD + NAMED, tmp_path) == expected(HEAD + NAMED)


def test_names_of_a_file_by_its_dict(tmp_path: Path) -> None:
    program = (
        HEAD
        + "import nets\nnet = nets.__dict__['Net']().to('cuda' if torch.cuda.is_available() else 'cpu')\n"
        + "net(torch.rand(1, 3))\n"
    )
    told = places({"nets.py": HEAD + NET.replace("torch.ones(3)", "1"), "program.py": program}, tmp_path)
    assert told == [("program.py", 5, "DEV302")]
