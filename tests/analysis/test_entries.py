"""Code that nobody in sight calls is entered by protocol; what is driven by a program is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check
from tests.analysis.analysed import analysed
from tests.analysis.annotated import expected, found
from tests.rules.expectations import as_expected

HEAD = "import torch\nfrom torch import nn\n"

ENTERED = {
    "a module that nobody builds": """
class Net(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.scale = torch.ones(3)  # DEV501: gpu1 gpu2
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale
""",
    "a weight that is left out or not": """
class Weighted(nn.Module):
    def __init__(self, weight=None):
        super().__init__()
        self.weight = None if weight is None else torch.tensor(weight)  # DEV501: gpu1 gpu2
    def forward(self, x):
        if self.weight is not None:
            x = x * self.weight.view(1, -1)
        return x
""",
    "a device that was given, or was not": """
def explicit(device):
    if device is None:
        device = torch.zeros(0).device
    return device
def grid(n, device=None):
    device = explicit(device)
    return torch.arange(n, device=device)
class Net(nn.Module):
    def __init__(self, n=None, device=None):
        super().__init__()
        rows = torch.zeros(n, n, device=device) * grid(n, device=device).new_ones(n)
        self.register_buffer("rows", rows)
    def forward(self, x):
        return x * self.rows + torch.ones(2)  # DEV303: gpu1 gpu2
""",
    "inputs that are no tensors": """
import numpy as np
class Labels(nn.Module):
    def forward(self, entries, info):
        scales = info.data.numpy()[:, 2]
        found = []
        for i, entry in enumerate(entries):
            boxes = entry["boxes"][:3] * scales[i]
            found.append(np.hstack((i * np.ones((2, 1)), boxes)))
        return found, info + torch.ones(2)  # DEV303: gpu1 gpu2
""",
    "a factory in its forward": """
class Net(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape)  # DEV303: gpu1 gpu2
        return x + noise
""",
    "numpy's logarithm of what may be a tensor": """
import numpy as np
def levels(distances, spacing):
    farthest = max(distances[0, 0], distances[-1, -1])
    return np.ceil(np.log(farthest) / spacing).to(torch.int32)
def counts(spacing):
    return np.ceil(np.zeros(3) / 2.0).to(torch.int32)  # DEV403: cpu gpu1 gpu2
""",
    "a text that is asserted to be one of several": """
class Encoder(nn.Module):
    def __init__(self, kind, width=4):
        super().__init__()
        assert kind in ("plain", "deep")
        self.scale = torch.ones(3) if kind == "mobile" else 1.0
    def forward(self, x):
        return x * self.scale
class Checked(nn.Module):
    def __init__(self, kind, width=4):
        super().__init__()
        if kind not in ("plain", "deep"):
            raise ValueError(kind)
        self.scale = torch.ones(3) if kind == "deep" else 1.0  # DEV501: gpu1 gpu2
    def forward(self, x):
        return x * self.scale
""",
    "an input that is moved for nothing, on which of two GPUs nobody says": """
class Update(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Conv2d(4, 4, 1)
    def forward(self, x, volume):
        volume.cuda()
        return torch.relu(x + self.encode(volume))
""",
    "what a condition has said to be None has no items": """
class Margin(nn.Module):
    def __init__(self, classes, gpus):
        super().__init__()
        self.gpus = gpus
        self.weight = nn.Parameter(torch.ones(classes, 4))
    def forward(self, x, label):
        if self.gpus == None:
            cosine = nn.functional.linear(x, self.weight)
        else:
            cosine = nn.functional.linear(x.cuda(self.gpus[0]), self.weight.cuda(self.gpus[0]))
        hot = torch.zeros(cosine.size())
        if self.gpus != None:
            hot = hot.cuda(self.gpus[0])
        hot.scatter_(1, label.cuda(self.gpus[0]).view(-1, 1).long(), 1)
        return hot * cosine
""",
    "a module that asks what nobody knows where the rest of its inputs is": """
def overlap(output, target):
    onehot = torch.zeros(output.shape)
    if output.device.type == "cuda":
        onehot = onehot.cuda(output.device.index)
    onehot.scatter_(1, target.long(), 1)
    return output * onehot
class Dice(nn.Module):
    def __init__(self, nonlinearity=None):
        super().__init__()
        self.nonlinearity = nonlinearity
    def forward(self, output, target):
        if self.nonlinearity is not None:
            output = self.nonlinearity(output)
        return overlap(output, target)
""",
    "a module that is right": """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.ones(width))
    def forward(self, x):
        return x * self.scale + torch.randn(x.shape, device=x.device)
""",
    "a default that the file sets": """
torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.offset = torch.ones(2)
    def forward(self, x):
        return self.layer(x) + torch.zeros(2) + self.offset
""",
    "a default that the program beside it sets": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x) + torch.zeros(2)
if __name__ == "__main__":
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    print(torch.zeros(2).device)
""",
    "a part is reached through the whole": """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.zeros(2)  # DEV501: gpu1 gpu2
    def forward(self, x):
        return x + self.bias
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, x):
        return self.part(x)
""",
    "a base class that is not complete": """
class Base(nn.Module):
    def forward(self, x):
        return self.body(x) + self.offset()
    def offset(self):
        raise NotImplementedError
class Net(Base):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def offset(self):
        return torch.ones(2)  # DEV303: gpu1 gpu2
""",
    "a library function": """
def normalise(x: torch.Tensor, mean, std):
    mean = torch.tensor(mean, device=x.device)
    return (x - mean) / std
def shifted(x: torch.Tensor):
    if x.is_cuda:
        return x + torch.ones(3)  # DEV303: gpu1 gpu2
    return x
""",
    "a private module that a function of the file has in use": """
from functools import lru_cache
class _Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
    def forward(self, x, sizes: torch.Tensor):
        return self.linear(x)[torch.arange(3) < sizes]
class _Unused(nn.Module):
    def forward(self, x, sizes: torch.Tensor):
        return x[torch.arange(3) < sizes]  # DEV303: gpu1 gpu2
@lru_cache
def load():
    return _Score()
def quality(x: torch.Tensor):
    return load()(torch.from_numpy(x.cpu().numpy()), torch.ones(3))
""",
    "a private module that a function gets from others": """
class _Score(nn.Module):
    def forward(self, x, sizes: torch.Tensor):
        return x[torch.arange(3) < sizes]  # DEV303: gpu1 gpu2
def quality(x: torch.Tensor, sizes):
    return _Score()(x, sizes)
""",
    "a flag against GPUs is no answer of who has one": """
class Average(nn.Module):
    def __init__(self, options):
        super().__init__()
        self._use_cuda = bool(options["use_cuda"])
        self.weights = torch.ones(3)
        if self._use_cuda:
            self.weights = self.weights.cuda()
    def forward(self, x):
        return x * self.weights
class Shifted(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.shift = torch.ones(3)  # DEV501: gpu1 gpu2
        if options["scaled"]:
            self.shift = self.shift.cuda()
    def forward(self, x):
        return x + self.shift
""",
    "a module that moves its attributes in a way of its own": """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(2, 2)
        self.scale = torch.ones(2)
        self.bias = torch.ones(2)  # DEV501: gpu1 gpu2
    def forward(self, state):
        return self.mean(state) * self.scale + self.bias
    def sample(self, state):
        return self(state) + self.scale
    def to(self, device):
        self.scale = self.scale.to(device)
        return super().to(device)
""",
    "what callers set before the forward": """
class Style(nn.Module):
    def __init__(self):
        super().__init__()
        self.gram = torch.zeros(2)
        self.bias = torch.zeros(2)  # DEV501: gpu1 gpu2
    def set_target(self, target):
        self.gram = target
    def forward(self, x):
        return x * self.gram + self.bias
""",
    "what the forward sets by a method": """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(2)  # DEV501: gpu1 gpu2
    def keep(self, value):
        self.last = value
    def forward(self, x):
        y = x + self.last
        self.keep(y)
        return y
""",
    "a view of what is on its way to the host": """
def to_cpu(tensor: torch.Tensor, as_numpy=False):
    if torch.is_tensor(tensor) and tensor.is_cuda:
        moved = tensor.to("cpu", non_blocking=True)
        return moved.numpy() if as_numpy else moved
    return tensor
def total(tensor: torch.Tensor):
    if tensor.is_cuda:
        moved = tensor.to("cpu", non_blocking=True)  # DEV405: gpu1 gpu2
        return moved.tolist()
""",
    "what a caller may pass is no fault": """
def add(a, b):
    return a + b
def weigh(a, weight=torch.ones(3)):
    return a * weight
def to_numpy(t: torch.Tensor):
    return t.detach().cpu().numpy()
""",
    "a module that places itself": """
class Net(nn.Module):
    def __init__(self, first="cuda:0", second="cuda:1"):
        super().__init__()
        self.first, self.second = first, second
        self.a = nn.Linear(2, 2).to(first)
        self.b = nn.Linear(2, 2).to(second)
    def forward(self, x):
        return self.b(self.a(x.to(self.first)).to(self.second))
""",
    "hooks of a LightningModule": """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.weight = torch.ones(2)  # DEV501: gpu1 gpu2
    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.layer(x), y, weight=self.weight)
    def validation_step(self, batch, index):
        x, y = batch
        return (self.layer(x) - torch.zeros(2, device=self.device)).sum()
""",
    "the mode in a hook": """
import lightning as L
class Right(L.LightningModule):
    def training_step(self, batch, index):
        return (batch[0] if self.training else batch[0] + torch.zeros(2)).sum()
    def validation_step(self, batch, index):
        return (batch[0] + torch.zeros(2) if self.training else batch[0]).sum()
class Wrong(L.LightningModule):
    def training_step(self, batch, index):
        return (batch[0] + torch.zeros(2) if self.training else batch[0]).sum()  # DEV303: gpu1 gpu2
    def test_step(self, batch, index):
        return (batch[0] if self.training else batch[0] + torch.zeros(2)).sum()  # DEV303: gpu1 gpu2
""",
    "a factory in a hook": """
import pytorch_lightning as pl
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x)
    def training_step(self, batch, index):
        x, y = batch
        real = torch.ones(2)  # DEV303: gpu1 gpu2
        return (self(x) - real).sum()
""",
    "names of a batch": """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def training_step(self, batch, index):
        weights = torch.ones(2)  # DEV303: gpu1 gpu2
        torch.zeros(2) + batch["size"]
        return (self.layer(batch["x"]) * weights).sum()
""",
    "a batch that is a tensor": """
import lightning as L
from torch.utils.data import DataLoader
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def training_step(self, batch, index):
        print(batch.device, batch.shape[0])
        return self.layer(batch).sum()
trainer = L.Trainer(accelerator="gpu")
trainer.fit(Net(), DataLoader([torch.ones(2)]))
""",
    "callbacks of a trainer": """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()
class Watch(L.Callback):
    def __init__(self, count):
        self.count = count
        self.kept = []
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.kept.append(batch[0].cpu().numpy())
        pl_module.layer(batch[0]).numpy()  # DEV401: gpu1 gpu2
    def on_train_epoch_end(self, trainer, pl_module):
        drawn = torch.randn(self.count, 2)
        if trainer.current_epoch % 2 == 0:
            pl_module.layer(drawn.to(pl_module.device))
            pl_module.layer(drawn)  # DEV302: gpu1 gpu2
    def on_test_end(self, trainer, pl_module):
        pl_module.layer(torch.ones(1, 2))
trainer = L.Trainer(accelerator="gpu", callbacks=[Watch(3)])
trainer.fit(Net(), [])
""",
    "callbacks of a trainer, in the order in which they are called": """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x)
    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()
    def validation_step(self, batch, index):
        return self.layer(batch[0]).sum()
class Moved(L.Callback):
    def __init__(self):
        self.mean = torch.zeros(2)
        self.shift = torch.zeros(2)
        self.probe = torch.zeros(1, 2)
        self.late = torch.zeros(1, 2)
    def setup(self, trainer, pl_module, stage):
        self.shift = torch.zeros(2, device=pl_module.device)
        pl_module(torch.zeros(1, 2))
    def on_fit_start(self, trainer, pl_module):
        self.mean = self.mean.to(pl_module.device)
    def on_sanity_check_start(self, trainer, pl_module):
        self.probe = self.probe.to(pl_module.device)
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.mean = self.mean + batch[0].mean(0) + self.shift
    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module(self.probe)
        pl_module(self.late)  # DEV302: gpu1 gpu2
    def on_fit_end(self, trainer, pl_module):
        self.late = self.late.to(pl_module.device)
class Export(L.Callback):
    def on_train_end(self, trainer, pl_module):
        pl_module.cpu()
        pl_module(torch.zeros(1, 2))
    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module(batch[0])
    def on_fit_end(self, trainer, pl_module):
        pl_module(torch.zeros(1, 2, device=pl_module.device))
trainer = L.Trainer(accelerator="gpu", callbacks=[Export(), Moved()])
trainer.fit(Net(), [])
""",
    "a flag of the constructor": """
class Actor(nn.Module):
    def __init__(self, width, scaled=False, plain=True):
        super().__init__()
        self.scaled, self.plain = scaled, plain
        self.layer = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width, 1)) if scaled else None
    def spread(self):
        return torch.ones(4, 4) * self.scale  # DEV303: gpu1 gpu2
    def forward(self, x):
        if self.scaled:
            return self.layer(x) + self.spread()
        return self.layer(x) if self.plain else self.layer(x) + torch.zeros(3)  # DEV303: gpu1 gpu2
class Right(nn.Module):
    def __init__(self, width, scaled=False):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width, 1)) if scaled else None
    def forward(self, x):
        if self.scale is not None:
            return self.layer(x) * self.scale
        return self.layer(x)
""",
    "a device that is given": """
def mask(sizes: torch.Tensor, device):
    rows = torch.zeros(3, 3, device=device)
    return rows + torch.ones(3)  # DEV303: gpu1 gpu2
def like(x):
    rows = torch.zeros(3, 3, device=x.device)
    return rows + torch.ones(3)  # DEV303: gpu1 gpu2
def shown(x, config):
    return torch.zeros(3).to(config.device).numpy()  # DEV401: gpu1 gpu2
class Agent:
    def __init__(self, net, device="cpu"):
        self.net, self.device = net.to(device), torch.device(device)
    def noise(self, n):
        base = torch.zeros(n, 2, device=self.device)
        return base + torch.randn(n, 2)  # DEV303: gpu1 gpu2
""",
    "a device that is given, and obeyed": """
def mask(sizes: torch.Tensor, device, store_device):
    rows = torch.zeros(3, 3, device=device)
    kept = torch.zeros(3).to(store_device).numpy()
    return rows + torch.ones(3, device=device), rows[torch.arange(3)], rows.cpu().numpy(), kept
def either(x: torch.Tensor, device=None):
    rows = torch.zeros(3, device=x.device if device is None else device)
    return rows * 2 + torch.tensor(3.0)
class Net(nn.Module):
    def __init__(self, width, device="cpu"):
        super().__init__()
        self.device = device
        self.layer = nn.Linear(width, width).to(device)
        self.start = torch.zeros(width, device=device)
    def forward(self, x):
        return self.layer(x.to(self.device)) + self.start
class Memory:
    def __init__(self, size, device):
        self.rows = torch.zeros(size, 4, device=device)
    def sample(self, n):
        return self.rows[torch.randint(0, 3, (n,))]
""",
    "a hard-coded device among inputs": """
class Net(nn.Module):
    def forward(self, x):
        mask = torch.ones(2).cuda()  # DEV101: gpu2
        return x * mask
""",
}


