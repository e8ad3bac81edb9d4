"""Where an option says which GPU, its default is one machine's: another user gives another number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

HEAD = """\
import argparse, os, torch
parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=2)
parser.add_argument("--gpus", default="0,1")
parser.add_argument("--launcher")
args = parser.parse_args()
"""
ASKS = "print(torch.cuda.is_available() and torch.ones(2).cuda())\n"
"""Makes a question of it, so that the program means to run without a GPU."""

NUMBERS = {
    "the number as it is": "torch.cuda.set_device(args.gpu)",
    "the name of a device": 'print(torch.zeros(2, device=f"cuda:{args.gpu}"))',
    "a name put together": 'print(torch.zeros(2, device="cuda:" + str(args.gpu)))',
    "a format": 'print(torch.zeros(2, device="cuda:{}".format(args.gpu)))',
    "a handle": 'print(torch.zeros(2).to(torch.device("cuda", args.gpu)))',
    "one of several": 'print(torch.zeros(2).cuda([int(n) for n in args.gpus.split(",")][1]))',
}


def severities(folder: Path, text: str, code: str) -> list[str]:
    (folder / "program.py").write_text(text)
    found = check([folder / "program.py"], Config(root=folder))
    return [finding.severity for finding in found if finding.code == code]


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_a_further_gpu_that_an_option_names_is_its_users(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, HEAD + text + "\n", "DEV101") == ["advice"]


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_it_is_not_where_the_program_asks_whether_there_is_one(text: str, tmp_path: Path) -> None:
    assert severities(tmp_path, f"{HEAD}if torch.cuda.is_available():\n    {text}\n", "DEV101") == ["error"]


def test_nor_where_what_names_the_device_asks_and_another_file_uses_it(tmp_path: Path) -> None:
    (tmp_path / "moving.py").write_text("def moved(x, device):\n    return x.to(device)\n")
    text = 'import moving\ndevice = f"cuda:{args.gpu}" if torch.cuda.is_available() else "cpu"\n'
    assert severities(tmp_path, HEAD + text + "print(moving.moved(torch.zeros(2), device))\n", "DEV101") == ["error"]


def test_a_number_that_is_written_down_is_the_authors(tmp_path: Path) -> None:
    assert severities(tmp_path, HEAD + "torch.cuda.set_device(2)\n", "DEV101") == ["error"]


def test_a_number_of_gpus_is_none(tmp_path: Path) -> None:
    head = HEAD.replace('"--gpus", default="0,1"', '"--gpus", type=int, default=3')
    assert severities(tmp_path, head + "torch.cuda.set_device(args.gpus)\n", "DEV101") == ["error"]


@pytest.mark.parametrize(("option", "expected"), [("--gpus", "advice"), ("--sizes", "error")])
def test_a_list_of_numbers_is_its_users_too(option: str, expected: str, tmp_path: Path) -> None:
    head = HEAD.replace('"--gpus", default="0,1"', f'"{option}", nargs="+", default=[0, 1, 2]')
    text = f"net = torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=args.{option[2:]})\n"
    assert severities(tmp_path, head + text, "DEV101") == [expected]


@pytest.mark.parametrize(("chosen", "expected"), [("args.gpus", "advice"), ('"0,1"', "error")])
def test_who_makes_two_visible_by_an_option_has_two(chosen: str, expected: str, tmp_path: Path) -> None:
    text = f'os.environ["CUDA_VISIBLE_DEVICES"] = {chosen}\n{ASKS}print(torch.zeros(2, device="cuda:1"))\n'
    assert severities(tmp_path, HEAD + text, "DEV101") == [expected]


@pytest.mark.parametrize(("chosen", "expected"), [("str(args.gpu)", "advice"), ('"2"', "error")])
def test_who_makes_another_visible_by_an_option_has_it(chosen: str, expected: str, tmp_path: Path) -> None:
    text = f'os.environ["CUDA_VISIBLE_DEVICES"] = {chosen}\nprint(torch.zeros(2).cuda())\n'
    assert severities(tmp_path, HEAD + text, "DEV102") == [expected]


CELLS = {
    "a number": ("torch.cuda.set_device(2)", "DEV101"),
    "a device": ('print(torch.zeros(2, device="cuda:1"))', "DEV101"),
    "the only one that is visible": (
        'os.environ["CUDA_VISIBLE_DEVICES"] = "2"\nprint(torch.zeros(2).cuda())',
        "DEV102",
    ),
}


@pytest.mark.parametrize(("asks", "expected"), [("", "advice"), (ASKS, "error")])
@pytest.mark.parametrize("name", CELLS)
def test_which_gpu_a_notebook_takes_its_reader_sets(name: str, asks: str, expected: str, tmp_path: Path) -> None:
    text, code = CELLS[name]
    cells = ["import os\nimport torch\n", asks, text]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    notebook = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "lesson.ipynb").write_text(json.dumps(notebook))
    found = check([tmp_path / "lesson.ipynb"], Config(root=tmp_path))
    assert {finding.severity for finding in found if finding.code == code} == {expected}


def test_so_it_is_where_a_notebook_calls_what_another_file_does(tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text("import torch\ndef drawn(size):\n    return torch.randn(size).cuda()\n")
    cells = ["import os\nimport drawing\n", 'os.environ["CUDA_VISIBLE_DEVICES"] = "2"\n', "drawing.drawn(2)"]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    (tmp_path / "lesson.ipynb").write_text(
        json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    )
    found = check([tmp_path / "lesson.ipynb", tmp_path / "drawing.py"], Config(root=tmp_path))
    assert [(finding.code, finding.severity) for finding in found] == [("DEV102", "advice")]


@pytest.mark.parametrize(("beside", "expected"), [("", "advice"), ("    x = x.cuda()\n", "error")])
@pytest.mark.parametrize(
    ("option", "side"),
    [
        ("default=None", 'if args.gpu:\n    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu\n'),
        ("type=int, default=2", "if args.gpu >= 0:\n    torch.cuda.set_device(args.gpu)\n"),
    ],
    ids=["which are visible", "which is the current one"],
)
def test_who_asks_which_does_not_ask_whether(
    option: str, side: str, beside: str, expected: str, tmp_path: Path
) -> None:
    head = HEAD.replace("type=int, default=2", option.replace("default=None", "type=str")) + "x = torch.zeros(2)\n"
    assert severities(tmp_path, f"{head}{side}{beside}print(torch.ones(2).cuda())\n", "DEV102") == [expected]


KERNELS = {
    "at once": ("from mamba_ssm import Mamba\n", []),
    "a renderer": ("import neural_renderer as nr\n", []),
    "of the project's own": ("import iou3d_nms_cuda\n", []),
    "of a name that says so": ("from iou3d_nms_cuda import overlap\n", []),
    "no kernels, but a setting": ("from settings import use_cuda\n", ["error"]),
    "if they are there": ("try:\n    import mamba_ssm\nexcept ImportError:\n    mamba_ssm = None\n", ["error"]),
    "behind an option": ("if args.gpu > 5:\n    import mamba_ssm\n", ["error"]),
}


@pytest.mark.parametrize(("first", "expected"), KERNELS.values(), ids=KERNELS)
def test_kernels_that_are_imported_end_the_program_without_a_gpu(
    first: str, expected: list[str], tmp_path: Path
) -> None:
    assert severities(tmp_path, HEAD + first + ASKS + "print(torch.ones(2).cuda())\n", "DEV102") == expected


@pytest.mark.parametrize(("given", "expected"), [("world", []), ("rank", ["error"])])
def test_one_process_by_itself_is_the_first_of_one(given: str, expected: list[str], tmp_path: Path) -> None:
    text = f"from mmcv.runner import get_dist_info\nrank, world = get_dist_info()\nif {given} != 1:\n"
    assert severities(tmp_path, HEAD + text + "    print(torch.ones(2).cuda())\n" + ASKS, "DEV102") == expected


COUNTS = """\
class Settings:
    batch_size, num_gpus = 16, 0
