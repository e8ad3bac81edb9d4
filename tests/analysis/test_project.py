"""Imports inside the project are followed; findings stand in the file of the root cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.events import MixedDevices
from devlint.analysis.forms import run_with
from devlint.analysis.project import Project
from devlint.config import Config
from devlint.linter import check
from devlint.sources import read_source
from devlint.syntax.stacks import is_compiled
from tests.analysis.analysed import ROOT, analysed, told
from tests.analysis.annotated import assert_observed, expected, found
from tests.rules.expectations import as_expected
from tests.rules.machines import Machines

SHIFT = "import torch\ndef shift(x):\n    return x + torch.ones(2)  # DEV303: gpu1 gpu2\n"
START = "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
USE = "print({}(torch.zeros(2, device=device)))\n"

PROJECTS = {
    "import": {"program.py": START + "import helper\n" + USE.format("helper.shift"), "helper.py": SHIFT},
    "import as": {"program.py": START + "import helper as h\n" + USE.format("h.shift"), "helper.py": SHIFT},
    "from": {"program.py": START + "from helper import shift as f\n" + USE.format("f"), "helper.py": SHIFT},
    "star": {"program.py": START + "from helper import *\n" + USE.format("shift"), "helper.py": SHIFT},
    "a package": {
        "program.py": START + "import parts.ops\n" + USE.format("parts.ops.shift"),
        "parts/__init__.py": "",
        "parts/ops.py": SHIFT,
    },
    "from a package": {
        "program.py": START + "from parts import ops\n" + USE.format("ops.shift"),
        "parts/__init__.py": "",
        "parts/ops.py": SHIFT,
    },
    "re-exported": {
        "program.py": START + "from parts import shift\n" + USE.format("shift"),
        "parts/__init__.py": "from .ops import shift\n__all__ = ['shift']\n",
        "parts/ops.py": SHIFT,
    },
    "re-exported by a star": {
        "program.py": START + "import parts\n" + USE.format("parts.shift"),
        "parts/__init__.py": "from .ops import *\n",
        "parts/ops.py": SHIFT,
    },
    "relative to the folder above": {
        "program.py": START + "from parts.deep.user import run\n" + USE.format("run"),
        "parts/__init__.py": "",
        "parts/deep/__init__.py": "",
        "parts/deep/user.py": "from ..ops import shift\ndef run(x):\n    return shift(x)\n",
        "parts/ops.py": SHIFT,
    },
    "a relative module": {
        "program.py": START + "from parts.user import run\n" + USE.format("run"),
        "parts/__init__.py": "",
        "parts/user.py": "from . import ops\ndef run(x):\n    return ops.shift(x)\n",
        "parts/ops.py": SHIFT,
    },
    "a cycle": {
        "program.py": START + "from one import run\n" + USE.format("run"),
        "one.py": "import two\ndef run(x):\n    return two.shift(x)\n",
        "two.py": "import one\n" + SHIFT,
    },
    "imported in a function": {
        "program.py": START + "def run(x):\n    from helper import shift\n    return shift(x)\n" + USE.format("run"),
        "helper.py": SHIFT,
    },
    "imported by its name": {
        "program.py": START
        + "from importlib import import_module\nname = 'Helper'\nmodule = import_module(name.lower())\n"
        + USE.format("module.shift")
        + USE.format("__import__('parts.ops').ops.shift")
        + USE.format("__import__('parts.more', fromlist=['shift']).shift"),
        "helper.py": SHIFT,
        "parts/__init__.py": "",
        "parts/ops.py": SHIFT,
        "parts/more.py": SHIFT,
    },
    "imported by a relative name": {
        "program.py": START
        + "import importlib\nimport parts.user\n"
        + USE.format("importlib.import_module('.ops', 'parts').shift")
        + USE.format("parts.user.load('deep').shift"),
        "parts/__init__.py": "",
        "parts/ops.py": SHIFT,
        "parts/user.py": "import importlib\ndef load(name):\n"
        "    return importlib.import_module(f'..{name}.more', 'parts.deep')\n",
        "parts/deep/__init__.py": "",
        "parts/deep/more.py": SHIFT,
    },
    "imported by a name of outside": {
        "program.py": START
        + "import importlib\nnn = importlib.import_module('torch.nn')\n"
        + "print(nn.Linear(2, 2)(torch.zeros(1, 2, device=device)))  # DEV302: gpu1 gpu2\n",
    },
    "imported where it can be": {
        "program.py": START
        + "try:\n    from missing_library import shift\nexcept ImportError:\n    from helper import shift\n"
        + USE.format("shift"),
        "helper.py": "def shift(x):\n    return x\n",
    },
    "a device chosen elsewhere": {
        "program.py": "import torch\nimport config\nfrom config import DEVICE\n"
        "print(torch.zeros(2, device=DEVICE) + torch.zeros(2).to(config.DEVICE))\n",
        "config.py": "import torch\nDEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
    },
    "a class inherited across files": {
        "program.py": START + "from net import Net\n" + USE.format("Net().to(device)"),
        "net.py": "from base import Base\nclass Net(Base):\n    def forward(self, x):\n        return x * self.w\n",
        "base.py": "import torch\nfrom torch import nn\nclass Base(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.w = torch.ones(2)  # DEV501: gpu1 gpu2\n",
    },
    "the caller is to blame": {
        "program.py": START
        + "from net import Net\nnet = Net().to(device)\nprint(net(torch.zeros(1, 2)))  # DEV302: gpu1 gpu2\n",
        "net.py": "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.layer(x)\n",
    },
    "defaults that an import sets": {
        "program.py": "import torch\nimport settings\nweight = torch.ones(2)\n"
        "print(weight + torch.zeros(2, device=settings.device))\n"
        "print(weight + torch.zeros(2, device='cpu'))  # DEV301: gpu1 gpu2\n"
        "print(torch.Tensor([1.0]).to('cpu') + torch.Tensor([1.0, 2.0]))  # DEV301: gpu1 gpu2\n",
        "settings.py": "import torch\nimport kinds\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
        "kinds.py": "import torch\nif torch.cuda.is_available():\n"
        "    torch.set_default_tensor_type('torch.cuda.FloatTensor')\n",
    },
    "a default that is set again after the import": {
        "program.py": "import torch\ndef load():\n    import settings\n    return settings.device\n"
        "load()\ntorch.set_default_device('cpu')\nload()\nimport settings\n"
        "print(torch.ones(2) + torch.zeros(2, device='cpu'))\n"
        "torch.set_default_device(None)\nprint(torch.ones(2) + torch.zeros(2, device=load()))  # DEV301: gpu1 gpu2\n",
        "settings.py": "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "torch.set_default_device(device)\n",
    },
    "the current GPU that an import chooses": {
        "program.py": "import torch\nimport settings\nif torch.cuda.is_available():\n"
        "    x = torch.ones(2).cuda() + torch.zeros(2, device='cuda:0')  # DEV301: gpu2\n",
        "settings.py": "import torch\nif torch.cuda.is_available():\n"
        "    torch.cuda.set_device(torch.cuda.device_count() - 1)\n",
    },
    "a package that runs before its parts": {
        "program.py": "import torch\nfrom zoo.building import build\nimport zoo.deep.more as more\n"
        "weight = torch.ones(2)\nprint(weight + torch.zeros(2, device='cpu'))  # DEV301: gpu1 gpu2\n"
        "print(build('shift')(torch.zeros(2), torch.zeros(2).to(more.place)))  # DEV301: gpu1 gpu2\n",
        "zoo/__init__.py": "from . import parts\nfrom .config import DEVICE\n",
        "zoo/config.py": "import torch\nDEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "torch.set_default_device(DEVICE)\n",
        "zoo/building.py": "KNOWN = {}\ndef known(function):\n    KNOWN[function.__name__] = function\n"
        "    return function\ndef build(name):\n    return KNOWN[name]\n",
        "zoo/parts.py": "from .building import known\n@known\ndef shift(x, y):\n    return x + y\n",
        "zoo/deep/__init__.py": "from . import more\nmore.place = 'cpu'\n",
        "zoo/deep/more.py": "place = None\n",
    },
    "state that an import changes": {
        "program.py": "import settings\nimport torch\nx = torch.zeros(1, device='cuda:1')  # DEV101: cpu gpu1\n"
        "print(x, settings.count)\n",
        "settings.py": "count = 2\n",
    },
    "what a program is no part of": {
        "program.py": (
            "import torch\nfrom zoo.helping import doubled\n"
            "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
            "kept = torch.ones(2, device=device)\nif __package__ is None:\n"
            "    kept = kept + torch.ones(2)  # DEV301: gpu1 gpu2\nprint(doubled(kept))\n"
        ),
        "zoo/__init__.py": "",
        "zoo/helping.py": (
            "import importlib\nmaking = importlib.import_module('.making', __package__)\n"
            "def doubled(x):\n    return x + making.ones() if __package__ is None else x + x\n"
        ),
        "zoo/making.py": "import torch\ndef ones():\n    return torch.ones(2)\n",
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_followed(name: str, tmp_path: Path) -> None:
    assert found(PROJECTS[name], tmp_path) == expected(PROJECTS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(PROJECTS[name], tmp_path, machines)


@pytest.mark.parametrize("name", PROJECTS)
def test_one_file_sees_what_all_see(name: str, tmp_path: Path) -> None:
    """Linting the program alone, as pre-commit does, gives what linting the whole project gives."""
    alone = found(PROJECTS[name], tmp_path)
    together = as_expected(check([tmp_path / file for file in PROJECTS[name]], Config(root=tmp_path)))
    assert alone == together


def test_the_order_of_files_is_none(tmp_path: Path) -> None:
    files = PROJECTS["a relative module"]
    found(files, tmp_path)
    paths = [tmp_path / name for name in files]
    assert check(paths, Config(root=tmp_path)) == check(paths[::-1], Config(root=tmp_path))


CIRCULAR = {
    "shop/__init__.py": "from .large import Large\n",
    "shop/tools.py": "def half(x):\n    return x / 2\n",
    "shop/base.py": (
        "from torch import nn\nfrom . import tools\n"
        "class Base(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.part = nn.Linear(3, 3)\n"
    ),
    "shop/large.py": (
        "import torch\nfrom .base import Base\n"
        "class Large(Base):\n"
        "    def forward(self, x):\n        return self.part(x) + torch.ones(3)\n"
        "    def step(self, memory):\n        return self.part(torch.ones(3).to(memory.device))\n"
    ),
}


def test_a_file_that_is_imported_again_by_what_it_imports_runs_after_its_package() -> None:
    with_cuda = {("MixedDevices", "large.py", 5, world) for world in ("gpu1", "gpu2")}
    assert told(analysed(CIRCULAR), MixedDevices) == with_cuda
    assert told(analysed(CIRCULAR, ["shop/base.py", "shop/large.py"]), MixedDevices) == with_cuda
    above = {**CIRCULAR, "shop/above.py": "from .base import Base\nclass Above(Base):\n    device = None\n"}
    assert told(analysed(above, ["shop/above.py", "shop/large.py"]), MixedDevices) == with_cuda


def test_what_is_imported_in_functions_and_for_types_is_not_read_for_that() -> None:
    lazy = {
        "shop/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .large import Large\n",
        "shop/large.py": "import torch\nclass Large:\n    def go(self):\n        return torch.ones(3)\n",
        "shop/tools.py": "import torch\nfrom . import base\ndef go(x):\n    return x + torch.ones(3)\n",
        "shop/base.py": "def late():\n    from .large import Large\n    return Large\n",
    }
    sources = {str(ROOT / name): read_source(ROOT / name, name, text.encode()) for name, text in lazy.items()}
    project = Project(ROOT, sources)
    assert {Path(path).name for path in run_with(project, str(ROOT / "shop/tools.py"))} == {
        "__init__.py",
        "base.py",
        "tools.py",
    }


@pytest.mark.skipif(is_compiled(), reason="no class derives from a compiled one")
def test_a_file_is_lowered_once() -> None:
    lowered: list[str] = []

    class Counting(Project):
        def source(self, path: str):  # type: ignore[no-untyped-def]
            lowered.append(path)
            return super().source(path)

    texts = PROJECTS["a cycle"]
    root = Path("/project")
    sources = {str(root / name): read_source(root / name, name, text.encode()) for name, text in texts.items()}
    project = Counting(root, sources)
    modules = [project.module(path) for path in sources for _ in range(3)]
    assert len(set(map(id, modules))) == len(sources)
    assert sorted(lowered) == sorted(sources)


def test_places_of_imports() -> None:
    """From the file's own folder, then the folders above it to the root, then the root's `src`."""
    root = Path("/project")
    names = ["app/main.py", "app/near.py", "near.py", "top.py", "src/far.py", "pkg/__init__.py", "pkg/part.py"]
    project = Project(root, {str(root / name): read_source(root / name, name, b"") for name in names})
    main = str(root / "app/main.py")
    assert project.resolve("near", 0, main) == str(root / "app/near.py")
    assert project.resolve("top", 0, main) == str(root / "top.py")
    assert project.resolve("far", 0, main) == str(root / "src/far.py")
    assert project.resolve("pkg", 0, main) == str(root / "pkg/__init__.py")
    assert project.resolve("pkg.part", 0, main) == str(root / "pkg/part.py")
    assert project.resolve("part", 1, str(root / "pkg/__init__.py")) == str(root / "pkg/part.py")
    assert project.resolve("top", 2, main) == str(root / "top.py")
    assert project.resolve("elsewhere", 0, main) is None
    assert project.resolve("torch", 0, main) is None


def test_dependencies_are_told() -> None:
    files = PROJECTS["re-exported"]
    analysis = analysed(files, ["program.py"])
    assert analysis.dependencies["/project/program.py"] >= {"/project/parts/__init__.py"}
    assert analysis.dependencies["/project/parts/__init__.py"] == {"/project/parts/ops.py"}


def test_a_broken_file_takes_no_other_down() -> None:
    files = dict(PROJECTS["import"], **{"broken.py": "def (:\n", "other.py": "import broken\nprint(broken.x)\n"})
    analysis = analysed(files)
    assert [(failure.path, failure.row, failure.column) for failure in analysis.failures] == [
        ("/project/broken.py", 1, 5)
    ]
    assert {(file, row) for kind, file, row, _ in told(analysis) if kind == "MixedDevices"} == {("helper.py", 3)}


BASE = """\
import torch
from torch import nn
class Base(nn.Module):
    def forward(self, x):
        return x + torch.zeros(1, device=self.device)