@pytest.mark.parametrize("name", ENTERED)
def test_entered(name: str, tmp_path: Path) -> None:
    text = HEAD + ENTERED[name]
    assert found(text, tmp_path) == expected(text)


@pytest.mark.parametrize(("last", "codes"), [("device", []), ("'cpu'", ["DEV303"])])
def test_what_a_program_sets_as_default_may_hold_by_protocol(last: str, codes: list[str], tmp_path: Path) -> None:
    """Unless it ends with the CPU, as it began."""
    text = (
        "import torch\nfrom torch import nn\n"
        "class Unused(nn.Module):\n    def forward(self, x):\n        return x + torch.ones(2)\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        f"torch.set_default_device(device)\nprint(torch.ones(2))\ntorch.set_default_device({last})\n"
    )
    assert [finding.code for finding in found(text, tmp_path)] == codes


def test_driven_files_are_entered_by_their_program_alone(tmp_path: Path) -> None:
    """A faulty class that the program never builds is the program's own business."""
    library = (
        "import torch\nfrom torch import nn\n"
        "class Wrong(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.ones(2)\n    def forward(self, x):\n        return x * self.w\n"
        "class Right(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
    )
    program = (
        "import torch\nfrom library import Right\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "print(Right().to(device)(torch.ones(2, device=device)))\n"
    )
    assert found({"program.py": program, "library.py": library}, tmp_path) == []
    built = program.replace("Right", "Wrong")
    assert [(e.file, e.row, e.code) for e in found({"program.py": built, "library.py": library}, tmp_path)] == [
        ("library.py", 6, "DEV501")
    ]
    alone = found({"program.py": library}, tmp_path)
    assert [(e.row, e.code) for e in alone] == [(6, "DEV501")]