h = Settings()
if torch.cuda.is_available():
    torch.cuda.manual_seed(3)
    h.num_gpus = torch.cuda.device_count()
    h.batch_size = h.batch_size // h.num_gpus
    print("each of them takes", h.batch_size)
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("h.num_gpus > 1", "advice"), ("h.num_gpus > 0", "error"), ("h.num_gpus", "error"), ("h.num_gpus == 0", "error")],
)
def test_who_counts_the_gpus_does_not_ask_whether_there_is_one(condition: str, expected: str, tmp_path: Path) -> None:
    text = f"{HEAD}{COUNTS}if {condition}:\n    print(h.batch_size)\nprint(torch.ones(2).cuda())\n"
    assert severities(tmp_path, text, "DEV102") == [expected]


def test_a_count_beside_another_use_is_asked_for(tmp_path: Path) -> None:
    text = f"{HEAD}{COUNTS}    print(torch.zeros(2).cuda())\nprint(torch.ones(2).cuda())\n"
    assert severities(tmp_path, text, "DEV102") == ["error"]


LAUNCHED = {
    "at once": ("import colossalai\ncolossalai.launch_from_torch(seed=1)\n", []),
    "with another backend": ('import colossalai\ncolossalai.launch_from_torch(backend="gloo")\n', ["error"]),
    "if there is a launcher": (
        "from mmcv.runner import init_dist\nif args.launcher:\n    init_dist(args.launcher)\n",
        ["error"],
    ),
}