"""
HEIR = """\
from base import Base
class Heir(Base):
    def __init__(self, device):
        super().__init__()
        self.device = device
"""


@pytest.mark.parametrize(
    ("heir", "codes"),
    [
        (HEIR, []),
        (HEIR.replace("self.device = device", "self.place = device"), ["DEV112"]),
        (HEIR.replace("self.device = device", "pass") + "    @property\n    def device(self): return 'cpu'\n", []),
        (HEIR.replace("Heir(Base)", "Heir(object)"), ["DEV112"]),
    ],
)
def test_what_a_base_lacks_its_heir_in_another_file_may_give(heir: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE)
    (tmp_path / "heir.py").write_text(heir)
    assert [one.code for one in check([tmp_path / "base.py", tmp_path / "heir.py"], Config(root=tmp_path))] == codes


def test_an_heir_gives_nothing_to_what_is_built_of_its_base(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE + "print(Base()(torch.zeros(1)))\n")
    (tmp_path / "heir.py").write_text(HEIR)
    assert [one.code for one in check([tmp_path / "base.py", tmp_path / "heir.py"], Config(root=tmp_path))] == [
        "DEV112"
    ]


CLIMBS = """\
from {dots}blocks import Block
import torch
if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.rand(1, 3)
    x.to(device)
    print(Block, x)