OWNER = """
import torch
from torch import nn
class Trainer:
    def __init__(self, width):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = nn.Linear(width, 2)
    def step(self, rows):
        return self.net(torch.tensor(rows, device=self.device).float())
"""


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("trainer.net = send(trainer.net)", []),
        ("trainer.net.cuda()", []),
        ("trainer.other.cuda()", ["DEV302"]),
        ("net = send(trainer.net)", ["DEV302"]),
        ("trainer.net = send(trainer.other)", ["DEV302"]),
    ],
)
def test_programs_may_move_what_classes_hold_that_nobody_builds(
    statement: str, codes: list[str], tmp_path: Path
) -> None:
    """A registry gives the program an object, of whose class nobody knows."""
    (tmp_path / "trainers.py").write_text(OWNER, encoding="utf-8")
    main = f"from registry import build, send\ndef main():\n    trainer = build()\n    {statement}\n"
    guard = "if __name__ == '__main__':\n    main()\n"
    (tmp_path / "main.py").write_text(main + guard, encoding="utf-8")
    told = check([tmp_path / "main.py", tmp_path / "trainers.py"], Config(root=tmp_path))
    assert [finding.code for finding in told if finding.location.filename.endswith("trainers.py")] == codes


def test_what_hangs_on_programs_is_not_cached() -> None:
    """The program may change, which the file does not import."""
    found = analysed({"trainers.py": OWNER, "main.py": "if __name__ == '__main__':\n    print()\n"})
    assert [path.rpartition("/")[2] for path in found.uncached] == ["trainers.py"]


