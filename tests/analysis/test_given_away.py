"""What a program gives to a library that calls it needs what the program has."""

from __future__ import annotations

import pytest

from devlint.analysis.events import DeviceUnavailable
from tests.analysis.analysed import analysed

HEAD = """\
import functools
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
def f(x, fast=False):
    return net(torch.tensor(x).{move})
class Owner:
    def f(self, x):
        return net(torch.tensor(x).{move})
owner = Owner()
"""

CALLS = [
    "import optuna\nstudy = optuna.create_study()\nprint(study.optimize(f))\n",
    "import optuna\noptuna.create_study().optimize(lambda trial: f(trial))\n",
    "import optuna\noptuna.create_study().optimize(functools.partial(f, fast=True), n_trials=2)\n",
    "import optuna\noptuna.create_study().optimize(owner.f, n_trials=2)\n",
    "from hyperopt import fmin\nfmin(fn=f, space={})\n",
    "from scipy.optimize import minimize\nminimize(f, [0.0])\n",
    "import wandb\nwandb.agent('id', function=f)\n",
    "from accelerate import notebook_launcher\nnotebook_launcher(f, ())\n",
    "from joblib import Parallel, delayed\nParallel(2)(delayed(f)(i) for i in range(2))\n",
    "import gradio as gr\ngr.Interface(fn=f).launch()\n",
    "import gradio\nwith gradio.Blocks() as demo:\n    gradio.Button().click(f)\ndemo.launch()\n",
    "from ignite.engine import Engine\nEngine(f).run([1])\n",
    "from datasets import load_dataset\nprint(load_dataset('x').map(f, batched=True))\n",
    "import pandas as pd\nprint(pd.read_csv('x')['a'].apply(f))\n",
    "from flask import Flask\napp = Flask('a')\n@app.route('/')\ndef g():\n    return f(1)\napp.run()\n",
    "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/')\nasync def g():\n    return f(1)\nprint(app)\n",
    "import datasets\nrows = datasets.load_dataset('x')\npart = rows['train'].shuffle()\nprint(part.map(f))\n",
    "import optuna\ndef main():\n    study = optuna.create_study()\n    study.optimize(f)\nmain()\n",
    "import gradio as gr\ndef main():\n    def g(x):\n        return f(x)\n    gr.Interface(g).launch()\nmain()\n",
]


def told(text: str) -> list[str]:
    return [event.world for event in analysed(text).events if isinstance(event, DeviceUnavailable)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("move", ["cuda()", "to('cuda')"])
def test_what_is_called_needs_a_gpu(call: str, move: str) -> None:
    """Without one the program ends there."""
    assert told(HEAD.format(move=move) + call) == ["cpu"]


@pytest.mark.parametrize("call", CALLS)
def test_what_is_called_goes_where_the_program_does(call: str) -> None:
    """It needs none."""
    assert told(HEAD.format(move="to(device)") + call) == []


@pytest.mark.parametrize(
    "call",
    [
        "import elsewhere\nelsewhere.register('cuda', f)\n",
        "import elsewhere\nprint(elsewhere.make().optimize(f))\n",
        "import pandas as pd\nprint(pd.read_csv('x').pipe(f))\n",
        "import elsewhere\nimport datasets\nprint(elsewhere.registry().map(f))\n",
        "import elsewhere\nimport datasets\nkernels = elsewhere.registry()\nkernels.filter(f)\nprint(kernels)\n",
        "import gradio\ndef add(hooks):\n    hooks.change(f)\nadd(gradio.unknown)\nprint(add)\n",
        "import datasets\nimport elsewhere\nkinds = datasets.load(0)\nkinds = elsewhere.make()\nprint(kinds.map(f))\n",
        "import gradio as gr\nif torch.cuda.is_available():\n    gr.Interface(fn=f).launch()\n",
        "import optuna\nif not torch.cuda.is_available():\n    raise SystemExit\noptuna.create_study().optimize(f)\n",
    ],
)
def test_others_may_not_be_called_there(call: str) -> None:
    """Of what a library does with a function that it is given nothing is known but by its name."""
    assert told(HEAD.format(move="cuda()") + call) == []


@pytest.mark.parametrize(
    "rest",
    [
        "def g(x, mode='fast'):\n    if mode == 'fast':\n        return 0\n    return f(x)\nStudy().optimize(g)\n",
        "def g(x, mode='fast'):\n    if mode != 'fast':\n        f(x)\nStudy().optimize(g)\n",
        "import sys\nif len(sys.argv) > 3:\n    Study().optimize(f)\n",
        "try:\n    Study().optimize(f)\nexcept RuntimeError:\n    pass\n",
        "import others\nothers.registry().optimize('cuda', f)\n",
        "import others\nothers.registry().optimize({'cuda': f})\n",
    ],
)
def test_what_may_not_be_called(rest: str) -> None:
    """Where the library, or the function, may not come to what needs a GPU, nothing is told."""
    head = HEAD.format(move="cuda()") + "from optuna import create_study as Study\n"
    assert told(head + rest) == []