"""


@pytest.mark.parametrize(
    ("dots", "is_package", "codes"),
    [("...", False, []), ("...", True, ["DEV201"]), ("..", False, ["DEV201"]), ("....", True, ["DEV201"])],
)
def test_a_relative_import_above_the_topmost_package_raises(
    dots: str, is_package: bool, codes: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "models" / "three_d"
    folder.mkdir(parents=True)
    for place in (tmp_path, folder.parent, folder):
        (place / "blocks.py").write_text("class Block:\n    pass\n")
    if is_package:
        (tmp_path / "__init__.py").write_text("")
    (folder / "net.py").write_text(CLIMBS.format(dots=dots))
    assert [one.code for one in check([folder / "net.py"], Config(root=tmp_path))] == codes


@pytest.mark.parametrize(
    ("around", "codes"),
    [
        ((), []),
        (("models/__init__.py",), ["DEV201"]),
        (("main.py",), []),
        (("models/main.py",), ["DEV201"]),
        (("models.py",), ["DEV201"]),
        ((".git/HEAD",), ["DEV201"]),
        (("models/ops/.git/HEAD", "main.py"), []),
        (("models/ops/setup.py", "models/ops/blocks.py"), ["DEV201"]),
        (("models/ops/setup.py",), []),
    ],
)
def test_code_around_the_root_may_hold_it_as_a_package(
    around: tuple[str, ...], codes: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "models" / "ops" / "modules"
    folder.mkdir(parents=True)
    for name in around:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"from {name.partition('.')[0].partition('/')[0]} import ops\nBlock = None\n")
    (folder / "net.py").write_text(CLIMBS.format(dots=".."))
    assert [one.code for one in check([folder / "net.py"], Config(root=folder.parent))] == codes


LACKS = """\
{statement}
import torch
if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.rand(1, 3)
    x.to(device)
    print(x)