def test_a_class_that_an_option_would_have_chosen_is_entered(tmp_path: Path) -> None:
    """Of a driven file, the modules that the program names and has not built."""
    library = (
        "import torch\nfrom torch import nn\n"
        "class Wrong(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.ones(2)\n    def forward(self, x):\n        return x * self.w\n"
        "class Right(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
        "class Unused(Wrong):\n    def forward(self, x):\n        return x + torch.ones(2)\n"
    )
    program = (
        "import argparse\nimport torch\nimport library\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--model', default='right')\n"
        "args = parser.parse_args()\n"
        "if args.model == 'right':\n    model = library.Right()\n"
        "elif args.model == 'wrong':\n    model = library.Wrong()\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "print(model.to(device)(torch.ones(2, device=device)))\n"
    )
    (tmp_path / "library.py").write_text(library, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    told = as_expected(check([tmp_path / "library.py", tmp_path / "program.py"], Config(root=tmp_path)))
    assert [(e.file, e.row, e.code) for e in told] == [("library.py", 6, "DEV501")]
    kept = program[: program.index("device = ")] + "print(model(torch.ones(2)))\n"
    (tmp_path / "program.py").write_text(kept, encoding="utf-8")
    assert check([tmp_path / "library.py", tmp_path / "program.py"], Config(root=tmp_path)) == []


def test_a_class_that_a_factory_would_have_built_is_entered(tmp_path: Path) -> None:
    """What functions and classes of a driven file call of which the program calls one, in branches not taken."""
    library = (
        "import torch\nfrom torch import nn\n"
        "class Wrong(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.ones(2)\n    def forward(self, x):\n        return x * self.w\n"
        "class Right(nn.Module):\n    def __init__(self, deep=0):\n        super().__init__()\n"
        "        if deep > 3:\n            self.part = Inner()\n"
        "    def forward(self, x):\n        return x * 2\n"
        "class Inner(nn.Module):\n    def forward(self, x):\n        return x + torch.ones(2)\n"
        "class Unused(nn.Module):\n    def forward(self, x):\n        return x + torch.ones(2)\n"
        "def build(name):\n    if name == 'right':\n        return Right()\n    return Wrong()\n"
    )
    program = (
        "import torch\nfrom library import build\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "print(build('right').to(device)(torch.ones(2, device=device)))\n"
    )
    (tmp_path / "library.py").write_text(library, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    told = as_expected(check([tmp_path / "library.py", tmp_path / "program.py"], Config(root=tmp_path)))
    assert [(e.file, e.row, e.code) for e in told] == [("library.py", 6, "DEV501"), ("library.py", 18, "DEV303")]


@pytest.mark.parametrize("name", ["test_field.py", "field_test.py", "tests/field.py", "pkg/testing/field.py"])
def test_modules_for_tests_are_where_the_tests_put_them(name: str, tmp_path: Path) -> None:
    fake = (
        "import torch\nfrom torch import nn\n"
        "class Fake(nn.Module):\n    def forward(self, x):\n        return x + torch.ones(2)\n"
    )
    codes = {}
    for path in (name, "other/field.py"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fake)
        codes[path] = [finding.code for finding in check([file], Config(root=tmp_path))]
    assert codes == {name: [], "other/field.py": ["DEV303"]}


OPEN = """
from somewhere import Base
class Conv(Base):
    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(2, 2)])
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([Conv()])
        self.last = Conv()
device = "cuda" if torch.cuda.is_available() else "cpu"
net = Net().to(device)
x = torch.zeros(2, device=device)
print(net.convs[0].linears[0](x), net.last.linears[0](x))
"""


def test_parts_that_may_be_modules_may_move_with_the_whole(tmp_path: Path) -> None:
    assert found(HEAD + OPEN, tmp_path) == []
    own = OPEN.replace("from somewhere import Base\n", "class Base:\n    pass\n").replace("[Conv()]", "[]")
    own = own.replace("print(net.convs[0].linears[0](x), ", "print(")
    assert [e.code for e in found(HEAD + own, tmp_path / "other")] == ["DEV302"]


@pytest.mark.parametrize(
    ("moved", "codes"), [("net.to('cuda' if torch.cuda.is_available() else 'cpu')", ["DEV303"]), ("net.eval()", [])]
)
def test_a_class_that_another_driven_file_would_have_built_is_entered(
    moved: str, codes: list[str], tmp_path: Path
) -> None:
    """The program imports both files, and names a class of the one alone, which names one of the other."""
    (tmp_path / "losses.py").write_text(
        HEAD + "class Contrast(nn.Module):\n    def forward(self, x):\n"
        "        device = torch.device('cuda' if x.is_cuda else 'cpu')\n"
        "        mask = torch.ones(len(x), 3).to(device)\n        return mask.scatter(1, torch.zeros(4, 1).long(), 0)\n"
    )
    (tmp_path / "nets.py").write_text(
        HEAD + "from losses import Contrast\nclass Net(nn.Module):\n    def __init__(self, kind):\n"
        "        super().__init__()\n        self.layer = nn.Linear(2, 2)\n"
        "        self.loss = Contrast() if kind == 'contrast' else None\n"
    )
    (tmp_path / "main.py").write_text(
        f"import torch\nfrom losses import Contrast\nfrom nets import Net\nnet = Net('other')\n{moved}\nprint(net)\n"
    )
    files = sorted(tmp_path.glob("*.py"))
    assert [finding.code for finding in check(files, Config(root=tmp_path))] == codes


def test_called_with_what_is_right_is_not_entered_again(tmp_path: Path) -> None:
    """A function that a run has reached is not given unknown arguments too."""
    text = (
        "import torch\ndef f(x, device):\n    return x.to(device) + torch.ones(1).to(device)\n"
        "print(f(torch.ones(1), 'cuda' if torch.cuda.is_available() else 'cpu'))\n"
    )
    assert found(text, tmp_path) == []


def test_another_gpu_than_the_current_one_is_advice_where_no_caller_is_in_sight(tmp_path: Path) -> None:
    """A process per GPU sets its device, and `.cuda()` goes there; "cuda:0" is another GPU in all but the first."""
    severities = {}
    for move in (".cuda()", '.to("cuda")', '.to("cuda:0")', ".cuda(0)"):
        file = tmp_path / "net.py"
        file.write_text(
            HEAD + f"class Net(nn.Module):\n    def forward(self, x):\n        return x * torch.ones(2){move}\n"
        )
        severities[move] = [finding.severity for finding in check([file], Config(root=tmp_path))]
    assert severities == {
        ".cuda()": ["advice"],
        '.to("cuda")': ["advice"],
        '.to("cuda:0")': ["error"],
        ".cuda(0)": ["error"],
    }
    program = HEAD + (
        "class Net(nn.Module):\n    def forward(self, x):\n        return x * torch.ones(2).cuda()\n"
        "if torch.cuda.device_count() > 1:\n    print(Net()(torch.ones(2, device='cuda:1')))\n"
    )
    (tmp_path / "program.py").write_text(program)
    assert [f.severity for f in check([tmp_path / "program.py"], Config(root=tmp_path))] == ["error"]


def test_the_first_of_a_list_is_no_gpu_with_a_number(tmp_path: Path) -> None:
    """What a caller has on another GPU than the current one is its own business, be it the first tensor of a list."""
    severities = {}
    for place in ("xs[0].device", '"cuda:1"'):
        file = tmp_path / "net.py"
        file.write_text(
            HEAD + "class Net(nn.Module):\n    def forward(self, xs):\n"
            "        if torch.cuda.device_count() < 2:\n            return xs\n"
            f"        y = torch.zeros(2, device={place})\n"
            "        return y * torch.cuda.FloatTensor(2)\n"
        )
        severities[place] = [finding.severity for finding in check([file], Config(root=tmp_path))]
    assert severities == {"xs[0].device": ["advice"], '"cuda:1"': ["error"]}


def test_a_default_that_an_import_sets_holds_by_protocol(tmp_path: Path) -> None:
    files = {
        "program.py": HEAD + "import settings\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = nn.Linear(2, 2)\n    def forward(self, x):\n"
        "        x = self.layer(x) + torch.zeros(2)\n"
        "        return x + torch.zeros(2, device='cpu')  # DEV301: gpu1 gpu2\n",
        "settings.py": "import torch\nif torch.cuda.is_available():\n    torch.set_default_device('cuda')\n",
    }
    assert found(files, tmp_path) == expected(files)


CHOOSER = """\
import torch
def choose(device=None):
    if device:
        torch.set_default_device({given})
"""
SHELL = """\
import argparse
import torch
import layers
import setting
parser = argparse.ArgumentParser()
parser.add_argument("--place")
args = parser.parse_args()
setting.choose(args.place)
print(layers.width, torch.ones(2).to(args.place))
"""
LAYERS = "from net import Net\nwidth = 4\n"
UNUSED = HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        return x + torch.zeros(2)\n"


@pytest.mark.parametrize(("given", "codes"), [("device", []), ("'cpu'", ["DEV303"])])
def test_a_default_that_another_file_chooses_may_hold_by_protocol(given: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "setting.py").write_text(CHOOSER.format(given=given))
    (tmp_path / "program.py").write_text(SHELL)
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "net.py").write_text(UNUSED)
    paths = sorted(tmp_path.glob("*.py"))
    assert [finding.code for finding in check(paths, Config(root=tmp_path))] == codes


TRIED = """\
import torch
from torch import nn
class Scale(nn.Module):
    def forward(self, x):
        return x * torch.arange(3)
class Shift(nn.Module):
    def forward(self, x):
        return x + torch.ones(3)
def spread(x):
    return torch.zeros(3, device=x.device) + torch.ones(3)
"""
TESTS = """\
import unittest
import torch
from zoom import Shift, spread
class Tests(unittest.TestCase):
    def test_shift(self):
        self.assertEqual(len(Shift()(torch.ones(3))), 3)
    def test_spread(self):
        spread(torch.ones(3))
"""


@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__':\n    unittest.main()\n"])
@pytest.mark.parametrize("names", [["zoom.py", "tests/test_zoom.py"], ["zoom.py", "test_before.py"]])
def test_what_tests_try_out_on_the_cpu_is_entered(names: list[str], guard: str, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, text in zip(names, (TRIED, TESTS + guard), strict=True):
        (tmp_path / name).write_text(text)
    found = check(sorted(tmp_path.rglob("*.py")), Config(root=tmp_path))
    assert [(finding.code, finding.location.start.row) for finding in found] == [
        ("DEV303", 5),
        ("DEV303", 8),
        ("DEV303", 10),
    ]


LENS = "from zoom import Scale, Shift, spread\n"
MOVES = "import torch\nfrom lens import Scale\nprint(Scale().cuda()(torch.ones(3)))\n"
SHOWS = """\
```python
import torch
from lens import Shift, spread
print(Shift()(torch.ones(3)), spread(torch.ones(3)))
```
"""


@pytest.mark.parametrize(("around", "rows"), [(True, [8, 10]), (False, [])])
def test_what_a_document_shows_on_the_cpu_is_entered_if_others_move(
    around: bool, rows: list[int], tmp_path: Path
) -> None:
    (tmp_path / "zoom.py").write_text(TRIED)
    (tmp_path / "lens.py").write_text(LENS)
    (tmp_path / "tour.md").write_text(SHOWS)
    if around:
        (tmp_path / "program.py").write_text(MOVES)
    found = check(sorted(tmp_path.iterdir()), Config(root=tmp_path))
    assert [f.location.start.row for f in found if f.code == "DEV303" and f.location.start.row > 5] == rows


@pytest.mark.parametrize(("kind", "codes"), [("cuda.FloatTensor", []), ("DoubleTensor", ["DEV303"])])
def test_a_default_type_that_a_program_sets_may_hold_by_protocol(kind: str, codes: list[str], tmp_path: Path) -> None:
    program = f"import torch\ntorch.set_default_tensor_type('torch.{kind}')\nimport layers\nprint(layers.width)\n"
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "net.py").write_text(UNUSED)
    findings = check(sorted(tmp_path.glob("*.py")), Config(root=tmp_path))
    assert [finding.code for finding in findings if finding.severity != "advice"] == codes


def test_a_default_that_each_way_chooses_is_not_known(tmp_path: Path) -> None:
    """Neither does the analysis fail where a program leaves it open."""
    text = UNUSED + "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--method', default='')\n"
    text += "args = parser.parse_args()\nif 'one' in args.method:\n    torch.set_default_device('cuda')\n"
    text += "elif 'two' in args.method:\n    torch.set_default_device('cpu')\nprint(torch.zeros(2))\n"
    assert {finding.code for finding in found(text, tmp_path)} <= {"DEV102"}


SETTINGS = """\
class Settings:
    def __init__(self):
        self.device = "cpu"
settings = Settings()
"""
CHAIN = """\
import torch
import config
operators = torch.zeros(3, device=config.settings.device)
class Chain:
    def __init__(self, options=config.settings):
        self.device = options.device
        self.operators = operators.to(self.device)
    def energy(self):
        return self.operators + torch.eye(3, device=config.settings.device)
"""


def test_an_object_that_is_a_default_keeps_its_device(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(SETTINGS)
    (tmp_path / "chain.py").write_text(CHAIN)
    assert check(sorted(tmp_path.glob("*.py")), Config(root=tmp_path)) == []


SET_UP = """
import unittest
def prepare(case):
    case.width = 4
    torch.set_default_device("cuda")
class RecurrentTest(unittest.TestCase):
    def setUp(self):
        prepare(self)
    def test_packed(self):
        rnn = nn.RNN(self.width, self.width)
        torch.set_default_device("cpu")
        x = torch.zeros(3, 2, self.width)
        torch.set_default_device("cuda")
        print(rnn(torch.zeros(3, 2, self.width)), rnn(x))
    def helper(self):
        rnn = nn.RNN(4, 4)
        torch.set_default_device("cuda")
        return rnn(torch.zeros(3, 2, 4))
"""


def test_what_sets_a_test_up_is_run_before_it(tmp_path: Path) -> None:
    rows = [(e.code, e.row) for e in found(HEAD + SET_UP, tmp_path)]
    assert rows == [("DEV303", 14), ("DEV302", 20)]


def test_a_function_that_others_call_is_theirs_without_cuda(tmp_path: Path) -> None:
    """Its names are bound only where the caller asked for CUDA; alone, it reads what is not there."""
    text = (
        "import torch\nif torch.cuda.is_available():\n    stream = torch.cuda.Stream()\n"
        "def copy(x):\n    with torch.cuda.stream(stream):\n        return x.cuda()\n"
        "def move(x):\n    return copy(x) if torch.cuda.is_available() else x\n"
    )
    assert found(text, tmp_path) == []
    assert [e.code for e in found(text.replace(" if torch.cuda.is_available() else x", ""), tmp_path)] == ["DEV105"]
    assert [e.code for e in found(text[: text.index("def move")], tmp_path)] == ["DEV105"]


PRESETS = {
    "a number that a condition compares": """
class Noisy(nn.Module):
    def __init__(self, noise=0.0):
        super().__init__()
        self.noise = noise
    def forward(self, x):
        if self.noise > 0:
            x = x + torch.randn(x.shape) * self.noise  # DEV303: gpu1 gpu2
        return x
""",
    "a number that is a condition": """
class Noisy(nn.Module):
    def __init__(self, noise=0.0):
        super().__init__()
        self.noise = noise
    def forward(self, x):
        if self.noise:
            x = x + torch.randn(x.shape) * self.noise  # DEV303: gpu1 gpu2
        return x
""",
    "a way behind the one that the default takes": """
class Returns(nn.Module):
    def __init__(self, discount=1):
        super().__init__()
        self.discount = discount
    def forward(self, x):
        if self.discount == 1:
            return x.sum()
        return (x * self.discount ** torch.arange(len(x))).sum()  # DEV303: gpu1 gpu2
""",
    "a number of the program's own": """
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = 0.0
    def forward(self, x):
        if self.noise > 0:
            x = x + torch.randn(x.shape) * self.noise
        return x
""",
    "a constructor builds what it says": """
class Built(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.mask = torch.ones(width) if width > 4 else None
    def forward(self, x):
        if self.mask is not None:
            x = x + self.mask
        return x
""",
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_default_number_is_not_the_only_answer(name: str, tmp_path: Path) -> None:
    text = HEAD + PRESETS[name]
    assert found(text, tmp_path) == expected(text)


def test_a_program_gives_numbers_itself(tmp_path: Path) -> None:
    text = HEAD + PRESETS["a number that a condition compares"].replace("  # DEV303: gpu1 gpu2", "")
    program = (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nNoisy().to(device)(torch.ones(2, device=device))\n"
    )
    assert found(text + program, tmp_path) == []


LEFT_OVER = (
    HEAD
    + """\
class Tagger(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embed = nn.Embedding(words, 4)
    def forward(self, ids):
        return self.embed(ids)
    def concepts(self, ids):
        queries = torch.LongTensor([1, 2])
        seen = self.memory(ids)
        return self.embed(queries) + seen
"""
)


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("", []),
        ("def prepare(net):\n    net.memory = nn.Embedding(2, 2)\n", ["DEV303"]),
        ("def prepare(net, name):\n    setattr(net, name, nn.Embedding(2, 2))\n", ["DEV303"]),
        ("class Other(nn.Module):\n    def build(self):\n        self.memory = nn.Embedding(2, 2)\n", ["DEV303"]),
    ],
)
def test_a_method_that_nobody_calls_ends_where_it_asks_for_what_nobody_gives(
    more: str, codes: list[str], tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(LEFT_OVER + more)
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == codes
    (tmp_path / "net.py").write_text(LEFT_OVER.replace("self.memory(ids)", "(ids * self.factor)"))
    assert check([tmp_path / "net.py"], Config(root=tmp_path)) == []


def test_what_a_mixin_asks_for_its_heirs_give(tmp_path: Path) -> None:
    plain = HEAD + (
        "class Scores(nn.Module):\n    def scores(self, ids):\n        seen = self.memory(ids)\n"
        '        return torch.rand(2).to("cuda:0") + torch.zeros(2)\n'
    )
    (tmp_path / "net.py").write_text(plain)
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]


@pytest.mark.parametrize("name", ["a_user.py", "z_user.py"])
def test_what_a_base_asks_for_heirs_in_other_files_give(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(LEFT_OVER)
    heir = "from net import Tagger\nclass Heir(Tagger):\n    def memory(self, ids):\n        return self.embed(ids)\n"
    (tmp_path / name).write_text(heir)
    files = [tmp_path / "net.py", tmp_path / name]
    assert [one.code for one in check(files, Config(root=tmp_path))] == ["DEV303"]
    (tmp_path / name).write_text(heir.replace("memory", "recall"))
    assert check(files, Config(root=tmp_path)) == []


def test_what_a_class_only_declares_others_give(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(LEFT_OVER.replace("    def __init__", "    memory: nn.Module\n    def __init__"))
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]
    asked = LEFT_OVER.replace("self.memory(ids)", "self.factor")
    (tmp_path / "net.py").write_text(asked.replace("    def __init__", "    factor: torch.Tensor\n    def __init__"))
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]


def test_what_nobody_calls_may_ask_others_for_what_nobody_gives_them(tmp_path: Path) -> None:
    asked = (
        "def use():\n    net = Tagger(3)\n    seen = net.memory(1)\n    return torch.rand(2).cuda() + torch.zeros(2)\n"
    )
    (tmp_path / "net.py").write_text(LEFT_OVER + asked)
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]