@pytest.mark.parametrize(("first", "expected"), LAUNCHED.values(), ids=LAUNCHED)
def test_of_a_program_that_is_launched_on_gpus_nothing_is_said(first: str, expected: list[str], tmp_path: Path) -> None:
    assert severities(tmp_path, HEAD + first + ASKS + "print(torch.ones(2).cuda())\n", "DEV102") == expected


def test_kernels_of_a_package_end_it_too(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "__init__.py").write_text("from . import overlap_cuda\n")
    text = HEAD + "import ops\n" + ASKS + "print(torch.ones(2).cuda())\n"
    assert severities(tmp_path, text, "DEV102") == []
    (tmp_path / "ops" / "overlap_cuda.py").write_text("import torch\n")
    assert severities(tmp_path, text, "DEV102") == ["error"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("args.gpu >= 0", "advice"), ("args.gpu == 1", "error"), ("args.gpu > 0", "error")],
)
def test_a_default_of_one_is_a_yes_where_it_is_asked_for_as_such(condition: str, expected: str, tmp_path: Path) -> None:
    inside = "torch.cuda.set_device(args.gpu)" if expected == "advice" else "print(torch.zeros(2).cuda())"
    text = HEAD.replace("default=2", "default=1") + f"if {condition}:\n    {inside}\n"
    assert severities(tmp_path, text + "print(torch.ones(2).cuda())\n", "DEV102") == [expected]


@pytest.mark.parametrize(("kept", "expected"), [("Embedding(5, 2)", "advice"), ("Bilinear(1, 1, 2)", "error")])
def test_a_table_that_stays_on_the_cpu_is_no_network_there(kept: str, expected: str, tmp_path: Path) -> None:
    text = f"""\
from torch import nn
kept = nn.{kept}
def main():
    net = nn.Linear(2, 2).cuda()
    given = [torch.zeros(3, 1)] * 2 if isinstance(kept, nn.Bilinear) else [torch.zeros(3, dtype=torch.long)]
    print(net(kept(*given).cuda()))
main()
"""
    assert severities(tmp_path, HEAD + text, "DEV102") == [expected]