"""


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("import parts.nothing", []),
        ("import parts.nothing as nothing", []),
        ("import parts.blocks", ["DEV201"]),
        ("import parts", ["DEV201"]),
    ],
)
def test_a_part_that_a_package_lacks_is_imported(statement: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "blocks.py").write_text("")
    (tmp_path / "program.py").write_text(LACKS.format(statement=statement))
    assert [one.code for one in check([tmp_path / "program.py"], Config(root=tmp_path))] == codes


HELPERS = """\
import os
def other(x):
    compute_all = x
    return compute_all
class Solver:
    def compute(self):
        compute = 1
        return compute
"""


@pytest.mark.parametrize(
    ("files", "statement", "codes"),
    [
        ({"helpers.py": HELPERS}, "from helpers import compute", []),
        ({"helpers.py": HELPERS}, "from helpers import os, other, Solver", ["DEV201"]),
        ({"helpers.py": HELPERS + "compute = 1"}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS + "if os.name == 'x':\n    compute = 1"}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS + "for compute in ():\n    pass"}, "from helpers import compute", ["DEV201"]),
        (
            {"helpers.py": HELPERS + "try:\n    pass\nexcept OSError as compute:\n    1"},
            "from helpers import compute",
            ["DEV201"],
        ),
        (
            {"helpers.py": HELPERS + "try:\n    pass\nexcept OSError:\n    import a as compute"},
            "from helpers import compute",
            ["DEV201"],
        ),
        (
            {"helpers.py": HELPERS + "def f():\n    global compute\n    import compute\n"},
            "from helpers import compute",
            ["DEV201"],
        ),
        ({"helpers.py": HELPERS + "print((compute := 1))"}, "from helpers import compute", ["DEV201"]),
        (
            {"helpers.py": HELPERS + "match os:\n    case compute:\n        pass"},
            "from helpers import compute",
            ["DEV201"],
        ),
        ({"helpers.py": HELPERS + "from elsewhere import *"}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS + "globals()['x'] = 1"}, "from helpers import compute", ["DEV201"]),
        (
            {"helpers.py": HELPERS + "def __getattr__(name):\n    return name"},
            "from helpers import compute",
            ["DEV201"],
        ),
        ({"helpers.py": HELPERS}, "try:\n    from helpers import compute\nexcept ImportError:\n    pass", ["DEV201"]),
        ({"helpers.py": HELPERS}, "import helpers\nhelpers.compute = 1\nfrom helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS}, "import sys\nsys.path.insert(0, 'x')\nfrom helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS, "helpers.so": ""}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS, "requirements.txt": "Helpers>=2\n"}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": HELPERS, "src/helpers.py": "compute = 1"}, "from helpers import compute", ["DEV201"]),
        ({"helpers.py": "import program\n"}, "from helpers import compute", []),
        ({"logging.py": HELPERS}, "from logging import compute", ["DEV201"]),
        ({"helpers.py": "def f(:"}, "from helpers import compute", ["DEV000", "DEV201"]),
        ({"parts/__init__.py": HELPERS}, "from parts import compute", []),
        ({"parts/__init__.py": HELPERS, "parts/compute.cu": ""}, "from parts import compute", ["DEV201"]),
        ({"parts/__init__.py": "", "parts/helpers.py": HELPERS}, "from parts.helpers import compute", []),
    ],
)
def test_a_name_that_a_module_surely_lacks_is_imported(
    files: dict[str, str], statement: str, codes: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "program.py").write_text(LACKS.format(statement=statement))
    assert [one.code for one in check([tmp_path / "program.py"], Config(root=tmp_path))] == codes


SPLIT = {
    "README.md": "# Speech\n\nRun `python gan/evaluate.py`; weights are in `model.pth`.\n",
    "vae/model_vae.py": "class VAE:\n    pass\n",
    "vae/train_vae.py": "from model_vae import VAE\nprint(VAE)\n",
    "gan/model.py": "import torch\n",
}
PATHS = {"gan/local.py": "import sys\nsys.path.append('vae')\n"}
ENGINE = "from model_vae import VAE\n"


@pytest.mark.parametrize(
    ("files", "statement", "codes"),
    [
        ({}, "from model_vae import VAE", []),
        ({}, "import model_vae", []),
        ({}, "import model\nimport model_vae as m", []),
        ({"vae/train_vae.py": "", "vae/model_vae.py": "", "vae/Nets.py": "VAE = 1"}, "from Nets import VAE", []),
        ({"README.md": "PYTHONPATH=. python gan/evaluate.py"}, "from model_vae import VAE", []),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, "from model_vae import VAE", []),
        ({"parts/vae/model_vae.py": "VAE = 1", "parts/vae/b.py": ENGINE}, "from model_vae import VAE", []),
        ({"README.md": None}, "from model_vae import VAE", ["DEV201"]),
        ({"vae/train_vae.py": ""}, "from model_vae import VAE", ["DEV201"]),
        ({}, "from model_vae import Other", ["DEV201"]),
        ({}, "from model_gan import VAE", ["DEV201"]),
        ({}, "import numpy", ["DEV201"]),
        ({"vae/numpy.py": "", "vae/use.py": "import numpy\n"}, "import numpy", ["DEV201"]),
        ({"vae/logging.py": "", "vae/use.py": "import logging\n"}, "import logging", ["DEV201"]),
        ({"vae/config.py": "", "vae/use.py": "import config\n"}, "import config", ["DEV201"]),
        ({"model_vae.py": "VAE = 1"}, "from model_vae import VAE", ["DEV201"]),
        ({"src/model_vae.py": "VAE = 1"}, "from model_vae import VAE", ["DEV201"]),
        ({"gan/model_vae.so": ""}, "from model_vae import VAE", ["DEV201"]),
        ({"gan/model_vae/x.py": ""}, "from model_vae import VAE", ["DEV201"]),
        ({}, "try:\n    from model_vae import VAE\nexcept ImportError:\n    VAE = None", ["DEV201"]),
        ({}, "import sys\nsys.path.append('vae')\nfrom model_vae import VAE", ["DEV201"]),
        ({}, "import sys as s\nfrom sys import path\npath.append('vae')\nfrom model_vae import VAE", ["DEV201"]),
        (PATHS, "import local\nfrom model_vae import VAE", ["DEV201"]),
        ({}, "import init_paths\nfrom model_vae import VAE", ["DEV201"]),
        ({"run.sh": "export PYTHONPATH=$PWD/vae\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"README.md": "cd vae; PYTHONPATH=. python ../gan/evaluate.py"}, "from model_vae import VAE", ["DEV201"]),
        ({".github/workflows/test.yml": "env:\n  PYTHONPATH: vae\n"}, "from model_vae import VAE", ["DEV201"]),
        ({".vscode/settings.json": '{"python.analysis.extraPaths": []}'}, "from model_vae import VAE", ["DEV201"]),
        ({"README.md": "Copy vae/model_vae.py to gan"}, "from model_vae import VAE", ["DEV201"]),
        ({"requirements.txt": "model-vae\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"setup.py": "import setuptools\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"vae/pyproject.toml": "[build-system]\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"vae/run_both.py": "import evaluate_gan\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"gan/__init__.py": "", "main.py": "import gan\n"}, "from model_vae import VAE", ["DEV201"]),
        ({"main.py": "import runpy\nrunpy.run_path('gan/evaluate_gan.py')\n"}, "import model_vae", ["DEV201"]),
        ({"start.py": "import os\nos.environ['PYTHONPATH'] = 'vae'\n"}, "import model_vae", ["DEV201"]),
    ],
)
def test_a_module_of_another_folder_is_imported(
    files: dict[str, str | None], statement: str, codes: list[str], tmp_path: Path
) -> None:
    for name, text in {**SPLIT, **files}.items():
        if text is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / name).write_text(text)
    program = tmp_path / "gan" / "evaluate_gan.py"
    program.write_text(LACKS.format(statement=statement))
    assert [one.code for one in check([program], Config(root=tmp_path))] == codes


def test_a_test_or_a_part_may_find_modules_of_another_folder(tmp_path: Path) -> None:
    for name, text in SPLIT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    program = tmp_path / "gan" / "test_gan.py"
    program.write_text(LACKS.format(statement="import model_vae"))
    assert [one.code for one in check([program], Config(root=tmp_path))] == ["DEV201"]
    (tmp_path / "gan" / "model.py").write_text("import model_vae\n")
    program = tmp_path / "gan" / "evaluate_gan.py"
    program.write_text(LACKS.format(statement="import model"))
    assert [one.code for one in check([program], Config(root=tmp_path))] == ["DEV201"]