def test_what_is_prepared_out_of_sight_may_have_been_given_more(tmp_path: Path) -> None:
    asked = LEFT_OVER.replace("nn.Embedding(words, 4)\n", "nn.Embedding(words, 4)\n        prepare(self)\n")
    asked = asked.replace("self.embed(queries) + seen", "torch.rand(2).cuda() + torch.zeros(2)")
    (tmp_path / "net.py").write_text("from elsewhere import prepare\n" + asked)
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]


def test_nobody_knows_where_parts_are_of_what_is_not_known_as_a_whole(tmp_path: Path) -> None:
    text = HEAD + (
        "class Scores(nn.Module):\n    def __init__(self, parts):\n        super().__init__()\n"
        "        self.first = nn.Linear(2, 2)\n{}"
        "    def scores(self, ids):\n        return self.first(ids) + torch.zeros(2)\n"
    )
    (tmp_path / "net.py").write_text(text.format(""))
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]
    more = "        for name, part in parts.items():\n            setattr(self, name, part)\n"
    (tmp_path / "net.py").write_text(text.format(more))
    assert check([tmp_path / "net.py"], Config(root=tmp_path)) == []


@pytest.mark.parametrize("name", ["a_user.py", "z_user.py"])
def test_a_flag_of_a_private_method_is_left_alone_where_no_file_calls_that(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        HEAD
        + "class Scores(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "        self.first = nn.Linear(2, 2)\n    def _scores(self, ids, stays=False):\n"
        + "        if not stays:\n            ids = ids.cuda()\n        return ids + torch.zeros(2)\n"
    )
    assert [one.code for one in check([tmp_path / "net.py"], Config(root=tmp_path))] == ["DEV303"]
    for imported, codes in (("from net import Scores", []), ("import torch", ["DEV303"])):
        (tmp_path / name).write_text(f"{imported}\ndef use(net, ids):\n    return net._scores(ids, True)\n")
        assert [one.code for one in check([tmp_path / "net.py", tmp_path / name], Config(root=tmp_path))] == codes
